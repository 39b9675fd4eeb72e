"""GET /services/{id}/request-kinds: what a server was asked for, summed over its collector's events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from jitterscope.series.types import StoredEvent
from jitterscope.services import kinds
from tests.backend.conftest import Organization
from tests.support.batches import BatchBuilder, now_us
from tests.support.tcp_servers import TICKS_PER_MINUTE, Serving, add, kind_bucket, minute_ago

SHOP = Serving("shop", 8080, 41)
FIRST = [["GET /users/{id}", 90, 10, 5, 1, 900_000, 80_000], ["GET /", 900, 0, 0, 0, 450_000, 2_000]]
SECOND = [["GET /users/{id}", 10, 0, 0, 9, 100_000, 20_000], ["", 30, 0, 0, 0, 9_000_000, 9_000]]
# For the first kind, all latencies are reported: 70 ms twice, otherwise 3 ms.
LATENCIES = [[[kind_bucket(3_000), 88, kind_bucket(70_000), 2]], [[kind_bucket(3_000), 10], [kind_bucket(9_000), 30]]]


ORDERS = ["POST /shop.Orders/Place", 100, 0, None, None, 500_000, 9_000]
LATE = ["POST /shop.Orders/Place", 0, 0, None, None, 0, 0]


def event(rows: Any, latency: Any = "", grpc: Any = "") -> StoredEvent:
    texts = {"rows": rows, "latency": latency, "grpc": grpc}
    return StoredEvent(
        1, 1, kinds.EVENT, 0, 10_000_000,
        {name: one if isinstance(one, str) else json.dumps(one) for name, one in texts.items()},
    )  # fmt: skip


@pytest.fixture
def server(api: TestClient, organization: Organization) -> int:
    start_us = minute_ago(3, now_us())
    builder = BatchBuilder("machine-1")
    _, index = add(builder, SHOP, start_us, TICKS_PER_MINUTE)
    for number, (rows, latency) in enumerate(zip((FIRST, SECOND), LATENCIES, strict=True)):
        told = builder.batch.events.add(
            resource=index, kind=kinds.EVENT, start_us=start_us + number * 10_000_000, duration_us=10_000_000
        )
        told.attributes["rows"] = json.dumps(rows)
        told.attributes["latency"] = json.dumps(latency)
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    (found,) = api.get("/api/v1/resources", params={"kind": "tcp_server", "gone": True}).json()["items"]
    return int(found["id"])


@pytest.mark.parametrize(("one_in", "estimated"), [(None, False), ("1", False), ("8", True)])
def test_a_part_that_stands_for_all_is_said_to(
    api: TestClient, organization: Organization, server: int, one_in: str | None, estimated: bool
) -> None:
    if one_in is not None:
        builder = BatchBuilder("machine-1")
        _, index = add(builder, SHOP, minute_ago(2, now_us()), TICKS_PER_MINUTE)
        builder.fact(index, "tcp.timed_one_in", one_in)
        answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
        assert answer.status_code == 200, answer.text
    assert api.get(f"/api/v1/services/{server}/request-kinds").json()["estimated"] is estimated


def test_events_are_added_up(api: TestClient, server: int) -> None:
    answer = api.get(f"/api/v1/services/{server}/request-kinds")
    assert answer.status_code == 200, answer.text
    users, front, rest = answer.json()["items"]
    assert users == {
        "kind": "GET /users/{id}", "requests": 100, "requests_per_s": pytest.approx(5), "mean_us": 10_000,
        "p50_us": pytest.approx(3_000, rel=0.06), "p99_us": pytest.approx(70_000, rel=0.06), "max_us": 80_000,
        "slow_ratio": 0.1, "client_errors_ratio": 0.05, "server_errors_ratio": 0.1, "grpc_statuses": [],
    }  # fmt: skip
    assert (front["kind"], front["requests_per_s"], front["mean_us"]) == ("GET /", pytest.approx(45), 500)
    assert (front["p50_us"], front["p99_us"]) == (None, None), "some requests have no latency"
    assert (rest["kind"], rest["requests"]) == (None, 30), "what is not told apart comes last"


def test_errors_are_not_measured_where_no_status_was_read() -> None:
    unread = [["GET /users/{id}", 50, 0, None, None, 1, 1], ["redis GET", 10, 0, None, None, 1, 1]]
    users, redis = kinds.merged([event(unread), event(FIRST[:1])])
    assert (users.name, users.requests) == ("GET /users/{id}", 140)
    assert (users.share_of_judged(users.client_errors), users.share_of_judged(users.server_errors)) == (5 / 90, 1 / 90)
    assert (redis.name, redis.share_of_judged(redis.server_errors)) == ("redis GET", None)


def test_codes_of_grpc_are_errors_of_server_or_client() -> None:
    """The status comes after the request, maybe in the next event; of one alone, nothing but that is known."""
    (orders,) = kinds.merged([event([ORDERS], grpc=[[0, 60, 5, 10, 14, 20]]), event([LATE], grpc=[[0, 8, 13, 2]])])
    assert (orders.requests, orders.judged) == (100, 100)
    assert (orders.share_of_judged(orders.client_errors), orders.share_of_judged(orders.server_errors)) == (0.1, 0.22)
    assert orders.grpc.most_common(2) == [(0, 68), (14, 20)]
    assert kinds.merged([event([LATE], grpc=[[13, 1]])]) == []


def test_a_proxy_answers_for_a_server_of_grpc() -> None:
    both = [*ORDERS[:3], 0, 25, *ORDERS[5:]]
    (orders,) = kinds.merged([event([both], grpc=[[0, 70, 14, 5]])])
    assert (orders.judged, orders.server_errors, orders.client_errors) == (100, 30, 0)


@pytest.mark.parametrize("grpc", ["{", [7], [[1]], [[14, -1]], [[17, 1]], [[14, 1], None]])
def test_codes_that_cannot_be_read_are_not_measured(grpc: Any) -> None:
    (orders,) = kinds.merged([event([ORDERS], grpc=grpc)])
    assert (orders.requests, orders.share_of_judged(orders.server_errors)) == (100, None)


def test_codes_are_told_by_name(api: TestClient, organization: Organization) -> None:
    start_us = minute_ago(3, now_us())
    builder = BatchBuilder("machine-1")
    _, index = add(builder, SHOP, start_us, TICKS_PER_MINUTE)
    told = builder.batch.events.add(resource=index, kind=kinds.EVENT, start_us=start_us, duration_us=10_000_000)
    told.attributes["rows"] = json.dumps([ORDERS])
    told.attributes["grpc"] = json.dumps([[0, 75, 5, 5, 14, 20]])
    assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).status_code == 200
    (found,) = api.get("/api/v1/resources", params={"kind": "tcp_server", "gone": True}).json()["items"]
    (orders,) = api.get(f"/api/v1/services/{found['id']}/request-kinds").json()["items"]
    assert orders["grpc_statuses"] == [
        {"code": 14, "name": "UNAVAILABLE", "ratio": 0.2}, {"code": 5, "name": "NOT_FOUND", "ratio": 0.05},
    ]  # fmt: skip
    assert (orders["client_errors_ratio"], orders["server_errors_ratio"]) == (0.05, 0.2)


@pytest.mark.parametrize("off", [(), ("tcp_requests:read_status",)])
def test_the_switch_leaves_errors_unmeasured(
    api: TestClient, organization: Organization, off: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    assert api.put("/api/v1/collection", json={"off": list(off)}).status_code == 200
    server = request.getfixturevalue("server")
    items = api.get(f"/api/v1/services/{server}/request-kinds").json()["items"]
    told = {one["kind"]: (one["client_errors_ratio"], one["server_errors_ratio"]) for one in items}
    assert told["GET /"] == ((None, None) if off else (0, 0))
    assert told["GET /users/{id}"] == ((None, None) if off else (0.05, 0.1))


def test_other_resources_and_windows_are_refused(api: TestClient, server: int) -> None:
    (node,) = api.get("/api/v1/resources", params={"kind": "node", "gone": True}).json()["items"]
    assert api.get(f"/api/v1/services/{node['id']}/request-kinds").status_code == 409
    assert api.get("/api/v1/services/999999999/request-kinds").status_code == 404
    window = {"from": "2026-11-24T00:00:00Z", "to": "2026-11-24T02:00:00Z"}
    assert api.get(f"/api/v1/services/{server}/request-kinds", params=window).status_code == 422
    window = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z"}
    assert api.get(f"/api/v1/services/{server}/request-kinds", params=window).json()["items"] == []


@pytest.mark.parametrize(
    "rows",
    ["", "{", "7", [7], [["GET /"]], [["GET /", 0, 0, 0, 0, 0, 0]], [["GET /", -1, 0, 0, 0, 0, 0]],
     [["GET /", 1, 0, None, 0, 0, 0]], [["GET /", 1, None, 0, 0, 0, 0]],
     [["GET /", "1", 0, 0, 0, 0, 0]], [[None, 1, 0, 0, 0, 0, 0]], [["GET /", 1.5, 0, 0, 0, 0, 0]]],
)  # fmt: skip
def test_what_cannot_be_read_is_left_out(rows: Any) -> None:
    assert kinds.merged([event(rows)]) == []
    assert [one.name for one in kinds.merged([event(rows), event(FIRST)])] == ["GET /users/{id}", "GET /"]


@pytest.mark.parametrize("latency", ["{", [7], [[1]], [[1, -1]], [[1, "2"]], [[401, 1]], [[1, 1], None]])
def test_latencies_that_cannot_be_read_are_unknown(latency: Any) -> None:
    (first, *_) = kinds.merged([event(FIRST, latency)])
    assert (first.requests, first.quantile_us(0.99)) == (90, None)
