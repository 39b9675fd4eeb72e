"""A server and its upstream: which server that is, what a diagnosis reads of it, and one incident for both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import Diagnosis
from jitterscope.diagnosis.core.finding import Found
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.lifecycle.apply import apply_diagnosis
from jitterscope.incidents.scheduling import snapshots
from jitterscope.inventory import service as inventory
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.recordings import capture
from jitterscope.recordings.snapshots import snapshot_of
from tests.support.batches import CGROUP, BatchBuilder, now_us

S = 1_000_000
TCP_SERVER, TCP_UPSTREAM = pb.RESOURCE_KIND_TCP_SERVER, pb.RESOURCE_KIND_TCP_UPSTREAM
APP, REST, THROTTLED = "app/lock_or_dependency", "unexplained/slow_answers", "cpu/gc_throttling"
TICKS = 20


class Node:
    """A shop that calls a database at its address, another server in a pod, and one that is elsewhere."""

    def __init__(self, service: Any) -> None:
        self.service = service
        # Whatever the ingest has just seen is current, however long the earlier tests took.
        self.now_us = now_us() // S * S
        builder = BatchBuilder("node-a")
        start_us = self.now_us - TICKS * 100_000
        paths = ("/shop", "/database", "/pod")
        cgroups = {path: builder.resource(CGROUP, path) for path in paths}
        servers = {
            path: builder.resource(TCP_SERVER, f"{path}:{port}", cgroups[path])
            for path, port in zip(paths, (8080, 5432, 6379), strict=True)
        }
        since_us = self.now_us - 3600 * S
        builder.fact(cgroups["/pod"], "net.addresses", '["10.0.7.3"]', since_us)
        columns: dict[tuple[int, str], Any] = {(one, "requests"): np.ones(TICKS) for one in servers.values()}
        for address in ("127.0.0.1:5432", "10.0.7.3:6379", "192.0.2.1:443"):
            upstream = builder.resource(TCP_UPSTREAM, f"/shop>{address}", cgroups["/shop"])
            columns[upstream, "upstream_calls"] = np.full(TICKS, 2.0)
            if address.endswith("5432"):
                builder.fact(upstream, "upstream.server", "/database:5432", since_us)
        builder.block(columns, start_us)
        headers = service.organization.ingest_headers
        assert service.client.post("/api/v1/ingest", content=builder.body(), headers=headers).status_code < 300
        self.ids = {item["key"]: item["id"] for item in service.get("/resources", kind="cgroup")["items"]}

    def diagnose(self, path: str, *findings: Found) -> None:
        subject = SubjectRef(resource_id=self.ids[path], kind="cgroup", key=path, name=path[1:], node="node-a")
        diagnosis = Diagnosis(findings=list(findings), not_found=[], not_enough_data=[])
        with organization_session(self.service.organization.id) as session:
            apply_diagnosis(session, subject, diagnosis, (self.now_us - 120 * S, self.now_us), self.now_us)

    def active(self) -> list[tuple[str, str, list[str]]]:
        """Cause, subject, and the other affected subjects of each active incident."""
        return [
            (one["cause"], one["subject"]["name"], [also["name"] for also in one["also_affected"]])
            for one in reversed(self.service.get("/incidents")["items"])
            if one["state"] != "resolved"
        ]


@pytest.fixture
def node(service: Any) -> Node:
    return Node(service)


def found(cause: str, upstream: str | None = None) -> Found:
    now = now_us() // S * S
    return Found(
        cause=cause, score=0.9, confidence="high", severity="warning", title=f"{cause} title", summary="summary",
        onset_us=now - 30 * S, last_us=now - 20 * S, impact={"slow_queries": 10}, evidence=[], upstream=upstream,
    )  # fmt: skip


def test_a_diagnosis_reads_what_is_asked(node: Node) -> None:
    with organization_session(node.service.organization.id) as session:
        loaded = snapshots.load(session, node.ids["/shop"], 10 * S)
        recording = capture.capture(session, [node.ids["/shop"]], node.now_us - 2 * S, node.now_us)
    assert loaded is not None
    seen = loaded.snapshot
    assert sorted(one.key for one in seen.tcp_upstreams) == [
        "/shop>10.0.7.3:6379", "/shop>127.0.0.1:5432", "/shop>192.0.2.1:443",
    ]  # fmt: skip
    assert all(np.nansum(one.series["upstream_calls"]) == 2 * TICKS for one in seen.tcp_upstreams)
    assert sorted(one.key for one in seen.called_servers) == ["/database:5432", "/pod:6379"]
    assert [one.key for one in seen.tcp_servers] == ["/shop:8080"]
    again = snapshot_of(recording)
    assert sorted(one.key for one in again.tcp_upstreams) == sorted(one.key for one in seen.tcp_upstreams)
    assert [one.key for one in again.called_servers] == ["/database:5432"]


@pytest.mark.parametrize(
    ("address", "path"), [("127.0.0.1:5432", "/database"), ("10.0.7.3:6379", "/pod"), ("192.0.2.1:443", None)]
)
def test_who_is_behind_an_address(node: Node, address: str, path: str | None) -> None:
    with organization_session(node.service.organization.id) as session:
        behind = inventory.tcp_cgroups_at(session, node.ids["/shop"], address, node.now_us - 60 * S, node.now_us)
    assert behind == (set() if path is None else {node.ids[path]})


@pytest.mark.parametrize("first", ["/shop", "/database"])
def test_trouble_of_what_is_asked_is_its_incident(node: Node, first: str) -> None:
    told = {"/shop": found(APP, "127.0.0.1:5432"), "/database": found(THROTTLED)}
    for path in (first, *(set(told) - {first})):
        node.diagnose(path, told[path])
    assert node.active() == [(THROTTLED, "database", ["shop"])]


@pytest.mark.parametrize("first", ["/shop", "/database"])
def test_late_answers_of_what_is_asked_without_a_cause_are_part_of_the_callers(node: Node, first: str) -> None:
    told = {"/shop": found(APP, "127.0.0.1:5432"), "/database": found(REST)}
    for path in (first, *(set(told) - {first})):
        node.diagnose(path, told[path])
    assert node.active() == [(APP, "shop", ["database"])]
    for path in told:
        node.diagnose(path, told[path])
    assert node.active() == [(APP, "shop", ["database"])]


def test_trouble_of_others_stays_apart(node: Node) -> None:
    node.diagnose("/shop", found(APP, "192.0.2.1:443"))
    node.diagnose("/database", found(REST))
    assert node.active() == [(APP, "shop", []), (REST, "database", [])]
