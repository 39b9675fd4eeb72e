"""Figures by which the area's fixes are measured, per tick."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.net.readings.connections import delays, read_connections
from jitterscope.diagnosis.areas.net.readings.resends import late_of
from jitterscope.diagnosis.core.area import Amounts
from jitterscope.diagnosis.core.events import runs
from jitterscope.diagnosis.core.served import summed
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

_MINUTE_US = 60e6


def _sum(snapshot: Snapshot, rows: list[FloatArray]) -> FloatArray | None:
    total = summed(snapshot, rows)
    return total if np.isfinite(total).any() else None


def dropped(snapshot: Snapshot) -> Amounts | None:
    """Dropped connection attempts relative to all attempts."""
    servers = read_connections(snapshot)
    drops, opened = (_sum(snapshot, rows) for rows in ([s.drops for s in servers], [s.opened for s in servers]))
    if drops is None or opened is None:
        return None
    return Amounts(drops, opened + drops, runs(drops, snapshot.step_us))


def resent_late(snapshot: Snapshot) -> Amounts | None:
    """Answers that waited for a retransmission for longer than an answer is allowed to take."""
    late, answers = [], []
    for one in read_connections(snapshot):
        timed, at_once = delays(one.server)
        found = (timed + at_once).over(late_of(snapshot, one.server).over_us)
        counted = np.bincount(found.tick.astype(np.int64), weights=found.many, minlength=snapshot.ticks)
        late.append(np.where(np.isfinite(one.resent), counted[: snapshot.ticks], np.nan))
        answers.append(one.answers)
    part, whole = _sum(snapshot, late), _sum(snapshot, answers)
    return None if part is None or whole is None else Amounts(part, whole, runs(part, snapshot.step_us))


def resent(snapshot: Snapshot) -> Amounts | None:
    """Retransmitted segments per minute."""
    part = _sum(snapshot, [one.resent for one in read_connections(snapshot)])
    if part is None:
        return None
    return Amounts(part, np.where(np.isfinite(part), snapshot.step_us / _MINUTE_US, np.nan), part)


def connects(snapshot: Snapshot) -> Amounts | None:
    """Connections per request."""
    servers = read_connections(snapshot)
    opened, requests = (_sum(snapshot, rows) for rows in ([s.opened for s in servers], [s.requests for s in servers]))
    return None if opened is None or requests is None else Amounts(opened, requests)
