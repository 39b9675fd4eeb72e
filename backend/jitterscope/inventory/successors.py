"""Cgroups that replaced another one: a rollout gives the same workload new cgroups."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlalchemy.orm import Session

from jitterscope.inventory.store import facts, tree
from jitterscope.inventory.store import workloads as store
from jitterscope.inventory.types import ResourceRow

_FOREVER_US = 2**62
# What controllers append to a pod's name: -7c9d8bb6f4-x2x9q, -x2x9q, -0.
_APPENDED = re.compile(r"(-[a-f0-9]{6,10})?(-[a-z0-9]{5}|-[0-9]+)$")


Workload = tuple[str, str, str]
_POD, _CREATED = "workload.pod", "workload.created_at"
_MOST_PODS = 500


def workload_of(known: dict[str, str]) -> Workload | None:
    """(namespace, controller or pod name without its random part, container); None if it has no name."""
    container = known.get("workload.container")
    owner = known.get("workload.owner") or _APPENDED.sub("", known.get("workload.pod", ""))
    return (known.get("workload.namespace", ""), owner, container) if container else None


def successors(session: Session, resource_id: int, after_us: int) -> list[ResourceRow]:
    """Cgroups of the same workload first seen after `after_us`: those on the same node first, then the newest.

    Empty if the resource has no workload name.
    """
    own = tree.by_id(session, [resource_id]).get(resource_id)
    workload = _workloads(session, [resource_id]).get(resource_id)
    if own is None or workload is None:
        return []
    found = store.newer(session, resource_id, workload[2], after_us)
    workloads = _workloads(session, [one.id for one in found])
    same = [one for one in found if workloads.get(one.id) == workload]
    return sorted(same, key=lambda one: (one.node_id != own.node_id, -one.last_seen_us, -one.id))


def same_workload(session: Session, resource_id: int, seen_us: int, limit: int) -> tuple[list[ResourceRow], int]:
    """The other cgroups of the same workload seen since a time, latest first, and an upper bound of how many there are.

    At most `limit` cgroups are examined. Empty if the resource has no workload name.
    """
    workload = _workloads(session, [resource_id]).get(resource_id)
    if workload is None:
        return [], 0
    found, total = store.seen(session, resource_id, workload[2], seen_us, limit)
    workloads = _workloads(session, [one.id for one in found])
    same = [one for one in found if workloads.get(one.id) == workload]
    return same, len(same) + total - len(found)


def pods_at(session: Session, resource_id: int, at_us: int) -> int | None:
    """How many pods of a container's workload were there at a time, its own among them; None: it is not in a pod.

    At most `_MOST_PODS` others are counted.
    """
    found, _ = same_workload(session, resource_id, at_us - tree.SEEN_SLACK_US, _MOST_PODS)
    ids = [resource_id, *(one.id for one in found if one.first_seen_us <= at_us)]
    known = facts.in_effect(session, ids, _FOREVER_US, names=[_POD, _CREATED])
    named = {one: {fact.name: fact.value for fact in rows} for one, rows in known.items()}
    # A restarted container has a new cgroup in the same pod, and a StatefulSet names a new pod like the one before.
    pods = {(one[_POD], one.get(_CREATED)) for one in named.values() if one.get(_POD)}
    return len(pods) if named[resource_id].get(_POD) else None


def replicas_among(session: Session, resource_id: int, others: Collection[int]) -> set[int]:
    """Those of `others` in the same Kubernetes workload: same-named containers in pods of one controller.

    A restarted container has a new cgroup and counts as another replica.
    """
    known = _workloads(session, [resource_id, *others])
    own = known.get(resource_id)
    # Without namespace and controller, it is a unit or a container of a single machine, whose name others may share.
    if own is None or not (own[0] and own[1]):
        return set()
    return {one for one in others if known.get(one) == own}


def _workloads(session: Session, resource_ids: list[int]) -> dict[int, Workload]:
    known = facts.in_effect(session, resource_ids, _FOREVER_US)
    named = {one: workload_of({fact.name: fact.value for fact in rows}) for one, rows in known.items()}
    return {one: workload for one, workload in named.items() if workload is not None}
