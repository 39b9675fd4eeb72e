"""Changes over the charts: read by hand, by keyboard and by a screen reader, in both themes and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenWindow, Product, picture
from tests.e2e.test_accessibility import violations


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
    # No line is in the way of the hand: the picture below it still has it.
    assert page.locator("[data-change]").evaluate_all(
        "all => all.every(one => getComputedStyle(one).pointerEvents === 'none')"
    )
    evidence = page.get_by_role("row", name=re.compile("Change before the onset"))
    expect(evidence).to_contain_text("coincidence in time, not proof")
    assert violations(page) == []
