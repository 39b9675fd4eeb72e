"""Latency objectives in a browser: set, changed and removed on the page Services, of a resource and of an incident."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Route, expect

from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.looks import Look, below_the_bar
from tests.e2e.test_services import row


@pytest.mark.usefixtures("services")
def test_it_is_set_changed_and_removed_by_keyboard(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/services?q=shop-node")
    page.get_by_role("button", name="Set objective of checkout :8080").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Latency objective of checkout :8080")
    expect(dialog).to_contain_text("No objective set. An answer is slow if it takes over 20 ms")
    expect(dialog).to_contain_text("Applies to every pod of checkout-5d8 in shop, container checkout, port 8080.")
    amount = dialog.get_by_role("textbox", name="Take less than")
    amount.focus()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("Enter a time such as 50.")
    expect(amount).to_have_attribute("aria-invalid", "true")
    page.keyboard.type("40")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(row(page, "checkout :8080")).to_contain_text("p99 < 40 ms")
    # 200 of 7,200 ticks have 3 slow answers of 30.
    expect(row(page, "checkout :8080")).to_contain_text("✓ met: 1 ms")
    button = page.get_by_role("button", name="p99 < 40 ms, objective of checkout :8080")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_role("combobox", name="Share of the answers").select_option("p99.9")
    dialog.get_by_role("button", name="Change objective").click()
    expect(row(page, "checkout :8080")).to_contain_text("✕ missed: ")
    page.get_by_role("button", name="p99.9 < 40 ms, objective of checkout :8080").click()
    expect(dialog).to_contain_text("Set for this port by")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="p99.9 < 40 ms, objective of checkout :8080").click()
    dialog.get_by_role("button", name="Remove objective").click()
    expect(page.get_by_role("button", name="Set objective of checkout :8080")).to_be_visible()


def test_an_incident_and_a_resource_show_what_holds(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto(f"/incidents/{product.incident_id}")
    region = page.get_by_role("region", name="Latency objective")
    expect(region).to_contain_text("No objective set.")
    region.get_by_role("button", name="Set objective").click()
    page.get_by_role("dialog").get_by_role("textbox", name="Take less than").fill("1.5")
    page.get_by_role("dialog").get_by_role("combobox", name="Unit").select_option("s")
    page.get_by_role("dialog").get_by_role("button", name="Set objective").click()
    expect(region).to_contain_text("p99 < 1.5 s")
    expect(region).to_contain_text("Set for the whole workload by")
    page.goto(f"/resources/{product.subject_id}")
    expect(region).to_contain_text("p99 < 1.5 s")
    region.get_by_role("button", name="Change objective").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove objective").click()
    expect(region).to_contain_text("No objective set.")


def test_what_cannot_be_read_or_set_says_so(open_window: OpenWindow, product: Product) -> None:
    def answer(status: int, title: str, detail: str) -> str:
        return json.dumps({"type": "urn:jitterscope:problem:x", "title": title, "status": status, "detail": detail})

    def refuse(route: Route) -> None:
        method = route.request.method
        if method == "GET" and broken:
            body = answer(503, "Temporarily unavailable", "PostgreSQL did not finish the request.")
            route.fulfill(status=503, content_type="application/problem+json", body=body)
        elif method == "PUT":
            body = answer(422, "Invalid request", '"p99<40ms" is not an objective.')
            route.fulfill(status=422, content_type="application/problem+json", body=body)
        else:
            route.continue_()

    broken = True
    window = open_window()
    page = window.page
    page.route("**/objective", refuse)
    page.goto(f"/resources/{product.subject_id}")
    region = page.get_by_role("region", name="Latency objective")
    expect(region.get_by_role("alert")).to_contain_text("PostgreSQL did not finish the request.", timeout=20_000)
    broken = False
    region.get_by_role("button", name="Try again").click()
    region.get_by_role("button", name="Set objective").click()
    page.get_by_role("dialog").get_by_role("textbox", name="Take less than").fill("40")
    page.get_by_role("dialog").get_by_role("button", name="Set objective").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text('"p99<40ms" is not an objective.')
    window.complaints.clear()


def test_who_may_not_set_it_sees_it(open_window: OpenWindow, product: Product) -> None:
    def as_viewer(route: Route) -> None:
        response = route.fetch()
        me = response.json()
        me["role"] = "viewer"
        me["scopes"] = [one for one in me["scopes"] if one.endswith(":read")]
        route.fulfill(response=response, json=me)

    page = open_window().page
    page.route("**/api/v1/auth/session", as_viewer)
    page.goto(f"/resources/{product.subject_id}")
    region = page.get_by_role("region", name="Latency objective")
    expect(region).to_contain_text("No objective set.")
    why = re.compile("^Your role, viewer, cannot set objectives. Ask an editor or admin of ")
    button = region.get_by_role("button", name="Set objective")
    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description(why)
    page.goto("/services")
    unset = page.get_by_role("button", name=re.compile("^Set objective of ")).first
    expect(unset).to_have_accessible_description(why)
    unset.press("Enter")
    expect(page.get_by_role("listitem").filter(has_text=why)).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.usefixtures("services")
def test_looks(look: Look, product: Product) -> None:
    page = look.page
    page.goto("/services?q=shop-node")
    page.get_by_role("button", name=re.compile("objective of checkout :8080")).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox")).to_be_visible()
    look.at("objective-dialog")
    dialog.get_by_role("textbox").fill("soon")
    dialog.get_by_role("button", name="Set objective").click()
    look.at("objective-error")
    dialog.get_by_role("textbox").fill("40")
    dialog.get_by_role("combobox", name="Share of the answers").select_option("p99.9")
    dialog.get_by_role("button", name="Set objective").click()
    expect(dialog).to_be_hidden()
    expect(row(page, "checkout :8080")).to_contain_text("missed")
    look.at("objective-services")
    page.get_by_role("button", name=re.compile("objective of checkout :8080")).click()
    expect(dialog.get_by_role("button", name="Remove objective")).to_be_visible()
    look.at("objective-change")
    dialog.get_by_role("button", name="Remove objective").click()
    expect(dialog).to_be_hidden()
    page.goto(f"/incidents/{product.incident_id}")
    region = page.get_by_role("region", name="Latency objective")
    expect(region).to_contain_text("No objective set.")
    below_the_bar(page, region)
    look.at("objective-incident")
    page.goto(f"/resources/{product.subject_id}")
    expect(region).to_contain_text("No objective set.")
    below_the_bar(page, region)
    look.at("objective-resource")
