"""The DNS page and the incident of an exhausted dnsmasq, in a browser: two nodes in trouble at the same time."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from jitterscope.recordings.replay import post, prepare
from tests.e2e.axe import in_both_themes
from tests.e2e.conftest import PHONE, OpenWindow, Product, picture
from tests.e2e.looks import Look, below_the_bar
from tests.e2e.reported import changed
from tests.e2e.widths import too_wide
from tests.support.batches import now_us
from tests.support.dns_node import LIMIT, load, recorded
from tests.support.patience import PATIENCE_S

EXHAUSTION = "dns/dnsmasq_connection_exhaustion"
NODES = ("gke-pool-1-a", "gke-pool-1-b")


@dataclass(frozen=True, slots=True)
class Dns:
    """The incident that both nodes are in, and the node whose path is shown."""

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


def wait_for_both(client: httpx.Client, timeout_s: float = PATIENCE_S) -> int:
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
    expect(dnsmasq).to_contain_text(f"{LIMIT} of {LIMIT}, limit reached")
    expect(dnsmasq).to_contain_text("Accept queue")
    expect(
        dnsmasq.get_by_role(
            "img", name=re.compile(f"{LIMIT} children of {LIMIT}, [0-9]+ connections in the accept queue")
        )
    ).to_be_visible()
    cache = page.get_by_role("article").filter(has_text="coredns 1.12.0")
    expect(cache).to_contain_text("own time")
    expect(cache).to_contain_text("Error lines")
    links = page.get_by_role("list", name="Queries between hops").get_by_role("listitem")
    expect(links).to_have_count(3)
    expect(links.filter(has_text="for cluster.local: TCP")).to_have_count(1)
    # The stations are ordered from left to right as a query passes them.
    lefts = [box["x"] for one in page.get_by_role("article").all() if (box := one.bounding_box()) is not None]
    assert lefts == sorted(lefts)
    assert len(set(lefts)) == 4
    dnsmasq.get_by_role("link", name=re.compile("dnsmasq|connection|child", re.IGNORECASE)).last.click()
    expect(page).to_have_url(re.compile(f"/incidents/{dns.incident_id}"))


def test_changes_of_the_node_are_listed(open_window: OpenWindow, product: Product, dns: Dns) -> None:
    page = open_window().page
    with changed(product, dns.node_id, "Raise the receive buffer", dns.to_us - 30_000_000):
        path_page(page, dns)
        path = page.get_by_role("region", name="DNS path")
        expect(path.get_by_role("list", name="Changes in this window")).to_contain_text("Raise the receive buffer")


def test_questions_names_and_clients(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window().page
    path_page(page, dns)
    questions = page.get_by_role("region", name="Does NodeLocal DNSCache exhaust kube-dns here?")
    expect(questions).to_contain_text("Affected: dnsmasq has no free child")
    expect(questions.get_by_role("listitem")).to_have_count(3)
    names = page.get_by_role("table", name="Most expensive names")
    expect(names.get_by_role("row").nth(1)).to_contain_text("payments.shop.svc.cluster.local")
    page.get_by_role("button", name="Most NXDOMAIN").click()
    expect(page).to_have_url(re.compile("order=nxdomain"))
    expect(names.get_by_role("row").nth(1)).to_contain_text("api.example.com.")
    clients = page.get_by_role("region", name="Queries per lookup, by client")
    expect(clients).to_contain_text("shop/web-7c9d8bb6f4-x2x9q/web")
    expect(clients).to_contain_text("trailing dot")
    clients.get_by_role("button", name="Show names").click()
    expect(clients.get_by_role("table")).to_contain_text("api.example.com")
    expect(clients).to_contain_text("ndots:5")


def test_a_link_keeps_the_view_and_keys_lead_here(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window().page
    page.goto("/incidents")
    expect(page.get_by_role("heading", name="Incidents", exact=True)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", name="DNS", exact=True)).to_be_visible()
    page.get_by_label("Node", exact=True).select_option(label=NODES[1])
    page.get_by_role("button", name="15 min").press("Enter")
    expect(page).to_have_url(re.compile(r"node=\d+.*minutes=15|minutes=15.*node=\d+"))
    page.reload()
    expect(page.get_by_role("button", name="15 min")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("region", name="DNS path")).to_contain_text(NODES[1])


def test_the_incident_shows_children_connections_and_who_else(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window().page
    page.goto(f"/incidents/{dns.incident_id}")
    expect(picture(page)).to_be_visible()
    expect(page.get_by_text("Connections and children, peak per tick")).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    expect(picture(page)).to_have_attribute(
        "aria-label", re.compile(f"up to {LIMIT} children of {LIMIT};.*in the accept queue")
    )
    legend = page.get_by_role("list", name="Legend").first
    for mark in ("children", "accept queue", "TCP connections"):
        expect(legend.get_by_text(mark, exact=True)).to_be_visible()
    # What leads the story is above the CPU.
    connections = page.get_by_text("Connections and children").bounding_box()
    cpu = page.get_by_text("CPU usage, one bar per tick").bounding_box()
    assert connections is not None
    assert cpu is not None
    assert connections["y"] < cpu["y"]
    expect(page.get_by_role("region", name="Also affected").get_by_role("row")).to_have_count(2)
    expect(page.get_by_text("and 1 more affected")).to_be_visible()
    page.get_by_role("link", name="DNS path at that time").click()
    expect(page.get_by_role("article").filter(has_text="dnsmasq 2.80")).to_be_visible()


def test_on_a_phone_it_reads_from_top_to_bottom(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window(PHONE).page
    path_page(page, dns)
    tops = [box["y"] for one in page.get_by_role("article").all() if (box := one.bounding_box()) is not None]
    assert tops == sorted(tops)
    assert too_wide(page) == []


def test_without_data_and_without_service(open_window: OpenWindow, dns: Dns) -> None:
    window = open_window()
    page = window.page
    page.goto("/dns?minutes=1&to=1700000000000000")
    expect(page.get_by_role("heading", name="No DNS servers seen yet")).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    page.get_by_role("button", name="15 min").click()
    expect(page.get_by_role("article").first).to_be_visible()

    def refuse(route: Route) -> None:
        route.abort()

    page.route("**/api/v1/dns/names**", refuse)
    page.goto(f"/dns?node={dns.node_id}&to={dns.to_us}&minutes=1")
    failed = page.get_by_role("region", name="Most expensive names").get_by_role("alert")
    expect(failed).to_be_visible()
    page.unroute("**/api/v1/dns/names**")
    failed.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name="Most expensive names")).to_be_visible()
    # The browser complains about the aborted request, and about nothing else.
    assert all("net::ERR_FAILED" in complaint for complaint in window.complaints)
    window.complaints.clear()


def test_accessible(open_window: OpenWindow, dns: Dns) -> None:
    page = open_window().page
    path_page(page, dns)
    page.get_by_role("button", name="Show names").first.click()
    assert in_both_themes(page) == []
    page.goto(f"/incidents/{dns.incident_id}")
    expect(picture(page)).to_be_visible()
    assert in_both_themes(page) == []


def test_looks(look: Look, dns: Dns) -> None:
    page = look.page
    path_page(page, dns)
    look.at("dns")
    page.get_by_role("button", name="Show names").first.click()
    below_the_bar(page, page.get_by_role("heading", name="Does NodeLocal DNSCache exhaust kube-dns here?"))
    look.at("dns-names")
    page.goto(f"/incidents/{dns.incident_id}")
    expect(picture(page)).to_be_visible()
    page.get_by_role("button", name="All", exact=True).click()
    look.at("dns-incident")
