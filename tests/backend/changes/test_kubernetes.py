"""Changes in a cluster that collectors see: requests, scaling, the state of a node, evictions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.backend.changes.node import HOUR_US, Node
from tests.backend.conftest import Organization
from tests.support.batches import CGROUP, now_us


@pytest.fixture
def node(api: TestClient, organization: Organization) -> Node:
    return Node(api, organization)


def told(api: TestClient, **parameters: Any) -> list[tuple[str, str, str]]:
    answer = api.get("/api/v1/changes", params=parameters)
    assert answer.status_code == 200, answer.text
    return [(one["kind"], one["what"], one["text"]) for one in answer.json()["items"]]


def test_a_changed_request_is_a_change(api: TestClient, node: Node) -> None:
    at = "/kubepods/cart-1/cart"
    node.pod(30, "cart-1", "cart:1")
    node.tell(29, CGROUP, at, workload_requested__cpus="0.1", workload_requested__bytes="0",
              workload_qos__class="Burstable")  # fmt: skip
    node.tell(2, CGROUP, at, workload_requested__cpus="0.25", workload_requested__bytes="134217728")
    (change,) = told(api)
    assert change[:2] == ("config", "shop/cart/cart")
    assert sorted(change[2].split("; ")) == ["CPU request 0.1 → 0.25 CPU", "Memory request not set → 128 MiB"]


def test_what_a_namespace_allows_is_one_change(api: TestClient, node: Node) -> None:
    def told_of(hours_ago: float, pod: str, max_cpus: int, hard: int, used: float) -> None:
        node.tell(
            hours_ago, CGROUP, f"/kubepods/{pod}/cart",
            workload_limit__range=json.dumps({"container": {"max_cpus": max_cpus}}),
            workload_quota=json.dumps({"team": {"limits.cpu": {"hard": hard, "used": used}}}),
        )  # fmt: skip

    for pod in ("cart-1", "cart-2"):
        node.pod(30, pod, "cart:1")
        told_of(29, pod, 1, 10, 2)
    for number, pod in enumerate(("cart-1", "cart-2")):
        told_of(3, pod, 1, 10, 8)  # more is used: nobody changed anything
        told_of(2 - number * 0.01, pod, 2, 12, 8)
    (change,) = told(api)
    assert change[:2] == ("config", "namespace shop")
    assert sorted(change[2].split("; ")) == [
        "LimitRange container: CPU at most 1 → container: CPU at most 2",
        "Quota team: limits.cpu 10 → team: limits.cpu 12",
    ]


def test_a_container_and_its_namespace_that_change_at_once(api: TestClient, node: Node) -> None:
    at = "/kubepods/cart-1/cart"
    node.pod(30, "cart-1", "cart:1")
    node.tell(29, CGROUP, at, workload_limit__range="{}")
    node.tell(2, CGROUP, at, workload_limit__range='{"pod": {"max_cpus": 4}}', cpu_quota__us="100000")
    assert sorted(told(api)) == [
        ("config", "namespace shop", "LimitRange none → pod: CPU at most 4"),
        ("config", "shop/cart/cart", "CPU limit 0.5 → 1 CPU"),
    ]


def test_a_workload_that_is_scaled(api: TestClient, node: Node) -> None:
    node.replica("cart-1", 30)
    for pod in ("cart-2", "cart-3"):
        node.replica(pod, 5)
    node.replica("cart-4", 5, seen_h=2)
    node.replica("old", 40, seen_h=20)
    assert told(api) == [
        ("scale", "shop/cart", "Replicas 4 → 3"), ("scale", "shop/cart", "Replicas 1 → 4"),
        ("scale", "shop/cart", "Replicas 2 → 1"),
    ]  # fmt: skip
    cgroup = next(one for one in api.get("/api/v1/resources?kind=cgroup").json()["items"] if "cart-1" in one["key"])
    window = {"resource": cgroup["id"], "from": str(now_us() - 4 * HOUR_US)}
    assert told(api, **window) == [("scale", "shop/cart", "Replicas 4 → 3")]


def test_a_new_workload_that_is_scaled_at_once(api: TestClient, node: Node) -> None:
    node.replica("cart-1", 3, revision="5d4b9c7f6d")
    node.replica("cart-2", 2.95, revision="5d4b9c7f6d")
    assert told(api) == [("scale", "shop/cart", "Replicas 1 → 2")]
    # A StatefulSet creates its pods one after another.
    node.replica("db-0", 3, owner="StatefulSet/db", revision="db-1")
    node.replica("db-1", 2.95, owner="StatefulSet/db", revision="db-1")
    assert told(api) == [("scale", "shop/cart", "Replicas 1 → 2")]


def test_a_rollout_that_changes_what_no_fact_shows(api: TestClient, node: Node) -> None:
    """Such as a variable: one change of the workload, however many containers and pods it has."""

    def started(hours_ago: float, pod: str, revision: str, image: str = "1") -> None:
        for container, of in (("cart", f"cart:{image}"), ("proxy", "proxy:1")):
            node.tell(
                hours_ago, CGROUP, f"/kubepods/{pod}/{container}", workload_namespace="shop", workload_pod=pod,
                workload_owner="Deployment/cart", workload_container=container, workload_image=of,
                workload_revision=revision,
            )  # fmt: skip

    for number, pod in enumerate(("cart-1", "cart-2")):
        started(30 - number * 0.01, pod, "5d4b9c7f6d")
    for number, pod in enumerate(("cart-3", "cart-4")):
        started(20 - number * 0.01, pod, "668d6bf9bc")
    assert told(api) == [("deploy", "shop/cart", "New pod template")]
    # What a container shows of it says more.
    started(10, "cart-5", "7c9d8bb6f4", image="2")
    assert told(api) == [("deploy", "shop/cart/cart", "cart 1 → 2"), ("deploy", "shop/cart", "New pod template")]


def test_settings_of_autoscalers(api: TestClient, node: Node) -> None:
    def scaled(hours_ago: float, pod: str, most: int, mode: str, cpus: float) -> None:
        settings = {"name": "cart", "min": 2, "max": most, "targets": {"cpu": "600m"}}
        vertical = {"name": "cart", "mode": mode, "allowed": {"max_cpus": 2}, "recommended": {"cpus": cpus}}
        node.tell(hours_ago, CGROUP, f"/kubepods/{pod}/cart", workload_autoscaler=json.dumps(settings),
                  workload_vertical__autoscaler=json.dumps(vertical))  # fmt: skip

    for pod in ("cart-1", "cart-2"):
        node.pod(30, pod, "cart:1")
        scaled(29, pod, 6, "Off", 0.1)
    scaled(20, "cart-1", 6, "Off", 0.25)  # it recommends something else: nobody changed it
    assert told(api) == []
    for number, pod in enumerate(("cart-1", "cart-2")):
        scaled(10 - number * 0.01, pod, 9, "Recreate", 0.25)
    told_once = [
        ("config", "shop/cart", "HorizontalPodAutoscaler 2 to 6 replicas at cpu 600m → 2 to 9 replicas at cpu 600m"),
        ("config", "shop/cart/cart", "VerticalPodAutoscaler Off: CPU at most 2 → Recreate: CPU at most 2"),
    ]
    assert sorted(told(api)) == sorted(told_once)
    # One that is changed together with the image is listed when the collector has asked for it.
    node.pod(5, "cart-3", "cart:2")
    node.tell(4.9, CGROUP, "/kubepods/cart-3/cart", workload_autoscaler="{}")
    assert sorted(told(api)) == sorted([
        *told_once, ("deploy", "shop/cart/cart", "cart 1 → 2"),
        ("config", "shop/cart", "HorizontalPodAutoscaler 2 to 9 replicas at cpu 600m → none"),
    ])  # fmt: skip


def test_what_is_not_scaled(api: TestClient, organization: Organization, node: Node) -> None:
    for pod in ("cart-1", "cart-2"):
        node.replica(pod, 30, seen_h=3)
    # A rollout replaces them, a DaemonSet follows the nodes, and a CronJob's pods come and go.
    for pod in ("cart-3", "cart-4"):
        node.replica(pod, 3)
    for pod, hours_ago in (("agent-1", 30), ("agent-2", 4)):
        node.replica(pod, hours_ago, owner="DaemonSet/agent")
    for number in range(3):  # each of them one step
        node.replica(f"build-{number}", 30 - number, owner="Workflow/build")
    for pod, hours_ago in (("backup-1", 30), ("backup-2", 6)):
        node.replica(pod, hours_ago, seen_h=hours_ago - 0.1, owner="CronJob/backup")
    assert told(api) == []
    # Whether a pod of a node that sends nothing is still there is not known.
    silent = Node(api, organization, "machine-2")
    silent.replica("cart-5", 30, seen_h=4)
    node.replica("cart-6", 1)
    assert told(api) == []


def test_conditions_and_taints_of_a_node(api: TestClient, node: Node) -> None:
    node.tell(30, 0, "", node_hostname="worker-1", node_conditions='{"Ready": "True"}',
              node_taints="[]")  # fmt: skip
    node.tell(3, 0, "", node_conditions='{"MemoryPressure": "True", "Ready": "True"}')
    node.tell(2, 0, "", node_taints='["node.kubernetes.io/unschedulable:NoSchedule"]')
    node.tell(1, 0, "", node_conditions='{"MemoryPressure": "True", "Ready": "False"}')
    assert told(api) == [
        ("other", "node worker-1", "Conditions MemoryPressure → not Ready, MemoryPressure"),
        ("config", "node worker-1", "Taints none → node.kubernetes.io/unschedulable:NoSchedule"),
        ("other", "node worker-1", "Conditions healthy → MemoryPressure"),
    ]  # fmt: skip


def test_evicted_pods(api: TestClient, node: Node, other_organization: Organization) -> None:
    node.tell(30, 0, "", node_hostname="worker-1")
    message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 61204Ki."
    for second in range(5):
        node.evicted(3 - second / 3600, f"batch-{second}", reason="TerminationByKubelet", message=message)
    node.evicted(2, "cart-1", reason="EvictionByEvictionAPI", message="Eviction API: evicting")
    node.evicted(2, "web-1", reason="SomethingNew")
    by_kubelet = (
        "shop/batch-0, shop/batch-1, shop/batch-2, and 2 more evicted by the kubelet: "
        "The node was low on resource: memory"
    )
    assert sorted(told(api)[:2]) == [
        ("other", "node worker-1", "shop/cart-1 evicted through the API"),
        ("other", "node worker-1", "shop/web-1 evicted SomethingNew"),
    ]  # fmt: skip
    assert told(api)[2:] == [("other", "node worker-1", by_kubelet)]
    assert api.get("/api/v1/changes", headers=other_organization.headers).json()["items"] == []
