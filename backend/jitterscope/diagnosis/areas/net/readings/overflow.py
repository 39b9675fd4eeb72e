"""Connection attempts that a listening socket dropped: where its queue was full, and what the server did meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.net.readings.connections import Connections, Times, read_connections, times
from jitterscope.diagnosis.core.held_up import usual_wait_us
from jitterscope.diagnosis.core.late import late_after
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, read_cpu, series
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate
from jitterscope.diagnosis.programs.event_loops import event_loop

# Drops are read once a second: the attempt was up to this many ticks before.
READ_TICKS = 11
# Upper bound on dropped packets of one client that waits for about 10 s: its SYN each second (Linux 6.5 and later, five
# times), the last packet of the handshake, the request behind it, and its retransmissions after 200, 600, 1,400, 3,000,
# and 6,200 ms.
PER_CLIENT = 12
# The minimum time before a client sends a SYN again (RFC 6298, 2.1).
RETRY_US = 1_000_000.0
# A queue may be full before nothing more gets in; then its last sample is older.
_BEFORE_TICKS = 30
# Share of the drops in whose second something else kept the server from accepting.
HELD = 0.5
# Share of the limit that counts as practically full.
NEARLY = 0.75
# A thread that uses this much of a CPU has no time to accept.
BUSY = 0.8
# A server that answers nothing for this many ticks although it owes answers does not accept either, unless it always
# takes about as long between answers.
SILENT_TICKS, UNUSUAL = 5, 3.0


@dataclass(frozen=True, slots=True)
class Overflow:
    """Drops of one server. `drops` are packets of handshakes, `late` handshakes that took far longer than others.

    `spans` are the ticks in which attempts may have been dropped; `peak` is the most that waited around them (None: not
    recorded). Shares of the drops, None if not recorded: `throttled` by a CPU limit, `waiting` for a CPU longer than
    usual, `busy`: the single worker thread was. `silent`: the longest run of ticks without an answer that was owed, if
    it is unusual.
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
        """Minimum number of clients that waited for their connection."""
        return max(self.late.count, math.ceil(self.drops / PER_CLIENT))

    @property
    def attempts(self) -> float:
        """Connection attempts of clients: most of those that waited got in later."""
        return max(float(np.nansum(self.at.opened)), float(self.waited))

    @property
    def longest_us(self) -> float:
        longest = float(self.late.took_us.max()) if len(self.late.took_us) else 0.0
        return max(longest, RETRY_US if self.drops else 0.0)

    @property
    def full(self) -> bool:
        """Whether the queue was full: one more waited than its limit says (sk_acceptq_is_full)."""
        return self.peak is not None and self.at.limit is not None and self.peak >= self.at.limit

    @property
    def sustained(self) -> float:
        """Share of the ticks with new connections in which the queue was nearly full.

        Clients that retry after a second are absent for seconds after a burst, so the times of drops do not distinguish
        it from overload.
        """
        known = np.isfinite(self.at.queue)
        full = self.at.queue[known] >= NEARLY * (self.at.limit or 0.0)
        return float(full.mean()) if known.any() else 0.0

    @property
    def most_dropped(self) -> float:
        """The most drops in one second."""
        return float(np.nanmax(self.at.drops)) if self.drops else 0.0

    @property
    def room(self) -> float:
        """Upper bound on how many would have waited at once if none had been dropped."""
        return (self.peak or self.at.limit or 0.0) + self.most_dropped

    def accepted_per_s(self, step_us: int) -> float:
        """Connections accepted per second while the queue was full, the maximum rate. NaN if nothing was recorded."""
        inside = self.at.opened[self.spans]
        known = inside[np.isfinite(inside)]
        return float(known.mean()) * 1e6 / step_us if len(known) else float("nan")


@reading
def read_overflow(snapshot: Snapshot) -> Overflow | None:
    """The overflow of the server with the most drops; None if none is watched."""
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
    """Share of the drops in whose second a tick reaches this value; None if none of it was recorded."""
    if not np.isfinite(values).any():
        return None
    near = dilate(np.nan_to_num(values) >= least, 0, READ_TICKS - 1)
    drops = np.nan_to_num(at.drops)
    return float(drops[near].sum() / drops.sum()) if drops.sum() else 0.0


def _waiting(snapshot: Snapshot, at: Connections) -> float | None:
    delays = [
        series(one, "process_run_delay_us", snapshot.ticks)
        for one in snapshot.processes if has(one, "process_run_delay_us")
    ]  # fmt: skip
    # What they wait anyway, while answers are quick, fills no queue.
    found = [_held(at, one - usual_wait_us(snapshot, one), snapshot.step_us) for one in delays]
    return max((one for one in found if one is not None), default=None)


def _busy(snapshot: Snapshot, at: Connections) -> float | None:
    """Share for programs that do their work in one thread; None if there is none, or its CPU time is not recorded."""
    found = [
        _held(at, series(one, "process_cpu_us", snapshot.ticks), BUSY * snapshot.step_us)
        for one in snapshot.processes if event_loop(one) is not None
    ]  # fmt: skip
    return max((one for one in found if one is not None), default=None)


def _silent(snapshot: Snapshot, at: Connections, spans: BoolArray) -> int:
    """The longest silence; 0 if it is no longer than usual for a server that always accepts slowly."""
    owed = series(at.server, "requests_inflight", snapshot.ticks)
    silent = spans & (np.nan_to_num(owed) > 0) & (at.answers == 0)
    longest = run = 0
    for one in silent.tolist():
        run = run + 1 if one else 0
        longest = max(longest, run)
    gaps = np.diff(np.flatnonzero(np.nan_to_num(at.answers) > 0)) - 1
    usual = float(np.median(gaps)) if len(gaps) else 0.0
    return longest if longest >= max(SILENT_TICKS, UNUSUAL * usual) else 0
