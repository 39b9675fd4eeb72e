"""A batch goes in by HTTP and comes out of the read functions, once."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db
from jitterscope.inventory import collectors
from jitterscope.inventory import service as inventory
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series import service as series
from tests.support.batches import CGROUP, DNS_SERVER, PROCESS, TICK_US, BatchBuilder, now_us


def post(client: TestClient, organization: Any, body: bytes) -> Any:
    return client.post("/api/v1/ingest", content=body, headers=organization.ingest_headers)


def full_batch(start_us: int) -> BatchBuilder:
    builder = BatchBuilder()
    pod = builder.resource(CGROUP, "/kubepods/pod1", 0)
    container = builder.resource(CGROUP, "/kubepods/pod1/abc", pod)
    process = builder.resource(PROCESS, "42:1000", container)
    server = builder.resource(DNS_SERVER, "10.0.0.10:53", process)
    probe = builder.resource(pb.RESOURCE_KIND_PROBE, "example.com/A@10.0.0.10:53", 0)
    usage = np.arange(20.0)
    usage[3] = np.nan
    builder.block({(container, "cpu_usage_us"): usage, (container, "cpu_throttled_us"): np.zeros(20)}, start_us)
    builder.block({(container, "cpu_periods"): np.ones(20)}, start_us, encoding=pb.ENCODING_I16)
    builder.block({(container, "memory_usage_bytes"): np.full(20, 1e12)}, start_us, encoding=pb.ENCODING_F64)
    builder.block({(container, "cpu_usage_us"): np.arange(50.0)}, start_us, step_us=10_000)
    builder.distribution(server, "dns_latency_us", start_us, [{100: 2, 101: 1}, {}, {250: 7}])
    builder.fact(container, "workload.container", "coredns").fact(container, "workload.pod", "coredns-1")
    builder.fact(process, "go.version", "1.23.4")
    builder.batch.events.add(
        resource=process, kind="go.gc_cycle", start_us=start_us + 5, duration_us=90_000, attributes={"source": "uprobe"}
    )
    builder.batch.queries.add(
        server=server, complete=True, start_us=start_us, end_us=start_us + 1_000_000, offset_us=[10, 20],
        latency_us=[300, 60_000], result=[0, 4], name=[0, 0], client=[0, 1], names=["example.com. A"],
        clients=["10.1.1.1", "10.1.1.2"],
    )  # fmt: skip
    builder.batch.sources.add(
        name="dns_capture", state=pb.SOURCE_STATE_UNAVAILABLE, detail="no socket", needs="CAP_NET_RAW"
    )
    assert probe
    return builder


def find(organization_id: int, kind: str) -> int:
    with db.organization_session(organization_id) as session:
        return int(
            session.execute(
                text("SELECT id FROM resources WHERE kind = :kind ORDER BY id DESC LIMIT 1"), {"kind": kind}
            ).scalar_one()
        )


def test_everything_of_a_batch_comes_back(client: TestClient, organization: Any) -> None:
    start_us = now_us() - 60_000_000
    response = post(client, organization, full_batch(start_us).body())
    assert response.status_code == 200, response.text
    assert response.json() == {"duplicate": False, "too_old": 0}
    container, process, server = (find(organization.id, kind) for kind in ("cgroup", "process", "dns_server"))
    with db.organization_session(organization.id) as session:
        metrics = ["cpu_usage_us", "cpu_throttled_us", "cpu_periods", "memory_usage_bytes", "pids_current"]
        found = series.read_series(session, [container], metrics, start_us - TICK_US, start_us + 30 * TICK_US)
        assert set(found) == {(container, metric) for metric in metrics[:4]}
        usage = found[container, "cpu_usage_us"]
        expected = np.full(31, np.nan)
        expected[1:21] = np.arange(20.0)
        expected[4] = np.nan
        np.testing.assert_array_equal(usage, expected)
        assert found[container, "memory_usage_bytes"][1] == 1e12
        assert np.nansum(found[container, "cpu_periods"]) == 20
        zoom = series.read_series(session, [container], ["cpu_usage_us"], start_us, start_us + 500_000, 10_000)
        np.testing.assert_array_equal(zoom[container, "cpu_usage_us"], np.arange(50.0))

        histograms = series.read_distributions(session, [server], ["dns_latency_us"], start_us, start_us + 300_000)
        latency = histograms[server, "dns_latency_us"]
        assert (latency.tick.tolist(), latency.bucket.tolist(), latency.count.tolist()) == (
            [0, 0, 2],
            [100, 101, 250],
            [2, 1, 7],
        )

        (cycle,) = series.read_events(session, [process], start_us + 50_000, start_us + 60_000)[process]
        assert (cycle.kind, cycle.start_us, cycle.attributes) == ("go.gc_cycle", start_us + 5, {"source": "uprobe"})

        queries = series.read_queries(session, [server], start_us, start_us + 1_000_000)[server]
        assert queries.sent_us.tolist() == [start_us + 10, start_us + 20]
        assert queries.latency_us.tolist() == [300, 60_000]
        assert [queries.clients[index] for index in queries.client] == ["10.1.1.1", "10.1.1.2"]
        assert queries.complete == ((start_us, start_us + 1_000_000),)
        assert queries.queue_wait_us is None

        tree = inventory.subject_tree(session, container, start_us, start_us + 2_000_000)
        assert tree is not None
        assert tree.subject.name == "coredns-1/coredns"
        assert [one.key for one in tree.ancestors] == ["/kubepods/pod1"]
        assert [one.id for one in tree.processes] == [process]
        assert [one.id for one in tree.dns_servers] == [server]
        assert [one.kind for one in tree.probes] == ["probe"]
        facts = inventory.facts(session, [container, process], now_us() + 1_000_000)
        assert {fact.name: fact.value for fact in facts[process]} == {"go.version": "1.23.4"}
        (source,) = inventory.sources(session, tree.node.id)
        assert (source.name, source.state, source.needs) == ("dns_capture", "unavailable", "CAP_NET_RAW")


def test_a_repeated_batch_is_stored_once(client: TestClient, organization: Any) -> None:
    body = full_batch(now_us() - 60_000_000).body()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: post(client, organization, body), range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    assert sorted(answer.json()["duplicate"] for answer in answers) == [False] + [True] * 7
    with db.organization_session(organization.id) as session:
        counts = {
            table: session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
            for table in ("series_blocks", "distributions", "events", "query_blocks", "ingest_batches")
        }
    assert counts == {"series_blocks": 4, "distributions": 1, "events": 1, "query_blocks": 1, "ingest_batches": 1}


def test_a_crash_before_the_commit_stores_nothing(
    client: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = full_batch(now_us() - 60_000_000).body()
    with monkeypatch.context() as patched:
        # The last statement of the transaction: everything else has been written by then.
        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("killed here")

        patched.setattr(collectors, "seen", fail)
        assert post(client, organization, body).status_code == 500
    with db.organization_session(organization.id) as session:
        assert session.execute(text("SELECT count(*) FROM ingest_batches")).scalar_one() == 0
        assert session.execute(text("SELECT count(*) FROM resources")).scalar_one() == 0
    assert post(client, organization, body).json() == {"duplicate": False, "too_old": 0}
    assert post(client, organization, body).json() == {"duplicate": True, "too_old": 0}


def test_the_same_keys_in_two_organizations_are_two_resources(
    client: TestClient, organization: Any, other_organization: Any
) -> None:
    start_us = now_us() - 60_000_000
    spool = secrets.token_bytes(16)
    for tenant, value in ((organization, 1.0), (other_organization, 2.0)):
        builder = BatchBuilder(spool=spool)
        cgroup = builder.resource(CGROUP, "/same", 0)
        builder.block({(cgroup, "cpu_usage_us"): np.full(20, value)}, start_us)
        assert post(client, tenant, builder.body()).json() == {"duplicate": False, "too_old": 0}
    for tenant, value in ((organization, 1.0), (other_organization, 2.0)):
        cgroup_id = find(tenant.id, "cgroup")
        foreign = find((other_organization if tenant is organization else organization).id, "cgroup")
        with db.organization_session(tenant.id) as session:
            found = series.read_series(session, [cgroup_id, foreign], ["cpu_usage_us"], start_us, start_us + 2_000_000)
            assert set(found) == {(cgroup_id, "cpu_usage_us")}
            assert set(found[cgroup_id, "cpu_usage_us"]) == {value}


def test_what_an_hour_ahead_is_left_out_of_a_batch_and_told(client: TestClient, organization: Any) -> None:
    start_us, hour_us = now_us() - 60_000_000, 3_600_000_000
    mixed = BatchBuilder("clock").block({(0, "collector_tick"): np.arange(5.0)}, start_us)
    mixed.block({(0, "collector_tick"): np.arange(5.0)}, start_us + hour_us)
    mixed.batch.sealed_at_us += hour_us
    assert post(client, organization, mixed.body()).json() == {"duplicate": False, "too_old": 0}
    ahead = BatchBuilder("clock").block({(0, "collector_tick"): np.arange(5.0)}, start_us + hour_us)
    refused = post(client, organization, ahead.body())
    assert (refused.status_code, refused.json()["type"]) == (400, "urn:jitterscope:problem:clock-ahead")
    with db.organization_session(organization.id) as session:
        assert session.execute(text("SELECT start_us FROM series_blocks")).scalars().all() == [start_us]
        assert session.execute(text("SELECT sealed_at_us FROM collectors")).scalar_one() <= now_us() + 1_000_000
        told = session.execute(text("SELECT name, state, detail FROM collector_sources")).one()
    assert (told.name, told.state, "in the future" in told.detail) == ("spool", "degraded", True)
