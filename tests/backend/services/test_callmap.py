"""GET /services/map: who calls whom, with the time of each hop."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.services.callmap import graph, listing, places
from tests.backend.conftest import Organization
from tests.support.batches import CGROUP, DNS_SERVER, PROCESS, BatchBuilder, now_us
from tests.support.tcp_servers import TCP_SERVER, TCP_UPSTREAM, minute_ago

DNS_PATH = pb.RESOURCE_KIND_DNS_PATH
MINUTES = 2
TICKS = MINUTES * 600
FAST, SLOW = 100, 300
USUAL_US, SLOW_US = (float(us) for us in value_of(np.array([FAST, SLOW])))


@dataclass(frozen=True)
class Service:
    """A Kubernetes Service as the collector of a pod behind it tells it."""

    name: str
    address: str
    port: int
    target: int


class Node:
    """A batch of a node with pods whose containers call each other."""

    def __init__(self, name: str, start_us: int) -> None:
        self.start_us = start_us
        self.builder = BatchBuilder(name)
        self.pods: dict[str, int] = {}
        self.builder.fact(0, "node.hostname", name, start_us)

    def pod(self, owner: str, pod: str, address: str = "", port: int | None = None) -> int:
        path = f"/kubepods/pod-{pod}/{owner}"
        if pod not in self.pods:
            self.pods[pod] = self.builder.resource(CGROUP, path.rpartition("/")[0])
        container = self.builder.resource(CGROUP, path, self.pods[pod])
        facts = {
            "workload.namespace": "shop",
            "workload.owner": owner,
            "workload.pod": pod,
            "workload.container": owner,
        }
        if address:
            facts["net.addresses"] = json.dumps([address])
        for name, value in facts.items():
            self.builder.fact(container, name, value, self.start_us)
        if port is not None:
            self.serve(container, f"{path}:{port}")
        return container

    def behind(self, container: int, *services: Service) -> None:
        """The Services that select a container's pod."""
        listed = [
            {"name": one.name, "addresses": [one.address, "fd00::7"], "ports": {f"{one.port}/TCP": one.target}}
            for one in services
        ]
        self.builder.fact(container, "workload.services", json.dumps(listed), self.start_us)

    def serve(self, container: int, key: str) -> None:
        server = self.builder.resource(TCP_SERVER, key, container)
        self.builder.block(
            {(server, "requests"): np.full(TICKS, 4.0), (server, "responses_slow"): np.ones(TICKS)}, self.start_us
        )

    def call(
        self,
        caller: int,
        address: str,
        per_tick: float,
        slow: float = 0.0,
        half: int | None = None,
        told: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`half`: only in the first (0) or second (1) half of the window. `told`: facts, upstream.NAME."""
        key = f"{self.builder.batch.resources[caller].key}>{address}"
        upstream = self.builder.resource(TCP_UPSTREAM, key, caller)
        for name, value in told.items():
            self.builder.fact(upstream, f"upstream.{name}", value, self.start_us)
        ticks = TICKS if half is None else TICKS // 2
        start_us = self.start_us + (half or 0) * ticks * 100_000
        self.builder.block(
            {
                (upstream, "upstream_calls"): np.full(ticks, per_tick),
                (upstream, "upstream_calls_slow"): np.full(ticks, slow),
                (upstream, "upstream_latency_max_us"): np.full(ticks, 200_000.0 if slow else 900.0),
            },
            start_us,
        )
        quick = int(per_tick - slow)
        histogram = {bucket: count for bucket, count in ((FAST, quick), (SLOW, int(slow))) if count}
        if histogram:
            self.builder.distribution(upstream, "upstream_latency_us", start_us, [histogram] * ticks)

    def resolver(self, container: int, address: str, clients: dict[str, float]) -> None:
        process = self.builder.resource(PROCESS, "7:1", container)
        server = self.builder.resource(DNS_SERVER, address, process)
        self.builder.fact(server, "dns.software", "coredns", self.start_us)
        for client, per_tick in clients.items():
            path = self.builder.resource(DNS_PATH, f"{client}>{address}", server)
            values = {(path, "dns_queries"): np.full(TICKS, per_tick), (path, "dns_slow"): np.zeros(TICKS)}
            self.builder.block(values, self.start_us)
            self.builder.distribution(path, "dns_latency_us", self.start_us, [{FAST: int(per_tick)}] * TICKS)

    def send(self, client: TestClient, organization: Organization) -> None:
        sent = client.post("/api/v1/ingest", content=self.builder.body(), headers=organization.ingest_headers)
        assert sent.status_code == 200, sent.text


@dataclass(frozen=True)
class Picture:
    """The answer, by names of places."""

    answer: dict[str, Any]

    @property
    def places(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: one for one in self.answer["places"]}

    @property
    def calls(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        names = {one["id"]: one["name"] for one in self.answer["places"]}
        return {(names[one["caller"]], names[one["called"]], one["protocol"]): one for one in self.answer["calls"]}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(caller, called) for caller, called, _ in self.calls]


def picture(api: TestClient, **parameters: Any) -> Picture:
    answer = api.get("/api/v1/services/map", params=parameters)
    assert answer.status_code == 200, answer.text
    return Picture(answer.json())


def feed(client: TestClient, organization: Organization) -> None:
    """gate → web (two replicas on two nodes) → database and an address elsewhere; the first node's pods query DNS."""
    start_us = minute_ago(10, now_us())
    first, second = Node("one", start_us), Node("two", start_us)
    gate = first.pod("gate", "gate-1", "10.1.0.4")
    web = first.pod("web", "web-1", "10.1.0.5", 8080)
    database = first.pod("database", "database-0", "10.1.0.6", 5432)
    first.behind(database, Service("shop/db", "10.96.0.7", 54320, 5432))
    first.call(gate, "10.1.0.5:8080", 30)
    first.call(web, "10.96.0.7:54320", 20, slow=2, told={"service": "shop/db"})
    first.call(web, "203.0.113.9:443", 1)
    first.call(web, "203.0.113.10:443", 0)
    first.resolver(
        first.pod("coredns", "coredns-1"), "10.1.0.2:53", {"10.1.0.5": 10.0, "10.9.9.9": 1.0, "10.9.9.8": 1.0}
    )
    replica = second.pod("web", "web-2", "10.1.1.5", 8080)
    second.call(replica, "10.1.0.6:5432", 10)
    for node in (first, second):
        node.send(client, organization)


@pytest.fixture
def fed(api: TestClient, organization: Organization) -> TestClient:
    feed(api, organization)
    return api


def test_calls_between_workloads_have_the_time_of_their_hop(fed: TestClient) -> None:
    found = picture(fed)
    hop = found.calls["web", "database", "tcp"]
    # Two replicas on two nodes: one calls the address of a Service, one that of the only pod behind it.
    assert hop["calls_per_s"] == pytest.approx(300)
    assert hop["slow_ratio"] == pytest.approx(2 / 30)
    assert (hop["p50_us"], hop["p99_us"], hop["max_us"]) == (pytest.approx(USUAL_US), pytest.approx(SLOW_US), 200_000)
    assert (hop["opens"]["kind"], hop["opens"]["key"]) == ("tcp_server", "/kubepods/pod-database-0/database:5432")
    assert (hop["services"], found.places["database"]["workloads"]) == (["shop/db"], [])
    assert found.calls["gate", "web", "tcp"]["slow_ratio"] == 0
    assert found.calls["gate", "web", "tcp"]["services"] == []
    outside = found.calls["web", "203.0.113.9:443", "tcp"]
    assert (outside["opens"]["kind"], outside["calls_per_s"]) == ("tcp_upstream", pytest.approx(10))
    assert "203.0.113.10:443" not in found.places, "it was not called"
    assert found.pairs[0] == ("web", "database"), "the most slow calls come first"
    assert (found.answer["calls_found"], found.answer["places_found"]) == (len(found.calls), len(found.places))
    assert (found.answer["paths_seen"], found.answer["paths_compared"]) == (8, 8)


def test_lookups_are_calls_too(fed: TestClient) -> None:
    found = picture(fed)
    lookups = found.calls["web", "coredns", "dns"]
    assert (lookups["calls_per_s"], lookups["p99_us"]) == (pytest.approx(100), pytest.approx(USUAL_US))
    assert (lookups["slow_ratio"], lookups["max_us"], lookups["opens"]["kind"]) == (0, None, "dns_server")
    clients = found.places["Clients of coredns"]
    assert (clients["kind"], clients["members"], clients["opens"]) == ("clients", 2, None)
    assert found.calls["Clients of coredns", "coredns", "dns"]["calls_per_s"] == pytest.approx(20)


def test_a_place_is_a_workload_and_says_how_it_fares(fed: TestClient) -> None:
    known = picture(fed).places
    web, database, outside = known["web"], known["database"], known["203.0.113.9:443"]
    assert (web["kind"], web["namespace"], web["members"], web["node"]) == ("workload", "shop", 2, None)
    assert web["opens"]["kind"] == "tcp_server"
    assert (database["slow_ratio"], database["node"]["name"], database["members"]) == (0.25, "one", 1)
    assert (known["gate"]["opens"]["kind"], known["gate"]["slow_ratio"]) == ("cgroup", None)
    assert (outside["kind"], outside["slow_ratio"], outside["members"]) == ("address", None, 0)


def test_around_a_place_are_its_callers_and_what_it_calls(fed: TestClient) -> None:
    whole = picture(fed)
    ids = {name: place["opens"]["id"] for name, place in whole.places.items() if place["opens"] is not None}
    near = picture(fed, resource=ids["database"])
    assert near.answer["center"] == near.places["database"]["id"]
    assert near.pairs == [("web", "database")]
    assert set(picture(fed, resource=ids["database"], hops=2).pairs) == {("web", "database"), ("gate", "web")}
    assert set(picture(fed, resource=ids["web"]).pairs) == {
        ("web", "database"), ("gate", "web"), ("web", "203.0.113.9:443"), ("web", "coredns"),
    }  # fmt: skip
    node = whole.places["gate"]["node"]["id"]
    assert (picture(fed, resource=node).answer["center"], picture(fed, resource=node).pairs) == (None, [])
    assert fed.get("/api/v1/services/map", params={"resource": 2**40}).status_code == 404


def test_a_text_is_looked_for_at_both_ends(fed: TestClient) -> None:
    assert picture(fed, search="DATABASE").pairs == [("web", "database")]
    assert picture(fed, search="shop/db").pairs == [("web", "database")]
    assert picture(fed, search="203.0.113").pairs == [("web", "203.0.113.9:443")]
    assert len(picture(fed, search="shop/web").pairs) == 4
    assert picture(fed, search="no such thing").answer["calls"] == []


def test_what_does_not_fit_is_counted(fed: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = picture(fed)
    monkeypatch.setattr(listing, "MAX_PLACES", 3)
    small = picture(fed)
    assert len(small.places) == 3
    assert small.pairs[0] == ("web", "database")
    assert (small.answer["places_found"], small.answer["calls_found"]) == (len(whole.places), len(whole.calls))


def test_a_path_that_replaced_another_adds_no_time(api: TestClient, organization: Organization) -> None:
    node = Node("one", minute_ago(10, now_us()))
    for half, pod in enumerate(("web-a", "web-b")):
        node.call(node.pod("web", pod), "203.0.113.9:443", 10, half=half)
    node.send(api, organization)
    ((pair, call),) = picture(api).calls.items()
    assert (pair[0], call["calls_per_s"]) == ("web", pytest.approx(100))


def test_an_address_that_is_not_a_pods_is_one_only_on_its_node(api: TestClient, organization: Organization) -> None:
    start_us = minute_ago(10, now_us())
    for name in ("one", "two"):
        node = Node(name, start_us)
        caller = node.builder.resource(CGROUP, "/docker/caller")
        node.call(caller, "172.17.0.2:80", 1)
        if name == "one":
            called = node.builder.resource(CGROUP, "/docker/called")
            node.builder.fact(called, "net.addresses", '["172.17.0.2"]', start_us)
            node.serve(called, "/docker/called:80")
        node.send(api, organization)
    called_by = {call["opens"]["kind"]: pair[1] for pair, call in picture(api).calls.items()}
    assert called_by == {"tcp_server": "/docker/called", "tcp_upstream": "172.17.0.2:80"}


def feed_services(client: TestClient, organization: Organization, *, canary: str = "stock") -> None:
    """On three nodes: gate calls a Service with a replica of stock each on two nodes, and on one also another pod."""
    start_us = minute_ago(10, now_us())
    nodes = [Node(name, start_us) for name in ("one", "two", "three")]
    service = Service("shop/stock", "10.96.0.7", 80, 8080)
    gate = nodes[0].pod("gate", "gate-1", "10.1.0.4", 80)
    nodes[0].call(gate, "10.96.0.7:80", 30, told={"service": "shop/stock"})
    nodes[0].call(gate, "[fd00::7]:80", 10, told={"service": "shop/stock"})
    for at, node in enumerate(nodes[1:]):
        node.behind(node.pod("stock", f"stock-{at}", f"10.1.{at + 1}.5", 8080), service)
        # Its Service has the same name in another namespace; this pod is not behind the one that is called.
        node.behind(node.pod("prices", f"prices-{at}", f"10.1.{at + 1}.6", 8080), replace(service, name="other/stock"))
    nodes[2].behind(nodes[2].pod(canary, "canary-1", "10.1.2.7"), service)
    for node in nodes:
        node.send(client, organization)


def test_a_service_is_the_workload_behind_it_on_all_nodes(api: TestClient, organization: Organization) -> None:
    feed_services(api, organization)
    found = picture(api)
    ((pair, call),) = found.calls.items()
    assert (pair, call["services"]) == (("gate", "stock", "tcp"), ["shop/stock"])
    # The kernel chose which of the pods got each call: the server is not known.
    assert (call["calls_per_s"], call["opens"]["kind"]) == (pytest.approx(400), "tcp_upstream")
    stock = found.places["stock"]
    assert (stock["kind"], stock["namespace"], stock["members"], stock["node"]) == ("workload", "shop", 2, None)
    assert (stock["opens"]["kind"], stock["slow_ratio"]) == ("tcp_server", 0.25)


def test_a_service_of_several_workloads_is_a_place_that_names_them(api: TestClient, organization: Organization) -> None:
    feed_services(api, organization, canary="stock-canary")
    found = picture(api)
    ((pair, call),) = found.calls.items()
    assert (pair, call["services"], call["opens"]["kind"]) == (
        ("gate", "stock", "tcp"), ["shop/stock"], "tcp_upstream",
    )  # fmt: skip
    stock = found.places["stock"]
    assert (stock["kind"], stock["namespace"], stock["workloads"]) == ("service", "shop", ["stock", "stock-canary"])
    assert (stock["members"], stock["slow_ratio"], stock["node"], stock["incidents"]) == (0, None, None, [])
    # The map around a pod behind it has the calls that may reach it.
    cgroups = api.get("/api/v1/resources", params={"search": "canary-1", "kind": "cgroup"}).json()["items"]
    (canary,) = (one for one in cgroups if one["key"].endswith("/stock-canary"))
    near = picture(api, resource=canary["id"])
    assert (near.pairs, near.answer["center"]) == ([("gate", "stock")], "workload:shop/stock-canary")
    assert picture(api, search="stock-canary").pairs == [("gate", "stock")]
    (gate,) = (one for one in api.get("/api/v1/services").json()["items"] if one["key"].endswith("gate:80"))
    assert {one["name"]: (one["service"], one["workloads"]) for one in gate["asks"]} == {
        "10.96.0.7:80": ("shop/stock", ["stock", "stock-canary"]),
        "[fd00::7]:80": ("shop/stock", ["stock", "stock-canary"]),
    }


def test_only_what_the_caller_says_is_a_service_is_one(api: TestClient, organization: Organization) -> None:
    """An address of another cluster, or one whose Service no longer has it, or nothing known behind it."""
    node = Node("one", minute_ago(10, now_us()))
    caller = node.pod("gate", "gate-1")
    stock = node.pod("stock", "stock-1", "10.1.0.5", 8080)
    node.behind(stock, Service("shop/stock", "10.96.0.7", 80, 8080))
    for address, told in (
        ("10.96.0.7:80", {}),
        ("10.96.0.8:80", {"service": "shop/stock"}),  # it had another address there
        ("10.96.0.7:81", {"service": "shop/stock"}),
        ("10.96.0.1:443", {"service": "default/kubernetes"}),
        ("10.96.0.9:80", {"service": ""}),
    ):
        node.call(caller, address, 1, told=told)
    node.send(api, organization)
    found = picture(api)
    assert {one["name"]: (one["kind"], one["workloads"]) for one in found.answer["places"]} == {
        "gate": ("workload", []),
        "10.96.0.7:80": ("address", []),
        "stock": ("service", []),
        "kubernetes": ("service", []),
        "10.96.0.9:80": ("address", []),
    }
    assert found.calls["gate", "stock", "tcp"]["calls_per_s"] == pytest.approx(20)


def test_a_server_in_the_callers_own_network_namespace_is_named(api: TestClient, organization: Organization) -> None:
    node = Node("one", minute_ago(10, now_us()))
    sidecar = node.pod("proxy", "web-1", "10.1.0.5")
    node.pod("web", "web-1", "10.1.0.5", 8080)
    node.call(sidecar, "127.0.0.1:8080", 1, told={"server": "/kubepods/pod-web-1/web:8080"})
    node.send(api, organization)
    ((pair, call),) = picture(api).calls.items()
    assert (pair, call["opens"]["key"]) == (("proxy", "web", "tcp"), "/kubepods/pod-web-1/web:8080")


def test_another_organization_sees_nothing_of_it(
    fed: TestClient, make_organization: Callable[[], Organization]
) -> None:
    server = next(place["opens"]["id"] for place in picture(fed).answer["places"] if place["opens"] is not None)
    other = make_organization()
    answer = fed.get("/api/v1/services/map", headers=other.headers)
    assert (answer.status_code, answer.json()["calls"], answer.json()["paths_seen"]) == (200, [], 0)
    assert fed.get("/api/v1/services/map", params={"resource": server}, headers=other.headers).status_code == 404


@pytest.mark.parametrize("parameters", [{"hops": 3}, {"hops": 0}, {"from": "0", "to": "100000000000"}])
def test_what_is_out_of_bounds_is_refused(api: TestClient, parameters: dict[str, str]) -> None:
    assert api.get("/api/v1/services/map", params=parameters).status_code == 422


@dataclass(frozen=True)
class Edge:
    caller: places.Place
    called: places.Place


def edges(*pairs: str) -> list[Edge]:
    return [Edge(*(places.Place(one, "workload", one) for one in pair)) for pair in pairs]


def ends(found: list[Edge]) -> list[str]:
    return [edge.caller.id + edge.called.id for edge in found]


def test_hops_follow_calls_in_their_direction_even_in_a_circle() -> None:
    all_of_them = edges("ab", "bc", "cd", "xc", "ca", "bb")
    assert ends(graph.around(all_of_them, {"b"}, 1)) == ["ab", "bc", "bb"]
    assert ends(graph.around(all_of_them, {"b"}, 2)) == ["ab", "bc", "cd", "ca", "bb"]
    assert graph.around(all_of_them, {"z"}, 2) == []
    assert ends(graph.around(all_of_them, {"x", "b"}, 1)) == ["ab", "bc", "xc", "bb"]


def test_a_call_between_places_that_are_shown_stays() -> None:
    ranked = edges("ab", "xy", "ba", "ac")
    assert ends(graph.shown(ranked, 10, 2)) == ["ab", "ba"]
    assert ends(graph.shown(ranked, 1, 10)) == ["ab"]
