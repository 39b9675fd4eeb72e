"""Changes that facts show: another value than before; a value that first appears is not a change."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.backend.changes.node import HOUR_US, Node
from tests.backend.conftest import Organization
from tests.support.batches import CGROUP, DNS_SERVER, PROCESS, now_us


@pytest.fixture
def node(api: TestClient, organization: Organization) -> Node:
    return Node(api, organization)


def changes(api: TestClient, hours: float | None = None, **parameters: Any) -> dict[str, Any]:
    if hours is not None:
        parameters["from"] = str(now_us() - round(hours * HOUR_US))
    answer = api.get("/api/v1/changes", params=parameters)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def told(api: TestClient, **parameters: Any) -> list[tuple[Any, ...]]:
    return [
        (one["what"], one["rollout"], one["resources"],
         [(step["title"], step["old"], step["new"]) for step in one["steps"]])
        for one in changes(api, **parameters)["items"]
    ]  # fmt: skip


def test_a_limit_that_is_set_anew_is_a_change_in_place(api: TestClient, node: Node) -> None:
    node.pod(30, "cart-1", "cart:1")
    node.tell(2, CGROUP, "/kubepods/cart-1/cart", cpu_quota__us="100000")
    assert told(api) == [("shop/cart/cart", False, 1, [("CPU limit", "0.5", "1")])]
    (change,) = changes(api)["items"]
    assert change["resource"]["kind"] == "cgroup"
    assert change["node"]["name"] == "machine-1"
    assert told(api, hours=1) == []


def test_a_rollout_is_one_change_however_many_pods_it_has(api: TestClient, node: Node) -> None:
    for pod in ("cart-1", "cart-2", "cart-3"):
        node.pod(30, pod, "cart:1")
    for number, pod in enumerate(("cart-4", "cart-5", "cart-6")):
        node.pod(3 - number * 0.01, pod, "cart:2", cpus="1")
    assert told(api) == [("shop/cart/cart", True, 1, [("CPU limit", "0.5", "1"), ("Image", "cart:1", "cart:2")])]


def test_another_replica_is_no_change_and_going_back_is_one(api: TestClient, node: Node) -> None:
    node.pod(30, "cart-1", "cart:1")
    node.pod(5, "cart-2", "cart:1")
    assert told(api) == []
    node.pod(4, "cart-3", "cart:2")
    node.pod(3, "cart-4", "cart:1")
    assert [step for *_, steps in told(api) for step in steps] == [
        ("Image", "cart:2", "cart:1"), ("Image", "cart:1", "cart:2")
    ]  # fmt: skip


def test_what_makes_a_container_what_it_is_is_no_change(api: TestClient, node: Node) -> None:
    """The cgroup exists before its limits are written."""
    node.tell(2, CGROUP, "/docker/one", workload_container="one", cpu_quota__us="-1", cpu_period__us="100000")
    node.tell(2 - 3 / 3600, CGROUP, "/docker/one", cpu_quota__us="50000")
    assert told(api) == []
    node.tell(1, CGROUP, "/docker/one", cpu_quota__us="-1")
    assert told(api) == [("one", False, 1, [("CPU limit", "0.5", "no limit")])]


def test_a_fact_that_is_read_for_the_first_time_is_no_change(api: TestClient, node: Node) -> None:
    """An upgraded collector reports more than the one before."""
    node.tell(30, CGROUP, "/docker/one", workload_container="one")
    node.tell(2, CGROUP, "/docker/one", workload_image="one:1", memory_limit__bytes="67108864")
    assert told(api) == []


def test_a_restarted_program_is_compared_with_the_one_before(api: TestClient, node: Node) -> None:
    home = (CGROUP, "/docker/one")
    node.tell(30, CGROUP, "/docker/one", workload_container="one")
    node.tell(30, PROCESS, "41:1", home, process_executable="api", go_version="1.24.1")
    node.tell(2, PROCESS, "97:9", home, process_executable="api", go_version="1.25.3", go_env_GOGC="off")
    node.tell(2, PROCESS, "98:9", home, process_executable="sidecar", go_version="1.22.0")
    assert told(api) == [("one", True, 1, [("GOGC", None, "off"), ("Go version", "1.24.1", "1.25.3")])]


def test_a_node_and_a_dns_server_change_too(api: TestClient, node: Node) -> None:
    node.tell(30, 0, "", node_kernel="6.1.0", node_hostname="worker-1")
    node.tell(30, DNS_SERVER, "10.0.0.10:53", dns_corefile=".:53 {\n  cache 30\n}\n")
    node.tell(3, 0, "", node_kernel="6.12.0")
    node.tell(2, DNS_SERVER, "10.0.0.10:53", dns_corefile=".:53 {\n  cache 300\n}\n")
    found = told(api)
    assert [one[3] for one in found] == [[("Corefile", "cache 30", "cache 300")], [("Kernel", "6.1.0", "6.12.0")]]
    assert found[1][0] == "node worker-1"


def test_the_newest_come_first_and_the_others_are_counted(api: TestClient, node: Node) -> None:
    node.pod(30, "cart-1", "cart:1")
    for hours_ago, cpus in ((4, 1), (3, 2), (2, 3)):
        node.tell(hours_ago, CGROUP, "/kubepods/cart-1/cart", cpu_quota__us=str(cpus * 100_000))
    page = changes(api, limit=2)
    assert (page["found"], page["complete"]) == (3, True)
    assert [one["steps"][0]["new"] for one in page["items"]] == ["3", "2"]
    assert page["items"][0]["at"] > page["items"][1]["at"]


def test_another_organization_sees_none_of_them(api: TestClient, node: Node, other_organization: Organization) -> None:
    node.pod(30, "cart-1", "cart:1")
    node.pod(2, "cart-2", "cart:2")
    assert len(changes(api)["items"]) == 1
    assert api.get("/api/v1/changes", headers=other_organization.headers).json()["items"] == []


def test_what_pods_say_and_what_dns_servers_are_is_told_in_words(api: TestClient, node: Node) -> None:
    at, home = "/kubepods/cart-1/cart", (CGROUP, "/kubepods/dns/coredns")
    names = {"workload_namespace": "shop", "workload_owner": "Deployment/cart", "workload_container": "cart"}
    node.tell(30, CGROUP, at, **names, workload_version="1.2", workload_chart="cart-7.0.1", workload_restarted__at="",
              workload_image="registry:5000/shop/cart:7@sha256:1",
              dns_resolv__conf='{"nameservers": ["10.0.0.10"], "search": ["a.b"], "ndots": 5}')  # fmt: skip
    node.tell(3, CGROUP, "/kubepods/cart-2/cart", **names, workload_version="1.3", workload_chart="cart-7.0.2",
              workload_image="registry:5000/shop/cart:7@sha256:2", workload_restarted__at="2026-11-25T09:30:00Z",
              dns_resolv__conf='{"nameservers": ["10.0.0.10"], "search": ["a.b"], "ndots": 2}')  # fmt: skip
    node.tell(30, CGROUP, "/kubepods/dns/coredns", workload_container="coredns")
    node.tell(30, DNS_SERVER, "10.0.0.10:53", home, dns_software="coredns", dns_version="1.11.1", dns_corefile="a\n")
    node.tell(2, DNS_SERVER, "10.0.0.10:53", home, dns_version="1.12.0", dns_corefile="a\nb\n")
    assert [sorted(step["text"] for step in one["steps"]) for one in changes(api)["items"]] == [
        ["CoreDNS 1.11.1 → 1.12.0", "Corefile: (lines added) → b"],
        [
            "Helm chart cart-7.0.1 → cart-7.0.2", "Rolling restart", "Version 1.2 → 1.3", "cart:7 sha256:1 → sha256:2",
            "resolv.conf nameserver 10.0.0.10; search a.b; ndots:5 → nameserver 10.0.0.10; search a.b; ndots:2",
        ],
    ]  # fmt: skip
    assert [one["kind"] for one in changes(api)["items"]] == ["deploy", "deploy"]


def test_the_same_change_of_several_nodes_is_one(api: TestClient, organization: Organization) -> None:
    for name in ("machine-1", "machine-2", "machine-3"):
        machine = Node(api, organization, name)
        machine.tell(30, 0, "", node_kernel="6.1.0", node_hostname=name)
        machine.tell(2, 0, "", node_kernel="6.12.0")
    (change,) = changes(api)["items"]
    assert (change["text"], change["resources"]) == ("Kernel 6.1.0 → 6.12.0", 3)
