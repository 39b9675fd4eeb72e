"""Mutes against the running product: made on an incident's page, found in the list, ended in the settings."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.axe import violations
from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.looks import Look, settled


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
    page.get_by_role("menuitem", name="With a reason, an end, or a wider scope…").click()
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


def test_a_reason_is_given_after_a_mute_in_one_press(
    open_window: OpenWindow, product: Product, nothing_left: None
) -> None:
    page = open_window().page
    page.goto(f"/incidents/{product.incident_id}")
    page.get_by_role("button", name="Mute").click()
    page.get_by_role("menuitem", name="4 h").click()
    until = page.get_by_text(re.compile("^muted until "))
    expect(until).to_be_visible()
    page.get_by_role("button", name="Change reason").click()
    dialog = page.get_by_role("dialog", name="Reason of the mute")
    dialog.get_by_label("Reason").fill("rollout of the new limit")
    before = until.inner_text()
    dialog.get_by_role("button", name="Save reason").click()
    expect(page.get_by_text(re.compile("Muted by .*: rollout of the new limit"))).to_be_visible()
    expect(until).to_have_text(before)


def test_patterns_are_muted_every_week(look: Look, product: Product, nothing_left: None) -> None:
    page = look.page
    page.goto("/settings/mutes")
    form = page.get_by_role("region", name="Add mute")
    add = form.get_by_role("button", name="Add mute")
    form.get_by_label("Reason").fill("nightly backup")
    expect(add).to_be_disabled()  # nothing is selected yet
    form.get_by_label("Causes").fill("cpu/*, kernel/*")
    form.get_by_label("Namespaces").fill("kube-*")
    form.get_by_label("warning").check()
    form.get_by_label("critical").check()
    form.get_by_label("info").check()
    form.get_by_label("Only in weekly hours").check()
    for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"):
        form.get_by_label(day[:3]).uncheck()
    form.get_by_label("From", exact=True).fill("22:30")
    form.get_by_label("To", exact=True).fill("01:15")
    form.get_by_label("Time zone").fill("Europe/Berlin")
    expect(form.get_by_label("Every week until it is ended")).to_be_checked()
    expect(form.get_by_role("status")).to_contain_text(re.compile("Would have muted|Mutes"))
    look.at("new-mute")
    assert look.violations() == []
    add.click()
    row = page.get_by_role("list", name="Mutes", exact=True).get_by_role("listitem")
    expect(row).to_contain_text("nightly backup")
    with product.client() as client:
        (made,) = client.get("/api/v1/mutes", params={"ended": False}).json()["items"]
    assert made["conditions"]["causes"] == ["cpu/*", "kernel/*"]
    assert made["conditions"]["namespaces"] == ["kube-*"]
    assert made["severities"] == ["critical", "info", "warning"]
    assert made["hours"] == {"days": ["sat", "sun"], "start": "22:30", "end": "01:15", "time_zone": "Europe/Berlin"}
    assert made["until"] is None
    # The form is reset; an end of the weekly hours can be given.
    expect(form.get_by_label("Causes")).to_have_value("")
    form.get_by_label("Causes").fill("cpu/ *")
    form.get_by_label("Reason").fill("x")
    form.get_by_label("Only in weekly hours").check()
    form.get_by_label("Every week until it is ended").uncheck()
    expect(form.get_by_label(re.compile("^Until"))).to_be_visible()
    look.at("new-mute-until")
