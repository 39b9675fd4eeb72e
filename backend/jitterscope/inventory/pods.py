"""Pods and their containers: a pod's cgroup has limits too, which the kubelet derives from its containers' limits."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from jitterscope.inventory.store import facts, tree

_FOREVER_US = 2**62
# The kubelet rounds each container's limit up to whole ms per period.
_ROUNDING_CPUS = 0.01


def is_told_by_its_containers(session: Session, cgroup_id: int) -> bool:
    """Whether a cgroup is a pod's without an independent CPU limit.

    That is, it has none, or the sum of its containers' limits, which Kubernetes sets if each container has one. Then a
    container hits its limit whenever the pod does, and the limit can be changed there.

    False if the pod's limit is below that sum, or if a container has no limit.
    """
    own = tree.by_id(session, [cgroup_id]).get(cgroup_id)
    if own is None or own.kind != "cgroup":
        return False
    below = [
        one for one in tree.children(session, cgroup_id, "cgroup") if _is_alive(one.last_seen_us, own.last_seen_us)
    ]
    stored = facts.in_effect(session, [cgroup_id, *(one.id for one in below)], _FOREVER_US)
    known = {one: {fact.name: fact.value for fact in rows} for one, rows in stored.items()}
    pod = known[cgroup_id]
    if not pod.get("workload.pod") or pod.get("workload.container"):
        return False
    # A cgroup without a known image is the pod's sandbox, as sent by collectors up to 0.1.
    limits = [_cpus(known[one.id]) for one in below if known[one.id].get("workload.image")]
    limited = [one for one in limits if one is not None]
    total = _cpus(pod)
    if total is None:
        return bool(limits)
    return bool(limited) and len(limited) == len(limits) and total >= sum(limited) - _ROUNDING_CPUS


def _is_alive(seen_us: int, pod_seen_us: int) -> bool:
    return seen_us + tree.SEEN_SLACK_US >= pod_seen_us


def _cpus(known: Mapping[str, str]) -> float | None:
    """The CPU limit from a cgroup's facts; None if there is none."""
    try:
        quota_us, period_us = int(known["cpu.quota_us"]), int(known["cpu.period_us"])
    except (KeyError, ValueError):
        return None
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None
