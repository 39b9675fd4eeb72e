"""Every command that a fix offers for kubectl is run on a real API server, and changes what it is for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.snapshot import FactValue, Snapshot
from labs.errors import LabError
from labs.kubernetes import building, cluster, layout, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.objects import SYSTEM, Object
from tests.diagnosis.scenarios import SCENARIOS, built
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
POD, SERVER = "coredns-7c9f-x2", "coredns"
NAMES = {"manager": "kubernetes", "namespace": SYSTEM, "pod": POD, "container": SERVER, "owner": "Deployment/coredns"}
# A value that only the reader knows.
PLACEHOLDER = re.compile(r"=[A-Z]{4,}\b")
CHANGES = re.compile(r"^(names=\$\(kubectl|kubectl -n)")


@dataclass(frozen=True, slots=True)
class Command:
    """A patch of a fix, for a server with this Corefile."""

    text: str
    corefile: str

    @property
    def workloads(self) -> set[tuple[str, str, str]]:
        """Namespace, kind, and name."""
        return set(re.findall(r"-n (\S+) (?:\S+ )*?(deployment|daemonset)[/ ]([a-z-]+)", self.text))


def commands() -> dict[str, Command]:
    """The first of each patch of each fix that the scenarios' causes offer, by its name."""
    found: dict[str, Command] = {}
    for name in sorted(SCENARIOS):
        snapshot = _in_kubernetes(built(name))
        corefile = next((text for one in snapshot.dns_servers if (text := one.fact("dns.corefile"))), "")
        for finding in diagnose(snapshot).findings:
            for fix in finding.fixes if isinstance(finding, Found) else ():
                for number, patch in enumerate(fix.patches, 1):
                    runs = patch.language == "shell" and CHANGES.match(patch.text)
                    if runs and not PLACEHOLDER.search(patch.text.replace("GOGC=", "")):
                        found.setdefault(f"{finding.cause} {fix.id} {number}", Command(patch.text, corefile))
    return found


def _in_kubernetes(snapshot: Snapshot) -> Snapshot:
    if snapshot.subject.kind == "node":
        return snapshot
    kept = tuple(one for one in snapshot.subject.facts if one.name.removeprefix("workload.") not in NAMES)
    named = tuple(FactValue(f"workload.{name}", value, 0) for name, value in NAMES.items())
    return replace(snapshot, subject=replace(snapshot.subject, facts=kept + named))


def container(name: str) -> Object:
    """One with a value for whatever a fix changes."""
    return {
        "name": name,
        "image": layout.SANDBOX_IMAGE,
        "imagePullPolicy": "Never",
        "env": [{"name": one, "value": "1"} for one in ("GOGC", "GOMEMLIMIT", "NSS_SDB_USE_CACHE")],
        "resources": {"limits": {"cpu": "300m", "memory": "64Mi"}, "requests": {"cpu": "20m", "memory": "16Mi"}},
    }


def made_for(command: Command) -> list[Object]:
    """What the command expects to find."""
    found: list[Object] = [objects.namespace(space) for space, _, _ in command.workloads if space != SYSTEM]
    found.append(objects.made("v1", "ConfigMap", SERVER, SYSTEM, data={"Corefile": command.corefile}))
    pod: Object = {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}
    for space, kind, name in sorted(command.workloads):
        config = {"name": "config", "configMap": {"name": SERVER, "optional": True}}
        spec = {**pod, "containers": [container(name)], "volumes": [config]}
        make = objects.deployment if kind == "deployment" else objects.daemon_set
        found.append(make(name, space, {"app": name}, spec))
    if "--subresource resize" in command.text:
        found.append(objects.made("v1", "Pod", POD, SYSTEM, spec={**pod, "containers": [container(SERVER)]}))
    return found


def contents(cluster: Cluster, listed: list[Object]) -> Iterator[Any]:
    """Specs and data as the API server has them; None for what is gone."""
    for one in listed:
        space = one["metadata"].get("namespace")
        try:
            got = cluster.get(*(("-n", space) if space else ()), one["kind"], one["metadata"]["name"])
        except LabError:
            yield None
        else:
            yield got.get("spec"), got.get("data")


@pytest.mark.timeout(1200)
@live(120, cpus=0.0, by_turn=building.are_built())
def test_every_command_changes_something() -> None:
    with cluster.running(say) as here:
        idle: list[str] = []
        for name, command in commands().items():
            listed = made_for(command)
            here.apply(*listed)
            if "--subresource resize" in command.text:
                here.kubectl("-n", SYSTEM, "wait", "--for=condition=Ready", f"pod/{POD}", "--timeout=60s")
            before = list(contents(here, listed))
            printed = here.shell(command.text)
            if list(contents(here, listed)) == before:
                idle.append(f"{name}: {command.text}: {printed}")
            for one in reversed(listed):
                if one["kind"] != "Namespace":
                    space = one["metadata"]["namespace"]
                    told = (one["kind"], one["metadata"]["name"], "--ignore-not-found", "--force", "--grace-period=0")
                    here.kubectl("-n", space, "delete", *told)
        assert not idle, "\n".join(idle)


def test_each_kind_of_command_is_among_them() -> None:
    found = commands()
    told = "\n".join(one.text for one in found.values())
    assert len(found) > 30
    for kind in (" patch deployment/", " --subresource resize ", " set env ", " scale ", "kubectl replace -f -"):
        assert kind in told, kind
