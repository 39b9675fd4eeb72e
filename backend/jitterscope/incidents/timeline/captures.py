"""Captures that belong to an incident: of its subject or its node, at its time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from jitterscope.captures import flame, tables, waiting
from jitterscope.captures import service as store
from jitterscope.captures.flame import Selection
from jitterscope.captures.model import Capture
from jitterscope.captures.service import CaptureRow
from jitterscope.errors import not_found
from jitterscope.incidents.api.capture_schemas import (
    CaptureDetail,
    CaptureProcess,
    CaptureSeconds,
    CaptureSummary,
    CaptureWait,
    FlameGraph,
    FrameKind,
)
from jitterscope.incidents.api.views import us_of
from jitterscope.incidents.models import IncidentRow
from jitterscope.inventory import service as inventory

# What led to the trouble, and what followed.
MARGIN_US = 60_000_000
_KINDS: list[FrameKind] = ["root", "command", "user", "kernel"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of a capture: a time, all processes of the node or only the subject's, or one process."""

    from_us: int | None = None
    to_us: int | None = None
    scope: Literal["node", "subject"] = "node"
    pid: int | None = None


def of(session: Session, incident: IncidentRow) -> list[CaptureSummary]:
    """The newest hundred captures, oldest first."""
    place = _place(session, incident)
    rows = store.within(session, place.ids, place.from_us, place.to_us)
    return [_summary(row, place) for row in rows]


def detail(session: Session, incident: IncidentRow, capture_id: int, wanted: Wanted) -> CaptureDetail:
    """One capture with merged stacks. Raises Problem 404."""
    place = _place(session, incident)
    found = store.one(session, capture_id, place.ids, place.from_us, place.to_us)
    if found is None:
        raise not_found("capture", capture_id)
    row, capture = found
    since = max(capture.start_us, wanted.from_us or 0)
    until = capture.end_us + 1 if wanted.to_us is None else min(capture.end_us + 1, wanted.to_us)
    own = np.array([_is_below(one.cgroup, incident) for one in capture.processes], np.bool_)
    selection = Selection(since, until, _chosen(capture, wanted, own))
    tree = flame.flame(capture, selection)
    lines, more = tables.lines(capture, selection)
    waits, more_waits = waiting.waiting(capture, selection)
    seconds = tables.slices(capture, selection)
    return CaptureDetail(
        capture=_summary(row, place),
        from_us=since,
        to_us=until,
        scope=wanted.scope,
        pid=wanted.pid,
        flame=FlameGraph(
            names=tree.names, kinds=_KINDS, parent=tree.parent, name=tree.name, kind=tree.kind, samples=tree.samples,
            total_samples=tree.samples[0], hidden_samples=tree.hidden_samples,
        ),
        processes=[
            CaptureProcess(
                pid=one.pid, command=one.command, cgroup=one.cgroup, of_subject=_is_below(one.cgroup, incident),
                user_ms=one.user_us / 1000, system_ms=one.system_us / 1000, threads=one.threads, states=one.states,
                samples=one.samples, kernel_samples=one.kernel_samples,
            )
            for one in lines
        ],
        more_processes=more,
        waiting=[
            CaptureWait(
                command=one.command, of_subject=any(own[process] for process in one.processes), state=one.state,
                call=one.call, place=one.place, threads=one.threads, times=one.times, looks=one.looks,
                names=list(one.names), stack=list(one.stack),
            )
            for one in waits
        ],
        more_waiting=more_waits,
        seconds=CaptureSeconds(
            start_us=seconds.start_us,
            step_us=tables.SLICE_US,
            user_samples=seconds.user_samples.tolist(),
            kernel_samples=seconds.kernel_samples.tolist(),
            user_ms=(seconds.user_us / 1000).tolist(),
            system_ms=(seconds.system_us / 1000).tolist(),
        ),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """Where and when captures belong to an incident."""

    subject_id: int
    node_id: int | None
    from_us: int
    to_us: int

    @property
    def ids(self) -> list[int]:
        return [self.subject_id] if self.node_id is None else [self.subject_id, self.node_id]


def _place(session: Session, incident: IncidentRow) -> _Place:
    subject = inventory.resource(session, incident.subject_id)
    return _Place(
        incident.subject_id,
        None if subject is None else subject.node_id,
        min(us_of(incident.onset_at), us_of(incident.window_from)) - MARGIN_US,
        max(us_of(incident.last_seen_at), us_of(incident.window_to)) + MARGIN_US,
    )


def _chosen(capture: Capture, wanted: Wanted, own: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    if wanted.pid is None:
        return own if wanted.scope == "subject" else None
    return np.array([one.pid == wanted.pid for one in capture.processes], np.bool_)


def _is_below(cgroup: str, incident: IncidentRow) -> bool:
    """Whether a process belongs to the incident's subject; all do if that is a node."""
    key = incident.subject_key
    return incident.subject_kind == "node" or cgroup == key or cgroup.startswith(key.rstrip("/") + "/")


def _summary(row: CaptureRow, place: _Place) -> CaptureSummary:
    return CaptureSummary(of="node" if row.resource_id == place.node_id else "subject", **asdict(row))
