"""What one organization may use: counted, shown, and rejected above the limit, while others continue."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
import zstandard
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db
from jitterscope.cache import valkey
from jitterscope.incidents.scheduling import dispatch
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.settings import Settings, settings
from jitterscope.tenancy import limits
from tests.support.batches import CGROUP, BatchBuilder, now_us
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.serving import serving

Change = Callable[..., Settings]


@pytest.fixture(autouse=True)
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in a test happens within one minute, which would otherwise end in the middle of some runs."""
    now_s = int(time.time())
    monkeypatch.setattr(limits, "_now_s", lambda: now_s)


def send(client: TestClient, organization: Any, node: str, series: int = 2, ticks: int = 20) -> Any:
    builder = BatchBuilder(node)
    cgroup = builder.resource(CGROUP, "/a", 0)
    names = ("cpu_usage_us", "cpu_periods", "memory_usage_bytes", "pids_current")[:series]
    if names:
        builder.block({(cgroup, name): np.ones(ticks) for name in names}, now_us() - 10_000_000)
    return client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)


def refused(answer: Any, words: str) -> None:
    assert answer.status_code == 429, answer.text
    assert answer.json()["type"] == "urn:jitterscope:problem:organization-limit"
    assert words in answer.json()["detail"]
    assert 1 <= int(answer.headers["retry-after"]) <= 60


def used(api: TestClient) -> dict[str, tuple[int, bool]]:
    answer = api.get("/api/v1/organizations/current/limits")
    assert answer.status_code == 200, answer.text
    return {one["name"]: (one["used"], one["near"]) for one in answer.json()}


@pytest.mark.usefixtures("early_in_a_minute")
def test_samples_are_counted_and_refused_and_others_go_on(
    api: TestClient, organization: Any, other_organization: Any, settings_override: Change
) -> None:
    settings_override(limit_samples_per_min=100)
    assert send(api, organization, "a").status_code == 200
    assert used(api)["samples"] == (40, False)
    assert send(api, organization, "b").status_code == 200
    assert used(api)["samples"] == (80, True), "warned before"
    refused(send(api, organization, "c"), "may use 100 samples/min")
    assert used(api)["samples"] == (80, True), "what was refused is not counted"
    assert send(api, other_organization, "c").status_code == 200
    settings_override(limit_ingest_bytes_per_min=10)
    refused(send(api, other_organization, "d", ticks=5), "Ingested data")


def test_series_of_all_nodes_together(api: TestClient, organization: Any, settings_override: Change) -> None:
    settings_override(limit_series=5)
    assert [send(api, organization, node).status_code for node in ("a", "b", "a")] == [200, 200, 200]
    assert used(api)["series"] == (4, True)
    refused(send(api, organization, "c"), "may use 5 series")
    refused(send(api, organization, "a", series=4), "may use 5 series")


def test_nodes_are_limited_and_forgotten(
    api: TestClient, organization: Any, settings_override: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sender that invents nodes, without any series, fills neither Valkey nor the list of collectors."""
    settings_override(limit_nodes=2)
    assert [send(api, organization, node, series=0).status_code for node in ("a", "b", "a")] == [200, 200, 200]
    refused(send(api, organization, "c" * 500, series=0), "may use 2 nodes")
    assert used(api)["nodes"] == (2, True)
    assert api.get("/api/v1/collectors").json()["found"] == 2
    later_s = limits._now_s() + 601
    monkeypatch.setattr(limits, "_now_s", lambda: later_s)
    assert used(api)["nodes"] == (0, False)
    assert send(api, organization, "c").status_code == 200
    assert (used(api)["nodes"][0], used(api)["series"][0]) == (1, 2)
    kept = {key: valkey().memory_usage(key) or 0 for key in valkey().keys(f"jitterscope:node*:{organization.id}")}
    assert len(kept) == 2
    assert sum(kept.values()) < 1000, kept
    assert all(0 < valkey().ttl(key) <= 600 for key in kept)


@pytest.mark.usefixtures("early_in_a_minute")
def test_new_resources_are_limited_and_known_ones_are_not(
    api: TestClient, organization: Any, settings_override: Change
) -> None:
    settings_override(limit_resources_per_min=3)
    assert send(api, organization, "a").status_code == 200
    assert used(api)["resources"] == (2, False)
    refused(send(api, organization, "b"), "may use 3 resources/min")
    assert [one["key"] for one in api.get("/api/v1/resources").json()["items"]] == ["/a", "a"]
    assert send(api, organization, "a").status_code == 200


@pytest.mark.usefixtures("early_in_a_minute")
def test_unpacked_bytes_are_counted_whatever_they_are(
    api: TestClient, organization: Any, settings_override: Change
) -> None:
    zeros = zstandard.ZstdCompressor().compress(bytes(300_000))
    settings_override(limit_unpacked_bytes_per_min=1_000_000)
    for expected in (400, 400, 400, 429):
        answer = api.post("/api/v1/ingest", content=zeros, headers=organization.ingest_headers)
        assert answer.status_code == expected, answer.text
    assert used(api)["unpacked_bytes"] == (900_000, True)


@pytest.mark.usefixtures("early_in_a_minute")
def test_requests_of_users_leave_ingest_alone(api: TestClient, organization: Any, settings_override: Change) -> None:
    settings_override(limit_requests_per_min=3)
    answers = [api.get("/api/v1/me").status_code for _ in range(5)]
    assert answers == [200, 200, 200, 429, 429]
    refused(api.get("/api/v1/me"), "may use 3 requests/min")
    assert send(api, organization, "a").status_code == 200


def test_streams(api: TestClient, organization: Any, settings_override: Change) -> None:
    settings_override(limit_streams=1)
    with (
        serving() as url,
        httpx.Client(base_url=f"{url}/api/v1", headers=organization.headers, timeout=PATIENCE_S) as http,
        http.stream("GET", "/events/stream") as stream,
    ):
        lines = stream.iter_lines()  # the stream ends with it
        assert next(lines)
        wait_for(lambda: used(api)["streams"] == (1, True))  # the server records the subscription a moment later
        refused(http.get("/events/stream"), "may use 1 streams")


@pytest.mark.usefixtures("early_in_a_minute")
def test_diagnoses_above_the_limit_stay_due(api: TestClient, organization: Any, settings_override: Change) -> None:
    for other in db.organization_ids():  # triggers of other tests that no worker handled
        with db.organization_session(other) as session:
            session.execute(text("UPDATE diagnosis_schedule SET due_at = NULL, leased_until = NULL"))
    settings_override(limit_diagnoses_per_min=1)
    assert limits.allows(organization.id, "diagnoses"), "the one of this minute"
    builder = BatchBuilder("a")
    cgroup = builder.resource(CGROUP, "/a", 0)
    builder.block({(cgroup, "cpu_usage_us"): np.ones(20)}, now_us() - 10_000_000)
    builder.batch.triggers.add(resource=cgroup, reason="throttled", at_us=now_us())
    assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).is_success
    wait_for(due)
    assert due() == [organization.id]
    assert dispatch.next_claim() is None
    assert due() == [organization.id]
    settings_override(limit_diagnoses_per_min=1000)
    claim = dispatch.next_claim()
    assert claim is not None
    assert claim.organization_id == organization.id


def test_a_batch_without_series_is_taken(api: TestClient, organization: Any) -> None:
    """Only triggers and facts, from a node that was not known before."""
    builder = BatchBuilder("a")
    builder.resource(CGROUP, "/a", 0)
    assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).is_success


def due() -> list[int]:
    with db.system_session() as session:
        return schedule.turns(session)


def test_no_valkey_refuses_nothing(api: TestClient, organization: Any, settings_override: Change) -> None:
    settings_override(valkey_url="redis://127.0.0.1:1/0", limit_samples_per_min=1, limit_series=1)
    assert settings().limit_series == 1
    limits.spend(organization.id, {"samples": 10})
    limits.check_node(organization.id, "a", 10)
    limits.add_stored(organization.id, "external_series", 10, lambda: 10)
