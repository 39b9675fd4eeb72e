"""An organization switches off what collectors read: who may, what the audit trail records, and what ingest drops."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db
from jitterscope.collection import service, switches
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series import service as series
from jitterscope.series.catalogue import EVENTS, METRICS
from tests.backend.conftest import Database, Organization
from tests.backend.tenancy.principals import Cast
from tests.support.batches import CGROUP, DNS_SERVER, TICK_US, BatchBuilder, now_us
from tests.support.captures import capture

PATH = "/api/v1/collection"
HEADER = "Jitterscope-Sources-Off"
ROW = ["GET /users/{id}", 9, 2, 3, 1, 5000, 900]


def off_of(answer: dict[str, Any]) -> set[str]:
    return {one["id"] for one in answer["switches"] if one["off"]}


def put(client: TestClient, headers: dict[str, str], *off: str, status: int = 200) -> dict[str, Any]:
    answer = client.put(PATH, headers=headers, json={"off": list(off)})
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def test_members_see_the_switches_and_admins_change_them(
    client: TestClient, database: Database, organization: Organization
) -> None:
    cast = Cast(database, organization)
    viewer, editor, admin = (cast.session(cast.member(role)) for role in ("viewer", "editor", "admin"))
    fresh = client.get(PATH, headers=viewer).json()
    assert off_of(fresh) == set()
    assert (fresh["changed_by"], fresh["changed_at"]) == (None, None)
    assert {"tcp_requests", "tcp_requests:read_kinds", "tcp_requests:read_status", "dns_names"} <= {
        one["id"] for one in fresh["switches"]
    }
    for caller in (viewer, editor):
        put(client, caller, "tcp_requests", status=403)
    changed = put(client, admin, "tcp_requests", "dns_names")
    assert off_of(changed) == {"tcp_requests", "dns_names"}
    assert changed["changed_by"] is not None
    assert client.get(PATH, headers=viewer).json() == changed


def test_a_change_is_audited_with_what_was_off_before(client: TestClient, organization: Organization) -> None:
    put(client, organization.headers, "tcp_requests:read_kinds")
    put(client, organization.headers, "tcp_requests:read_kinds")  # nothing changes
    put(client, organization.headers)
    trail = client.get("/api/v1/audit", headers=organization.headers).json()["items"]
    assert [one["detail"] for one in trail if one["action"] == "collection.change"] == [
        {"off": {"from": ["tcp_requests:read_kinds"], "to": []}},
        {"off": {"from": [], "to": ["tcp_requests:read_kinds"]}},
    ]


def test_an_unknown_switch_is_refused_and_nothing_changes(client: TestClient, organization: Organization) -> None:
    put(client, organization.headers, "dns_names")
    refused = put(client, organization.headers, "dns_names", "cgroup_cpu", status=422)
    assert "unknown switch cgroup_cpu; use tcp_requests" in json.dumps(refused)
    assert off_of(client.get(PATH, headers=organization.headers).json()) == {"dns_names"}


def batch(start_us: int) -> BatchBuilder:
    builder = BatchBuilder()
    cgroup = builder.resource(CGROUP, "/shop/web", 0)
    web = builder.resource(pb.RESOURCE_KIND_TCP_SERVER, "/shop/web:8080", cgroup)
    dns = builder.resource(DNS_SERVER, "10.0.0.10:53", 0)
    # One block in which series to keep are on both sides of those to drop.
    rows = [(cgroup, "cpu_usage_us"), (web, "requests"), (web, "http_server_errors"), (dns, "dns_queries")]
    rows += [(dns, "dns_tcp_connections"), (web, "grpc_server_errors")]
    builder.block({one: np.arange(20.0) + 100 * place for place, one in enumerate(rows)}, start_us)
    builder.distribution(web, "request_latency_us", start_us, [{100: 2}])
    builder.distribution(dns, "dns_latency_us", start_us, [{100: 2}])
    builder.fact(web, "tcp.program", "nginx").fact(cgroup, "workload.pod", "web-1")
    for resource, kind, attributes in (
        (web, "requests.kinds", {"rows": json.dumps([ROW]), "latency": "[[3,9]]", "grpc": "[[14,9]]"}),
        (dns, "dns.names", {"rows": "[]"}),
        (0, "collector.start", {"version": "1"}),
    ):
        builder.batch.events.add(
            resource=resource, kind=kind, start_us=start_us, duration_us=1000, attributes=attributes
        )
    for server in (web, dns):
        builder.batch.queries.add(
            server=server, complete=True, start_us=start_us, end_us=start_us + 1_000_000, offset_us=[10],
            latency_us=[60_000], result=[0], name=[0], client=[0], names=["example.com. A"], clients=["10.1.1.1"],
        )  # fmt: skip
    builder.batch.events.add(resource=web, kind="server.waiting", start_us=start_us, attributes={"looks": "3"})
    builder.batch.captures.append(capture(start_us - 10_000_000))
    builder.batch.triggers.add(resource=web, reason="slow_request", at_us=start_us)
    return builder


def stored(organization: Organization, start_us: int) -> set[str]:
    """Everything stored of the batch, by name; a series only if its values are those that were sent."""
    with db.organization_session(organization.id) as session:
        ids = [int(one) for one in session.execute(text("SELECT id FROM resources")).scalars()]
        captures = session.execute(text("SELECT count(*) FROM captures")).scalar_one()
        values = series.read_series(session, ids, list(METRICS), start_us, start_us + 20 * TICK_US)
        sent = {"cpu_usage_us": 0, "requests": 100, "http_server_errors": 200, "dns_queries": 300}
        sent |= {"dns_tcp_connections": 400, "grpc_server_errors": 500}
        for (_, metric), found in values.items():
            np.testing.assert_array_equal(found, np.arange(20.0) + sent[metric])
        histograms = series.read_distributions(
            session, ids, ["request_latency_us", "dns_latency_us"], start_us, start_us + 1_000_000
        )
        events = session.execute(text("SELECT kind FROM events")).scalars()
        facts = session.execute(text("SELECT name FROM facts")).scalars()
        kinds = session.execute(
            text("SELECT DISTINCT r.kind FROM query_blocks q JOIN resources r ON r.id = q.server_id")
        ).scalars()
        return {
            *(metric for _, metric in values), *(metric for _, metric in histograms), *events, *facts,
            *(f"queries of {kind}" for kind in kinds), *(["captures"] if captures else []),
        }  # fmt: skip


REQUESTS = {"requests", "http_server_errors", "request_latency_us", "tcp.program", "requests.kinds"}
REQUESTS |= {"queries of tcp_server", "grpc_server_errors"}
DNS = {"dns_queries", "dns_latency_us", "dns.names", "queries of dns_server"}
CAPTURES = {"captures", "server.waiting"}
OTHERS = {"cpu_usage_us", "dns_tcp_connections", "workload.pod", "collector.start"}


@pytest.mark.parametrize(
    ("off", "gone"),
    [
        ((), set()),
        (("tcp_requests",), REQUESTS),
        (("tcp_requests:read_kinds",), {"requests.kinds"}),
        (("tcp_requests:read_status",), {"http_server_errors", "grpc_server_errors"}),
        (("dns_names",), {"dns.names"}),
        (("dns_capture",), DNS),
        (("dns_capture", "tcp_requests"), DNS | REQUESTS),
        (("flight_recorder",), CAPTURES),
    ],
    ids=lambda value: ",".join(sorted(value)) or "nothing",
)
def test_ingest_drops_what_is_off_and_tells_the_collector(
    client: TestClient, organization: Organization, off: tuple[str, ...], gone: set[str]
) -> None:
    put(client, organization.headers, *off)
    start_us = now_us() - 60_000_000
    answer = client.post("/api/v1/ingest", content=batch(start_us).body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers.get(HEADER) == (",".join(off) or None)
    assert stored(organization, start_us) == (REQUESTS | DNS | CAPTURES | OTHERS) - gone


def test_kinds_lose_their_statuses_where_those_are_off(client: TestClient, organization: Organization) -> None:
    put(client, organization.headers, "tcp_requests:read_status")
    start_us = now_us() - 60_000_000
    builder = batch(start_us)
    for rows in ("[" * 4000, '{"a":1}', "[7]"):  # what none of our collectors sends
        builder.batch.events.add(resource=2, kind="requests.kinds", start_us=start_us, attributes={"rows": rows})
    answer = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    with db.organization_session(organization.id) as session:
        found = session.execute(text("SELECT attributes FROM events WHERE kind = 'requests.kinds'")).scalars().all()
    told = sorted((json.loads(one["rows"]) for one in found), key=len)
    assert told == [[], [], [], [[*ROW[:3], None, None, *ROW[5:]]]]
    assert "[[3,9]]" in {one.get("latency") for one in found}
    assert not any("grpc" in one for one in found)


def test_the_other_organization_keeps_everything(
    client: TestClient, organization: Organization, other_organization: Organization
) -> None:
    put(client, organization.headers, "tcp_requests")
    start_us = now_us() - 60_000_000
    answer = client.post("/api/v1/ingest", content=batch(start_us).body(), headers=other_organization.ingest_headers)
    assert HEADER not in answer.headers
    assert stored(other_organization, start_us) >= REQUESTS


def test_another_process_obeys_after_seconds(
    client: TestClient, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert service.off(organization.id) == ()
    with db.organization_session(organization.id) as session:
        # As another process does it: this one is not notified.
        session.execute(
            text("INSERT INTO collection_policies VALUES (:id, '{dns_names}', 'other')"), {"id": organization.id}
        )
    assert service.off(organization.id) == ()
    clock: Callable[[], float] = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 6)
    assert service.off(organization.id) == ("dns_names",)


def test_every_switch_drops_something_of_the_catalogue() -> None:
    ids = {metric.id for metric in METRICS.values()}
    for switch in switches.SWITCHES.values():
        dropped = switch.dropped
        assert dropped.metrics or dropped.events, switch.id
        assert dropped.metrics <= ids, switch.id
        assert dropped.events <= set(EVENTS), switch.id
