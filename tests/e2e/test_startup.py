"""The page Pod start in a browser: a node whose pods wait for the verifier."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from jitterscope.diagnosis.scenarios.pods.simulate import CILIUM_112, Loader, PodLoad, run
from jitterscope.recordings.replay import post, prepare
from jitterscope.recordings.snapshots import recording_of
from tests.e2e.axe import in_both_themes
from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.looks import Look, below_the_bar
from tests.e2e.reported import changed
from tests.support.batches import now_us
from tests.support.patience import PATIENCE_S

CAUSE = "pods/bpf_verification"
NODE = "gke-pool-2-pods"


@dataclass(frozen=True, slots=True)
class Pods:
    """The node, its incident, and the end of its data (µs)."""

    node_id: int
    incident_id: int
    to_us: int

    @property
    def address(self) -> str:
        return f"/startup?node={self.node_id}&to={self.to_us}&minutes=15"


@pytest.fixture(scope="session")
def pods(product: Product) -> Pods:
    loader = Loader("cilium-agent", {name: 8 * mean for name, mean in CILIUM_112.items()})
    made = PodLoad(
        loader=loader, cilium="1.12.3", cilium_metrics=True, pull_s=6.0, seed=61, facts={"node.hostname": NODE}
    )
    recording, ends_us = recording_of(run(made)), now_us()
    token = product.stack.create_ingest_token()
    with httpx.Client(timeout=30) as client:
        for batch in prepare(recording, ends_us - recording.end_us, "-pods"):
            post(client, product.url, token, batch)
    with product.client() as client:
        found = _incident(client)
        return Pods(int(found["subject"]["resource_id"]), int(found["id"]), ends_us)


def _incident(client: httpx.Client, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        items = client.get("/api/v1/incidents", params={"cause": CAUSE}).raise_for_status().json()["items"]
        if items:
            return dict(items[0])
        time.sleep(0.5)
    raise AssertionError(f"no incident of {CAUSE} within {timeout_s:.0f} s")


def open_page(page: Page, pods: Pods) -> None:
    page.goto(pods.address)
    expect(
        page.get_by_role("heading", level=2, name="The kernel verifies the programs of cilium-agent")
    ).to_be_visible()
    expect(page.locator("[role=status][aria-label^=Loading]")).to_have_count(0)


def test_a_start_is_taken_apart(open_window: OpenWindow, pods: Pods) -> None:
    page = open_window().page
    open_page(page, pods)
    for percentile in ("P50", "P90", "P99"):
        bar = page.get_by_role("img", name=f"{percentile}: ")
        expect(bar).to_be_visible()
        assert "in the verifier" in (bar.get_attribute("aria-label") or "")
    phases = page.get_by_role("table", name="Phases of a pod start")
    expect(phases).to_contain_text("eBPF verifier")
    expect(phases.get_by_role("row").filter(has_text="Image pulls")).to_contain_text("not part of the objective")
    expect(page.get_by_text(f"{NODE},")).to_be_visible()
    page.get_by_role("link", name="eBPF verification for cilium-agent").click()
    expect(page).to_have_url(f"{page.url.split('/incidents/')[0]}/incidents/{pods.incident_id}")
    expect(page.get_by_role("heading", name="What to change")).to_be_visible()


def test_changes_of_the_node_are_drawn(open_window: OpenWindow, product: Product, pods: Pods) -> None:
    page = open_window().page
    with changed(product, pods.node_id, "Upgrade the CNI", pods.to_us - 300_000_000):
        open_page(page, pods)
        section = page.get_by_role("region", name="Starts over time")
        expect(section.get_by_role("list", name="Changes in this window")).to_contain_text("Upgrade the CNI")
        expect(section.locator("line[data-change]")).not_to_have_count(0)


def test_without_programs(open_window: OpenWindow, pods: Pods) -> None:
    page = open_window().page
    open_page(page, pods)
    section = page.get_by_role("region", name="Without the verifier")
    # What is known to be unused is left out first.
    expect(section.get_by_role("checkbox", name="tail_nodeport_n")).to_be_checked()
    expect(section.get_by_text("Without tail_nodeport_n a start is")).to_be_visible()
    section.get_by_role("checkbox", name="tail_ipv6_polic").check()
    expect(section.get_by_text("Without tail_ipv6_polic, tail_nodeport_n a start is")).to_be_visible()
    section.get_by_role("button", name="Leave out the whole verifier").click()
    expect(section.get_by_text("0 % would take more than 5 s")).to_be_visible()


def test_before_and_after_a_moment(open_window: OpenWindow, pods: Pods) -> None:
    page = open_window().page
    open_page(page, pods)
    page.get_by_label("Compare before and after").select_option(index=3)
    table = page.get_by_role("table", name="Starts before and after Selected time")
    expect(table.get_by_role("row")).to_have_count(3)
    assert "split=" in page.url
    page.get_by_role("button", name="Clear selected time").click()
    expect(table).to_have_count(0)


def test_without_data_and_without_service(open_window: OpenWindow, pods: Pods) -> None:
    window = open_window()
    page = window.page
    page.goto(f"/startup?node={pods.node_id}&to=1700000000000000")
    expect(page.get_by_role("heading", name="No pods started in this window")).to_be_visible()

    def refuse(route: Route) -> None:
        route.abort()

    page.route("**/api/v1/pod-starts?**", refuse)
    page.goto(pods.address)
    failed = page.get_by_role("alert")
    expect(failed).to_be_visible()
    page.unroute("**/api/v1/pod-starts?**")
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name="Phases of a pod start")).to_be_visible()
    # The browser complains about the aborted request, and about nothing else.
    assert all("net::ERR_FAILED" in complaint for complaint in window.complaints)
    window.complaints.clear()


def test_by_keyboard(open_window: OpenWindow, pods: Pods) -> None:
    page = open_window().page
    page.goto("/incidents")
    expect(page.get_by_role("heading", level=1, name="Incidents")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", level=1, name="Pod start")).to_be_visible()


def test_accessible(open_window: OpenWindow, pods: Pods) -> None:
    page = open_window().page
    open_page(page, pods)
    assert in_both_themes(page) == []


def test_looks(look: Look, pods: Pods) -> None:
    page = look.page
    open_page(page, pods)
    look.at("pod-start")
    below_the_bar(page, page.get_by_role("heading", name="Without the verifier"))
    look.at("pod-start-without")
