"""What was throttled in a range: the page Explore in a browser."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.looks import Look
from tests.e2e.served import SERVERS


def row(page: Page, product: Product) -> Locator:
    """A row of the recorded pod: other tests send pods of that name from other nodes."""
    header = page.get_by_role("rowheader", name=re.compile(rf"^{re.escape(product.node.pod)}"))
    return page.get_by_role("row").filter(has=header).filter(has_text=re.compile(rf"{product.node.node}\b"))


def listed(page: Page) -> list[str]:
    """The main name of each row, in their order."""
    return [text.split("\n")[0] for text in page.get_by_role("rowheader").all_inner_texts()]


@pytest.mark.usefixtures("services")
def test_any_column_sorts_on_the_server_and_filters_narrow(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/resources?q=shop-node")
    expect(page.get_by_role("rowheader")).to_have_count(len(SERVERS))
    assert listed(page)[0].startswith("checkout")
    heading = page.get_by_role("columnheader", name="Container")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/containers?" in request.url else None)
    heading.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page.get_by_role("rowheader").first).to_contain_text("cart")
    assert "order=name&descending=false" in asked[-1]
    page.get_by_label("Throttled in the range").check()
    expect(page.get_by_role("rowheader")).to_have_count(1)
    expect(page.get_by_role("status").filter(has_text="1 throttled, of 3 containers")).to_be_visible()
    page.get_by_label("Include pods and slices").check()
    expect(page).to_have_url(re.compile("every=true"))


def test_absolute_times_in_a_zone_are_in_the_link(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto("/resources?zone=utc&q=coredns-7c9")
    expect(row(page, product)).to_be_visible()
    page.get_by_role("button", name="Absolute times").click()
    page.get_by_label("From, UTC").fill("2020-01-01T13:00:00")
    page.get_by_label("To, UTC").fill("2020-01-01T12:00:00")
    page.get_by_role("button", name="Show range").click()
    expect(page.get_by_role("alert")).to_have_text("The range ends before it begins. Choose a later end.")
    page.get_by_label("To, UTC").fill("2020-01-01T14:00:00")
    page.get_by_role("button", name="Show range").click()
    expect(page).to_have_url(re.compile("from=1577883600000000.*to=1577887200000000"))
    expect(page.get_by_role("heading", name="No containers match")).to_be_visible()
    expect(page.get_by_role("button", name="2020-01-01 13:00 to 14:00 UTC")).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    expect(row(page, product)).to_be_visible()


def test_a_failure_says_so_and_can_be_tried_again(open_window: OpenWindow) -> None:
    window = open_window()
    page = window.page
    answers = iter([False])

    def fail_once(route: Route) -> None:
        if next(answers, True):
            route.continue_()
        else:
            problem = {
                "type": "urn:jitterscope:problem:x",
                "title": "Too much data",
                "status": 422,
                "detail": "Too much.",
            }
            route.fulfill(status=422, content_type="application/problem+json", body=json.dumps(problem))

    page.route("**/api/v1/containers?*", fail_once)
    page.goto("/resources")
    expect(page.get_by_text("Too much data")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name="Containers")).to_be_visible()
    assert all("422" in complaint for complaint in window.complaints)
    window.complaints.clear()


@pytest.mark.usefixtures("services")
def test_looks(look: Look) -> None:
    page = look.page
    page.goto("/resources")
    expect(page.get_by_role("table", name="Containers")).to_be_visible()
    look.at("containers")
    page.get_by_role("button", name="Absolute times").click()
    look.at("containers-range")
    page.goto("/resources?throttled=true&from=1577883600000000&to=1577887200000000")
    look.at("containers-empty")
