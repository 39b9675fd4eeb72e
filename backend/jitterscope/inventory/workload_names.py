"""Kubernetes names of a resource's cgroup: namespace, controller, pod, and container."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory.successors import workload_of
from jitterscope.inventory.tree import UPWARDS

_NAMES = ("workload.namespace", "workload.owner", "workload.pod", "workload.container")
# With the newest facts that name a workload.
_NAMED = text(
    f"""
    {UPWARDS}
    SELECT up.wanted, named.name, named.value
      FROM up JOIN LATERAL (
          SELECT DISTINCT ON (f.name) f.name, f.value FROM facts f
           WHERE f.resource_id = up.id AND f.name = ANY(:names) ORDER BY f.name, f.since_us DESC
      ) AS named ON true
     WHERE up.kind = 'cgroup' AND named.value <> ''
     ORDER BY up.wanted, up.depth
    """  # noqa: S608
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)), bindparam("names", type_=ARRAY(TEXT)))


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
    for wanted, name, value in session.execute(_NAMED, {"ids": sorted(set(resource_ids)), "names": list(_NAMES)}):
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
