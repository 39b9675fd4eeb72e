"""A fix that was applied: detected from facts or declared, shown with before, after, and the prediction."""

from __future__ import annotations

import re
import time
from typing import Any

from playwright.sync_api import expect

from tests.e2e.axe import in_both_themes, violations
from tests.e2e.conftest import PHONE, OpenWindow, Product
from tests.support.patience import PATIENCE_S


def incident_of(product: Product, node: str) -> dict[str, Any]:
    with product.client() as client:
        items = client.get("/api/v1/incidents").raise_for_status().json()["items"]
    return next(dict(item) for item in items if item["subject"]["node"] == node)


def test_a_verified_fix_shows_before_after_and_prediction(open_window: OpenWindow, verified_incident: int) -> None:
    page = open_window().page
    page.goto(f"/incidents/{verified_incident}")
    section = page.get_by_role("region", name="Did it help?")
    expect(section.get_by_role("heading", name="The fix is verified")).to_be_visible()
    expect(page.get_by_text("✓ fix verified")).to_be_visible()
    expect(section.get_by_role("status")).to_contain_text(re.compile(r"slow answers went from .* to 0 %"))
    expect(section.get_by_role("list", name="What changed")).to_contain_text("CPU limit 0.5 → no limit")

    image = section.get_by_role("img", name=re.compile("Before and after the change"))
    expect(image).to_have_accessible_name(re.compile(r"Throttled time: before [1-9].*, after 0 ms/min, predicted 0"))
    expect(image).to_have_accessible_name(re.compile(r"Slow answers: before .*, after 0 %, predicted [0<]"))
    # Blocks with harm and blocks without, on either side of the change.
    assert image.locator("path").count() > 0
    assert image.locator("circle").count() >= 6
    assert image.locator("[data-part=prediction]").count() == 2, "the prediction's interval, in both lanes"

    table = section.get_by_role("table", name="Before, after and predicted")
    slow = table.get_by_role("row").filter(has_text="Slow answers")
    expect(slow).to_contain_text("inside the interval")
    expect(slow).to_contain_text(re.compile("p [<=] 0"))
    assert in_both_themes(page) == []


def test_the_list_tells_how_fixes_went(open_window: OpenWindow, verified_incident: int) -> None:
    page = open_window().page
    page.goto("/incidents?state=closed")
    row = page.get_by_role("listitem").filter(has=page.locator(f"a[href*='/incidents/{verified_incident}']"))
    expect(row).to_contain_text("✓ fix verified")


def test_the_calibration_page_has_its_outcomes(open_window: OpenWindow, verified_incident: int) -> None:
    page = open_window().page
    page.goto("/fixes")
    expect(page.get_by_text(re.compile(r"\d+ outcomes? fell inside the predicted interval"))).to_be_visible()
    row = (
        page.get_by_role("table", name="Predictions by kind of fix")
        .get_by_role("row")
        .filter(has_text="Raise the CPU limit")
    )
    expect(row).to_contain_text("1 verified")
    plot = page.get_by_role("list", name="Predictions and outcomes")
    expect(plot.get_by_role("listitem").filter(has_text="Raise the CPU limit: slow answers")).to_be_visible()
    expect(plot.get_by_role("img").first).to_have_accessible_name(re.compile("predicted .* measured .*side"))
    assert violations(page) == []
    plot.get_by_role("link").first.click()
    expect(page.get_by_role("region", name="Did it help?")).to_be_visible()


def test_saying_that_a_fix_was_applied_starts_the_measuring(open_window: OpenWindow, product: Product) -> None:
    incident = incident_of(product, "node-2")
    page = open_window(PHONE).page
    page.goto(f"/incidents/{incident['id']}")
    apply = page.get_by_role("button", name=re.compile("I applied this fix: Raise the CPU limit"))
    apply.click()
    section = page.get_by_role("region", name="Did it help?")
    expect(section.get_by_role("heading", name="Measuring whether it helped")).to_be_visible()
    expect(section.get_by_role("status")).to_contain_text("Waiting for")
    expect(page.get_by_text("fix applied, measuring").first).to_be_visible()
    expect(apply).to_be_hidden()
    expect(page.get_by_text("◔ measuring", exact=True)).to_be_visible()
    assert violations(page) == []
    deadline = time.monotonic() + PATIENCE_S
    while incident_of(product, "node-2")["state"] != "fix_applied":
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_refused_fix_is_told_why(open_window: OpenWindow, product: Product, verified_incident: int) -> None:
    """The page might be outdated: the server's reason is shown, and nothing changes."""
    window = open_window()
    page = window.page

    def too_early(route: Any) -> None:
        route.continue_(post_data='{"fix_id": "raise_cpu_limit", "applied_at": "2020-01-01T00:00:00Z"}')

    page.route("**/verify", too_early)
    page.goto(f"/incidents/{verified_incident}")
    page.get_by_role("button", name=re.compile("I applied this fix: Raise the CPU limit")).click()
    expect(page.get_by_text(re.compile("Nothing to compare with")).first).to_be_visible()
    expect(page.get_by_text("✓ fix verified")).to_be_visible()
    window.complaints.clear()
