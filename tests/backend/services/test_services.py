"""GET /services: every server with its figures, in any order, page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.sketch import bucket_of, value_of
from jitterscope.inventory import service as inventory
from jitterscope.kit import cursor as cursors
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.recordings.model import Recording
from jitterscope.series import compaction
from jitterscope.series import service as series
from tests.backend.conftest import Organization
from tests.backend.incidents.conftest import Service, gc_fault, service
from tests.support.batches import CGROUP, DNS_SERVER, PROCESS, BatchBuilder, now_us
from tests.support.tcp_servers import SLOW_PER_TICK, TCP_SERVER, TICKS_PER_MINUTE, Serving, add, minute_ago

__all__ = ["gc_fault", "service"]

TICKS = 2 * TICKS_PER_MINUTE
# Old enough that its windows can be compacted.
MINUTES_AGO = 25
SHOP = Serving(
    "shop", 8080, 41, usual_us=900.0, slow=dict.fromkeys(range(700, 730), 90_000), throttled={700: 42_000, 701: 18_000},
    lost={5: 6}, errors={9: 12}, runtime={"go.version": "1.25.3"},
)  # fmt: skip
STOCK = Serving(
    "stock", 9090, 42, per_tick=5, usual_us=3000.0, runtime={"runtime.name": "jvm", "runtime.version": "17.0.13"},
    grpc_errors={20: 1, 300: 1},
)  # fmt: skip


def value(us: float) -> float:
    return float(value_of(bucket_of(np.array([us])))[0])


def feed(client: TestClient, organization: Organization, node: str = "machine-1") -> int:
    """Two TCP servers (one slow for 3 s), a third without requests, a DNS server; returns when their minutes began."""
    start_us = minute_ago(MINUTES_AGO, now_us())
    builder = BatchBuilder(node)
    builder.fact(0, "node.hostname", node, start_us)
    for serving in (SHOP, STOCK):
        add(builder, serving, start_us, TICKS)
    home = len(builder.batch.resources) - 3
    resolver = builder.resource(PROCESS, "43:1000", home)
    dns = builder.resource(DNS_SERVER, "10.0.0.10:53", resolver)
    idle = builder.resource(DNS_SERVER, "10.0.0.11:53", resolver)
    builder.fact(dns, "dns.software", "coredns", start_us).fact(idle, "dns.software", "idle", start_us)
    builder.block(
        {(dns, "dns_queries"): np.full(TICKS, 10.0), (dns, "dns_answers"): np.full(TICKS, 10.0),
         (dns, "dns_slow"): np.zeros(TICKS), (dns, "dns_servfail"): np.ones(TICKS),
         (dns, "dns_latency_max_us"): np.full(TICKS, 400.0)},
        start_us,
    )  # fmt: skip
    answer = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    return start_us


@pytest.fixture
def began_us(api: TestClient, organization: Organization) -> int:
    return feed(api, organization)


def listed(api: TestClient, **parameters: Any) -> dict[str, Any]:
    answer = api.get("/api/v1/services", params=parameters)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def names(api: TestClient, **parameters: Any) -> list[str]:
    return [item["name"] for item in listed(api, **parameters)["items"]]


def check(page: dict[str, Any], began_us: int) -> None:
    by_name = {item["name"]: item for item in page["items"]}
    shop, stock, dns, idle = (
        by_name[name] for name in ("shop :8080", "stock :9090", "coredns 10.0.0.10:53", "idle 10.0.0.11:53")
    )
    assert (shop["kind"], shop["program"], shop["runtime"]) == ("tcp_server", "shop", "Go 1.25.3")
    assert (shop["container"]["name"], shop["node"]["name"]) == ("shop/shop-5d8/shop", "machine-1")
    assert shop["requests_per_s"] == pytest.approx(300)
    assert shop["failed_ratio"] == pytest.approx((6 + 12) / (30 * TICKS))
    assert shop["server_errors_per_s"] == pytest.approx(12 / TICKS * 10)
    assert shop["slow_ratio"] == pytest.approx(30 * SLOW_PER_TICK / (30 * TICKS))
    assert (shop["p50_us"], shop["max_us"]) == (pytest.approx(value(900)), 90_000)
    assert shop["p99_us"] == pytest.approx(value(900))  # 0.25 % are slow
    assert shop["throttled_ms_per_min"] == pytest.approx(30)
    first = (began_us - page["from_us"]) // 60_000_000
    assert len(shop["worst_us"]) == (page["to_us"] - page["from_us"]) // 60_000_000
    assert {minute: us for minute, us in enumerate(shop["worst_us"]) if us is not None} == {
        first: 900,
        first + 1: 90_000,
    }

    assert (stock["runtime"], stock["slow_ratio"]) == ("JVM 17.0.13", 0)
    assert stock["failed_ratio"] == pytest.approx(2 / (5 * TICKS))
    assert stock["throttled_ms_per_min"] == 0
    assert stock["server_errors_per_s"] is None, "not 0: no answer with a status was seen"
    assert stock["grpc_errors_per_s"] == pytest.approx(2 / TICKS * 10)
    assert shop["grpc_errors_per_s"] is None

    assert (dns["kind"], dns["program"], dns["requests_per_s"]) == ("dns_server", "coredns", pytest.approx(100))
    assert dns["failed_ratio"] == pytest.approx(0.1)
    assert (dns["p50_us"], dns["p99_us"], dns["runtime"]) == (None, None, None)

    unknown = ("requests_per_s", "failed_ratio", "slow_ratio", "p50_us", "p99_us", "max_us")
    assert [idle[name] for name in unknown] == [None] * len(unknown)
    assert set(idle["worst_us"]) == {None}


def test_figures_are_those_of_the_ticks_compacted_or_not(
    api: TestClient, organization: Organization, began_us: int
) -> None:
    before = listed(api)
    check(before, began_us)
    assert (before["found"], before["compared"], before["next_cursor"]) == (4, 4, None)
    assert compaction.compact(organization.id, now_us()) > 0
    check(listed(api), began_us)


@pytest.mark.usefixtures("began_us")
def test_any_column_orders_the_list_and_what_is_unknown_comes_last(api: TestClient) -> None:
    shop, stock, dns, idle = "shop :8080", "stock :9090", "coredns 10.0.0.10:53", "idle 10.0.0.11:53"
    assert names(api) == names(api, order="slow") == [shop, dns, stock, idle]
    assert names(api, order="rate") == [shop, dns, stock, idle]
    assert names(api, order="rate", descending=False) == [stock, dns, shop, idle]
    assert names(api, order="failed") == [dns, shop, stock, idle]
    assert names(api, order="worst") == [shop, stock, dns, idle]
    assert names(api, order="p99") == [stock, shop, dns, idle]
    assert names(api, order="p50", descending=False) == [shop, stock, dns, idle]
    assert names(api, order="name", descending=False) == [dns, idle, shop, stock]
    assert names(api, order="runtime") == [stock, shop, dns, idle]
    assert names(api, order="stalls")[0] == shop


@pytest.mark.usefixtures("began_us")
def test_a_text_is_looked_for_in_server_container_process_and_node(api: TestClient) -> None:
    assert names(api, search="SHOP/shop-5d8") == ["shop :8080"]
    assert names(api, search=":9090") == ["stock :9090"]
    assert len(names(api, search="machine-1")) == 4
    assert names(api, search="100%_") == []
    assert names(api, search="nothing like it") == []


@pytest.mark.usefixtures("began_us")
def test_pages_follow_one_another_in_the_window_of_the_first(api: TestClient) -> None:
    page = listed(api, order="name", descending=False, limit=3)
    following = listed(api, order="name", descending=False, limit=3, cursor=page["next_cursor"])
    assert [one["name"] for one in (*page["items"], *following["items"])] == names(api, order="name", descending=False)
    assert (following["from_us"], following["to_us"]) == (page["from_us"], page["to_us"])
    assert following["next_cursor"] is None


def test_a_window_without_data_lists_who_was_there(api: TestClient, began_us: int) -> None:
    before = began_us - 3_600_000_000
    assert listed(api, **{"from": before - 60_000_000, "to": before})["items"] == []
    assert listed(api)["to_us"] % 60_000_000 == 0


@pytest.mark.parametrize("parameters", [{"order": "color"}, {"limit": 0}, {"from": "0", "to": "100000000000"}])
def test_what_does_not_fit_is_refused(api: TestClient, parameters: dict[str, str]) -> None:
    assert api.get("/api/v1/services", params=parameters).status_code == 422


@pytest.mark.parametrize("cursor", ["no", "MSwy", cursors.encode(0, 90_000_000, 0), cursors.encode(0, 60_000_000, -1)])
def test_a_cursor_of_another_list_is_refused(api: TestClient, cursor: str) -> None:
    answer = api.get("/api/v1/services", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["title"]) == (400, "Invalid cursor")


def test_another_organization_sees_nothing_of_it(
    api: TestClient, organization: Organization, make_organization: Callable[[], Organization]
) -> None:
    feed(api, organization)
    other = make_organization()
    answer = api.get("/api/v1/services", headers=other.headers)
    assert (answer.status_code, answer.json()["items"], answer.json()["found"]) == (200, [], 0)


def test_active_incidents_of_the_container_are_named(service: Service, gc_fault: Recording) -> None:
    subject = service.feed(gc_fault)
    service.diagnose(subject)
    (incident,) = service.get("/incidents")["items"]
    (server,) = service.get("/services")["items"]
    assert (server["kind"], server["container"]["id"]) == ("dns_server", subject)
    assert [one["id"] for one in server["incidents"]] == [incident["id"]]
    assert {name: incident[name] for name in server["incidents"][0]} == server["incidents"][0]
    assert server["throttled_ms_per_min"] > 0
    service.post(f"/incidents/{incident['id']}/resolve", {})
    assert service.get("/services")["items"][0]["incidents"] == []


def test_what_a_service_asks_is_listed_with_the_time_of_the_hop(client: TestClient, organization: Organization) -> None:
    start_us = minute_ago(2 * MINUTES_AGO, now_us())
    builder = BatchBuilder()
    shop, database = builder.resource(CGROUP, "/shop"), builder.resource(CGROUP, "/database")
    server = builder.resource(TCP_SERVER, "/shop:8080", shop)
    asked = builder.resource(TCP_SERVER, "/database:5432", database)
    columns: dict[tuple[int, str], Any] = {(one, "requests"): np.ones(600) for one in (server, asked)}
    builder.fact(asked, "tcp.program", "postgres", start_us)
    for port, per_tick in ((5432, 20.0), (443, 1.0), (1, 0.0)):
        upstream = builder.resource(pb.RESOURCE_KIND_TCP_UPSTREAM, f"/shop>10.0.0.9:{port}", shop)
        columns[upstream, "upstream_calls"] = np.full(600, per_tick)
        columns[upstream, "upstream_calls_slow"] = np.full(600, per_tick / 4)
        if port == 5432:
            columns[upstream, "upstream_latency_max_us"] = np.full(600, 31_000.0)
            builder.fact(upstream, "upstream.server", "/database:5432", start_us)
            builder.distribution(upstream, "upstream_latency_us", start_us, [{100: 15, 200: 5}] * 600)
    builder.block(columns, start_us)
    sent = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert sent.status_code == 200, sent.text
    answer = client.get("/api/v1/services", headers=organization.headers).json()["items"]
    asks = {one["key"]: one["asks"] for one in answer}
    assert asks["/database:5432"] == []
    first, second = asks["/shop:8080"]
    assert (first["name"], first["server"]["name"]) == ("10.0.0.9:5432", "postgres :5432")
    assert (first["calls_per_s"], first["slow_ratio"], first["max_us"]) == (pytest.approx(200), 0.25, 31_000)
    usual, slow = value_of(np.array([100, 200])).tolist()
    assert (first["p50_us"], first["p99_us"]) == (pytest.approx(usual), pytest.approx(slow))
    assert (second["name"], second["server"], second["p50_us"]) == ("10.0.0.9:443", None, None)


def test_quantiles_are_those_of_the_window_though_rows_reach_out_of_it(
    client: TestClient, organization: Organization
) -> None:
    start_us = minute_ago(2 * MINUTES_AGO, now_us())
    builder = BatchBuilder()
    server = builder.resource(DNS_SERVER, "10.0.0.10:53")
    builder.distribution(server, "dns_latency_us", start_us, [{100: 3}] * 600 + [{}] * 300 + [{200: 1, 300: 1}] * 900)
    sent = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert sent.status_code == 200, sent.text

    def median_and_last(first: int, last: int) -> tuple[float, ...] | None:
        with organization_session(organization.id) as session:
            (found,), _ = inventory.servers(session, "", start_us, now_us(), 10)
            span = (start_us + first * 60_000_000, start_us + last * 60_000_000)
            return series.read_quantiles(session, [found.resource.id], "dns_latency_us", (0.5, 1.0), *span)

    a, b, c = (float(one) for one in value_of(np.array([100, 200, 300])))
    assert median_and_last(0, 1) == pytest.approx((a, a))
    for second_half in ((1, 2), (2, 3)):
        assert median_and_last(*second_half) == pytest.approx((b, c))
    for all_of_it in ((0, 3), (-1, 4)):
        assert median_and_last(*all_of_it) == pytest.approx((a, c))
    assert median_and_last(-2, 0) is median_and_last(3, 9) is None
