"""Time that threads of the subject were blocked in the kernel: by a disk, a page, or a file system lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.area import Amounts, Lane, Line
from jitterscope.diagnosis.core.events import runs
from jitterscope.diagnosis.core.lanes import exposure
from jitterscope.diagnosis.core.quantity import Quantity
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import added_up, has, series
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

BLOCKED, IN_IO, PRESSURE = "process_blocked_us", "process_io_wait_us", "psi_io_some_us"
# This much in a tick can delay an answer.
WAIT_US = 10_000

# What `read_blocked` needs to know how long threads were blocked.
SIGNS = (BLOCKED, PRESSURE)

BLOCKED_MS = Quantity("blocked_ms", "Time blocked in the kernel", "ms")
BLOCKED_MS_PER_MIN = Quantity("blocked_ms_per_min", "Time blocked in the kernel", "ms/min")
LANE = Lane(
    "blocked", "Threads blocked in the kernel, their time added up", "us",
    (
        Line("blocked", BLOCKED, "bars", hot=True, of="processes"),
        Line("of that, in I/O itself", IN_IO, "line", of="processes"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Blocked:
    """Per tick. `waited_us`: of all threads together, or (pressure) of at least one; NaN: not recorded.

    `hot`: ticks with more than 10 ms of it. `in_io`: the share spent in I/O itself rather than in a lock or journal of
    a file system; None: not recorded.
    """

    source: Literal["blocked", "pressure"]
    views: tuple[ResourceView, ...]
    waited_us: FloatArray
    hot: BoolArray
    in_io: float | None

    @property
    def metric(self) -> str:
        return BLOCKED if self.source == "blocked" else PRESSURE

    @property
    def hot_us(self) -> float:
        return float(np.nansum(self.waited_us[self.hot]))


@reading
def read_blocked(snapshot: Snapshot) -> Blocked | None:
    """From the blocked time of the subject's processes, else from its I/O pressure; None if neither was recorded."""
    n = snapshot.ticks
    processes = tuple(view for view in snapshot.processes if has(view, BLOCKED))
    if processes:
        waited = added_up(processes, BLOCKED, n)
        told = [view for view in processes if has(view, IN_IO)]
        whole = float(np.nansum(waited))
        in_io = min(1.0, float(np.nansum(added_up(told, IN_IO, n))) / whole) if told and whole > 0 else None
        return Blocked("blocked", processes, waited, _hot(waited), in_io)
    if has(snapshot.subject, PRESSURE):
        waited = series(snapshot.subject, PRESSURE, n)
        return Blocked("pressure", (snapshot.subject,), waited, _hot(waited), 1.0)
    return None


def _hot(waited: FloatArray) -> BoolArray:
    return np.asarray(np.nan_to_num(waited) >= WAIT_US)


def blocked_time(snapshot: Snapshot) -> Amounts | None:
    """ms that threads were blocked, per minute in which that was recorded."""
    found = read_blocked(snapshot)
    if found is None or found.source != "blocked":
        return None
    hot = np.where(np.isfinite(found.waited_us), np.where(found.hot, found.waited_us, 0.0), np.nan)
    return Amounts(found.waited_us / 1000, exposure(snapshot, found.waited_us, 60e6), runs(hot, snapshot.step_us))
