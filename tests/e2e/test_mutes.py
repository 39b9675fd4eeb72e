"""Mutes against the running product: made on an incident's page, found in the list, ended in the settings."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.looks import settled
from tests.e2e.test_accessibility import violations


@pytest.fixture
def nothing_left(product: Product) -> Iterator[None]:
    yield
    with product.client() as client:
        for one in client.get("/api/v1/mutes", params={"ended": False}).json()["items"]:
            client.post(f"/api/v1/mutes/{one['id']}/end").raise_for_status()


def test_a_cause_is_muted_for_a_while_and_the_mute_is_ended(
    open_window: OpenWindow, product: Product, nothing_left: None
) -> None:
    page = open_window().page
    page.goto(f"/incidents/{product.incident_id}")
    page.get_by_role("button", name="Mute").click()
    page.get_by_role("menuitem", name="Until, scope, reason…").click()
    dialog = page.get_by_role("dialog", name="Mute")
    dialog.get_by_label("This cause everywhere").check()
    dialog.get_by_role("button", name="1 day").click()
    dialog.get_by_label("Reason", exact=True).fill("load test until tomorrow")
    expect(dialog.get_by_role("status")).to_contain_text(re.compile(r"Mutes \d+ open incidents? now\."))
    assert violations(page) == []
    dialog.get_by_role("button", name="Mute", exact=True).click()
    expect(page.get_by_text(re.compile("Muted by .*: load test until tomorrow"))).to_be_visible()
    expect(page.get_by_text(re.compile("^muted until "))).to_be_visible()
    page.goto("/incidents?muted=yes")
    expect(page.get_by_role("list", name="Incidents").get_by_text(product.title)).to_be_visible()
    page.get_by_label("Muted").select_option("no")
    expect(page.get_by_text(product.title)).to_have_count(0)
    page.goto("/settings/mutes")
    row = page.get_by_role("list", name="Mutes", exact=True).get_by_role("listitem")
    expect(row).to_contain_text("cause cpu/gc_throttling")
    settled(page)
    assert violations(page) == []
    row.get_by_role("button", name="End mute").click()
    expect(page.get_by_role("list", name="Ended mutes")).to_contain_text("load test until tomorrow")
    page.goto("/incidents?muted=no")
    expect(page.get_by_role("list", name="Incidents").get_by_text(product.title)).to_be_visible()
