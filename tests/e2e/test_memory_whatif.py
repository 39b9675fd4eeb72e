"""What-if of a query burst, in a browser: a recorded kill under a cap of waiting queries, and under another limit."""

from __future__ import annotations

import time

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from jitterscope.recordings import file
from jitterscope.recordings.replay import post, prepare
from tests.e2e.axe import violations
from tests.e2e.conftest import ROOT, OpenWindow, Product
from tests.e2e.looks import Look, below_the_bar, settled
from tests.support.batches import now_us

CAUSE = "memory/query_burst_oom"


@pytest.fixture(scope="session")
def incident(product: Product) -> int:
    """The incident of a real CoreDNS that a burst of queries killed."""
    token = product.stack.create_ingest_token()
    recording = file.load(ROOT / "tests" / "fixtures" / "recordings" / "coredns-oom-fault.jitterscope")
    shift_us = now_us() - recording.end_us
    with httpx.Client(timeout=30) as client:
        for batch in prepare(recording, shift_us - shift_us % 100_000, "-oom"):
            post(client, product.url, token, batch)
    with product.client() as client:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            for item in client.get("/api/v1/incidents").raise_for_status().json()["items"]:
                if item["cause"] == CAUSE:
                    return int(item["id"])
            time.sleep(0.5)
    raise AssertionError(f"no incident of {CAUSE} within 90 s")


def panel(page: Page, incident: int) -> Locator:
    page.goto(f"/incidents/{incident}")
    section = page.get_by_role("region", name="What if")
    section.scroll_into_view_if_needed()
    expect(section.get_by_role("row", name="As recorded")).to_contain_text("killed")
    return section


def test_a_cap_and_a_limit_are_tried(open_window: OpenWindow, incident: int) -> None:
    page = open_window().page
    section = panel(page, incident)
    expect(section.get_by_role("row", name="What if")).to_contain_text("killed")
    section.get_by_role("button", name="max_concurrent").click()
    expect(section.get_by_role("row", name="What if")).to_contain_text("survives")
    expect(section.get_by_role("row", name="As recorded")).to_contain_text("killed")
    section.get_by_role("button", name="Limit").click()
    expect(section.get_by_role("row", name="What if")).to_contain_text("survives")
    section.get_by_role("button", name="As recorded").click()
    expect(section.get_by_role("row", name="What if")).to_contain_text("killed")
    settled(page)
    assert violations(page) == []


def test_keys_move_the_sliders(open_window: OpenWindow, incident: int) -> None:
    section = panel(open_window().page, incident)
    limit = section.get_by_role("slider", name="Memory limit")
    limit.focus()
    limit.press("End")
    expect(section.get_by_role("row", name="What if")).to_contain_text("survives")
    cap = section.get_by_role("slider", name="max_concurrent")
    cap.focus()
    cap.press("Home")
    expect(cap).to_have_attribute("aria-valuetext", "50")
    section.get_by_role("button", name="Reset").nth(1).click()
    expect(cap).to_have_attribute("aria-valuetext", "as recorded")


def test_looks(look: Look, incident: int) -> None:
    page = look.page
    section = panel(page, incident)
    look.at("oom-incident")
    section.get_by_role("button", name="max_concurrent").click()
    expect(section.get_by_role("row", name="What if")).to_contain_text("survives")
    below_the_bar(page, page.get_by_role("heading", name="What if"))
    look.at("oom-whatif")
