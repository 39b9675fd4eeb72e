"""Which resource a scrape target is: 127.0.0.1 is one per node, other addresses are one per cluster."""

from __future__ import annotations

from typing import Any

import psycopg
from fastapi.testclient import TestClient

from jitterscope.inventory.external_resources import target_of
from tests.backend.conftest import Organization
from tests.backend.ingest.remote_writer import now_ms, send
from tests.support.batches import CGROUP, BatchBuilder


def targets(api: TestClient) -> list[str]:
    items = api.get("/api/v1/resources", params={"kind": "external"}).json()["items"]
    return sorted(one["name"] for one in items)


def key(**labels: str) -> str:
    return target_of(labels)[0]


def test_the_node_tells_local_targets_apart_and_no_others() -> None:
    local = {"job": "dns", "instance": "127.0.0.1:9153"}
    assert key(**local) == "dns/127.0.0.1:9153"
    assert key(**local, node="a") != key(**local, node="b")
    assert key(**local, host="a") == key(**local, node="a")
    assert key(job="dns", instance="[::1]:9153", node="a") != key(job="dns", instance="[::1]:9153", node="b")
    state = {"job": "kube-state-metrics", "instance": "10.0.0.9:8080"}
    assert key(**state, node="a") == key(**state, node="b")
    assert key(**state, cluster="a") != key(**state, cluster="b")
    assert target_of({**local, "node": "a", "cluster": "b"})[1] == "dns/127.0.0.1:9153 on a in b"


def test_long_targets_stay_two() -> None:
    first, second = (key(job="j" * 600, instance=end) for end in ("10.0.0.1:1", "10.0.0.2:1"))
    assert first != second
    assert max(len(first), len(second)) <= 512


def test_a_scraper_on_each_node_has_a_target_on_each(api: TestClient, organization: Organization) -> None:
    at = now_ms()
    for node in ("node-1", "node-2"):
        labels = {"__name__": "up", "job": "dns", "instance": "127.0.0.1:9153", "node": node}
        send(api, organization, [(labels, [(at, 1)])])
    assert targets(api) == ["dns/127.0.0.1:9153 on node-1", "dns/127.0.0.1:9153 on node-2"]


def test_a_series_moves_with_its_history_when_its_container_is_known(
    api: TestClient, organization: Organization
) -> None:
    at = now_ms()
    labels = {
        "__name__": "container_cpu", "job": "kubelet", "instance": "10.0.0.1:10250", "namespace": "shop",
        "pod": "web-1", "container": "web",
    }  # fmt: skip

    def charted(resource: int) -> list[float]:
        answer = api.get("/api/v1/series/query", params={"resource": resource, "metric": "container_cpu"})
        return [value for one in answer.json().get("series", []) for value in one["high"] if value is not None]

    send(api, organization, [(labels, [(at - 60_000, 1)])])
    (target,) = api.get("/api/v1/resources", params={"kind": "external"}).json()["items"]
    assert charted(target["id"]) == [1]
    builder = BatchBuilder()
    cgroup = builder.resource(CGROUP, "/kubepods/x", 0)
    for fact, value in (("namespace", "shop"), ("pod", "web-1"), ("container", "web")):
        builder.fact(cgroup, f"workload.{fact}", value)
    assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).status_code == 200
    send(api, organization, [(labels, [(at, 2)])])
    (container,) = api.get("/api/v1/resources", params={"search": "shop/web-1"}).json()["items"]
    assert charted(container["id"]) == [1, 2]
    assert charted(target["id"]) == []


def test_series_of_before_are_the_same_after_the_upgrade(scratch_before: str) -> None:
    """Two rows of one series, at two resources as was possible, become one with the samples of both."""
    from jitterscope.schema import runner

    start_us = now_ms() * 1000
    labels = '{"job": "dns", "instance": "127.0.0.1:9153", "node": "a"}'
    with psycopg.connect(scratch_before) as connection:

        def insert(statement: str, *values: Any) -> int:
            row = connection.execute(f"{statement} RETURNING id", values).fetchone()
            assert row is not None
            return int(row[0])

        organization = insert("INSERT INTO organizations (name) VALUES ('one')")
        connection.execute("SELECT ensure_time_partitions(%s, %s)", (start_us, start_us + 1))
        series: list[int] = []
        for number in range(2):
            resource = insert(
                "INSERT INTO resources (organization_id, kind, key, name) VALUES (%s, 'external', %s, 'x')",
                organization, f"{number}",
            )  # fmt: skip
            series.append(
                insert(
                    "INSERT INTO external_series (organization_id, resource_id, digest, name, labels, kind) "
                    "VALUES (%s, %s, %s, 'up', %s, 'gauge')",
                    organization, resource, f"{number}".encode(), labels,
                )
            )  # fmt: skip
            connection.execute(
                "INSERT INTO external_samples VALUES (%s, %s, %s, %s, '', '')",
                (organization, series[-1], start_us + number, start_us + number),
            )
    runner.migrate(scratch_before)
    with psycopg.connect(scratch_before) as connection:
        assert connection.execute("SELECT id FROM external_series").fetchall() == [(series[0],)]
        samples = connection.execute("SELECT series_id, start_us FROM external_samples ORDER BY start_us").fetchall()
    assert samples == [(series[0], start_us), (series[0], start_us + 1)]
