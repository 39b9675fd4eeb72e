"""Freezes of a whole node: a thread that goes before every ordinary program was due, and did not run.

That thread is the collector's own. While the hypervisor does not run the machine, or the firmware or a real-time
program has its CPUs, nothing else runs either, and clocks go on: every program stalls, whatever it was about to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.held_up import late_answers, late_us
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import metric, read_served
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

METRIC = "realtime_latency_us"
# Longer than such a thread waits on a full node, and than an answer that is late.
LEAST_US = 30_000
# Answers that ended so close to the ends of a freeze may be from before it or after it.
_EDGE_US = 10_000
# Single answers are kept around late ones, but not for as long as the rest: without any so near, nothing can be said.
_NEAR_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Freeze:
    """Nothing ran in [start_us, end_us). It may have begun up to a tick earlier: then the thread was not due yet.

    `tick`: the one that was read when it was over.
    """

    start_us: int
    end_us: int
    tick: int

    @property
    def length_us(self) -> int:
        return self.end_us - self.start_us


@reading
def freezes(snapshot: Snapshot) -> tuple[Freeze, ...] | None:
    """Oldest first; None if they are not recorded. In a freeze of all CPUs, no server answers.

    Where servers are timed, those without an answer right before or after them are left out: nobody was harmed, or who
    answered meanwhile is no longer known.
    """
    if not has(snapshot.node, METRIC):
        return None
    latency = np.nan_to_num(series(snapshot.node, METRIC, snapshot.ticks))
    late = np.nan_to_num(series(snapshot.node, "collector_lateness_us", snapshot.ticks))
    found: list[Freeze] = []
    for tick in np.flatnonzero(latency >= LEAST_US):
        end = snapshot.start_us + (int(tick) + 1) * snapshot.step_us + int(late[tick])
        found.append(Freeze(end - int(latency[tick]), end, int(tick)))
    answered, timed = _answered(snapshot), any_timed(snapshot)
    return tuple(
        one for one in found
        if not _any(answered, one, -_EDGE_US) and (not timed or _any(answered, one, _NEAR_US))
    )  # fmt: skip


def any_timed(snapshot: Snapshot) -> bool:
    """Whether answers could show that the node went on."""
    return any(metric(one, "latency") in one.distributions for one in read_served(snapshot).servers)


def _answered(snapshot: Snapshot) -> FloatArray:
    """When single answers were sent, µs, in order."""
    ends = [
        (server.queries.sent_us + server.queries.latency_us).astype(np.float64)
        for server in read_served(snapshot).servers
        if server.queries is not None
    ]
    return np.sort(np.concatenate([np.zeros(0), *ends]))


def _any(answered: FloatArray, freeze: Freeze, around_us: int) -> bool:
    """Whether an answer was sent in a freeze, or so long before or after it."""
    first, last = np.searchsorted(answered, (freeze.start_us - around_us, freeze.end_us + around_us))
    return bool(last > first)


def ticks_of(snapshot: Snapshot, found: tuple[Freeze, ...]) -> BoolArray:
    """The ticks that freezes touch."""
    mask = np.zeros(snapshot.ticks, np.bool_)
    for one in found:
        first, last = ((at - snapshot.start_us) // snapshot.step_us for at in (one.start_us, one.end_us - 1))
        mask[max(0, first) : last + 1] = True
    return mask


@reading
def late_in_freezes(snapshot: Snapshot) -> tuple[int, int]:
    """(those that waited for a freeze most of the time, all) of the late answers, which took over 20 ms at least.

    What a freeze keeps waiting is worked off after it, for as long again.
    """
    found = freezes(snapshot) or ()
    begun, took = late_answers(snapshot, max(SLOW_US, late_us(snapshot, ticks_of(snapshot, found))))
    held = np.zeros(len(begun), np.bool_)
    for one in found:
        inside = np.minimum(begun + took, one.end_us + one.length_us) - np.maximum(begun, one.start_us)
        held |= inside >= 0.5 * took
    return int(held.sum()), len(begun)
