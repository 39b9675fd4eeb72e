"""Ten tasks of a user, in as many clicks and fields as they take; the page itself counts them (effort.py).

Each starts on Home unless it says otherwise. JITTERSCOPE_SCREENSHOTS=DIR keeps a picture of where each one ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.diagnosis.recorded import STEP_US
from tests.e2e import effort, searching
from tests.e2e.conftest import OpenWindow, Product, picture
from tests.e2e.effort import Effort
from tests.e2e.looks import Look, settled
from tests.e2e.recorded_batches import RecordedNode, ingest
from tests.e2e.test_containers import row
from tests.support.receiver import Receiver


@dataclass(frozen=True, slots=True)
class Task:
    """A window that counts what its user does."""

    page: Page

    def begins(self, path: str = "/") -> Page:
        """On a page that is opened by its address, which is not counted."""
        self.page.goto(path)
        settled(self.page)
        effort.forget(self.page)
        return self.page

    def took(self, name: str, *, clicks: int, fields: int = 0) -> None:
        """Exactly this much, and nothing by keys or by typing an address. `name` is that of the screenshot."""
        spent = effort.spent(self.page)
        assert (spent.clicks, len(spent.fields), spent.keys, spent.loads) == (clicks, fields, 0, 0), spent
        Look(self.page, "desktop", "dark", is_phone=False).at(f"task-{name}")


@pytest.fixture
def task(open_window: OpenWindow) -> Task:
    page = open_window().page
    effort.watch(page)
    return Task(page)


def worst(product: Product) -> dict[str, Any]:
    """The worst incident on Home that has a patch: other tests' incidents might be worse than this product's."""
    with product.client() as client:
        for one in client.get("/api/v1/overview").raise_for_status().json()["worst"]:
            incident = client.get(f"/api/v1/incidents/{one['id']}").raise_for_status().json()
            if any(fix["patches"] for fix in incident["fixes"]):
                return dict(incident)
    raise AssertionError("no incident on Home has a patch")


def opened(page: Page, incident: dict[str, Any]) -> None:
    """One click."""
    page.locator(f"main a[href='/incidents/{incident['id']}']").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(incident["title"])
    expect(picture(page)).to_be_visible()


def settings(page: Page, section: str) -> None:
    """Two clicks."""
    page.get_by_role("button", name="Account and settings").click()
    page.get_by_role("menuitem", name=section, exact=True).click()


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_what_is_wrong_now_takes_no_click(task: Task, product: Product) -> None:
    page = task.begins()
    with product.client() as client:
        now = client.get("/api/v1/overview").raise_for_status().json()
        fleet = client.get("/api/v1/fleet").raise_for_status().json()
    worst, heading = now["worst"][0], page.get_by_role("heading", level=1)
    expect(heading).to_contain_text(
        ", ".join(f"{one['incidents']} {one['severity']}" for one in now["counts"]) + f": {worst['title']}"
    )
    expect(heading).to_contain_text(f"on {worst['subject']['node']}")
    assert fleet["compared"] > 0
    expect(page.get_by_text(re.compile(rf"Answers of .*{fleet['compared']} containers were timed"))).to_be_visible()
    task.took("what-is-wrong", clicks=0)


def test_the_cause_and_one_tick_take_two_clicks(task: Task, product: Product) -> None:
    page, incident = task.begins(), worst(product)
    opened(page, incident)  # 1
    cause = page.get_by_role("link", name=f"About this cause: {incident['cause_title']}")
    expect(cause).to_have_attribute("href", re.compile("^/help/causes"))
    surface = page.locator("[data-mode=zoom]")
    box = surface.bounding_box()
    assert box is not None
    surface.click(position={"x": box["width"] / 2, "y": 60})  # 2
    # Pinned: it stays when the mouse leaves.
    page.mouse.move(1, 1)
    for figure in (re.compile(r"^CPU(, highest| in) \d"), re.compile(r"^\d\d:\d\d:\d\d\.\d+ UTC$")):
        expect(surface.get_by_text(figure)).to_be_visible()
    task.took("cause-and-tick", clicks=2)


def test_the_fix_is_copied_in_two_clicks(task: Task, product: Product) -> None:
    page, incident = task.begins(), worst(product)
    opened(page, incident)  # 1
    page.get_by_role("button", name=re.compile("^Copy patch: ")).first.click()  # 2
    expect(page.get_by_text("Copied ✓")).to_be_visible()
    assert clipboard(page) in [patch["text"] for fix in incident["fixes"] for patch in fix["patches"]]
    task.took("fix-copied", clicks=2)


def test_throttled_in_the_last_hour_and_its_worst_tick_take_two_clicks(task: Task, product: Product) -> None:
    credited = product.node.recording.columns["cpu_throttled_us"]
    worst_us = int(np.argmax(credited)) * STEP_US + product.node.start_us
    page = task.begins()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Explore").click()  # 1
    coredns = row(page, product)
    expect(coredns).to_contain_text("kube-system · coredns")
    expect(coredns.get_by_role("img")).to_have_attribute("aria-label", re.compile("limit 0.5 CPU; throttled in "))
    total = float(np.nansum(credited))
    expect(coredns).to_contain_text(f"{total / 1e6:.3g} s," if total >= 1e7 else f"{total / 1e3:,.0f} ms,")
    tick = coredns.get_by_role("link", name=re.compile(r"ms\s*\d\d:\d\d:\d\d"))
    expect(tick).to_contain_text(f"{credited.max() / 1e3:.3g} ms")
    tick.click()  # 2
    expect(page).to_have_url(re.compile(rf"/resources/{product.subject_id}\?.*sel={worst_us}-{worst_us + STEP_US}"))
    expect(picture(page)).to_be_visible()
    expect(page.get_by_text("Selected 100 ms.")).to_be_visible()
    task.took("worst-throttled-tick", clicks=2)


def test_the_comparison_with_an_hour_ago_takes_two_clicks(task: Task, product: Product) -> None:
    page, incident = task.begins(), worst(product)
    opened(page, incident)  # 1
    page.get_by_role("button", name="Compare").click()  # 2
    expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()
    hour = page.get_by_role("group", name="Other time").get_by_role("button", name="1 h earlier")
    expect(hour).to_have_attribute("aria-pressed", "true")
    task.took("compared-with-an-hour-ago", clicks=2)


def test_the_worst_search_amplification_takes_two_clicks(task: Task, product: Product) -> None:
    searching.feed(product.url, product.stack.create_ingest_token())
    page = task.begins()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Explore").click()  # 1
    page.get_by_role("navigation", name="Explore").get_by_role("link", name="DNS", exact=True).click()  # 2
    clients = page.get_by_role("region", name="Queries per lookup, by client")
    ranked = clients.get_by_role("list").get_by_role("listitem")
    expect(ranked.first).to_contain_text("shop/web-7c9/web-7c9")
    expect(ranked.first).to_contain_text(re.compile(r"now\s*4"))
    expect(ranked.first).to_contain_text(re.compile(r"trailing dot\s*1"))
    task.took("worst-amplification", clicks=2)


def test_slack_for_critical_incidents_of_a_namespace_takes_five_fields(
    task: Task, receiver: Receiver, nothing_left: None
) -> None:
    page = task.begins()
    settings(page, "Settings")  # 2
    page.get_by_label("Kind", exact=True).select_option("slack")
    page.get_by_label("Name", exact=True).fill("on-call")
    page.get_by_label("Webhook URL", exact=True).fill(f"{receiver.url}/services/x")
    page.get_by_label("Minimum severity", exact=True).select_option("critical")
    page.get_by_label("Namespaces", exact=True).fill("kube-system")
    page.get_by_role("button", name="Add channel").click()  # 3
    added = page.get_by_role("main").get_by_role("listitem").filter(has_text="on-call")
    expect(added).to_contain_text("Critical incidents with namespace kube-system.")
    expect(added).to_contain_text("Messages: all but acknowledgment removed, note.")
    task.took("slack", clicks=3, fields=5)
    added.get_by_role("button", name="Send test").click()
    expect(page.get_by_text("on-call accepted the test message").first).to_be_visible()
    assert "Test message" in receiver.requests[0].json["text"]


def test_a_viewer_is_invited_with_one_field(task: Task, open_window: OpenWindow) -> None:
    page = task.begins()
    settings(page, "Settings")  # 2
    page.get_by_role("navigation", name="Settings").get_by_role("link", name="Members").click()  # 3
    page.get_by_label("Email").fill("ada@example.com")
    page.get_by_role("button", name="Invite").click()  # 4
    link = page.get_by_role("region", name="Link for ada@example.com").inner_text().strip()
    task.took("viewer-invited", clicks=4, fields=1)
    guest = open_window(anonymous=True).page
    guest.goto(link)
    guest.get_by_label("Your name").fill("Ada")
    guest.get_by_label("Password").fill("correct horse battery")
    guest.get_by_role("button", name="Join").click()
    expect(guest.get_by_role("navigation", name="Pages")).to_be_visible()
    page.reload()
    joined = page.get_by_role("row").filter(has_text="ada@example.com")
    expect(joined).to_contain_text("Ada")
    expect(joined.get_by_role("combobox")).to_have_value("viewer")


def test_a_token_is_revoked_in_five_clicks(task: Task, product: Product) -> None:
    page = task.begins("/settings/tokens")
    page.get_by_label("Name").fill("nightly report")
    page.get_by_role("button", name="Create token").click()
    secret = page.get_by_role("region", name="Token nightly report").inner_text().strip()
    page.get_by_role("button", name="Revoke nightly report").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()

    def status() -> int:
        headers = {"Authorization": f"Bearer {secret}"}
        return httpx.get(f"{product.url}/api/v1/incidents", headers=headers, timeout=60).status_code

    task.begins()
    settings(page, "Settings")  # 2
    page.get_by_role("navigation", name="Settings").get_by_role("link", name="API tokens").click()  # 3
    page.get_by_role("button", name="Revoke nightly report").click()  # 4
    dialog = page.get_by_role("dialog", name="Revoke token: nightly report")
    expect(dialog).to_contain_text("Programs that use it are refused from their next request on.")
    assert status() == 200
    dialog.get_by_role("button", name="Revoke token").click()  # 5
    expect(page.get_by_role("row").filter(has_text="nightly report")).to_contain_text("revoked")
    assert status() == 401
    task.took("token-revoked", clicks=5)


def test_the_exact_zoom_is_shared_in_one_click(task: Task, open_window: OpenWindow, product: Product) -> None:
    page = task.begins(f"/incidents/{product.incident_id}")
    page.get_by_role("button", name="Zoom in").click()
    effort.forget(page)
    # Immediately: the address bar follows only when the mouse rests.
    page.get_by_role("button", name="Copy link").click()  # 1
    expect(page.get_by_text("Link to this view copied", exact=True)).to_be_visible()
    copied = clipboard(page)
    assert re.search(r"[?&]view=\d+-\d+$", copied) is not None, copied
    page.wait_for_url(copied)
    task.took("zoom-shared", clicks=1)
    words = picture(page).get_attribute("aria-label") or ""
    other = open_window().page
    other.goto(copied)
    expect(picture(other)).to_have_attribute("aria-label", words)


def test_a_post_mortem_takes_two_clicks(task: Task, product: Product) -> None:
    page = task.begins(f"/incidents/{product.incident_id}")
    page.get_by_role("button", name="Share", exact=True).click()  # 1
    page.get_by_role("menuitem", name="Post-mortem").click()  # 2
    expect(page.get_by_label("Post-mortem in Markdown")).to_have_value(re.compile("^# Post-mortem: CoreDNS"))
    task.took("post-mortem", clicks=2)


def test_the_second_machines_collector_takes_one_field(task: Task, product: Product) -> None:
    page = task.begins()
    settings(page, "Collectors")  # 2
    page.get_by_role("button", name="Add collector").click()  # 3
    page.get_by_label("Token name").fill("node-new")
    page.get_by_role("button", name="Create token").click()  # 4
    expect(page.get_by_text("Waiting for the first data")).to_be_visible()
    command = page.get_by_role("region", name="Run this on the node").inner_text()
    assert product.url in command
    token = re.search(r"jsi_[A-Za-z0-9_-]+", command)
    assert token is not None
    ingest(product.url, token[0], RecordedNode("limit", "node-new", "coredns-new", deployment="coredns-d"))
    expect(page.get_by_text("First data received from")).to_be_visible()
    task.took("second-machine", clicks=4, fields=1)
    page.reload()
    expect(page.get_by_role("heading", name="node-new")).to_be_visible()
    assert token[0] not in page.content()


def test_the_page_counts_what_a_user_does(task: Task) -> None:
    page = task.begins("/settings/channels")
    page.get_by_text("More conditions").click()
    # Its label is clicked: one press, although the browser sends a second click to the box.
    page.get_by_text("Hold messages in quiet hours").click()
    page.get_by_label("Name", exact=True).fill("one")
    page.get_by_label("Name", exact=True).fill("two")
    page.get_by_role("button", name="Add channel").focus()
    page.keyboard.press("Tab")
    channels = "/settings/channels: "
    spent = effort.spent(page)
    assert spent == Effort(2, 1, (f"{channels}Hold messages in quiet hours", f"{channels}Name"), 0)
    page.goto("/incidents")
    assert effort.spent(page).loads == 1
