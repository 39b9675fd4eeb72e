"""Compare: a window with another time or another resource, opened from any chart."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.e2e.axe import settle, violations
from tests.e2e.conftest import OpenWindow, Product, picture
from tests.e2e.looks import Look


def other_subject(product: Product) -> int:
    """The container on the other node."""
    with product.client() as client:
        items = (
            client.get("/api/v1/containers", params={"search": "coredns-b52", "gone": True})
            .raise_for_status()
            .json()["items"]
        )
    return int(items[0]["id"])


def whole_fault(product: Product) -> str:
    """The recorded minutes as the page's parameters."""
    return f"resource={product.subject_id}&from={product.node.start_us}&to={product.node.end_us}"


def differences(page: Page) -> list[str]:
    table = page.get_by_role("table", name="Differences")
    expect(table).to_be_visible()
    return [text.replace("\n", " ") for text in table.get_by_role("row").all_inner_texts()]


def test_a_key_on_the_incident_compares_with_an_hour_ago(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    page.keyboard.press("x")
    expect(page).to_have_url(re.compile(rf"/compare\?resource={product.subject_id}&from=\d+&to=\d+"))
    expect(page.get_by_role("group", name="Other time").get_by_role("button", name="1 h earlier")).to_have_attribute(
        "aria-pressed", "true"
    )
    # The test's collector began minutes ago: the page says so, and does not show zeros.
    expect(page.get_by_role("heading", name="Nothing recorded in the other window")).to_be_visible()
    expect(
        page.get_by_role("img", name=re.compile("^CPU throttled, highest: .+; other: not recorded$"))
    ).to_be_visible()


def test_every_chart_of_a_resource_leads_here(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto(f"/resources/{product.subject_id}?minutes=60")
    page.get_by_role("button", name="Compare CPU usage per tick").click()
    expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()


def test_another_container_has_its_differences_with_their_significance(
    open_window: OpenWindow, product: Product
) -> None:
    other = other_subject(product)
    page = open_window().page
    page.goto(f"/compare?{whole_fault(product)}")
    page.get_by_label("Other resource").select_option(str(other))
    expect(page).to_have_url(re.compile(f"other={other}"))
    rows = differences(page)
    with product.client() as client:
        parameters = {
            "resource": product.subject_id, "from": product.node.start_us, "to": product.node.end_us,
            "other_resource": other,
        }  # fmt: skip
        answer = client.get("/api/v1/compare", params=parameters).raise_for_status().json()
    assert len(rows) == 1 + len(answer["measures"]) + len(answer["loads"])
    for one, text in zip(answer["measures"], rows[1:], strict=False):
        assert text.startswith(one["title"])
        told = re.search("▲ more|▼ less", text)
        assert (told is not None) == one["differs"], text
    stacked = page.get_by_role("img", name=re.compile("^CPU usage, highest"))
    tall = stacked.bounding_box()
    page.get_by_role("button", name="Overlaid").click()
    expect(page).to_have_url(re.compile("mode=overlaid"))
    expect(stacked.locator("path")).to_have_count(2)
    low = stacked.bounding_box()
    assert tall is not None
    assert low is not None
    assert low["height"] < tall["height"]


def test_a_link_without_a_window_says_how_to_get_one(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/compare")
    expect(page.get_by_role("heading", name="No window to compare")).to_be_visible()
    assert violations(page) == []


def test_looks(look: Look, product: Product) -> None:
    page = look.page
    link = f"/compare?{whole_fault(product)}&other={other_subject(product)}"
    page.goto(link)
    differences(page)
    look.at("compare")
    settle(page)
    assert look.violations() == []
    page.goto(f"{link}&mode=overlaid")
    expect(page.get_by_role("img", name=re.compile("^CPU usage, highest"))).to_be_visible()
    page.get_by_role("heading", name="Charts").scroll_into_view_if_needed()
    look.at("compare-overlaid")
    page.goto(f"/compare?{whole_fault(product)}")
    expect(page.get_by_role("heading", name="Nothing recorded in the other window")).to_be_visible()
    look.at("compare-empty")
