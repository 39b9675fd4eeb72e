"""What the chart's options do on a cluster that has what they need: metrics of pods, a policy engine, and two nodes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from labs.errors import LabError
from labs.kubernetes import chart, layout, metrics_server, network_policies, objects, trial
from labs.kubernetes.case import Watched
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import Node
from labs.kubernetes.objects import Object
from labs.kubernetes.sending import Traffic
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root"),
    pytest.mark.timeout(2400),
]
LIVE = live(300, cpus=0.0, together="the chart in use", by_turn=False)
API, WORKER = f"deployment/{chart.RELEASE}-api", f"deployment/{chart.RELEASE}-worker"
OF_API = "app.kubernetes.io/component=api"
METRICS_PORT = 9464
# What clients connect to: name → component and port.
TARGETS = {
    "the API": ("api", 8000),
    "metrics of the API": ("api", METRICS_PORT),
    "metrics of the worker": ("worker", METRICS_PORT),
    "TimescaleDB": ("timescaledb", 5432),
    "Valkey": ("valkey", 6379),
}
# Namespaces of clients, and what the policies let them reach. The last one is the chart's own.
REACHED = {
    "gateways": {"the API"},
    "monitoring": {"metrics of the API", "metrics of the worker"},
    "outside": set(),
    chart.NAMESPACE: set(),
}
POLICIES = {
    "enabled": True,
    "apiFrom": [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "gateways"}}},
        # The nodes, with their collectors, and this machine.
        {"ipBlock": {"cidr": f"{layout.HOST_ADDRESS}/{layout.LINK_BITS}"}},
    ],
    "metricsFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
}
CONNECT = """
import json, socket, sys

reached = []
for place in sys.argv[1:]:
    host, port = place.split(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
        reached.append(place)
    except OSError:
        pass
print(json.dumps(reached))
"""
PYTHON = [str(Path(sys.executable).resolve()), "-IS", "-c"]
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def release() -> Iterator[Watched]:
    with trial.running(say) as running:
        running.product.wait_for("the chart's collectors", running.product.receives, PATIENCE_S)
        yield running


def upgrade(made: Cluster, *options: str) -> None:
    trial.helm(made, "upgrade", "--reuse-values", *options)


def pods(made: Cluster, space: str, *selector: str) -> list[Object]:
    """Pods that are not terminating."""
    found = made.get("-n", space, "pods", "-l", ",".join(selector))["items"]
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def clients(space: str) -> Object:
    """A pod on each node that waits to be told what to connect to."""
    volumes, mounts = objects.shown(*objects.programs(Path(sys.base_prefix)))
    container = {"name": "room", "image": layout.SANDBOX_IMAGE, "imagePullPolicy": "Never", "volumeMounts": mounts}
    pod: Object = {"terminationGracePeriodSeconds": 1, "containers": [container], "volumes": volumes}
    return objects.daemon_set("clients", space, {"app": "clients"}, pod)


def reached(made: Cluster) -> dict[tuple[str, str], set[str]]:
    """Namespace and node of each client → the targets that it can connect to."""
    address = {
        pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod["status"]["podIP"]
        for pod in pods(made, chart.NAMESPACE, f"app.kubernetes.io/instance={chart.RELEASE}")
    }
    places = {f"{address[component]}:{port}": name for name, (component, port) in TARGETS.items()}
    found = {}
    for space in REACHED:
        for client in pods(made, space, "app=clients"):
            told = made.kubectl("-n", space, "exec", client["metadata"]["name"], "--", *PYTHON, CONNECT, *places)
            found[space, client["spec"]["nodeName"]] = {places[place] for place in json.loads(told)}
    return found


AUTOSCALING = {"enabled": True, "minReplicas": 1, "maxReplicas": 3, "averageCpu": "150m"}
SCALER = {"name": f"{chart.RELEASE}-api", "min": 1, "max": 3, "targets": {"cpu": "150m"}}
# The autoscaler's metrics, its stabilization of 60 s, and what the collector asks for every 2 min.
SCALES_S = 300.0


def of_api(release: Watched, fact: str) -> set[str]:
    """The values of a fact of the API's containers."""
    ids = [one["id"] for one in release.product.resources("cgroup") if one["name"].endswith("/api")]
    facts = [fact for one in ids for fact in release.product.resource(int(one))["facts"]]
    return {one["value"] for one in facts if one["name"] == fact}


def changes(release: Watched) -> set[tuple[str, str, str]]:
    return {(one["kind"], one["what"], one["text"]) for one in release.product.changes()}


# On a busy machine the API does not get the CPU that its target asks for.
@live(300, cpus=1.5, together="the chart in use", by_turn=False)
def test_an_autoscaler_follows_the_load(release: Watched) -> None:
    made, product = release.cluster, release.product
    name = f"{chart.NAMESPACE}/{chart.RELEASE}-api"

    def replicas() -> int:
        return int(made.get("-n", chart.NAMESPACE, API)["spec"]["replicas"])

    product.wait_for("that there is no autoscaler", lambda: of_api(release, "workload.autoscaler") == {"{}"}, SCALES_S)
    with metrics_server.running(made, say):
        upgrade(made, "--set-json", f"api.autoscaling={json.dumps(AUTOSCALING)}")
        product.wait_for("one replica", lambda: replicas() == 1, SCALES_S)
        requests = traffic(release, senders=2, readers=6)
        requests.phase("load")
        with requests.running():
            product.wait_for("more replicas", lambda: replicas() > 1, SCALES_S)
            product.wait_for("them to be ready", lambda: len(pods(made, chart.NAMESPACE, OF_API)) > 1, PATIENCE_S)

            def told() -> list[str]:
                return [text for kind, what, text in changes(release) if (kind, what) == ("scale", name)]

            product.wait_for("the scaling", told, PATIENCE_S)
            say(str(told()))
            assert all(text.startswith("Replicas 1 → ") for text in told())
        say(str(requests.phases["load"]))
        assert requests.phases["load"].answered > 100
        product.wait_for("one replica after the load", lambda: replicas() == 1, SCALES_S)

        # The settings, as a fact and as a change of the workload.
        product.wait_for(
            "the settings", lambda: json.dumps(SCALER, separators=(",", ":")) in of_api(release, "workload.autoscaler"),
            SCALES_S,
        )  # fmt: skip
        was_made = ("config", name, "HorizontalPodAutoscaler none → 1 to 3 replicas at cpu 150m")
        product.wait_for("that it was made", lambda: was_made in changes(release), PATIENCE_S)
        upgrade(made, "--set", "api.autoscaling.enabled=false")


@LIVE
def test_the_policies_refuse_whoever_is_outside(release: Watched) -> None:
    made, product = release.cluster, release.product
    spaces = [space for space in REACHED if space != chart.NAMESPACE]
    with network_policies.enforced(made, say):
        try:
            made.apply(*map(objects.namespace, spaces), *map(clients, REACHED))
            for space in REACHED:
                made.kubectl("-n", space, "rollout", "status", "daemonset/clients", "--timeout=120s")
            # The control: whatever is refused later is refused by the policies.
            assert set(map(frozenset, reached(made).values())) == {frozenset(TARGETS)}
            upgrade(made, "--set-json", f"networkPolicy={json.dumps(POLICIES)}")
            wanted = {(space, node.name): REACHED[space] for space in REACHED for node in made.nodes}
            product.wait_for("the policies", lambda: reached(made) == wanted, PATIENCE_S)

            # Whoever belongs together still connects: none of these has a connection from before.
            for workload in (API, WORKER, f"daemonset/{chart.COLLECTOR}"):
                made.kubectl("-n", chart.NAMESPACE, "rollout", "restart", workload)
                made.kubectl("-n", chart.NAMESPACE, "rollout", "status", workload, "--timeout=180s")
            before = batches(release)

            def all_sent() -> bool:
                return all(sent > before[node] + 2 for node, sent in batches(release).items())

            product.wait_for("batches of each collector", all_sent, PATIENCE_S)
            assert reached(made) == wanted
        finally:
            # If this fails and is tried again, nothing must be refused at first.
            upgrade(made, "--set", "networkPolicy.enabled=false")
            for space in spaces:
                made.kubectl("delete", "namespace", space, "--ignore-not-found", "--wait=false")
            made.kubectl("-n", chart.NAMESPACE, "delete", "daemonset", "clients", "--ignore-not-found")


def batches(release: Watched) -> dict[str, int]:
    """How many batches each node of the cluster has sent. The nodes of `Traffic` send none once it ends."""
    nodes = {node.name for node in release.cluster.nodes}
    found = {one["node"]["name"]: one["batches"] for one in release.product.collectors().values()}
    assert found.keys() >= nodes
    return {node: found[node] for node in nodes}


def traffic(release: Watched, senders: int, readers: int) -> Traffic:
    made = release.cluster
    return Traffic(trial.url(made), trial.ingest_token(made), release.product.cookies, senders, readers)


def drain(made: Cluster, node: Node, patience_s: int) -> None:
    """`kubectl drain` for the API alone: a trial's database is one pod."""
    options = ("--ignore-daemonsets", "--delete-emptydir-data", f"--pod-selector={OF_API}", f"--timeout={patience_s}s")
    made.kubectl("drain", node.name, *options)


def ready_on(made: Cluster) -> set[str]:
    """The nodes with a ready API."""
    return {
        pod["spec"]["nodeName"]
        for pod in pods(made, chart.NAMESPACE, OF_API)
        if any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
    }


@LIVE
def test_a_drain_waits_rather_than_end_the_last_api(release: Watched) -> None:
    made, product = release.cluster, release.product
    first, second = made.nodes
    both = {first.name, second.name}
    upgrade(made, "--set", "trial.replicas=2")
    product.wait_for("an API on each node", lambda: ready_on(made) == both, PATIENCE_S)
    requests = traffic(release, senders=1, readers=2)
    requests.phase("drain")
    try:
        with requests.running():
            made.kubectl("cordon", *both)
            drain(made, second, 60)
            # No node takes its replacement: the other one is the last.
            with pytest.raises(LabError, match="violate the pod's disruption budget"):
                drain(made, first, 12)
            assert ready_on(made) == {first.name}
            made.kubectl("uncordon", second.name)
            product.wait_for("the replacement", lambda: ready_on(made) == both, PATIENCE_S)
            drain(made, first, 120)
            product.wait_for("the API on one node", lambda: ready_on(made) == {second.name}, PATIENCE_S)
    finally:
        made.kubectl("uncordon", *both)
    told = requests.phases["drain"]
    say(str(told))
    assert told.answered > 100
    assert not [why for why in told.retried if "ConnectError" in why]
