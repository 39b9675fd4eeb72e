"""What a real cluster says of pods and nodes, and what becomes of it, as facts and changes of the product."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from labs.kubernetes import case, layout, objects
from labs.kubernetes.case import Watched
from labs.kubernetes.objects import Object
from tests.support.lab_plan import live
from tests.support.said import say

SPACE = "facts"
# Names are asked for once a minute, and the node's state, too.
PATIENCE_S = 120.0
# What is set in the first 20 s of a container is no change.
SETTLES_S = 25.0
# Longer than a minute: who is evicted is only known while its containers run.
ENDS_S = 75
PYTHON = [str(Path(sys.executable).resolve()), "-IS", "-c"]
RESOURCES: dict[str, Object] = {
    "guaranteed": {"limits": {"cpu": "50m", "memory": "32Mi"}},
    "burstable": {"requests": {"cpu": "100m", "memory": "24Mi"}, "limits": {"memory": "64Mi"}},
    "besteffort": {},
}
FACTS = {
    "guaranteed": ("0.05", str(32 << 20), "Guaranteed"),
    "burstable": ("0.1", str(24 << 20), "Burstable"),
    "besteffort": ("0", "0", "BestEffort"),
}


def workload(name: str, node: str) -> Object:
    """A pod on that node that ignores SIGTERM, as the first process of a container does without a handler."""
    volumes, mounts = objects.shown(*objects.programs(Path(sys.base_prefix)))
    container = {
        "name": "room",
        "image": layout.SANDBOX_IMAGE,
        "imagePullPolicy": "Never",
        "command": [*PYTHON, "import time; time.sleep(3600)"],
        "resources": RESOURCES[name],
        "volumeMounts": mounts,
    }
    pod = {"terminationGracePeriodSeconds": ENDS_S, "containers": [container], "volumes": volumes}
    return objects.deployment(name, SPACE, {"app": name}, {**pod, "nodeSelector": {"kubernetes.io/hostname": node}})


def facts(here: Watched, kind: str, name: str) -> dict[str, str]:
    """The facts in effect of a resource, none if there is no such resource yet."""
    found = [one for one in here.product.resources(kind) if one["name"] == name]
    return {one["name"]: one["value"] for one in here.product.resource(int(found[0]["id"]))["facts"]} if found else {}


def changes(here: Watched) -> set[tuple[str, str]]:
    return {(one["what"], one["text"]) for one in here.product.changes()}


@pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
@pytest.mark.timeout(2400)
@live(300, cpus=0.0, by_turn=False)
def test_the_cluster_s_facts_and_what_becomes_of_them() -> None:
    with case.watched(say, nodes=2) as here:
        made, node = here.cluster, here.cluster.nodes[1].name
        made.apply(objects.namespace(SPACE), *(workload(name, node) for name in FACTS))
        try:
            for name in FACTS:
                made.kubectl("-n", SPACE, "rollout", "status", f"deployment/{name}", "--timeout=120s")
            pods: dict[str, Any] = {
                one["metadata"]["labels"]["app"]: one for one in made.get("-n", SPACE, "pods")["items"]
            }

            def told(app: str) -> tuple[str | None, ...]:
                of = facts(here, "cgroup", f"{SPACE}/{pods[app]['metadata']['name']}/room")
                return tuple(of.get(f"workload.{name}") for name in ("requested_cpus", "requested_bytes", "qos_class"))

            here.product.wait_for("the requests", lambda: {app: told(app) for app in FACTS} == FACTS, PATIENCE_S)
            for app, pod in pods.items():
                of = facts(here, "cgroup", f"{SPACE}/{pod['metadata']['name']}/room")
                assert of["workload.owner"] == f"Deployment/{app}"
                created = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
                assert datetime.fromisoformat(of["workload.created_at"]) == created
            state = facts(here, "node", node)
            assert json.loads(state["node.conditions"]) == {"Ready": "True"}
            assert json.loads(state["node.taints"]) == []

            time.sleep(SETTLES_S)
            burstable = pods["burstable"]["metadata"]["name"]
            resized = {"spec": {"containers": [{"name": "room", "resources": {"requests": {"cpu": "150m"}}}]}}
            made.kubectl("-n", SPACE, "patch", "pod", burstable, "--subresource=resize", "-p", json.dumps(resized))
            # As a node problem detector does.
            deadlock = [{"type": "KernelDeadlock", "status": "True", "reason": "DockerHung", "message": "task hung"}]
            patch = json.dumps({"status": {"conditions": deadlock}})
            made.kubectl("patch", "node", node, "--subresource=status", "-p", patch)
            drained = ("--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={2 * ENDS_S}s")
            made.kubectl("drain", node, *drained)
            evicted = {f"{SPACE}/{pod['metadata']['name']}" for pod in pods.values()}
            wanted = {
                (f"{SPACE}/burstable/room", "CPU request 0.1 → 0.15 CPU"),
                (f"node {node}", "Conditions healthy → KernelDeadlock"),
                (f"node {node}", "Taints none → node.kubernetes.io/unschedulable:NoSchedule"),
            }
            here.product.wait_for("the changes", lambda: wanted <= changes(here), PATIENCE_S)
            [eviction] = [text for what, text in changes(here) if what == f"node {node}" and " evicted " in text]
            assert eviction.endswith(" evicted through the API")
            assert set(eviction.partition(" evicted ")[0].split(", ")) == evicted
        finally:
            made.kubectl("uncordon", node)
            made.kubectl("delete", "namespace", SPACE, "--wait=false")
            made.kubectl("-n", SPACE, "delete", "pods", "--all", "--now", "--wait=false")
