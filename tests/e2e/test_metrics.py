"""Prometheus metrics, from a container's page to one label set of one metric."""

from __future__ import annotations

import time

import cramjam
import httpx
from playwright.sync_api import Page, expect

from tests.backend.ingest.remote_writer import every, request_of
from tests.e2e.axe import violations
from tests.e2e.conftest import OpenWindow, Product

BOUNDS = {"0.005": 10.0, "0.1": 90.0, "1": 100.0, "+Inf": 100.0}
NAME = "coredns_dns_request_duration_seconds_bucket"


def write(product: Product) -> None:
    """Write as a Prometheus that scrapes the pod and its kubelet."""
    pod = {"namespace": "kube-system", "pod": product.node.pod, "container": "coredns", "job": "dns"}
    until_ms = time.time_ns() // 1_000_000 // 15_000 * 15_000
    series = [
        ({"__name__": NAME, **pod, "zone": zone, "le": bound}, every(15, [at * last for at in range(20)], until_ms))
        for zone in (".", "cluster.local.")
        for bound, last in BOUNDS.items()
    ]
    series.append(({"__name__": "go_goroutines", **pod}, every(15, [40 + at for at in range(20)], until_ms)))
    content = bytes(cramjam.snappy.compress_raw(request_of(series).SerializeToString()))
    headers = {
        "Authorization": f"Bearer {product.stack.create_ingest_token()}", "Content-Encoding": "snappy",
        "Content-Type": "application/x-protobuf", "User-Agent": "Prometheus/3.6.0",
    }  # fmt: skip
    httpx.post(f"{product.url}/api/v1/write", content=content, headers=headers, timeout=30).raise_for_status()


def shown(page: Page, title: str) -> None:
    expect(page.get_by_role("figure").filter(has=page.get_by_role("heading", name=title))).to_be_visible()


def test_from_a_container_to_the_quantiles_of_one_zone(open_window: OpenWindow, product: Product) -> None:
    write(product)
    page = open_window().page
    page.goto(f"/resources/{product.subject_id}?minutes=15")
    section = page.get_by_role("region", name="From Prometheus")
    expect(section).to_contain_text("2 metrics, 9 series")
    expect(section.get_by_role("link", name="Explore: go_goroutines")).to_be_visible()
    assert violations(page) == []
    section.get_by_role("link", name=f"1 of 2 label sets shown: {NAME}").click()
    expect(page.get_by_role("heading", name=NAME, level=1)).to_be_visible()
    expect(page.get_by_role("button", name="Quantiles")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("main")).to_contain_text("2 label sets.")
    shown(page, 'zone="."')
    expect(page.get_by_role("button", name=f'Export {NAME} zone="."')).to_be_visible()
    page.get_by_label("Filter by label").select_option("zone")
    page.get_by_label("Value").select_option("cluster.local.")
    page.get_by_role("button", name="Add filter").press("Enter")
    expect(page.get_by_role("main")).to_contain_text("1 label set.")
    expect(page.get_by_role("figure")).to_contain_text("p90 100 ms, p50 52.5 ms, p99 910 ms")
    page.get_by_role("button", name="Remove filter zone=cluster.local.").click()
    expect(page.get_by_role("main")).to_contain_text("2 label sets.")
    # The list of names keeps the window and what they belong to.
    page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link", name="Metrics").click()
    page.get_by_label("Parts of a metric name").fill("GORO")
    names = page.get_by_role("table", name="Metrics").get_by_role("link")
    expect(names).to_have_count(1)
    expect(names).to_have_text("go_goroutines")
    page.goto("/settings/collectors")
    expect(page.get_by_role("table", name="Senders of remote write")).to_contain_text("Prometheus/3.6.0")
