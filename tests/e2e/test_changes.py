"""Changes over the charts: read by mouse, by keyboard, and by a screen reader, in both themes and sizes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.axe import violations
from tests.e2e.conftest import OpenWindow, Product, picture
from tests.e2e.looks import Look, below_the_bar
from tests.e2e.test_metrics import write
from tests.e2e.test_sharing import made, png, revoke, saved


@pytest.fixture
def reported(product: Product) -> Iterator[Any]:
    """Changes of the incident's workload: 40 s before its onset, and three within a second in its window."""
    with product.client() as client:
        incident = client.get(f"/api/v1/incidents/{product.incident_id}").raise_for_status().json()
        onset, made = datetime.fromisoformat(incident["onset_at"]), []
        for title, after_s in (("Deploy coredns", -40.0), ("Set GOGC", 2.0), ("Add a zone", 2.3), ("Scale", 2.6)):
            body = {"title": title, "version_from": "1.11.1", "version_to": "1.12.0", "author": "Ada",
                    "resource_id": product.subject_id, "link": "https://ci.example.org/runs/42",
                    "at": (onset + timedelta(seconds=after_s)).isoformat()}  # fmt: skip
            made.append(client.post("/api/v1/changes", json=body).raise_for_status().json()["id"])
        yield incident
        for one in made:
            client.delete(f"/api/v1/changes/{one}").raise_for_status()


def drawn(page: Page) -> Locator:
    return page.locator("[data-change]")


def test_other_pages_draw_them_too(
    look: Look, open_window: OpenWindow, product: Product, reported: Any, tmp_path: Path
) -> None:
    page = look.page
    page.goto(f"/compare?resource={product.subject_id}&from={product.node.start_us}&to={product.node.end_us}")
    mine = page.get_by_role("list", name="Changes in this window")
    expect(mine).to_contain_text(re.compile(r"This, \+.*: Set GOGC 1.11.1 → 1.12.0 .*reported by Ada"))
    expect(page.get_by_role("list", name="Changes in the other window")).to_have_count(0)
    chart = page.get_by_role("img", name=re.compile("^CPU usage, highest"))
    inside = mine.get_by_role("listitem").count()
    expect(chart.locator("[data-change=mine]")).to_have_count(inside)
    expect(chart.locator("[data-change=theirs]")).to_have_count(0)
    below_the_bar(page, page.get_by_role("heading", name="Charts"))
    look.at("compare-changes")
    assert look.violations() == []

    write(product)
    page.goto("/explore/metrics?name=go_goroutines&minutes=60")
    expect(page.get_by_role("list", name="Changes in this window")).to_contain_text("Add a zone")
    expect(drawn(page)).not_to_have_count(0)
    look.at("metric-changes")
    page.goto(f"/resources/{product.subject_id}?minutes=60")
    section = page.get_by_role("region", name="From Prometheus")
    expect(section.get_by_role("list", name="Changes in the window of these charts")).to_contain_text("Add a zone")
    expect(section.locator("[data-change]")).not_to_have_count(0)


def test_a_picture_that_is_saved_has_them_with_their_words(
    open_window: OpenWindow, product: Product, reported: Any, tmp_path: Path
) -> None:
    page = open_window().page
    shown(page, product)
    with_changes = png(page, saved(page, "Export", "Image (PNG)", tmp_path / "changes.png"))
    box = picture(page).bounding_box()
    assert box is not None
    lines = 4  # one for each of them, and none wraps at this width
    assert with_changes[1] == pytest.approx(box["height"] + 80 + 18 * lines, abs=2)
    kept = os.environ.get("JITTERSCOPE_SCREENSHOTS")
    if kept is not None:
        (Path(kept) / "export-changes.png").write_bytes((tmp_path / "changes.png").read_bytes())


def test_a_link_shows_when_and_not_what_people_wrote(
    look: Look, open_window: OpenWindow, product: Product, reported: Any
) -> None:
    link_id, path = made(product)
    page = open_window((390, 844) if look.is_phone else (1440, 1000), anonymous=True).page
    page.goto(path)
    expect(picture(page)).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    marks = page.get_by_role("group", name="Changes").get_by_role("button")
    expect(marks.last).to_have_accessible_name(re.compile(r"3 changes: .* Deploy \(.*, reported\)"))
    assert "Ada" not in page.content()
    assert "GOGC 1.11.1" not in page.content()
    revoke(product, link_id)


def shown(page: Page, product: Product) -> None:
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()


@pytest.mark.usefixtures("reported")
def test_changes_are_marks_that_the_keyboard_reads(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    shown(page, product)
    strip = page.get_by_role("group", name="Changes")
    marks = strip.get_by_role("button", name=re.compile("Ada"))
    expect(marks).to_have_count(2)
    expect(marks.first).to_have_accessible_name(re.compile("Deploy coredns 1.11.1 → 1.12.0 .*reported by Ada"))
    expect(marks.last).to_have_accessible_name(re.compile(r"^\d changes: .*Set GOGC .*Add a zone .*Scale "))
    marks.first.focus()
    expect(strip.get_by_text("Deploy coredns 1.11.1 → 1.12.0")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(strip.get_by_role("button").nth(1)).to_be_focused()
    marks.last.focus()
    expect(strip.get_by_role("listitem", include_hidden=True).filter(has_text="Add a zone")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(strip.get_by_role("listitem", include_hidden=True)).to_have_count(0)
    # No line blocks the pointer: the picture below it still receives it.
    assert page.locator("[data-change]").evaluate_all(
        "all => all.every(one => getComputedStyle(one).pointerEvents === 'none')"
    )
    evidence = page.get_by_role("row", name=re.compile("Change before the onset"))
    expect(evidence).to_contain_text("coincidence in time, not proof")
    assert violations(page) == []
