"""What a viewer cannot do is shown, can be focused, says why, and sends nothing."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.axe import settle, violations
from tests.e2e.conftest import OpenWindow, Product, picture
from tests.e2e.members import join


def refused(button: Locator, what: str) -> None:
    expect(button).to_have_attribute("aria-disabled", "true")
    why = re.compile(f"^Your role, viewer, cannot {what}. Ask an editor or admin of ")
    expect(button).to_have_accessible_description(why)
    button.focus()
    expect(button).to_be_focused()


def opened(page: Page, product: Product) -> None:
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()


def test_on_an_incident(open_window: OpenWindow, product: Product) -> None:
    page = open_window(anonymous=True).page
    join(page, product, "viewer")
    opened(page, product)
    for name in ("Acknowledge", "Resolve", "Mute", "Add note"):
        refused(page.get_by_role("button", name=name, exact=True), "act on incidents")
    refused(page.get_by_role("button", name=re.compile("^I applied this fix: ")).first, "act on incidents")
    refused(page.get_by_role("button", name="Set objective"), "set objectives")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    message = page.get_by_role("listitem").filter(has_text=re.compile("^Your role, viewer, cannot act on incidents."))
    page.get_by_role("button", name="Resolve").press("Enter")
    expect(message).to_be_visible()
    assert violations(page) == []
    for key, button in (("a", "Acknowledge"), ("m", "Mute")):
        opened(page, product)
        page.keyboard.press(key)
        expect(message).to_be_visible()
        expect(page.get_by_role("button", name=button, exact=True)).to_be_visible()
    assert [url for url in sent if re.search(r"/(acknowledge|mute|resolve)$", url)] == []


def test_of_evidence_and_collectors(open_window: OpenWindow, product: Product) -> None:
    page = open_window(anonymous=True).page
    join(page, product, "viewer")
    page.goto("/evidence")
    refused(page.get_by_role("button", name="Choose files"), "add or delete evidence files")
    settle(page)
    assert violations(page) == []
    page.goto("/settings/collectors?add=true")
    for name in ("Add collector", "Create token"):
        refused(page.get_by_role("button", name=name), "add collectors or revoke their tokens")
    refused(page.get_by_role("button", name=re.compile("^Revoke ")).first, "add collectors or revoke their tokens")
    settle(page)
    assert violations(page) == []
