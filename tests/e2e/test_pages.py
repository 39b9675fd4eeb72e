"""The other pages against the running product: explorer, channels, causes, themes."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import expect

from tests.e2e.axe import settle, violations
from tests.e2e.conftest import OpenWindow, Product, picture


def test_explorer_shows_limits_and_leads_to_the_resource(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto("/resources?all=true")
    row = page.get_by_role("row").filter(has_text="coredns-7c9")
    expect(row).to_contain_text("0.5 CPU")
    page.get_by_label("Throttled in the range").check()
    expect(row).to_contain_text("of periods")
    page.get_by_role("link", name="coredns-7c9", exact=True).click()
    # The recording might have ended 5 min ago.
    page.get_by_role("group", name="Window").get_by_role("button", name="1 h").click()
    expect(picture(page)).to_have_attribute("aria-label", re.compile("limit 0.5 CPU"))
    for text in (
        "All metrics",
        "workload.image",
        "registry.k8s.io/coredns/coredns:v1.12.0",
        "no tracepoints here",
        "Needs CAP_BPF",
    ):
        expect(page.get_by_text(text).first).to_be_visible()
    expect(page.get_by_role("link", name=product.title)).to_be_visible()


def test_the_tab_says_how_many_incidents_are_open(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto("/settings/collectors")
    with product.client() as client:
        active = {"state": ["open", "acknowledged", "fix_applied", "did_not_help", "made_worse"]}
        items = client.get("/api/v1/incidents", params=active).raise_for_status().json()["items"]
    assert items
    expect(page).to_have_title(f"({len(items)}) Collectors · Jitterscope")
    stranger = open_window(anonymous=True).page
    stranger.goto("/sign-in")
    expect(stranger).to_have_title("Sign in · Jitterscope")


def test_an_unknown_address_offers_the_places_and_the_search(open_window: OpenWindow) -> None:
    page = open_window().page
    for path in ("/no-such-page", "/incidents/7/no-such-page"):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
        links = page.get_by_role("navigation", name="Places to go").get_by_role("link")
        expect(links).to_have_text(["Home", "Issues", "Explore", "Evidence"])
        settle(page)
        assert violations(page) == []
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()
    page.keyboard.press("Escape")
    links.filter(has_text="Issues").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Incidents")


class Receiver(ThreadingHTTPServer):
    """A webhook receiver that keeps what it gets."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, object]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None: ...

        super().__init__(("127.0.0.1", 0), Handler)


def test_a_webhook_is_added_tested_and_removed(open_window: OpenWindow) -> None:
    receiver = Receiver()
    thread = threading.Thread(target=receiver.serve_forever, daemon=True)
    thread.start()
    try:
        page = open_window().page
        page.goto("/settings/channels")
        page.get_by_label("Kind", exact=True).select_option("webhook")
        page.get_by_label("Name", exact=True).fill("pager")
        page.get_by_label("URL", exact=True).fill(f"http://127.0.0.1:{receiver.server_port}/hook")
        page.get_by_label("Secret").fill("a key of sixteen characters")
        page.get_by_role("button", name="Add channel").click()
        expect(page.get_by_role("heading", name=re.compile("pager"))).to_be_visible()
        page.get_by_role("button", name="Send test").click()
        expect(page.get_by_text("pager accepted the test message").first).to_be_visible()
        assert receiver.bodies
        assert "incident" in receiver.bodies[0]
        page.get_by_role("button", name="Remove pager").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove channel").click()
        expect(page.get_by_text("No channels yet")).to_be_visible()
    finally:
        receiver.shutdown()
        thread.join()
        receiver.server_close()


def test_the_theme_is_kept(open_window: OpenWindow) -> None:
    page = open_window(scheme="dark").page
    page.goto("/incidents")
    page.get_by_role("button", name="Account and settings").click()
    page.get_by_role("menuitemradio", name="Light").click()
    page.keyboard.press("Escape")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light
    assert sum(int(part) for part in re.findall(r"\d+", light)[:3]) > 600


def test_a_cause_is_explained(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/causes?cause=cpu/gc_throttling")
    expect(page.get_by_role("heading", name="How it happens")).to_be_visible()
    expect(
        page.get_by_role("article")
        .get_by_text("gc_active_us")
        .or_(page.get_by_role("article").get_by_text("cpu_usage_us"))
        .first
    ).to_be_visible()
