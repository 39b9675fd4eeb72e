"""Kubernetes names of a resource's cgroup: namespace, controller, pod, and container."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.inventory.store import workloads as store
from jitterscope.inventory.successors import workload_of

_NAMES = ("workload.namespace", "workload.owner", "workload.pod", "workload.container")


@dataclass(frozen=True, slots=True)
class WorkloadName:
    """None: not known. `workload` is the controller, or the pod's name without its random part."""

    namespace: str | None = None
    workload: str | None = None
    pod: str | None = None
    container: str | None = None


def of(session: Session, resource_ids: Sequence[int]) -> dict[int, WorkloadName]:
    """By resource: the names of the nearest enclosing cgroup that has any."""
    if not resource_ids:
        return {}
    known: dict[int, dict[str, str]] = {}
    for wanted, name, value in store.names(session, resource_ids, _NAMES):
        known.setdefault(wanted, {}).setdefault(name, value)
    return {wanted: _name(facts) for wanted, facts in known.items()}


def _name(facts: dict[str, str]) -> WorkloadName:
    whole = workload_of({"workload.container": "any"} | facts)
    return WorkloadName(
        namespace=facts.get("workload.namespace"),
        workload=(whole[1] or None) if whole is not None else None,
        pod=facts.get("workload.pod"),
        container=facts.get("workload.container"),
    )
