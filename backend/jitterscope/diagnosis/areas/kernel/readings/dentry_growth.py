"""How fast negative dentries accumulate, what creates them, and when they will cause harm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.kernel.readings import kernel_memory
from jitterscope.diagnosis.areas.kernel.readings.dentry_falls import falls
from jitterscope.diagnosis.areas.kernel.readings.lookups import Lookups, lookups
from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.diagnosis.areas.kernel.whatif.dentry_drop import Pause
from jitterscope.diagnosis.core.finding import Severity
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, Snapshot

_BLOCK = 10  # ticks: a second
# A second that gains this many counts; and as many must remain at the end, or keep coming.
_HOT = 100.0
_SUDDEN, _STEADY, _STEADY_S = 100_000.0, 20_000.0, 30
# A drop, unmount, or reclaim of the present dentries that would stall for this long (s) is worth a warning.
PAUSE_S = 1.0
SOON_S, VERY_SOON_S = 3_600.0, 300.0
# Growth that lasts this long and would make a drop stall for a second this soon is worth an incident.
_LASTS_S, _PAUSE_SOON_S = 5.0, 600.0
_PASSING = 5_000.0


@dataclass(frozen=True, slots=True)
class Growth:
    """Negative dentries that were gained and stayed, over ticks [start, end).

    `rate` per second while it grew, `now`: it still does. `bytes_each`: memory of one. `margin_s`: time until free
    memory is at the low watermark, and `pause_s`: until dropping them stalls for a second, both at this rate; None: not
    known, or never. `by_removal`: they are names of removed files, not of failed lookups (None: not traced).
    """

    start: int
    end: int
    gained: float
    rate: float
    seconds: float
    now: bool
    total: float
    bytes_each: float
    margin_s: float | None
    pause: Pause | None
    pause_s: float | None
    by_removal: bool | None
    who: Lookups

    @property
    def bytes(self) -> float:
        return self.total * self.bytes_each

    @property
    def severity(self) -> Severity | None:
        """By the predicted harm, as none has occurred yet. None: a risk."""
        if self.now and self.margin_s is not None and self.margin_s < VERY_SOON_S:
            return "critical"
        if self.now and self.margin_s is not None and self.margin_s < SOON_S:
            return "warning"
        if self.pause is not None and self.pause.seconds.expected >= PAUSE_S:
            return "warning"
        soon = self.now and self.seconds >= _LASTS_S and self.pause_s is not None and self.pause_s < _PAUSE_SOON_S
        return "info" if soon else None


@reading
def growth(snapshot: Snapshot) -> Growth | None:
    """The growth; None if negative dentries did not grow for long or by much, or are gone again."""
    dentries = kernel_memory.read(snapshot)
    edges = np.arange(0, snapshot.ticks + 1, _BLOCK)
    negative, total = _at(dentries.negative, edges), _at(dentries.total, edges)
    gains = np.diff(negative)
    # Removing a file turns its dentry negative without a new one. Removed files are not looked up.
    made = np.minimum(gains, np.diff(total) + 0.05 * np.abs(gains))
    if not np.isfinite(made).any():
        return None
    hot = np.flatnonzero(np.nan_to_num(made) >= max(_HOT, 0.1 * float(np.nanmax(made))))
    if not len(hot):
        return None
    first, last = int(hot[0]), int(hot[-1])
    left = kernel_memory.last(dentries.negative) - float(negative[first])
    gained = min(left, float(np.nansum(made[hot])))
    steady = gained >= _STEADY and len(hot) >= _STEADY_S
    if gained < _SUDDEN and not steady:
        return None
    seconds = len(hot) * _BLOCK * snapshot.step_us / 1e6
    rate = float(np.nansum(made[hot])) / seconds
    now = (len(made) - 1 - last) * _BLOCK * snapshot.step_us <= 3_000_000
    each = kernel_memory.bytes_each(dentries)
    margin = kernel_memory.last(series(snapshot.node, "vm_low_margin_bytes", snapshot.ticks))
    pause = dentry_drop.predict(snapshot, dentries.negative_now)
    who = lookups(snapshot)
    return Growth(
        start=int(edges[first]),
        end=min(snapshot.ticks, int(edges[last + 1])),
        gained=gained,
        rate=rate,
        seconds=seconds,
        now=now,
        total=dentries.negative_now,
        bytes_each=each,
        margin_s=margin / (rate * each) if math.isfinite(margin) else None,
        pause=pause,
        pause_s=None if pause is None else _until_pause(pause, rate),
        by_removal=_by_removal(snapshot, who),
        who=who,
    )


def _by_removal(snapshot: Snapshot, who: Lookups) -> bool | None:
    """Whether, in the ticks in which lookups were counted, far fewer failed than dentries were added."""
    failures = series(snapshot.node, "lookup_failures", snapshot.ticks)
    negative = kernel_memory.read(snapshot).negative
    gains = np.diff(negative, prepend=np.nan)
    both = np.isfinite(failures) & np.isfinite(gains)
    if not who.traced or both.sum() < _BLOCK:
        return None
    return float(failures[both].sum()) < 0.3 * float(np.maximum(gains[both], 0.0).sum())


def _until_pause(pause: Pause, rate: float) -> float | None:
    short = PAUSE_S * 1e6 / pause.cost.each_us - pause.negative
    return max(0.0, short / rate) if rate > 0 else None


def _at(values: FloatArray, edges: IntArray) -> FloatArray:
    """The newest value known before each edge, at most a block back; at 0 the first one known."""
    known = np.flatnonzero(np.isfinite(values))
    out = np.full(len(edges), np.nan)
    if not len(known):
        return out
    place = np.searchsorted(known, edges, side="left") - 1
    for i, (edge, at) in enumerate(zip(edges, place, strict=True)):
        if at >= 0 and edge - known[at] <= 2 * _BLOCK:
            out[i] = values[known[at]]
        elif edge == 0 and known[0] < _BLOCK:
            out[i] = values[known[0]]
    return out


@reading
def passing(snapshot: Snapshot) -> tuple[float, ...]:
    """Times (s since the start of the window) at which thousands of negative dentries appeared and vanished at once.

    A program created names in a directory that it removed. Falls by drops or reclaim are left out.
    """
    negative = kernel_memory.read(snapshot).negative
    known = np.flatnonzero(np.isfinite(negative))
    if len(known) < 5:
        return ()
    skip = np.zeros(snapshot.ticks, dtype=np.bool_)
    for fall in falls(snapshot):
        if fall.how != "removal":
            skip[fall.start : fall.end] = True
    values = negative[known]
    found: list[float] = []
    for i in range(1, len(values) - 1):
        rise = values[i] - values[max(0, i - 3) : i].min()
        fall = values[i] - values[i + 1 : i + 6].min()
        if min(rise, fall) < _PASSING or skip[known[i]] or values[i] < values[i - 1]:
            continue
        at = known[i] * snapshot.step_us / 1e6
        if not found or at - found[-1] >= 0.5:
            found.append(float(at))
    return tuple(found)
