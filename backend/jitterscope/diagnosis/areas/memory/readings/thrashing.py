"""File pages that a cgroup at its limit reads again and again, and the answers that wait for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core import harm, held_up
from jitterscope.diagnosis.core.blocked import Blocked, read_blocked
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.held_up import HeldUp
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.refaults import PAGE_BYTES, Refaults, read_refaults
from jitterscope.diagnosis.core.served import read_served
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import Snapshot

# With less waiting in total, nothing is delayed for long.
LEAST_US = 200_000
# If answers are not timed, only waiting that takes this much of the time is reported, as a risk.
UNTIMED_US, UNTIMED_SHARE = 2_000_000, 0.3


@dataclass(frozen=True, slots=True)
class Thrashing:
    """`cached_bytes`: page cache of the limited cgroup; `again_bytes`: what was read again in the window.

    `read_bytes`: everything that the subject read from its disk; None: not recorded.
    """

    refaults: Refaults
    blocked: Blocked
    hurt: AnswersHarm
    held: HeldUp
    cached_bytes: float
    read_bytes: float | None

    @property
    def again_bytes(self) -> float:
        return self.refaults.total * PAGE_BYTES

    @property
    def waits(self) -> bool:
        return self.blocked.hot_us >= LEAST_US

    @property
    def harmful(self) -> bool:
        """Whether late answers are those that waited for pages; if answers are not timed, whether that is possible."""
        if not self.hurt.timed:
            return self.blocked.hot_us >= UNTIMED_US and float(self.blocked.hot.mean()) >= UNTIMED_SHARE
        return self.hurt.severity is not None and self.held.apart


@reading
def read(snapshot: Snapshot) -> Thrashing | None:
    """The thrashing; None if refaults or waiting were not recorded."""
    refaults, blocked = read_refaults(snapshot), read_blocked(snapshot)
    if refaults is None or blocked is None:
        return None
    spans = held_up.apart(snapshot, blocked.hot)
    late_us = held_up.late_us(snapshot, spans)
    file = series(refaults.owner, "memory_file_bytes", snapshot.ticks)
    read_bytes = series(snapshot.subject, "disk_read_bytes", snapshot.ticks)
    return Thrashing(
        refaults,
        blocked,
        harm.harm(snapshot, spans, late_us, served=read_served(snapshot)),
        held_up.held_up(snapshot, blocked.waited_us, late_us),
        float(np.nanmax(file)) if np.isfinite(file).any() else float("nan"),
        float(np.nansum(read_bytes)) if has(snapshot.subject, "disk_read_bytes") else None,
    )


def explains(snapshot: Snapshot) -> bool:
    """Whether rereading pages is what causes the harm."""
    found = read(snapshot)
    if found is None:
        return False
    return found.waits and found.refaults.explains(found.blocked.hot, snapshot.step_us) and found.harmful
