"""A call to the address of a Service has the Service's name and the workloads behind it, on all nodes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from labs import built
from labs.kubernetes import case, dns, images, objects
from labs.kubernetes.case import Watched
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import DNS_SERVICE
from labs.kubernetes.objects import Object
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
SPACE, IMAGE, PORT = "calls", "jitterscope-lab/service:1", 8080
# The collector lists Services every 2 to 2.5 min, and 1 s more for each.
LISTED_S, PATIENCE_S = 240.0, 120.0


def server(name: str, tier: str, replicas: int = 1, ask: str = "") -> Object:
    """A Deployment over all nodes whose pods answer their readiness probes, and call `ask` for each."""
    labels = {"app": name, "tier": tier}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    asks = [f"--ask=http://{ask}/"] if ask else []
    container = {
        "name": "server",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "args": [f"--listen=:{PORT}", "--answer-bytes=100", *asks],
        "ports": [{"name": "http", "containerPort": PORT}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1, "timeoutSeconds": 5},
    }
    pod: Object = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "topologySpreadConstraints": [spread],
    }
    return objects.deployment(name, SPACE, labels, pod, replicas)


def service(name: str, **selector: str) -> Object:
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    return objects.made("v1", "Service", name, SPACE, spec={"selector": selector, "ports": ports})


def address(cluster: Cluster, name: str) -> str:
    return str(cluster.get("-n", SPACE, "service", name)["spec"]["clusterIP"])


@contextmanager
def workloads(cluster: Cluster) -> Iterator[None]:
    """`front` calls a Service with the two replicas of `stock` behind it; `shop` one with also those of a canary."""
    program = built.program("jitterscope-service", "JITTERSCOPE_SERVICE")
    cluster.load(images.Image(IMAGE, {"/jitterscope-service": program}, entrypoint=["/jitterscope-service"]))
    try:
        cluster.apply(objects.namespace(SPACE))
        cluster.kubectl("-n", SPACE, "wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        cluster.apply(
            service("stock", app="stock"),
            service("shelf", tier="back"),
            server("stock", "back", replicas=2),
            server("stock-canary", "back"),
        )
        cluster.apply(
            server("front", "front", ask=address(cluster, "stock")),
            server("shop", "front", ask=address(cluster, "shelf")),
        )
        for name in ("stock", "stock-canary", "front", "shop"):
            cluster.kubectl("-n", SPACE, "rollout", "status", f"deployment/{name}", "--timeout=120s")
        yield
    finally:
        cluster.kubectl("delete", "namespace", SPACE, "--wait=false")


def calls(here: Watched) -> dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]]:
    """By the names of caller and called: the call, and the place that is called."""
    told = here.product.service_map()
    places = {one["id"]: one for one in told["places"]}
    return {
        (places[one["caller"]]["name"], places[one["called"]]["name"]): (one, places[one["called"]])
        for one in told["calls"]
    }


def facts(here: Watched, kind: str, name: str) -> list[str]:
    """The newest values of a fact, of all resources of a kind."""
    known = [here.product.resource(int(one["id"])) for one in here.product.resources(kind)]
    return [fact["value"] for one in known for fact in one["facts"] if fact["name"] == name]


@pytest.mark.timeout(2400)
@live(180, cpus=0.0, by_turn=False)
def test_calls_to_services_have_names() -> None:
    with case.watched(say, nodes=2) as here, workloads(here.cluster):
        made, product = here.cluster, here.product
        stock, shelf = address(made, "stock"), address(made, "shelf")
        nodes = {pod["spec"]["nodeName"] for pod in made.get("-n", SPACE, "pods", "-l", "app=stock")["items"]}
        assert nodes == {node.name for node in made.nodes}

        front, shop, behind, canary = (f"Deployment/{one}" for one in ("front", "shop", "stock", "stock-canary"))
        wanted = {(front, behind), (shop, "shelf")}
        product.wait_for("the Services", lambda: wanted <= calls(here).keys(), LISTED_S)
        product.wait_for("both replicas", lambda: calls(here)[front, behind][1]["members"] == 2, PATIENCE_S)
        found = calls(here)
        say(json.dumps({" > ".join(pair): both for pair, both in found.items() if pair in wanted}))
        call, place = found[front, behind]
        assert (call["protocol"], call["services"]) == ("tcp", [f"{SPACE}/stock"])
        assert call["calls_per_s"] > 0.5
        assert (place["kind"], place["namespace"], place["node"]) == ("workload", SPACE, None)
        call, place = found[shop, "shelf"]
        assert call["services"] == [f"{SPACE}/shelf"]
        assert (place["kind"], place["namespace"], place["workloads"]) == ("service", SPACE, [behind, canary])
        assert not [pair for pair in found if pair[1].partition(":")[0] in (stock, shelf)], "an address has no name"

        asks = {
            one["key"]: (one["service"], one["workloads"], one["server"])
            for listed in product.services()
            for one in listed["asks"]
        }
        told = {key.partition(">")[2]: value for key, value in asks.items()}
        assert told[f"{stock}:80"] == (f"{SPACE}/stock", [behind], None)
        assert told[f"{shelf}:80"] == (f"{SPACE}/shelf", [behind, canary], None)

        # DNS servers know the addresses of their Services, which narrow down who answers a server that forwards.
        objects.load_coredns(made)
        objects.load_driver(made)
        load = objects.driver("dns-load", "--names=kubernetes.default.svc.cluster.local.", "--seconds=2400", "--qps=10")
        with objects.running(made, (dns.cluster_dns(), load)):
            own = json.dumps([DNS_SERVICE])
            product.wait_for(
                "the Service of the DNS", lambda: own in facts(here, "dns_server", "dns.service_addresses"), LISTED_S
            )
