"""The DNS page and the incident of an exhausted dnsmasq, in a browser: two nodes in trouble at the same time."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from jitterscope.recordings.replay import post, prepare
from tests.e2e.conftest import DESKTOP, PHONE, OpenWindow, Product, picture
from tests.e2e.test_accessibility import violations
from tests.e2e.test_screenshots import below_the_bar, settled
from tests.support.batches import now_us
from tests.support.dns_node import LIMIT, load, recorded

EXHAUSTION = "dns/dnsmasq_connection_exhaustion"
NODES = ("gke-pool-1-a", "gke-pool-1-b")


@dataclass(frozen=True, slots=True)
class Dns:
    """The incident that both nodes are in, and the node whose path is looked at."""

    incident_id: int
    node_id: int
    to_us: int


@pytest.fixture(scope="session")
def dns(product: Product) -> Dns:
    recordings = [recorded(load(seed=seed), node=node) for seed, node in enumerate(NODES, start=1)]
    # At the same time, however long it takes to send them.
    ends_us, token = now_us(), product.stack.create_ingest_token()
    with httpx.Client(timeout=30) as client:
        for recording in recordings:
            for batch in prepare(recording, ends_us - recording.end_us, ""):
                post(client, product.url, token, batch)
    with product.client() as client:
        incident_id = wait_for_both(client)
        path = client.get("/api/v1/dns/path").raise_for_status().json()
        node_id = next(one["id"] for one in path["nodes"] if one["name"] == NODES[0])
        to_us = client.get("/api/v1/dns/path", params={"node": node_id}).raise_for_status().json()["to_us"]
    return Dns(incident_id, node_id, to_us)


def wait_for_both(client: httpx.Client, timeout_s: float = 120) -> int:
    """The one incident that lists both nodes."""
    deadline, seen = time.monotonic() + timeout_s, []
    while time.monotonic() < deadline:
        found = client.get("/api/v1/incidents", params={"cause": EXHAUSTION}).raise_for_status().json()["items"]
        seen = [(one["id"], one["subject"]["node"], [m["node"] for m in one["also_affected"]]) for one in found]
        if len(seen) == 1 and {seen[0][1], *seen[0][2]} == set(NODES):
            return int(seen[0][0])
        time.sleep(0.5)
    raise AssertionError(f"not one incident of both nodes within {timeout_s:.0f} s, but {seen}")


def path_page(page: Page, dns: Dns) -> None:
    page.goto(f"/dns?node={dns.node_id}&to={dns.to_us}&minutes=1")
    expect(page.get_by_role("article")).to_have_count(4)
    expect(page.locator("[role=status][aria-label^=Loading]")).to_have_count(0)


def test_the_path_is_a_picture(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window().page
    path_page(page, dns)
    dnsmasq = page.get_by_role("article").filter(has_text="dnsmasq 2.80")
    expect(dnsmasq).to_contain_text(f"{LIMIT} of {LIMIT}, all")
    expect(dnsmasq).to_contain_text("Not accepted")
    expect(
        dnsmasq.get_by_role("img", name=re.compile(f"{LIMIT} children of {LIMIT}, [0-9]+ connections not accepted"))
    ).to_be_visible()
    cache = page.get_by_role("article").filter(has_text="coredns 1.12.0")
    expect(cache).to_contain_text("spent here itself")
    expect(cache).to_contain_text("Error lines")
    links = page.get_by_role("list", name="Who asks whom").get_by_role("listitem")
    expect(links).to_have_count(3)
    expect(links.filter(has_text="for cluster.local: TCP")).to_have_count(1)
    # The stations stand from left to right in the order in which a query passes them.
    lefts = [box["x"] for one in page.get_by_role("article").all() if (box := one.bounding_box()) is not None]
    assert lefts == sorted(lefts)
    assert len(set(lefts)) == 4
    dnsmasq.get_by_role("link", name=re.compile("dnsmasq|connection|child", re.IGNORECASE)).last.click()
    expect(page).to_have_url(re.compile(f"/incidents/{dns.incident_id}"))


def test_questions_names_and_clients(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window().page
    path_page(page, dns)
    questions = page.get_by_role("region", name="Does NodeLocal DNSCache exhaust kube-dns here?")
    expect(questions).to_contain_text("affected")
    expect(questions.get_by_role("listitem")).to_have_count(3)
    names = page.get_by_role("table", name="Names that cost most")
    expect(names.get_by_role("row").nth(1)).to_contain_text("payments.shop.svc.cluster.local")
    page.get_by_role("button", name="Most denied").click()
    expect(page).to_have_url(re.compile("order=nxdomain"))
    expect(names.get_by_role("row").nth(1)).to_contain_text("api.example.com.")
    clients = page.get_by_role("region", name="Queries for each look-up, by client")
    expect(clients).to_contain_text("shop/web-7c9d8bb6f4-x2x9q/web")
    expect(clients).to_contain_text("trailing dot")
    clients.get_by_role("button", name="Which names").click()
    expect(clients.get_by_role("table")).to_contain_text("api.example.com")
    expect(clients).to_contain_text("ndots 5")


def test_a_link_keeps_the_view_and_keys_lead_here(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window().page
    page.goto("/incidents")
    expect(page.get_by_role("heading", name="Incidents")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", name="DNS", exact=True)).to_be_visible()
    page.get_by_label("Node", exact=True).select_option(label=NODES[1])
    page.get_by_role("button", name="15 min").press("Enter")
    expect(page).to_have_url(re.compile(r"node=\d+.*minutes=15|minutes=15.*node=\d+"))
    page.reload()
    expect(page.get_by_role("button", name="15 min")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("region", name="The path")).to_contain_text(NODES[1])


def test_the_incident_shows_children_connections_and_who_else(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window().page
    page.goto(f"/incidents/{dns.incident_id}")
    expect(picture(page)).to_be_visible()
    expect(page.get_by_text("Connections and children, the highest of each tick")).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    expect(picture(page)).to_have_attribute(
        "aria-label", re.compile(f"up to {LIMIT} children of {LIMIT};.*waiting to be accepted")
    )
    legend = page.get_by_role("list", name="Legend").first
    for mark in ("children", "not accepted", "TCP connections"):
        expect(legend.get_by_text(mark, exact=True)).to_be_visible()
    # What leads the story stands above the CPU.
    connections = page.get_by_text("Connections and children").bounding_box()
    cpu = page.get_by_text("CPU in use, each bar one tick").bounding_box()
    assert connections is not None
    assert cpu is not None
    assert connections["y"] < cpu["y"]
    expect(page.get_by_role("region", name="Also affected").get_by_role("row")).to_have_count(2)
    expect(page.get_by_text("and 1 more at the same time")).to_be_visible()
    page.get_by_role("link", name="The DNS path then").click()
    expect(page.get_by_role("article").filter(has_text="dnsmasq 2.80")).to_be_visible()


def test_on_a_phone_it_reads_from_top_to_bottom(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window(PHONE).page
    path_page(page, dns)
    tops = [box["y"] for one in page.get_by_role("article").all() if (box := one.bounding_box()) is not None]
    assert tops == sorted(tops)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def test_without_data_and_without_service(open_window: OpenWindow, dns: Dns) -> None:
    window = open_window()
    page = window.page
    page.goto("/dns?minutes=1&to=1700000000000000")
    expect(page.get_by_role("heading", name="No DNS server has been seen yet")).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    page.get_by_role("button", name="15 min").click()
    expect(page.get_by_role("article").first).to_be_visible()

    def refuse(route: Route) -> None:
        route.abort()

    page.route("**/api/v1/dns/names**", refuse)
    page.goto(f"/dns?node={dns.node_id}&to={dns.to_us}&minutes=1")
    failed = page.get_by_role("region", name="Names that cost most").get_by_role("alert")
    expect(failed).to_be_visible()
    page.unroute("**/api/v1/dns/names**")
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name="Names that cost most")).to_be_visible()
    # The browser complains of the request that was cut off, and of nothing else.
    assert all("net::ERR_FAILED" in complaint for complaint in window.complaints)
    window.complaints.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(open_window: OpenWindow, dns: Dns, scheme: str) -> None:
    page = open_window(scheme=scheme).page
    path_page(page, dns)
    page.get_by_role("button", name="Which names").first.click()
    assert violations(page) == []
    page.goto(f"/incidents/{dns.incident_id}")
    expect(picture(page)).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_screenshots(open_window: OpenWindow, dns: Dns, size: tuple[int, int], scheme: str, tmp_path: Path) -> None:
    folder = Path(os.environ.get("JITTERSCOPE_SCREENSHOTS", tmp_path)).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    page = open_window(size, scheme).page
    name = f"{'desktop' if size == DESKTOP else 'phone'}-{scheme}"
    path_page(page, dns)
    settled(page)
    page.screenshot(path=folder / f"dns-{name}.png")
    page.get_by_role("button", name="Which names").first.click()
    below_the_bar(page, page.get_by_role("heading", name="Does NodeLocal DNSCache exhaust kube-dns here?"))
    page.screenshot(path=folder / f"dns-names-{name}.png")
    page.goto(f"/incidents/{dns.incident_id}")
    expect(picture(page)).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    settled(page)
    file = folder / f"dns-incident-{name}.png"
    page.screenshot(path=file)
    assert file.stat().st_size > 10_000, "an empty page is small"
