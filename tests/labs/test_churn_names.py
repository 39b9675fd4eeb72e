"""How the churn lab judges names, and how a role without one right is written."""

from __future__ import annotations

from typing import Any

import pytest

from labs.kubernetes import churn_names, rights
from labs.kubernetes.rights import Right

UID = "3f0c"
POD = churn_names.seen(
    {
        "metadata": {
            "uid": UID,
            "namespace": "churn",
            "name": "residents-6b5f-x2x4q",
            "ownerReferences": [{"kind": "ReplicaSet", "name": "residents-6b5f"}],
        },
        "spec": {"nodeName": "node1", "containers": [{"name": "room"}]},
        "status": {"containerStatuses": [{"state": {"running": {}}}]},
    },
    None,
)
FACTS = {
    "workload.namespace": "churn",
    "workload.pod": "residents-6b5f-x2x4q",
    "workload.owner": "Deployment/residents",
    "workload.container": "room",
}


def cgroup(node: str = "node1") -> dict[str, Any]:
    key = f"/kubepods/besteffort/pod{UID}/0123456789abcdef"
    return {"key": key, "node": {"name": node}, "first_seen_at": "2026-11-25T10:00:00Z"}


def history(**changed: str | None) -> list[dict[str, str]]:
    facts = {**FACTS, **{f"workload.{name}": value for name, value in changed.items()}}
    told = [{"name": name, "value": value, "since": "2026-11-25T10:00:01.5Z"} for name, value in facts.items() if value]
    return [*told, {"name": "cpu.quota_us", "value": "-1", "since": "2026-11-25T10:00:09Z"}]


def test_a_name_is_right_once_all_of_it_is_known() -> None:
    assert POD.ran
    assert churn_names.judged(POD, cgroup(), history()) == (None, 1500.0)
    assert churn_names.judged(POD, cgroup(), history(owner=None)) == (None, None)


def test_the_id_of_a_container_is_no_name_yet() -> None:
    early = [{"name": "workload.container", "value": "0123456789ab", "since": "2026-11-25T10:00:00Z"}]
    assert churn_names.judged(POD, cgroup(), [*early, *history()]) == (None, 1500.0)
    assert churn_names.judged(POD, cgroup(), [*early, *history(container=None)]) == (None, None)


@pytest.mark.parametrize(
    ("node", "facts", "said"),
    [
        ("node1", history(pod="residents-6b5f-other"), "workload.pod was residents-6b5f-other"),
        ("node1", history(owner="ReplicaSet/residents-6b5f"), "workload.owner was ReplicaSet/residents-6b5f"),
        ("node1", [*history(), *history(container="pause")], "workload.container was pause"),
        ("node2", history(), "it was on node2"),
    ],
)
def test_what_was_ever_wrong_is_told(node: str, facts: list[dict[str, str]], said: str) -> None:
    assert churn_names.judged(POD, cgroup(node), facts) == (said, None)


def test_a_rule_without_a_right_gives_the_others() -> None:
    rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["nodes", "nodes/metrics"]}
    left = list(rights.narrowed(rule, Right("get", "", "nodes")))
    assert [(part["verbs"], part["resources"]) for part in left] == [
        (["get"], ["nodes/metrics"]),
        (["list"], ["nodes"]),
        (["list"], ["nodes/metrics"]),
    ]


def test_of_several_names_one_is_taken_away() -> None:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["one", "two"]}
    [left] = rights.narrowed(rule, Right("get", "", "configmaps", "kube-system", "one"))
    assert left["resourceNames"] == ["two"]
    assert not list(rights.narrowed({**rule, "resourceNames": ["one"]}, Right("get", "", "configmaps", "", "one")))
