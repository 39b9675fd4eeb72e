"""Connection attempts that a listening socket dropped: where its queue was full, and what the server did meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.net.readings.connections import Connections, Times, read_connections, times
from jitterscope.diagnosis.core.late import late_after
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, read_cpu, series
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate
from jitterscope.diagnosis.programs.event_loops import event_loop

# Drops are read once a second: the attempt was up to so many ticks before.
READ_TICKS = 11
# Of one client that waits for some 10 s as many packets are dropped, at most: its SYN each second (Linux 6.5 and later,
# five times), the last packet of the handshake, the request behind it, and that again after 200, 600, 1,400, 3,000 and
# 6,200 ms.
PER_CLIENT = 12
# What a client waits before it sends a SYN again, at least (RFC 6298, 2.1).
RETRY_US = 1_000_000.0
# A queue may be full before nothing more gets in; then its last reading is older.
_BEFORE_TICKS = 30
# Of the drops, those in whose second something else kept the server from accepting.
HELD = 0.5
# Of what may wait: as good as full.
NEARLY = 0.75
# One thread that uses so much of a CPU has no time to accept.
BUSY = 0.8
# A server that answers nothing for so many ticks though it owes answers does not accept either, unless it always takes
# about as long from one answer to the next.
SILENT_TICKS, UNUSUAL = 5, 3.0


@dataclass(frozen=True, slots=True)
class Overflow:
    """Of one server. `drops` are packets of handshakes, `late` handshakes that took far longer than others. `spans`
    are the ticks in which attempts may have been dropped; `peak` is how many waited at most around them (None: not
    recorded). Shares of the drops, None where not recorded: `throttled` by a CPU limit, `waiting` for a CPU, `busy`
    the one thread that does the work. `silent`: the longest run of ticks without an answer that was owed, where it is
    unusual.
    """

    at: Connections
    drops: float
    late: Times
    spans: BoolArray
    peak: float | None
    throttled: float | None
    waiting: float | None
    busy: float | None
    silent: int

    @property
    def waited(self) -> int:
        """Clients that waited for their connection, at least."""
        return max(self.late.count, math.ceil(self.drops / PER_CLIENT))

    @property
    def attempts(self) -> float:
        """Of clients: those that waited got in later, most of them."""
        return max(float(np.nansum(self.at.opened)), float(self.waited))

    @property
    def longest_us(self) -> float:
        longest = float(self.late.took_us.max()) if len(self.late.took_us) else 0.0
        return max(longest, RETRY_US if self.drops else 0.0)

    @property
    def full(self) -> bool:
        """Whether the queue was full: that is, one more waited than its limit says (sk_acceptq_is_full)."""
        return self.peak is not None and self.at.limit is not None and self.peak >= self.at.limit

    @property
    def sustained(self) -> float:
        """Share of the ticks in which the queue was nearly full, of those in which connections came. Clients that come
        again after a second drop out for seconds behind a burst: when there are drops does not tell it from overload.
        """
        known = np.isfinite(self.at.queue)
        full = self.at.queue[known] >= NEARLY * (self.at.limit or 0.0)
        return float(full.mean()) if known.any() else 0.0

    @property
    def most_dropped(self) -> float:
        """In one second."""
        return float(np.nanmax(self.at.drops)) if self.drops else 0.0

    @property
    def room(self) -> float:
        """How many would have waited at once where none had been dropped, at most."""
        return (self.peak or self.at.limit or 0.0) + self.most_dropped

    def accepted_per_s(self, step_us: int) -> float:
        """While the queue was full: what it takes in at its best. NaN where nothing was recorded."""
        inside = self.at.opened[self.spans]
        known = inside[np.isfinite(inside)]
        return float(known.mean()) * 1e6 / step_us if len(known) else float("nan")


@reading
def read_overflow(snapshot: Snapshot) -> Overflow | None:
    """Of the server that dropped most; None where none is watched."""
    found = [_of(snapshot, one) for one in read_connections(snapshot) if np.isfinite(one.drops).any()]
    return max(found, key=lambda one: one.drops, default=None)


def _of(snapshot: Snapshot, at: Connections) -> Overflow:
    spans = dilate(np.nan_to_num(at.drops) > 0, READ_TICKS - 1, 0)
    around = dilate(spans, _BEFORE_TICKS, 0)
    handshakes = times(at.server, "handshake_us")
    late = handshakes.over(late_after(handshakes.quantile(0.25))) if handshakes.count else handshakes
    seen = at.queue[around & np.isfinite(at.queue)]
    return Overflow(
        at, float(np.nansum(at.drops)), late, spans, float(seen.max()) if len(seen) else None,
        _held(at, read_cpu(snapshot).throttled, 1.0), _waiting(snapshot, at), _busy(snapshot, at),
        _silent(snapshot, at, spans),
    )  # fmt: skip


def _held(at: Connections, values: FloatArray, least: float) -> float | None:
    """Share of the drops in whose second a tick has at least that value; None where none of it was recorded."""
    if not np.isfinite(values).any():
        return None
    near = dilate(np.nan_to_num(values) >= least, 0, READ_TICKS - 1)
    drops = np.nan_to_num(at.drops)
    return float(drops[near].sum() / drops.sum()) if drops.sum() else 0.0


def _waiting(snapshot: Snapshot, at: Connections) -> float | None:
    found = [
        _held(at, series(one, "process_run_delay_us", snapshot.ticks), snapshot.step_us)
        for one in snapshot.processes if has(one, "process_run_delay_us")
    ]  # fmt: skip
    return max((one for one in found if one is not None), default=None)


def _busy(snapshot: Snapshot, at: Connections) -> float | None:
    """Of programs that do their work in one thread; None where there is none, or its CPU time is not recorded."""
    found = [
        _held(at, series(one, "process_cpu_us", snapshot.ticks), BUSY * snapshot.step_us)
        for one in snapshot.processes if event_loop(one) is not None
    ]  # fmt: skip
    return max((one for one in found if one is not None), default=None)


def _silent(snapshot: Snapshot, at: Connections, spans: BoolArray) -> int:
    """0 where it is no longer than a server takes that accepts slowly all the time."""
    owed = series(at.server, "requests_inflight", snapshot.ticks)
    silent = spans & (np.nan_to_num(owed) > 0) & (at.answers == 0)
    longest = run = 0
    for one in silent.tolist():
        run = run + 1 if one else 0
        longest = max(longest, run)
    gaps = np.diff(np.flatnonzero(np.nan_to_num(at.answers) > 0)) - 1
    usual = float(np.median(gaps)) if len(gaps) else 0.0
    return longest if longest >= max(SILENT_TICKS, UNUSUAL * usual) else 0
