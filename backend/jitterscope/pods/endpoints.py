"""Pod starts of a node against the objective of 5 s, taken apart, and without the eBPF verifier."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope import requested_window
from jitterscope.answers import refuses
from jitterscope.bounds import HEAVY, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.areas.pods.readings import bpf_loads
from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings import verifier as pod_verifier
from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_US, PodStarts
from jitterscope.diagnosis.areas.pods.whatif.pod_start import without
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.errors import Problem
from jitterscope.incidents.api import queries, views
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.inventory.node_windows import NodeWindow
from jitterscope.inventory.types import ResourceRow
from jitterscope.pods import load, view
from jitterscope.pods.schemas import (
    PodStart,
    StartupNode,
    StartupWhatIf,
    StartupWhatIfPercentile,
)
from jitterscope.requested_window import From, When
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/pod-starts", tags=["pods"])
Reader = Annotated[Principal, Depends(require("resources:read"))]
Node = Annotated[
    int | None, Query(description="Resource id of a node or of anything on it; default: the one with the most starts")
]
_SOURCES = ("kubelet_metrics", "cni_metrics", "pod_starts", "bpf_loads")


@router.get("")
@bounded(HEAVY)
@refuses(404, "The node does not exist in this organization.")
def get_pod_start(
    principal: Reader,
    node: Node = None,
    from_: From = None,
    to: When = None,
    split: Annotated[When, Query(description="Also compare the starts before and after this time")] = None,
) -> PodStart:
    """How long pods took to start, and where the time went; by default in the latest hour, at most in 24 h."""
    with organization_session(principal.organization_id) as session:
        window = load.window(session, node, from_, to, time.time_ns() // 1000)
        split_us = requested_window.instant_or_none(split)
        found = None if window.node is None else load.snapshot(session, window.node, window.from_us, window.to_us)
        incidents = (
            [] if window.node is None else queries.seen_lately(session, window.node.id, views.time_of(window.from_us))
        )
    return _shown(window, found, split_us, incidents)


def _shown(
    window: NodeWindow, snapshot: Snapshot | None, split_us: int | None, incidents: list[IncidentRef]
) -> PodStart:
    empty = PodStart(
        from_us=window.from_us, to_us=window.to_us, node=None if window.node is None else _node(window.node),
        nodes=[_node(row) for row in window.nodes], objective_us=OBJECTIVE_US, basis=None, starts=None,
        with_images=None, chance_ratio=None, missed=False, parts=[], stacks=[], over_time=[], slowest=[], verifier=None,
        changes=[], kubelet=None, cilium=None, kernel=None, incidents=incidents, notes=[],
    )  # fmt: skip
    if snapshot is None:
        return empty
    known = {name: snapshot.node.fact(f"node.{name}") for name in ("kubelet", "cilium", "kernel")}
    notes = [f"{name}: {why}" for name, why in snapshot.unavailable.items() if name in _SOURCES]
    starts = view.starts_of(snapshot)
    if isinstance(starts, str):
        return empty.model_copy(update={**known, "notes": [*notes, starts]})
    shown, owner = view.verifier(snapshot, starts)
    parts = view.phases(starts, owner, waits=shown is not None and shown.waits)
    total = starts.phase("pod_start_total_us") if starts.basis == "sli" else None
    return empty.model_copy(
        update={
            **known,
            "basis": starts.basis,
            "starts": view.percentiles(starts.starts),
            "with_images": None if total is None else view.percentiles(total),
            "chance_ratio": pod_starts.chance_of_late(starts.late, starts.starts.n),
            "missed": pod_starts.missed(starts.late, starts.starts.n),
            "parts": [view.part(one, starts) for one in parts],
            "stacks": view.stacks(starts, parts),
            "over_time": view.over_time(snapshot, starts.told),
            "slowest": view.slowest(snapshot),
            "verifier": shown,
            "changes": view.changes(snapshot, starts.told, split_us),
            "notes": [*notes, *_unknown(starts, snapshot)],
        }
    )


def _unknown(starts: PodStarts, snapshot: Snapshot) -> list[str]:
    """What the picture lacks, in words."""
    notes = []
    if starts.basis == "total":
        notes.append("This kubelet does not report starts without image pulls. Hardly any image was pulled.")
    if starts.phase("pod_cni_us") is None and snapshot.node.fact("node.cilium") is None:
        notes.append("The CNI plugin's own time is not known. Cilium reports it with prometheus.enabled=true.")
    if not bpf_loads.events_of(snapshot) and "bpf_loads" not in snapshot.unavailable:
        notes.append("No eBPF program was loaded in this window.")
    return notes


@router.get("/what-if")
@bounded(HEAVY)
@refuses(404, "The node does not exist in this organization.")
def get_pod_start_what_if(
    principal: Reader,
    node: Node = None,
    from_: From = None,
    to: When = None,
    leave_out: Annotated[
        list[str] | None, Query(alias="without", max_length=256, description="Names of programs; default: all")
    ] = None,
) -> StartupWhatIf:
    """p50, p90, and p99 of the same starts if these programs had not been loaded for each pod."""
    with organization_session(principal.organization_id) as session:
        window = load.window(session, node, from_, to, time.time_ns() // 1000)
        if window.node is None:
            raise _nothing("No node reports pod starts.")
        snapshot = load.snapshot(session, window.node, window.from_us, window.to_us)
    starts = view.starts_of(snapshot)
    if isinstance(starts, str):
        raise _nothing(starts)
    _, owner = view.verifier(snapshot, starts)
    if owner is None:
        raise _nothing("No eBPF program was loaded in this window.")
    names = {program.name for program in owner.programs}
    unknown = sorted(set(leave_out or ()) - names)
    if unknown:
        raise Problem(
            422, "unknown-program", "Unknown program",
            f"{owner.command} loaded no program named {', '.join(unknown)} in this window.",
            "Use programs that GET /api/v1/pod-starts lists.",
        )  # fmt: skip
    chosen = sorted(set(leave_out) if leave_out else names)
    removed = owner.sets_us() - owner.sets_us(chosen)
    told = without(starts.starts, removed, pod_verifier.covered(owner, starts))
    return StartupWhatIf(
        from_us=window.from_us, to_us=window.to_us, node=_node(window.node), command=owner.command, programs=chosen,
        removed_us=told.removed_us, starts=told.starts, late=told.late, late_ratio=told.late_ratio,
        percentiles=[StartupWhatIfPercentile(q=one.q, before_us=one.before_us, after_us=one.after_us)
                     for one in told.percentiles],
    )  # fmt: skip


def _nothing(why: str) -> Problem:
    return Problem(
        422, "not-enough-data", "Not enough data", why, "Choose a window in which pods started on a watched node."
    )


def _node(row: ResourceRow) -> StartupNode:
    return StartupNode(id=row.id, name=row.name)
