"""What people change in a cluster is seen: facts with a history, and changes, by the names of owners."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from labs.kubernetes import case, extensions, images, objects
from labs.kubernetes.case import Watched
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.objects import Object
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
SPACE = "changes"
FIRST, SECOND = "jitterscope-lab/web:1", "jitterscope-lab/web:2"
# The collector lists autoscalers every 2 to 2.5 min, and 1 s more for each.
LISTED_S, PATIENCE_S = 240.0, 90.0
ROLLOUTS, SCALERS = "argoproj.io/v1alpha1", "autoscaling.k8s.io/v1"


def pod(image: str = FIRST, name: str = "room") -> Object:
    container = {"name": name, "image": image, "imagePullPolicy": "Never"}
    return {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1, "containers": [container]}


def job() -> Object:
    template = {"spec": {**pod(), "restartPolicy": "Never"}}
    return objects.made("batch/v1", "Job", "once", SPACE, spec={"template": template})


def horizontal(most: int) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    aim = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    metrics = [{"type": "Resource", "resource": aim}]
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": most, "metrics": metrics}
    return objects.made("autoscaling/v2", "HorizontalPodAutoscaler", "web", SPACE, spec=spec)


def vertical(mode: str) -> Object:
    policy = {"containerName": "*", "maxAllowed": {"cpu": "2"}}
    spec = {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart"},
        "updatePolicy": {"updateMode": mode},
        "resourcePolicy": {"containerPolicies": [policy]},
    }
    return objects.made(SCALERS, "VerticalPodAutoscaler", "cart", SPACE, spec=spec)


def owned(cluster: Cluster, kind: str, name: str) -> list[Object]:
    """References to a controller that exists."""
    found = cluster.get("-n", SPACE, kind, name)
    reference = {key: found[key] for key in ("apiVersion", "kind")} | {"controller": True}
    return [{**reference, "name": name, "uid": found["metadata"]["uid"]}]


def replica_set(cluster: Cluster, revision: str, image: str) -> Object:
    """As the controller of Argo Rollouts makes one for a Rollout."""
    labels = {"app": "api", "rollouts-pod-template-hash": revision}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod(image)}}
    made = objects.made("apps/v1", "ReplicaSet", f"api-{revision}", SPACE, spec={"replicas": 1, **spec})
    made["metadata"]["ownerReferences"] = owned(cluster, "rollouts.argoproj.io", "api")
    return made


@contextmanager
def workloads(cluster: Cluster) -> Iterator[None]:
    """One of each kind, and a pod of a controller that nobody knows."""
    for image in (FIRST, SECOND):
        cluster.load(images.Image(image, {"/pause": Path(cluster.programs["pause"])}, entrypoint=["/pause"]))
    with extensions.known(cluster, extensions.OF_WORKLOADS):
        try:
            template = {"metadata": {"labels": {"app": "api"}}, "spec": pod()}
            rollout = {"selector": {"matchLabels": {"app": "api"}}, "template": template, "strategy": {"canary": {}}}
            cluster.apply(objects.namespace(SPACE))
            cluster.kubectl("-n", SPACE, "wait", "--for=create", "serviceaccount/default", "--timeout=60s")
            cluster.apply(
                objects.deployment("web", SPACE, {"app": "web"}, pod(), replicas=2),
                objects.deployment("cart", SPACE, {"app": "cart"}, pod()),
                objects.daemon_set("agent", SPACE, {"app": "agent"}, pod()),
                job(),
                objects.made(ROLLOUTS, "Rollout", "api", SPACE, spec=rollout),
                objects.made("v1", "ConfigMap", "thing", SPACE),
                horizontal(4),
                vertical("Off"),
            )
            work = objects.made("v1", "Pod", "work", SPACE, spec=pod())
            work["metadata"]["ownerReferences"] = owned(cluster, "configmap", "thing")
            cluster.apply(replica_set(cluster, "5d4b9c7f6d", FIRST), work)
            recommended = {"containerName": "room", "target": {"cpu": "25m", "memory": "64Mi"}}
            status = json.dumps({"status": {"recommendation": {"containerRecommendations": [recommended]}}})
            adviser = "verticalpodautoscalers.autoscaling.k8s.io/cart"
            cluster.kubectl("-n", SPACE, "patch", adviser, "--subresource=status", "--type=merge", "-p", status)
            yield
        finally:
            cluster.kubectl("delete", "namespace", SPACE, "--wait=false")


def containers(here: Watched) -> list[dict[str, Any]]:
    """The product's resources of the namespace's containers."""
    listed = [one for one in here.product.resources("cgroup") if one["name"].startswith(f"{SPACE}/")]
    return [here.product.resource(int(one["id"])) for one in listed if one["name"].count("/") == 2]


def facts(of: Mapping[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in of["facts"]}


def of_owner(here: Watched, owner: str, fact: str) -> set[object]:
    """The values of a fact, which is JSON, of a workload's containers."""
    found = [facts(one) for one in containers(here)]
    return {one.get(fact) for one in found if one.get("workload.owner") == owner}


def changes(here: Watched) -> set[tuple[str, str, str]]:
    listed = here.product.changes()
    return {(one["kind"], one["what"], one["text"]) for one in listed if SPACE in one["what"]}


OWNERS = {"Deployment/web", "Deployment/cart", "DaemonSet/agent", "Job/once", "Rollout/api", "ConfigMap/thing"}
AIM = "replicas at cpu 80%"
WANTED = {
    # An image, and a variable that no fact shows.
    ("deploy", f"{SPACE}/web/room", "web 1 → 2"),
    ("deploy", f"{SPACE}/web", "New pod template"),
    ("deploy", f"{SPACE}/agent", "New pod template"),
    ("deploy", f"{SPACE}/api/room", "web 1 → 2"),
    ("scale", f"{SPACE}/cart", "Replicas 1 → 3"),
    ("config", f"{SPACE}/web", f"HorizontalPodAutoscaler 2 to 4 {AIM} → 2 to 9 {AIM}"),
    ("config", f"{SPACE}/cart/room", "VerticalPodAutoscaler Off: CPU at most 2 → Initial: CPU at most 2"),
}


@pytest.mark.timeout(2400)
@live(420, cpus=0.0, by_turn=False)
def test_what_is_changed_in_a_cluster_is_seen() -> None:
    with case.watched(say) as here, workloads(here.cluster):
        began = time.monotonic()
        made, product = here.cluster, here.product

        def owners() -> set[str | None]:
            return {facts(one).get("workload.owner") for one in containers(here)}

        product.wait_for("the owners", lambda: owners() == OWNERS, PATIENCE_S)
        scaler = {"name": "web", "min": 2, "max": 4, "targets": {"cpu": "80%"}}
        recommended = {"bytes": 64 << 20, "cpus": 0.025}
        adviser = {"name": "cart", "mode": "Off", "allowed": {"max_cpus": 2}, "recommended": recommended}
        before = {
            ("Deployment/web", "workload.autoscaler"): scaler,
            ("Deployment/cart", "workload.vertical_autoscaler"): adviser,
            ("Deployment/cart", "workload.autoscaler"): {},
            ("ConfigMap/thing", "workload.autoscaler"): {},
        }

        def are_known() -> bool:
            wanted = {place: {json.dumps(value, separators=(",", ":"))} for place, value in before.items()}
            return {(owner, fact): of_owner(here, owner, fact) for owner, fact in before} == wanted

        product.wait_for("the autoscalers", are_known, LISTED_S)
        assert changes(here) == set(), "nothing was changed yet"
        [first] = [one for one in containers(here) if facts(one)["workload.owner"] == "Deployment/cart"]
        # What is created within a minute is how many pods the workload has to begin with.
        time.sleep(max(0.0, began + 65 - time.monotonic()))

        made.apply(horizontal(9), vertical("Initial"))
        made.kubectl("-n", SPACE, "scale", "deployment/cart", "--replicas=3")
        made.kubectl("-n", SPACE, "set", "image", "deployment/web", f"room={SECOND}")
        made.kubectl("-n", SPACE, "set", "env", "daemonset/agent", "LEVEL=debug")
        made.apply(replica_set(made, "668d6bf9bc", SECOND))
        made.kubectl("-n", SPACE, "scale", "replicaset/api-5d4b9c7f6d", "--replicas=0")
        made.kubectl("-n", SPACE, "rollout", "status", "deployment/web", "--timeout=120s")
        with_image = ("deploy", f"{SPACE}/web/room", "web 1 → 2")
        product.wait_for("the new image", lambda: with_image in changes(here), PATIENCE_S)
        made.kubectl("-n", SPACE, "set", "env", "deployment/web", "LEVEL=debug")
        made.kubectl("-n", SPACE, "rollout", "status", "deployment/web", "--timeout=120s")
        product.wait_for("the changes", lambda: changes(here) >= WANTED, LISTED_S)
        say(json.dumps(sorted(changes(here)), ensure_ascii=False))
        assert changes(here) == WANTED

        # A container that stays has its autoscaler's settings from before and after.
        [kept] = [one for one in containers(here) if one["id"] == first["id"]]
        # It can have been listed before it had a recommendation.
        history = [json.loads(one["value"]) for one in kept["history"] if one["name"] == "workload.vertical_autoscaler"]
        assert [mode for mode, _ in groupby(one["mode"] for one in history)] == ["Off", "Initial"]
