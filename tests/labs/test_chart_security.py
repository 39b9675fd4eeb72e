"""Pod Security: which level the API server of a real cluster wants for each pod of the chart."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from labs.errors import LabError
from labs.kubernetes import building, cluster
from labs.kubernetes.cluster import Cluster
from tests.support.lab_plan import live
from tests.support.rendered_chart import rendered
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
LEVELS = ("privileged", "baseline", "restricted")
BACKEND = {"api", "worker", "beat", "setup"}
# Beside the backend: what the trial and the demo add.
ADDED = {"timescaledb", "valkey", "demo", "demo-clients"}
COLLECTOR = "collector"
# What each pod of the backend must have, by where it is and what the API server says if it is missing.
NEEDED = {
    ("pod", "runAsNonRoot"): "runAsNonRoot != true",
    ("pod", "seccompProfile"): "seccompProfile",
    ("container", "allowPrivilegeEscalation"): "allowPrivilegeEscalation != false",
    ("container", "capabilities"): "unrestricted capabilities",
}
# What the collector has that `baseline` forbids.
CAPABILITIES = "non-default capabilities"
FORBIDDEN = {CAPABILITIES, "host namespaces", "hostPath volumes", "forbidden AppArmor profile"}
# The collector with as little as its options allow.
FEWEST = {"capabilities": [], "runtimeSocket": "", "journalFolders": []}
Pod = dict[str, Any]


def pods_of(objects: Sequence[Mapping[str, Any]]) -> dict[str, Pod]:
    """Component → the pod that a controller makes of its template."""
    found = {}
    for one in objects:
        if one["kind"] not in {"Deployment", "StatefulSet", "DaemonSet", "Job"}:
            continue
        template = copy.deepcopy(one["spec"]["template"])
        component = template["metadata"]["labels"]["app.kubernetes.io/component"]
        for claim in one["spec"].get("volumeClaimTemplates", []):
            name = claim["metadata"]["name"]
            template["spec"]["volumes"].append({"name": name, "persistentVolumeClaim": {"claimName": name}})
        template["metadata"]["name"] = component
        found[component] = {"apiVersion": "v1", "kind": "Pod", **template}
    return found


@contextmanager
def namespaces(made: Cluster, accounts: set[str]) -> Iterator[None]:
    """One for each level, with these service accounts."""
    try:
        for level in LEVELS:
            labels = {"pod-security.kubernetes.io/enforce": level}
            made.apply(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"level-{level}", "labels": labels}},
                *(
                    {
                        "apiVersion": "v1",
                        "kind": "ServiceAccount",
                        "metadata": {"name": one, "namespace": f"level-{level}"},
                    }
                    for one in accounts
                ),
            )
            made.kubectl("wait", "-n", f"level-{level}", "--for=create", "serviceaccount/default", "--timeout=60s")
        yield
    finally:
        made.kubectl("delete", "namespace", "--ignore-not-found", *(f"level-{level}" for level in LEVELS))


def refusal(made: Cluster, level: str, pod: Pod) -> str:
    """Why Pod Security refuses the pod, or "" if the API server accepts it. Any other refusal raises LabError."""
    try:
        made.kubectl("create", "--dry-run=server", "-n", f"level-{level}", "-f", "-", standard_input=json.dumps(pod))
    except LabError as error:
        if f'violates PodSecurity "{level}:latest"' not in str(error):
            raise
        return str(error)
    return ""


def changed(pod: Pod, **security: object) -> Pod:
    """The pod with these settings of its first container."""
    other = copy.deepcopy(pod)
    other["spec"]["containers"][0]["securityContext"].update(security)
    return other


def without(pod: Pod, where: str, setting: str) -> Pod:
    other = copy.deepcopy(pod)
    parts = [other["spec"]] if where == "pod" else other["spec"]["containers"]
    for part in parts:
        del part["securityContext"][setting]
    return other


@pytest.mark.timeout(900)
@live(60, cpus=0.0, by_turn=False)
def test_only_the_collector_needs_a_privileged_namespace(everything: Path) -> None:
    version = building.KUBERNETES.removeprefix("v")
    own = ("--set", "existingSecret=s")
    charts = {
        "as it is": rendered(version, *own),
        "upgrade": rendered(version, *own, "--is-upgrade"),
        "all options": rendered(version, "--values", everything),
        "trial": rendered(version, "--set", "trial.enabled=true,demo.enabled=true"),
        "no capabilities": rendered(version, *own, "--set-json", f"collector={json.dumps(FEWEST)}"),
        "SYS_ADMIN": rendered(version, *own, "--set", "collector.capabilities={SYS_ADMIN}"),
    }
    pods = {name: pods_of(objects) for name, objects in charts.items()}
    assert all(BACKEND | {COLLECTOR} <= found.keys() for found in pods.values())
    assert pods["trial"].keys() == BACKEND | ADDED | {COLLECTOR}
    accounts = {pod["spec"].get("serviceAccountName", "default") for found in pods.values() for pod in found.values()}
    with cluster.running(say) as made, namespaces(made, accounts - {"default"}):
        for name, found in pods.items():
            for component, pod in found.items():
                refused = {level: refusal(made, level, pod) for level in LEVELS}
                say(f"{name}, {component}: {refused}")
                if component == COLLECTOR:
                    assert not refused["privileged"]
                    wanted = FORBIDDEN - ({CAPABILITIES} if name == "no capabilities" else set())
                    assert {one for one in FORBIDDEN if one in refused["baseline"]} == wanted, refused
                    assert refused["restricted"]
                else:
                    assert not any(refused.values()), (name, component)
        api = pods["as it is"]["api"]
        # Otherwise the cluster would accept everything.
        privileged = changed(api, privileged=True, allowPrivilegeEscalation=True)
        assert [bool(refusal(made, level, privileged)) for level in LEVELS] == [False, True, True]
        assert "privileged" in refusal(made, "baseline", privileged)
        for (where, setting), why in NEEDED.items():
            assert why in refusal(made, "restricted", without(api, where, setting)), setting
