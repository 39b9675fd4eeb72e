"""Remote-write metrics by name, label, and resource; nothing is cut silently."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from jitterscope.pb import prometheus_v1_pb2 as v1
from tests.backend.conftest import Organization
from tests.backend.ingest.remote_writer import every, now_ms, post, request_of, send
from tests.support.batches import CGROUP, BatchBuilder

BOUNDS = {"0.005": 10.0, "0.1": 90.0, "1": 100.0, "+Inf": 100.0}


def get(api: TestClient, path: str, **parameters: Any) -> Any:
    answer = api.get(f"/api/v1/metrics{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lines(series: dict[str, Any]) -> dict[str, list[float]]:
    return {
        line["name"]: [round(value, 6) for value in line["values"] if value is not None] for line in series["lines"]
    }


def names(api: TestClient, **parameters: Any) -> list[str]:
    return [one["name"] for one in get(api, "", **parameters)["items"]]


@pytest.fixture
def coredns(api: TestClient, organization: Organization) -> None:
    """A CoreDNS with two servers as its own Prometheus scrapes it, with that Prometheus's metric metadata."""
    sent: list[Any] = []
    for instance in ("10.0.0.1:9153", "10.0.0.2:9153"):
        base = {"job": "coredns", "instance": instance, "zone": "."}
        hits = every(15, [100.0 * at for at in range(8)])
        sent.append(({"__name__": "coredns_cache_hits_total", **base}, hits))
        sent.append(({"__name__": "process_open_fds", **base}, every(15, [7, 9, 8])))
        for bound, last in BOUNDS.items():
            sent.append(
                ({"__name__": "coredns_dns_request_duration_seconds_bucket", "le": bound, **base}, every(15, [0, last]))
            )
    request = request_of(sent)
    request.metadata.add(
        type=v1.MetricMetadata.HISTOGRAM, metric_family_name="coredns_dns_request_duration_seconds",
        help="Time to answer.",
    )  # fmt: skip
    assert post(api, organization, request.SerializeToString()).status_code == 204


@pytest.mark.usefixtures("coredns")
def test_metrics_are_found_by_parts_of_their_name(api: TestClient) -> None:
    page = get(api, "", search="DNS request")
    (histogram,) = page["items"]
    assert (page["found"], page["series"], page["next_cursor"]) == (1, 8, None)
    assert histogram["name"] == "coredns_dns_request_duration_seconds_bucket"
    assert (histogram["type"], histogram["view"], histogram["unit"]) == ("histogram", "quantiles", "s")
    assert histogram["help"] == "Time to answer."
    assert names(api, match="zone=.") == names(api)
    assert names(api, match="zone!=.") == []
    assert names(api, match=["zone=.", "instance~0.0.2"], search="fds") == ["process_open_fds"]
    first = get(api, "", limit=2)
    assert (first["found"], len(first["items"])) == (3, 2)
    (last,) = get(api, "", limit=2, cursor=first["next_cursor"])["items"]
    assert last["name"] == "process_open_fds"


@pytest.mark.usefixtures("coredns")
def test_series_are_drawn_as_their_type_asks(api: TestClient) -> None:
    hits = get(api, "/series", name="coredns_cache_hits_total")
    assert (hits["view"], hits["type"], hits["found"]) == ("rate", "counter", 2)
    assert set(lines(hits["items"][0])["rate"]) == {round(100 / 15, 6)}
    fds = get(api, "/series", name="process_open_fds", match="instance=10.0.0.1:9153")
    assert (fds["view"], fds["found"]) == ("raw", 1)
    assert max(lines(fds["items"][0])["high"]) == 9
    assert get(api, "/series", name="coredns_cache_hits_total", view="raw")["items"][0]["lines"][0]["name"] == "low"
    latency = get(api, "/series", name="coredns_dns_request_duration_seconds_bucket")
    assert (latency["view"], latency["unit"], latency["found"]) == ("quantiles", "s", 2)
    assert [one["series"] for one in latency["items"]] == [4, 4]
    assert "le" not in latency["items"][0]["labels"]
    # 50 of 100 are among the 80 between 5 ms and 100 ms, half of them.
    assert lines(latency["items"][0]) == {"p50": [0.0525], "p90": [0.1], "p99": [0.91]}
    refused = api.get("/api/v1/metrics/series", params={"name": "process_open_fds", "view": "quantiles"})
    assert refused.status_code == 422


def test_what_does_not_fit_is_counted_and_paged(api: TestClient, organization: Organization) -> None:
    at = now_ms()
    send(
        api,
        organization,
        [({"__name__": "busy", "job": "x", "n": f"{n}", "half": f"{n % 2}"}, [(at, n)]) for n in range(130)],
    )
    page = get(api, "/series", name="busy", limit=50)
    assert page["found"] == 130
    assert page["narrow"] == "Filter by n (130 values), half (2 values)."
    seen = [one["labels"]["n"] for one in page["items"]]
    while page["next_cursor"]:
        page = get(api, "/series", name="busy", limit=50, cursor=page["next_cursor"])
        seen += [one["labels"]["n"] for one in page["items"]]
    assert sorted(seen, key=int) == [f"{n}" for n in range(130)]
    assert get(api, "/series", name="busy", match="n=7")["narrow"] is None
    labels = {one["name"]: one for one in get(api, "/labels", name="busy")}
    assert (labels["n"]["found"], len(labels["n"]["values"])) == (130, 100)
    assert labels["half"]["values"] == [{"value": "0", "series": 65}, {"value": "1", "series": 65}]
    # The older kind of request says so too.
    (target,) = api.get("/api/v1/resources", params={"search": "x"}).json()["items"]
    answer = api.get("/api/v1/series/query", params={"resource": target["id"], "metric": "busy"}).json()
    assert len(answer["series"]) == 100
    assert answer["left_out"] == [{"metric": "busy", "found": 130, "read": 100}]


@pytest.fixture
def node(api: TestClient, organization: Organization) -> dict[str, int]:
    """IDs by key: a node with a pod in its own network, and one with a server in the node's."""
    builder = BatchBuilder("node-7")
    builder.fact(0, "node.hostname", "node-7.example.org")
    pod = builder.resource(CGROUP, "/kubepods/web", 0)
    for fact, value in {
        "workload.namespace": "shop", "workload.pod": "web-1", "workload.container": "web",
        "net.addresses": json.dumps(["10.1.0.7"]),
    }.items():  # fmt: skip
        builder.fact(pod, fact, value)
    host = builder.resource(CGROUP, "/system.slice/dns", 0)
    server = builder.resource(_kind("tcp_server"), "coredns:9153", host)
    builder.fact(server, "tcp.addresses", json.dumps(["0.0.0.0:9153"]))
    assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).status_code == 200
    items = api.get("/api/v1/resources").json()["items"]
    return {one["key"]: one["id"] for one in items}


def _kind(name: str) -> int:
    from jitterscope.pb import ingest_pb2 as pb

    return int(pb.ResourceKind.Value(f"RESOURCE_KIND_{name.upper()}"))


def test_metrics_are_found_at_what_they_belong_to(
    api: TestClient, organization: Organization, node: dict[str, int]
) -> None:
    at = [(now_ms(), 1.0)]
    kubelet = {"job": "kubelet", "instance": "10.0.0.7:10250", "node": "node-7"}
    state = {"job": "kube-state-metrics", "instance": "10.9.0.9:8080"}
    series = {
        "container_memory": {**kubelet, "namespace": "shop", "pod": "web-1", "container": "web"},
        "container_network": {**kubelet, "namespace": "shop", "pod": "web-1"},
        "container_memory_of_sidecar": {**kubelet, "namespace": "shop", "pod": "web-1", "container": "proxy"},
        "container_memory_elsewhere": {**kubelet, "namespace": "shop", "pod": "web-2", "container": "web"},
        "kube_pod_status": {**state, "exported_namespace": "shop", "exported_pod": "web-1"},
        "otel_requests": {"job": "web", "k8s_namespace_name": "shop", "k8s_pod_name": "web-1"},
        "app_requests": {"job": "web", "instance": "10.1.0.7:8080"},
        "kubelet_pods": kubelet,
        "kube_node_info": {**state, "node": "node-7", "internal_ip": "10.0.0.7"},
        "node_load1": {"job": "node", "instance": "10.0.0.7:9100"},
        "node_load1_of_another": {"job": "node", "instance": "10.0.0.70:9100"},
        "by_hostname": {"job": "node", "instance": "node-7.example.org:9100"},
        "coredns_local": {"job": "dns", "instance": "127.0.0.1:9153", "node": "node-7"},
        "coredns_local_of_another": {"job": "dns", "instance": "127.0.0.1:9153", "node": "node-8"},
    }  # fmt: skip
    send(api, organization, [({"__name__": name, **labels}, at) for name, labels in series.items()])
    assert names(api, resource=node["/kubepods/web"]) == [
        "app_requests", "container_memory", "container_network", "kube_pod_status", "otel_requests",
    ]  # fmt: skip
    assert names(api, resource=node["node-7"]) == [
        "by_hostname", "coredns_local", "kube_node_info", "kubelet_pods", "node_load1",
    ]  # fmt: skip
    # What listens there, and the cgroup that it runs in.
    assert (
        names(api, resource=node["/system.slice/dns"]) == names(api, resource=node["coredns:9153"]) == ["coredns_local"]
    )
    assert api.get("/api/v1/metrics", params={"resource": 10**9}).status_code == 404


def test_metrics_of_others_are_not_seen(
    api: TestClient, organization: Organization, other_organization: Organization
) -> None:
    send(api, other_organization, [({"__name__": "theirs", "job": "x"}, [(now_ms(), 1)])])
    send(api, organization, [({"__name__": "ours", "job": "x"}, [(now_ms(), 1)])])
    assert names(api) == ["ours"]
    assert get(api, "/series", name="theirs")["found"] == 0
    assert get(api, "/labels", name="theirs") == []
    assert get(api, "/received")["series"] == 1


def test_senders_are_told_with_what_they_send(api: TestClient, organization: Organization) -> None:
    assert get(api, "/received") == {
        "senders": [], "senders_found": 0, "series": 0, "metrics": 0, "samples_per_s": 0, "newest_sample": None,
    }  # fmt: skip
    for at in range(2):
        labels = {"__name__": f"m{at}", "job": "x"}
        send(api, organization, [(labels, every(15, [1, 2]))], **{"User-Agent": "Prometheus/2.42.0"})
    send(
        api, organization, [({"__name__": "m0", "job": "y"}, [(now_ms(), 1)])], **{"User-Agent": "Alloy/v1.11 (linux)"}
    )
    got = get(api, "/received")
    assert (got["series"], got["metrics"], got["senders_found"]) == (3, 2, 2)
    assert [(one["agent"], one["requests"], one["samples"]) for one in got["senders"]] == [
        ("Alloy/v1.11", 1, 1), ("Prometheus/2.42.0", 2, 4),
    ]  # fmt: skip
    assert got["newest_sample"] is not None


@pytest.mark.parametrize(
    ("parameter", "status"), [({"match": "="}, 422), ({"match": "nothing"}, 422), ({"cursor": "x"}, 400)]
)
def test_what_is_asked_wrongly_is_refused(api: TestClient, parameter: dict[str, str], status: int) -> None:
    assert api.get("/api/v1/metrics", params=parameter).status_code == status
