"""What the flight recorder kept, in a browser: flame graph, seconds, processes; and the picture of a node's fault."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from jitterscope.captures import wire
from jitterscope.diagnosis.scenarios.kernel import dentry_reclaim_contention_scenario
from jitterscope.recordings.model import RecordedCapture
from jitterscope.recordings.replay import post, prepare
from jitterscope.recordings.snapshots import recording_of
from tests.e2e.axe import in_both_themes, violations
from tests.e2e.conftest import PHONE, OpenWindow, Product, picture
from tests.e2e.looks import Look, below_the_bar, settled
from tests.e2e.recorded_batches import HEADERS, wait_for_incident
from tests.e2e.widths import too_wide
from tests.support.batches import BatchBuilder, now_us
from tests.support.captures import capture
from tests.support.patience import PATIENCE_S

S_US = 1_000_000
# Of the product's second fault.
POD_NODE, POD = "node-2", "coredns-b52"


@dataclass(frozen=True, slots=True)
class Incidents:
    """Incidents of a node whose kernel freed dentries during a pod deletion, and of a container, with captures."""

    node: int
    container: int


@pytest.fixture(scope="session")
def incidents(product: Product) -> Incidents:
    token = product.stack.create_ingest_token()
    recording = recording_of(dentry_reclaim_contention_scenario.SCENARIOS[0].build())
    # The loss is a minute after the start.
    starts = [recording.start_us + second * S_US for second in (30, 57)]
    kept = tuple(RecordedCapture(0, wire.capture_of(capture(start_us))) for start_us in starts)
    with httpx.Client(timeout=30) as client:
        for batch in prepare(replace(recording, captures=kept), now_us() - recording.end_us, "-kernel"):
            post(client, product.url, token, batch)
    builder = BatchBuilder(POD_NODE)
    cgroup = f"/kubepods/burstable/{POD}/coredns"
    builder.batch.captures.append(capture(product.node.end_us - 30 * S_US, server_cgroup=cgroup))
    with httpx.Client(base_url=product.url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
        client.post("/api/v1/ingest", content=builder.body(), headers=HEADERS).raise_for_status()
    with product.client() as client:
        return Incidents(of_kernel(client), int(wait_for_incident(client, POD_NODE)["id"]))


def of_kernel(client: httpx.Client, timeout_s: float = PATIENCE_S) -> int:
    """The incident of the node itself."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        for item in client.get("/api/v1/incidents").raise_for_status().json()["items"]:
            if item["subject"]["kind"] == "node" and item["cause"].startswith("kernel/"):
                return int(item["id"])
        time.sleep(0.5)
    raise AssertionError(f"no incident of a node within {timeout_s:.0f} s")


def open_captures(page: Page, incident_id: int) -> Locator:
    """The captures section of an incident's page, with its flame graph drawn."""
    page.goto(f"/incidents/{incident_id}")
    section = page.get_by_role("region", name="What was running")
    expect(section.get_by_role("tree", name="Flame graph of the capture")).to_be_visible()
    return section


def box(section: Locator, name: str) -> Locator:
    return section.get_by_role("treeitem", name=re.compile(rf"^{re.escape(name)}, "))


def test_the_incident_of_a_node_is_told_by_its_kernel(open_window: OpenWindow, incidents: Incidents) -> None:
    page = open_window().page
    page.goto(f"/incidents/{incidents.node}")
    expect(picture(page)).to_be_visible()
    names = page.get_by_text("Dentries (cached names)")
    expect(names).to_be_visible()
    expect(page.get_by_text("CPU of the node: programs and kernel")).to_be_visible()
    # What leads the story is above the CPU.
    lane, cpu = names.bounding_box(), page.get_by_text("CPU usage, one bar per tick").bounding_box()
    assert lane is not None
    assert cpu is not None
    assert lane["y"] < cpu["y"]
    page.get_by_role("button", name="All", exact=True).click()
    told = re.compile("negative up to .* M.*unmounted")
    expect(picture(page)).to_have_attribute("aria-label", told)
    # Around the trigger, where it happened, each tick is listed.
    page.keyboard.press("z")
    page.get_by_text("Show as table").click()
    table = page.get_by_role("table", name="Ticks of 100 ms")
    expect(table.get_by_role("columnheader", name="negative")).to_be_visible()
    expect(table.get_by_text(": unmounted").first).to_be_visible()
    # A what-if of CPU limits would say nothing about it.
    expect(page.get_by_role("slider", name="CPU limit")).to_have_count(0)


def test_a_flame_graph_is_walked_with_keys(open_window: OpenWindow, incidents: Incidents) -> None:
    page = open_window().page
    section = open_captures(page, incidents.node)
    everything = box(section, "all")
    everything.focus()
    page.keyboard.press("ArrowDown")
    expect(box(section, "kswapd0")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(box(section, "coredns")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(box(section, "kubelet")).to_be_focused()
    page.keyboard.press("Enter")
    expect(box(section, "kubelet")).to_have_attribute("aria-selected", "true")
    # Zoomed in, nothing else in the row is left, and the box is as wide as the picture.
    expect(box(section, "coredns")).to_have_count(0)
    wide, whole = box(section, "kubelet").bounding_box(), section.get_by_role("tree").bounding_box()
    assert wide is not None
    assert whole is not None
    assert wide["width"] > whole["width"] * 0.98
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    expect(box(section, "__dentry_kill")).to_be_focused()
    expect(box(section, "__dentry_kill")).to_have_accessible_name(re.compile("kernel, 15 % of samples"))
    page.keyboard.press("Home")
    expect(everything).to_be_focused()
    expect(box(section, "coredns")).to_be_visible()


def test_a_flame_graph_is_searched_and_pressed(open_window: OpenWindow, incidents: Incidents) -> None:
    page = open_window().page
    section = open_captures(page, incidents.node)
    section.get_by_label("Find a function").fill("SHRINK")
    expect(section.get_by_text("2 matching frames, 65 % of samples")).to_be_visible()
    expect(section.locator("[data-match=true]")).to_have_count(2)
    section.get_by_label("Find a function").fill("")
    box(section, "kswapd0").click()
    expect(box(section, "coredns")).to_have_count(0)
    section.get_by_role("button", name="Show all").click()
    expect(box(section, "coredns")).to_be_visible()


def test_a_capture_in_use_stays_when_others_arrive(open_window: OpenWindow, incidents: Incidents) -> None:
    page = open_window().page
    address = f"**/api/v1/incidents/{incidents.node}/captures"
    first: list[int] = []

    def all_but_the_one_of_the_trigger(route: Route) -> None:
        answer = route.fetch()
        items = answer.json()["items"]
        assert len(items) == 2
        alone = min(items, key=lambda one: int(one["start_us"]))
        first.append(alone["id"])
        route.fulfill(response=answer, json={"items": [alone]})

    page.route(address, all_but_the_one_of_the_trigger)
    section = open_captures(page, incidents.node)
    expect(section.get_by_label("Capture", exact=True)).to_have_count(0)
    box(section, "kswapd0").click()
    expect(box(section, "coredns")).to_have_count(0)
    page.unroute(address)
    page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")  # as when one returns to the page
    captures = section.get_by_label("Capture", exact=True)
    expect(captures.get_by_role("option")).to_have_count(2)
    expect(captures).to_have_value(str(first[0]))
    expect(box(section, "kswapd0")).to_be_visible()
    expect(box(section, "coredns")).to_have_count(0)


def test_seconds_and_processes(open_window: OpenWindow, incidents: Incidents) -> None:
    page = open_window().page
    section = open_captures(page, incidents.node)
    # The capture around the trigger is shown, the other one can be selected.
    expect(section.get_by_label("Capture", exact=True).get_by_role("option")).to_have_count(2)
    seconds = section.get_by_role("group", name=re.compile("Seconds of the capture")).get_by_role("button")
    expect(seconds).to_have_count(10)
    expect(seconds.nth(4)).to_have_accessible_name(re.compile(r"2 CPU kernel, 0 CPU user"))
    seconds.nth(3).click()
    seconds.nth(5).click(modifiers=["Shift"])
    expect(box(section, "coredns")).to_have_count(0)
    table = section.get_by_role("table", name="Processes of the capture")
    expect(table.get_by_role("row").filter(has_text="coredns")).to_contain_text("uninterruptible sleep")
    expect(table.get_by_role("row").filter(has_text="kubelet")).to_contain_text("100 %")
    waiting = section.get_by_role("table", name="Waiting threads of the capture").get_by_role("row")
    expect(waiting.filter(has_text="lock or work (futex)")).to_contain_text("coredns")
    expect(waiting.filter(has_text="disk (fsync)")).to_contain_text("jbd2_log_wait_commit")
    section.get_by_role("button", name="3 s selected: show all").click()
    expect(box(section, "coredns")).to_be_visible()
    table.get_by_role("button", name="kubelet").click()
    expect(box(section, "kswapd0")).to_have_count(0)
    section.get_by_role("button", name="Only kubelet 100: show all").click()
    expect(box(section, "kswapd0")).to_be_visible()


def test_a_container_opens_at_its_own_stacks_and_the_node_is_one_press_away(
    open_window: OpenWindow, incidents: Incidents
) -> None:
    page = open_window().page
    section = open_captures(page, incidents.container)
    tabs = section.get_by_role("group", name="Stacks of").get_by_role("button")
    expect(tabs.first).to_have_attribute("aria-pressed", "true")
    expect(tabs.first).to_contain_text(POD)
    expect(box(section, "coredns")).to_have_accessible_name(re.compile("process, 100 % of samples"))
    expect(box(section, "kswapd0")).to_have_count(0)
    rows = section.get_by_role("table", name="Processes of the capture").get_by_role("row")
    expect(rows.filter(has_text="kubelet")).to_have_count(0)
    section.get_by_role("button", name="Whole node").click()
    expect(box(section, "kswapd0")).to_be_visible()
    expect(rows.filter(has_text="coredns")).to_contain_text("(subject)")


def test_an_incident_without_captures_says_nothing_of_them(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto(f"/incidents/{product.incident_id}")
    expect(picture(page)).to_be_visible()
    settled(page)
    expect(page.get_by_role("heading", name="What was running")).to_have_count(0)


def test_on_a_phone_nothing_scrolls_sideways(open_window: OpenWindow, incidents: Incidents) -> None:
    page = open_window(PHONE).page
    section = open_captures(page, incidents.node)
    box(section, "coredns").tap()
    expect(box(section, "kswapd0")).to_have_count(0)
    assert too_wide(page) == []


def test_accessible(open_window: OpenWindow, incidents: Incidents) -> None:
    page = open_window().page
    section = open_captures(page, incidents.node)
    settled(page)
    assert in_both_themes(page) == []
    box(section, "kubelet").click()
    settled(page)
    assert in_both_themes(page) == []


def test_a_drop_of_names_is_tried(open_window: OpenWindow, incidents: Incidents) -> None:
    page = open_window().page
    page.goto(f"/incidents/{incidents.node}")
    section = page.get_by_role("region", name="What if")
    section.scroll_into_view_if_needed()
    slider = section.get_by_role("slider", name="Negative dentries")
    tried = section.get_by_role("row", name="What if")
    expect(tried).to_contain_text("ms")
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "10,000")
    expect(tried).to_contain_text("no noticeable stall")
    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "100,000,000")
    expect(tried).to_contain_text("programs stall")
    section.get_by_role("button", name="Reset").first.click()
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^as recorded"))
    settled(page)
    assert violations(page) == []


def test_looks(look: Look, incidents: Incidents) -> None:
    page = look.page
    open_captures(page, incidents.node)
    page.get_by_role("button", name="All", exact=True).click()
    look.at("kernel-incident")
    below_the_bar(page, page.get_by_role("heading", name="What if", exact=True))
    look.at("dentry-whatif")
    below_the_bar(page, page.get_by_role("heading", name="What was running"))
    look.at("captures")
