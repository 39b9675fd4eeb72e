"""A person's path through an incident: sign in, read, zoom to a tick, act."""

from __future__ import annotations

import re
import time

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from jitterscope.kit.instant import parse_us
from tests.e2e.conftest import OpenWindow, Product, picture, sign_in
from tests.support.patience import PATIENCE_S


def view_us(page: Page) -> tuple[int, int]:
    """The visible span as the URL has it."""
    page.wait_for_url(re.compile(r"[?&]view="))
    match = re.search(r"view=%?\"?(\d+)-(\d+)", page.url)
    assert match is not None, page.url
    return int(match[1]), int(match[2])


def test_from_sign_in_to_what_happened(open_window: OpenWindow, product: Product) -> None:
    window = open_window(anonymous=True)
    page = window.page
    sign_in(page, product.stack)
    # Home has the worst four of what the tests opened.
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Issues").click()
    page.get_by_role("link", name=product.title).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(product.title)
    expect(page.get_by_text("Slow answers", exact=True)).to_be_visible()
    rating = page.get_by_role("link", name=re.compile("^(high|medium|low) confidence$"))
    expect(rating).to_have_accessible_description(re.compile(r"Ruled out: \d+ of \d+ other causes?\."))
    expect(page.get_by_role("tooltip")).to_have_count(0)
    rating.focus()
    expect(page.get_by_role("tooltip")).to_be_visible()
    rating.press("Enter")
    expect(page.locator("#other-causes")).to_be_focused()

    expect(picture(page)).to_have_attribute("aria-label", re.compile(r"limit 0\.5 CPU.*GC cycle.*queries"))


def test_zoom_to_a_tick_with_the_wheel(incident_page: Page, product: Product) -> None:
    surface = picture(incident_page)
    box = surface.bounding_box()
    assert box is not None
    incident_page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 80)
    incident_page.keyboard.down("Control")
    for _ in range(40):
        incident_page.mouse.wheel(0, -240)
    incident_page.keyboard.up("Control")
    expect(incident_page.get_by_text("ticks of 10 ms")).to_be_visible()
    incident_page.wait_for_timeout(600)
    from_us, to_us = view_us(incident_page)
    assert 20_000 <= to_us - from_us <= 100_000, "the wheel zooms until a tick of 10 ms is wide"

    # The same view again, from its link alone.
    incident_page.reload()
    expect(incident_page.get_by_text("ticks of 10 ms")).to_be_visible()
    assert view_us(incident_page) == (from_us, to_us)

    incident_page.get_by_role("button", name="All", exact=True).click()
    expect(incident_page.get_by_text("ticks of 100 ms")).to_be_visible()


def test_hovering_a_throttled_tick_tells_its_numbers(incident_page: Page, product: Product) -> None:
    trigger = trigger_us(product)
    throttled = product.node.first_throttled_us(trigger - 2_000_000)
    incident_page.goto(f"/incidents/{product.incident_id}?view={throttled - 1_000_000}-{throttled + 1_500_000}")
    surface = incident_page.locator("[data-mode=zoom]")
    box = surface.bounding_box()
    assert box is not None
    incident_page.mouse.move(box["x"] + box["width"] * 1.05 / 2.5, box["y"] + 60)
    for text in ("CPU in 100 ms", "of limit", "Throttled", "Queries in 100 ms", "Slowest answer"):
        expect(surface.get_by_text(text).first).to_be_visible()
    expect(surface.get_by_text(re.compile("UTC"))).to_be_visible()


def test_a_throttled_tick_is_still_throttled_in_ticks_of_10_ms(incident_page: Page, product: Product) -> None:
    throttled = product.node.first_throttled_us(trigger_us(product) - 2_000_000)
    incident_page.goto(f"/incidents/{product.incident_id}?view={throttled - 300_000}-{throttled + 500_000}")
    expect(incident_page.get_by_text("ticks of 10 ms")).to_be_visible()
    words = re.compile(r"ticks? over the limit; throttled \d times?, \d+ ms total")
    expect(picture(incident_page)).to_have_attribute("aria-label", words)


def test_selecting_a_span_is_told_in_numbers_and_kept_in_the_link(incident_page: Page, product: Product) -> None:
    trigger = trigger_us(product)
    incident_page.goto(f"/incidents/{product.incident_id}?view={trigger - 2_500_000}-{trigger + 2_500_000}")
    surface = incident_page.locator("[data-mode=zoom]")
    box = surface.bounding_box()
    assert box is not None
    y = box["y"] + 100
    incident_page.keyboard.down("Shift")
    incident_page.mouse.move(box["x"] + box["width"] * 0.3, y)
    incident_page.mouse.down()
    incident_page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=5)
    incident_page.mouse.up()
    incident_page.keyboard.up("Shift")
    expect(incident_page.get_by_text(re.compile(r"Selected 1 s|Selected 9\d\d ms"))).to_be_visible()
    incident_page.wait_for_url(re.compile(r"[?&]sel="))
    incident_page.get_by_role("button", name="Zoom to selection").click()
    expect(incident_page.get_by_text(re.compile(r"1\.2 s of"))).to_be_visible()
    incident_page.get_by_role("button", name="Clear").click()
    expect(incident_page.get_by_text("Selected 1 s")).to_be_hidden()


def test_evidence_shows_where_its_number_comes_from(incident_page: Page) -> None:
    evidence = incident_page.get_by_role("row").filter(has=incident_page.get_by_role("button", name="show")).first
    expect(evidence).to_contain_text(re.compile(r"\d"))
    evidence.get_by_role("button", name="show").click()
    expect(incident_page.get_by_text(re.compile(r"^Selected"))).to_be_visible()


def test_acknowledging_shows_at_once_and_can_be_undone(incident_page: Page, product: Product) -> None:
    held: list[Route] = []
    incident_page.route("**/acknowledge", lambda route: held.append(route))
    incident_page.get_by_role("button", name="Acknowledge", exact=True).click()
    expect(incident_page.get_by_role("button", name="Unacknowledge")).to_be_visible()
    for request in held:
        request.continue_()
    incident_page.unroute("**/acknowledge")
    wait_for_state(product, "acknowledged")
    incident_page.get_by_role("button", name="Undo").click()
    expect(incident_page.get_by_role("button", name="Unacknowledge")).to_be_hidden()
    wait_for_state(product, "open")


def test_a_change_made_elsewhere_arrives_by_itself(incident_page: Page, product: Product) -> None:
    expect(incident_page.get_by_text("live", exact=True)).to_be_visible()
    with product.client() as client:
        note = {"note": "looked at the heap profile"}
        client.post(f"/api/v1/incidents/{product.incident_id}/note", json=note).raise_for_status()
    expect(incident_page.get_by_text("looked at the heap profile")).to_be_visible()


def test_a_refused_stream_is_tried_again(open_window: OpenWindow) -> None:
    window = open_window()
    window.page.route("**/events/stream", lambda route: route.fulfill(status=429), times=1)
    window.page.goto("/")
    expect(window.page.get_by_text("live", exact=True)).to_be_visible()
    assert all("429" in complaint for complaint in window.complaints)
    assert window.complaints, "the stream was refused"
    window.complaints.clear()


def test_an_ended_session_leads_to_sign_in_and_back(open_window: OpenWindow, product: Product) -> None:
    window = open_window(anonymous=True)
    window.page.goto(f"/incidents/{product.incident_id}?view=1-2")
    expect(window.page.get_by_role("heading", name="Sign in")).to_be_visible()
    window.complaints.clear()
    email, password = product.stack.admin
    window.page.get_by_label("Email").fill(email)
    window.page.get_by_label("Password").fill(password)
    window.page.get_by_role("button", name="Sign in").click()
    expect(window.page.get_by_role("heading", level=1)).to_have_text(product.title)
    expect(window.page.get_by_text("live", exact=True)).to_be_visible()


def test_a_wrong_password_is_told_and_nothing_else(open_window: OpenWindow, product: Product) -> None:
    window = open_window(anonymous=True)
    window.page.goto("/sign-in")
    window.page.get_by_label("Email").fill(product.stack.admin[0])
    window.page.get_by_label("Password").fill("not the password")
    window.page.get_by_role("button", name="Sign in").click()
    expect(window.page.get_by_role("alert")).to_be_visible()
    window.complaints.clear()


def test_an_unknown_incident_is_told_with_what_to_do(open_window: OpenWindow) -> None:
    window = open_window()
    window.page.goto("/incidents/999999")
    expect(window.page.get_by_role("alert")).to_contain_text("not found")
    window.complaints.clear()


def trigger_us(product: Product) -> int:
    with product.client() as client:
        at = client.get(f"/api/v1/incidents/{product.incident_id}").json()["trigger_at"]
    return parse_us(at)


def wait_for_state(product: Product, state: str) -> None:
    with product.client() as client:
        deadline = time.monotonic() + PATIENCE_S
        seen = None
        while time.monotonic() < deadline:
            try:
                seen = client.get(f"/api/v1/incidents/{product.incident_id}").raise_for_status().json()["state"]
            except httpx.HTTPError:
                continue
            if seen == state:
                return
            time.sleep(0.1)
    pytest.fail(f"the incident is {seen}, not {state}")
