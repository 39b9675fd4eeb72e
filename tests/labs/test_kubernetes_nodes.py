"""A cluster of two nodes: pods are spread over them and reach each other; a collector knows those of its own node."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from labs.kubernetes import building, case, churn, layout, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.objects import Object
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
SPACE, PORT = "nodes", 8080
NAMED_WITHIN_S = 10.0
SERVER = f"""
import http.server, os

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write((os.environ["NODE"] + " " + self.client_address[0]).encode())

http.server.HTTPServer(("", {PORT}), Answer).serve_forever()
"""
CLIENT = """
import sys, time, urllib.error, urllib.request

end = time.monotonic() + 30
while True:
    try:
        print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())
        break
    except urllib.error.URLError:
        if time.monotonic() > end:
            raise
        time.sleep(0.2)
"""
PYTHON = [str(Path(sys.executable).resolve()), "-IS", "-c"]


def servers() -> Object:
    """On each node, a pod that answers with its node and with the client's address."""
    volumes, mounts = objects.shown(*objects.programs(Path(sys.base_prefix)))
    container = {
        "name": "server",
        "image": layout.SANDBOX_IMAGE,
        "imagePullPolicy": "Never",
        "command": [*PYTHON, SERVER],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1},
        "volumeMounts": mounts,
    }
    pod: Object = {"terminationGracePeriodSeconds": 1, "containers": [container], "volumes": volumes}
    return objects.daemon_set("servers", SPACE, {"app": "servers"}, pod)


def spread() -> Object:
    """Four replicas, of which no node may have more than one more than the other."""
    labels = {"app": "spread"}
    rule = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    container = {"name": "room", "image": layout.SANDBOX_IMAGE, "imagePullPolicy": "Never"}
    pod: Object = {"containers": [container], "topologySpreadConstraints": [rule]}
    return objects.deployment("spread", SPACE, labels, pod, replicas=4)


def pods(cluster: Cluster, name: str) -> list[Object]:
    return list(cluster.get("-n", SPACE, "pods", "-l", f"app={name}")["items"])


@pytest.mark.timeout(2400)
@live(60, cpus=0.0, by_turn=building.are_built())
def test_two_nodes_are_one_cluster() -> None:
    with case.watched(say, nodes=2) as here:
        made = here.cluster
        first, second = made.nodes
        there = {"app": "servers", "on": second.name}
        service = {"selector": there, "ports": [{"port": 80, "targetPort": PORT}]}
        made.apply(
            objects.namespace(SPACE), servers(), spread(), objects.made("v1", "Service", "there", SPACE, spec=service)
        )
        try:
            for workload in ("daemonset/servers", "deployment/spread"):
                made.kubectl("-n", SPACE, "rollout", "status", workload, "--timeout=120s")

            # A DaemonSet has a pod on each, and a Deployment is spread as requested.
            server = {pod["spec"]["nodeName"]: pod for pod in pods(made, "servers")}
            assert server.keys() == {first.name, second.name}
            spread_over = Counter(pod["spec"]["nodeName"] for pod in pods(made, "spread"))
            assert spread_over == {first.name: 2, second.name: 2}

            # A pod reaches one on the other node under its own address, and the same one through its Service.
            here_name, here_ip = server[first.name]["metadata"]["name"], server[first.name]["status"]["podIP"]
            there_name, there_ip = server[second.name]["metadata"]["name"], server[second.name]["status"]["podIP"]
            assert here_ip.startswith("10.112.0.")
            assert there_ip.startswith("10.112.1.")

            def asks(url: str) -> str:
                return made.kubectl("-n", SPACE, "exec", here_name, "--", *PYTHON, CLIENT, url).strip()

            assert asks(f"http://{there_ip}:{PORT}") == f"{second.name} {here_ip}"
            made.kubectl("-n", SPACE, "label", "pod", there_name, f"on={second.name}")
            address = made.get("-n", SPACE, "service", "there")["spec"]["clusterIP"]
            assert asks(f"http://{address}") == f"{second.name} {here_ip}"

            # Each collector names the pods of its own node, and sees none of the other.
            every = [pod for name in ("servers", "spread") for pod in pods(made, name)]
            uids = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in every}
            wanted = {(pod["spec"]["nodeName"], f"{SPACE}/{pod['metadata']['name']}") for pod in every}

            def listed() -> list[dict[str, Any]]:
                return [one for one in here.product.resources("cgroup") if any(uid in one["key"] for uid in uids)]

            here.product.wait_for(
                "the pods of both nodes", lambda: wanted <= {(one["node"]["name"], one["name"]) for one in listed()}, 60
            )
            for one in listed():
                assert one["node"]["name"] == uids[next(uid for uid in uids if uid in one["key"])], one
        finally:
            made.kubectl("delete", "namespace", SPACE, "--wait=false")


@pytest.mark.timeout(2400)
@live(420, by_turn=False)
def test_names_are_right_while_pods_come_and_go() -> None:
    report = churn.run(200, 300, say)
    say(report.model_dump_json())
    assert report.created == report.deleted == 200
    assert report.moved > 0
    assert not report.names.wrong
    # A cgroup has its name within 10 s of its first tick. One that is gone by then can stay without.
    assert report.names.named_after_max_ms <= NAMED_WITHIN_S * 1e3
    assert not {key: lived_s for key, lived_s in report.names.unnamed.items() if lived_s >= NAMED_WITHIN_S}
    assert not report.names.pods_not_seen
    for one in report.collectors:
        assert one.pods > 50
        assert one.memory_max_mib < one.memory_limit_mib
        assert one.dropped_batches == 0
        # A missing tick was counted as missed, and a late one as late.
        assert one.missing_ticks <= one.counted_missed_ticks + 2
        assert abs(one.late_ticks - one.counted_late_ticks) <= 2
