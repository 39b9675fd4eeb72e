"""The DNS path as the API shows it: from ingested data, for one organization."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from jitterscope.db import organization_session
from jitterscope.recordings.model import Recording
from jitterscope.series.types import TICK_US
from tests.backend.conftest import Organization
from tests.support.dns_node import LIMIT, NAMES, POD, SEARCH


@pytest.fixture
def node(service: Any, exhausted: Recording) -> dict[str, int]:
    """Resource ids of the node's DNS servers by their place in the chain, and of the node itself."""
    service.feed(exhausted)
    return _ids(service)


def _ids(service: Any) -> dict[str, int]:
    with organization_session(service.organization.id) as session:
        rows = session.execute(text("SELECT id, kind, key FROM resources WHERE kind IN ('dns_server', 'node')"))
        return {row.key if row.kind == "dns_server" else "node": row.id for row in rows}


def hops_of(path: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {(hop["software"] or hop["kind"]): hop for hop in path["hops"]}


def test_the_path_from_clients_to_the_records(service: Any, node: dict[str, int]) -> None:
    path = service.get("/dns/path")
    assert path["node"]["id"] == node["node"]
    assert [one["id"] for one in path["nodes"]] == [node["node"]]
    hops = hops_of(path)
    levels = {name: hop["level"] for name, hop in hops.items()}
    assert levels == {"clients": 0, "coredns": 1, "dnsmasq": 2, "kubedns": 3}
    known = {(link["asker"], link["asked"]): link for link in path["links"]}
    cache, dnsmasq = hops["coredns"], hops["dnsmasq"]
    assert set(known) == {
        (hops["clients"]["id"], cache["id"]), (cache["id"], dnsmasq["id"]), (dnsmasq["id"], hops["kubedns"]["id"]),
    }  # fmt: skip
    towards = known[cache["id"], dnsmasq["id"]]
    assert (towards["protocol"], towards["known"], towards["zones"]) == ("tcp", "settings", ["cluster.local"])
    assert towards["queries_per_s"] == pytest.approx(dnsmasq["queries_per_s"])
    assert towards["p50_us"] == pytest.approx(50_000, rel=0.1)
    # What case 4 took weeks to see: all children busy, connections not accepted, and where the time is spent.
    assert (dnsmasq["children"], dnsmasq["child_limit"]) == (LIMIT, LIMIT)
    assert dnsmasq["backlog"] > 0
    assert dnsmasq["connections"] > LIMIT
    assert cache["upstream_connections"] > LIMIT
    assert cache["error_ratio"] > 0.01
    assert cache["error_lines"] > 0
    assert cache["p99_us"] > 1_000_000
    assert cache["matched_queries"] > 1000
    assert cache["own_p99_us"] > 100_000 > hops["kubedns"]["p99_us"]
    assert cache["name"] == "kube-system/node-local-dns-5xk2p/node-cache"
    [client] = hops["clients"]["clients"]
    assert (client["address"], client["names"]) == (POD, ["shop/web-7c9d8bb6f4-x2x9q/web"])
    assert client["queries_per_s"] == pytest.approx(cache["queries_per_s"])
    assert any(note.startswith("dns_errors:") for note in path["notes"])


def test_a_calm_path_has_no_bad_signs(service: Any, calm: Recording) -> None:
    service.feed(calm)
    hops = hops_of(service.get("/dns/path"))
    assert hops["dnsmasq"]["children"] <= LIMIT
    assert hops["dnsmasq"]["backlog"] == 0
    assert hops["coredns"]["error_ratio"] == 0
    assert hops["coredns"]["own_p99_us"] < 20_000
    assert service.get("/dns/affected")["verdict"] == "at_risk"


def test_names_by_what_they_cost(service: Any, node: dict[str, int]) -> None:
    names = service.get("/dns/names", order="queries")
    listed = {item["name"]: item for item in names["items"]}
    assert set(listed) == {name.name.rstrip(".") for name in NAMES}
    assert names["items"][0]["name"] == "payments.shop.svc.cluster.local"
    assert sum(item["queries"] for item in names["items"]) == names["queries"]
    assert names["listed_ratio"] == 1.0
    assert sum(item["share_ratio"] for item in names["items"]) == pytest.approx(1.0)
    denied = service.get("/dns/names", order="nxdomain", limit=3)["items"]
    assert {item["name"] for item in denied} == {f"api.example.com.{domain}" for domain in SEARCH}
    assert all(item["nxdomain_ratio"] > 0.3 and item["clients"] == 1 for item in denied)
    slowest = service.get("/dns/names", order="time")["items"]
    assert [item["total_us"] for item in slowest] == sorted((item["total_us"] for item in slowest), reverse=True)
    # The upstream servers keep no list of their own here; a request for them alone gives nothing, not everything.
    assert service.get("/dns/names", server=[node["10.4.1.38:53"]])["items"] == []


def test_what_a_look_up_costs_a_client(service: Any, calm: Recording) -> None:
    service.feed(calm)
    clients = service.get("/dns/clients")
    [client] = clients["items"]
    assert (client["address"], client["source"], client["search"], client["ndots"]) == (
        POD, "resolv_conf", list(SEARCH), 5,
    )  # fmt: skip
    assert [workload["name"] for workload in client["workloads"]] == ["shop/web-7c9d8bb6f4-x2x9q/web"]
    [costliest] = client["costliest"]
    assert (costliest["name"], costliest["answer"]) == ("api.example.com", "api.example.com")
    assert costliest["queries_per_lookup"] > 2.5
    assert client["best_ndots"]["queries_per_lookup"] < 1.5
    assert clients["wasted"] == client["wasted"] > 0


def test_am_i_affected(service: Any, node: dict[str, int]) -> None:
    affected = service.get("/dns/affected")
    assert affected["verdict"] == "yes"
    assert {answer["id"]: answer["answer"] for answer in affected["answers"]} == {
        "nodelocal_with_kube_dns": "yes", "io_timeout_lines": "yes", "dnsmasq_at_limit": "yes",
    }  # fmt: skip


def test_a_node_is_named_by_anything_on_it(service: Any, node: dict[str, int]) -> None:
    for resource_id in node.values():
        assert service.get("/dns/path", node=resource_id)["node"]["id"] == node["node"]
    assert service.get("/dns/path", status=404, node=max(node.values()) + 1_000)["type"].endswith("not-found")


def test_windows(service: Any, node: dict[str, int]) -> None:
    now_us = time.time_ns() // 1000
    path = service.get("/dns/path", **{"from": str(now_us - 5_000_000), "to": str(now_us)})
    assert path["to_us"] - path["from_us"] == 5_000_000
    reversed_ = {"from": str(now_us), "to": str(now_us - TICK_US)}
    for bad in ({"from": "soon"}, reversed_, {"from": str(now_us - 901_000_000), "to": str(now_us)}):
        assert service.get("/dns/path", status=422, **bad)["type"]
    # Without an end, the newest data are meant: as much as a request may cover.
    newest = service.get("/dns/path", **{"from": str(now_us - 905_000_000)})
    assert newest["to_us"] - newest["from_us"] <= 900_000_000
    # Names are lists per ten seconds: an hour of them costs no more than minutes of ticks.
    assert service.get("/dns/names", **{"from": str(now_us - 3_000_000_000)})["items"]


def test_nothing_is_shown_where_nothing_was_seen(service: Any) -> None:
    path = service.get("/dns/path")
    assert (path["node"], path["hops"], path["links"]) == (None, [], [])
    assert service.get("/dns/names")["items"] == []
    assert service.get("/dns/clients")["items"] == []
    assert service.get("/dns/affected", status=404)["type"].endswith("no-dns-server")


def test_another_organization_sees_nothing_of_it(
    service: Any, node: dict[str, int], make_organization: Callable[[], Organization]
) -> None:
    other = make_organization()
    for path in ("path", "names", "clients", "affected"):
        for wanted in ({}, {"node": node["node"]}, {"server": node["169.254.20.10:53"]}):
            response = service.client.get(f"/api/v1/dns/{path}", params=wanted, headers=other.headers)
            assert "169.254" not in response.text
            assert "api.example.com" not in response.text
            assert response.status_code == (404 if "node" in wanted or path == "affected" else 200)
