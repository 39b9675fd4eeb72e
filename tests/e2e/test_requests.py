"""The incident of an HTTP service in a browser: its data are called requests, never queries or DNS."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx
import pytest
from playwright.sync_api import expect

from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.recordings.replay import post, prepare
from jitterscope.recordings.snapshots import recording_of
from tests.e2e.conftest import OpenWindow, Product, picture
from tests.e2e.looks import Look, below_the_bar, settled
from tests.e2e.recorded_batches import wait_for_incident
from tests.support.batches import now_us

NODE = "node-1-web"
OTHER_PROTOCOLS = re.compile(r"\bDNS\b|\bquer(y|ies)\b|\blookups?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Web:
    """An HTTP service whose garbage collection uses up its CPU limit."""

    incident_id: int
    subject_id: int


@pytest.fixture(scope="session")
def web(product: Product) -> Web:
    recording = recording_of(simulate(Workload(serves="http", qps=300, seed=16)).snapshot)
    ends_us = now_us()
    with httpx.Client(timeout=30) as client:
        for batch in prepare(recording, ends_us - recording.end_us, "-web"):
            post(client, product.url, product.stack.create_ingest_token(), batch)
    with product.client() as client:
        incident = wait_for_incident(client, NODE)
    return Web(incident["id"], incident["subject"]["resource_id"])


def test_its_incident_speaks_of_requests(open_window: OpenWindow, web: Web) -> None:
    page = open_window().page
    page.goto(f"/incidents/{web.incident_id}")
    expect(picture(page)).to_be_visible()
    settled(page)
    main = page.locator("main")
    expect(main.get_by_text("Request latency, one dot per answer")).to_be_visible()
    expect(picture(page)).to_have_attribute("aria-label", re.compile(r"\d requests, \d+ answers? over 20 ms, slowest"))
    # DNS causes are named where they were ruled out or could not be examined.
    causes = set(main.get_by_role("region", name="Other causes considered").inner_text().splitlines())
    lines = [line for line in main.inner_text().splitlines() if line not in causes]
    assert len(lines) > 50
    assert [line for line in lines if OTHER_PROTOCOLS.search(line)] == []


def test_the_page_of_its_server_shows_the_same(open_window: OpenWindow, product: Product, web: Web) -> None:
    with product.client() as client:
        listed = client.get("/api/v1/services", params={"search": NODE}).raise_for_status().json()["items"]
    (server,) = (one for one in listed if one["container"]["id"] == web.subject_id)
    assert [one["id"] for one in server["incidents"]] == [web.incident_id]
    page = open_window().page
    page.goto(f"/resources/{server['id']}?minutes=15")
    expect(picture(page)).to_be_visible()
    expect(page.get_by_text("Request latency, one dot per answer")).to_be_visible()
    expect(page.get_by_text("TCP server", exact=True).first).to_be_visible()


def test_looks(look: Look, web: Web) -> None:
    page = look.page
    page.goto(f"/incidents/{web.incident_id}")
    expect(picture(page)).to_be_visible()
    look.at("requests-incident")
    below_the_bar(page, page.get_by_role("region", name="What happened"))
    look.at("requests-timeline")
