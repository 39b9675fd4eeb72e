"""Resources and collectors over REST."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db
from jitterscope.pb import ingest_pb2 as pb
from tests.support.batches import CGROUP, PROCESS, TICK_US, BatchBuilder, now_us


@pytest.fixture
def fed(api: TestClient, organization: Any) -> TestClient:
    """A node with two containers, one of which is throttled."""
    start_us = now_us() - 20 * TICK_US
    builder = BatchBuilder("machine-1")
    first = builder.resource(CGROUP, "/pod/one", 0)
    second = builder.resource(CGROUP, "/pod/two", 0)
    process = builder.resource(PROCESS, "7:1", first)
    usage = np.full(20, 20_000.0)
    usage[5] = 80_000.0
    throttled = np.zeros(20)
    throttled[5:10] = 1
    builder.block(
        {
            (first, "cpu_usage_us"): usage,
            (first, "cpu_periods"): np.ones(20),
            (first, "cpu_throttled_periods"): throttled,
            (0, "collector_lateness_us"): np.full(20, 300.0),
        },
        start_us,
    )
    builder.block({(first, "memory_usage_bytes"): np.arange(20) * 1e6}, start_us, encoding=pb.ENCODING_F64)
    builder.fact(0, "node.hostname", "worker-1")
    builder.fact(first, "cpu.quota_us", "50000").fact(first, "cpu.period_us", "100000")
    builder.fact(first, "memory.limit_bytes", "-1").fact(first, "workload.container", "coredns")
    builder.fact(second, "cpu.quota_us", "-1").fact(second, "cpu.period_us", "100000")
    builder.fact(process, "process.executable", "coredns")
    builder.batch.triggers.add(resource=first, reason="throttled", at_us=start_us + 5 * TICK_US)
    builder.batch.sources.add(name="go_runtime", state=pb.SOURCE_STATE_DEGRADED, detail="by threads", needs="CAP_BPF")
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    return api


def test_a_node_has_the_name_that_kubernetes_gives_it(api: TestClient, organization: Any) -> None:
    builder = BatchBuilder("machine-1")
    builder.fact(0, "node.hostname", "ip-10-0-0-7").fact(0, "node.name", "pool-a-1")
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    [node] = api.get("/api/v1/resources", params={"kind": "node"}).json()["items"]
    assert node["name"] == "pool-a-1"


def test_resources_are_listed_with_limits_and_usage(fed: TestClient) -> None:
    answer = fed.get("/api/v1/resources", params={"kind": "cgroup"})
    assert answer.status_code == 200, answer.text
    assert [item["name"] for item in answer.json()["items"]] == ["/pod/two", "coredns"]
    by_key = {item["key"]: item for item in answer.json()["items"]}
    busy, idle = by_key["/pod/one"], by_key["/pod/two"]
    assert busy["node"]["name"] == "worker-1"
    assert (busy["cpu_limit"], busy["memory_limit_bytes"], busy["throttled"], busy["active"]) == (0.5, None, True, True)
    assert busy["usage"]["cpu_peak"] == pytest.approx(0.8)
    assert busy["usage"]["cpu_used"] == pytest.approx(0.23)
    assert busy["usage"]["throttled_ratio"] == pytest.approx(0.25)
    assert busy["usage"]["memory_bytes"] == 19e6
    assert (idle["cpu_limit"], idle["throttled"], idle["usage"]["cpu_used"]) == (None, False, None)


def test_filters_and_pages(fed: TestClient) -> None:
    def names(**parameters: Any) -> list[str]:
        return [item["name"] for item in fed.get("/api/v1/resources", params=parameters).json()["items"]]

    everything = names()
    assert set(everything) == {"worker-1", "coredns", "/pod/two", "coredns (pid 7)"}
    assert names(throttled=True) == ["coredns"]
    assert set(names(search="COREDNS")) == {"coredns", "coredns (pid 7)"}
    assert names(search="%") == []
    paged: list[str] = []
    cursor = None
    for _ in range(4):
        page = fed.get("/api/v1/resources", params={"limit": 1, **({"cursor": cursor} if cursor else {})}).json()
        paged += [item["name"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert paged == everything
    assert cursor is None
    assert fed.get("/api/v1/resources", params={"cursor": "!"}).status_code == 400


def test_a_resource_has_facts_history_tree_and_sources(fed: TestClient, other_organization: Any) -> None:
    (item,) = fed.get("/api/v1/resources", params={"search": "/pod/one"}).json()["items"]
    detail = fed.get(f"/api/v1/resources/{item['id']}").json()
    assert {fact["name"]: fact["value"] for fact in detail["facts"]}["cpu.quota_us"] == "50000"
    assert [one["kind"] for one in detail["ancestors"]] == ["node"]
    assert [one["name"] for one in detail["children"]] == ["coredns (pid 7)"]
    assert detail["sources"] == [
        {"name": "go_runtime", "state": "degraded", "detail": "by threads", "needs": "CAP_BPF"}
    ]
    assert "cpu_usage_us" in detail["metrics"]
    foreign = fed.get(f"/api/v1/resources/{item['id']}", headers=other_organization.headers)
    assert foreign.status_code == 404
    assert fed.get("/api/v1/resources", headers=other_organization.headers).json()["items"] == []


def test_charts_keep_the_extremes(fed: TestClient) -> None:
    (item,) = fed.get("/api/v1/resources", params={"search": "/pod/one"}).json()["items"]
    answer = fed.get(
        "/api/v1/series/query",
        params={"resource": item["id"], "metric": ["cpu_usage_us", "pids_current"], "points": 10},
    )
    assert answer.status_code == 200, answer.text
    (chart,) = answer.json()["series"]
    assert max(value for value in chart["high"] if value is not None) == 80_000
    assert min(value for value in chart["low"] if value is not None) == 20_000
    assert len(chart["t_us"]) == len(chart["mean"]) <= 11
    assert fed.get("/api/v1/series/query", params={"resource": item["id"], "metric": "nonsense"}).status_code == 422
    assert fed.get("/api/v1/series/query", params={"resource": 10**9, "metric": "cpu_usage_us"}).status_code == 404


def test_collectors_tell_what_is_missing(fed: TestClient) -> None:
    (collector,) = fed.get("/api/v1/collectors").json()["items"]
    assert (collector["node"]["name"], collector["state"], collector["version"]) == (
        "worker-1",
        "receiving",
        "0.1.0-test",
    )
    assert collector["lateness_max_ms"] == pytest.approx(0.3)
    assert collector["sources"][0]["needs"] == "CAP_BPF"


def test_a_fact_that_goes_there_and_back_within_a_batch(api: TestClient, organization: Any) -> None:
    """Even if the final value is the stored one: the value in between must not stay in effect."""
    at_us = now_us() - 60 * 1_000_000

    def send(*values: tuple[str, int]) -> None:
        builder = BatchBuilder("machine-1")
        cgroup = builder.resource(CGROUP, "/pod/one", 0)
        for value, offset_s in values:
            observed_at_us = at_us + offset_s * 1_000_000
            builder.batch.facts.add(resource=cgroup, name="cpu.quota_us", value=value, observed_at_us=observed_at_us)
        answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
        assert answer.status_code == 200, answer.text

    send(("50000", 0))
    send(("-1", 10), ("50000", 11))
    cgroup_id = api.get("/api/v1/resources", params={"kind": "cgroup"}).json()["items"][0]["id"]
    facts = api.get(f"/api/v1/resources/{cgroup_id}").json()["facts"]
    assert [one["value"] for one in facts if one["name"] == "cpu.quota_us"] == ["50000"]


def test_collectors_come_in_pages_for_the_same_number_of_statements(
    api: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for node in ("a", "b", "c"):
        builder = BatchBuilder(node)
        builder.block({(0, "collector_lateness_us"): np.full(20, 300.0)}, now_us() - 20 * 100_000)
        for source in ("x", "y"):
            builder.batch.sources.add(name=source, state=pb.SOURCE_STATE_ACTIVE, detail=node)
        answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
        assert answer.status_code == 200, answer.text
    with db.organization_session(organization.id) as session:
        # None becomes silent while this test waits for a CPU.
        session.execute(text("UPDATE collectors SET last_seen_at = now() + interval '1 hour'"))
    statements = count_statements(monkeypatch)

    def page(**parameters: Any) -> tuple[list[str], dict[str, Any], int]:
        before = len(statements)
        answer = api.get("/api/v1/collectors", params=parameters)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        for one in found["items"]:
            assert [source["detail"] for source in one["sources"]] == [one["node"]["key"]] * 2
            assert one["lateness_max_ms"] == pytest.approx(0.3)
        return [one["node"]["key"] for one in found["items"]], found, len(statements) - before

    page()  # fills caches
    every, whole, of_all = page()
    first, page_1, of_two = page(limit=2)
    rest, page_2, _ = page(limit=2, cursor=page_1["next_cursor"])
    assert (every, first, rest) == (["c", "b", "a"], ["c", "b"], ["a"])
    assert whole["next_cursor"] is page_2["next_cursor"] is None
    assert (page_1["found"], page_1["silent"]) == (3, 0)
    assert of_all == of_two
    with db.organization_session(organization.id) as session:
        silent = {"id": whole["items"][2]["node"]["id"]}
        long_ago = text("UPDATE collectors SET last_seen_at = now() - interval '1 min' WHERE node_id = :id")
        session.execute(long_ago, silent)
    _, whole, _ = page()
    assert (whole["found"], whole["silent"]) == (3, 1)
    assert [one["state"] for one in whole["items"]] == ["receiving", "receiving", "silent"]


def count_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which every statement is added, whoever sends it."""
    sent: list[str] = []
    for name in ("execute", "stream"):
        original = getattr(psycopg.Cursor, name)

        def counted(cursor: Any, query: Any, *rest: Any, _original: Any = original, **more: Any) -> Any:
            sent.append(str(query))
            return _original(cursor, query, *rest, **more)

        monkeypatch.setattr(psycopg.Cursor, name, counted)
    return sent
