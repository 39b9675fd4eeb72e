"""Memory held by waiting queries: how much each, how many can wait at once, and so how far memory can rise.

A forwarding server keeps a goroutine, a socket, and buffers for each query that waits for its upstream. Memory is then
base + bytes per query × waiting queries (coredns/coredns#2593), and their number is rate × waiting time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.areas.memory.readings.query_waits import concurrency_cap, garbage_share, rate_of, wait_of
from jitterscope.diagnosis.areas.memory.readings.signals import (
    ONSET,
    Growth,
    Life,
    Memory,
    filled,
    growth,
    measured,
    read,
    slope,
    smooth,
)
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import added_up, runs
from jitterscope.diagnosis.core.signs import peak
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, lead_lag
from jitterscope.diagnosis.core.wording import DNS_SOFTWARE

# A query that costs more than this does not fill memory; CoreDNS needs 15 to 25 KiB, a TLS connection slightly more.
MOST_PER_QUERY, LEAST_PER_QUERY = 256 * 1024, 512
LEAST_WAITING = 50
TIMES_USUAL = 2.0
USUAL_S = 20.0
# Growth from before the queries is extrapolated for this multiple of the time for which it was seen.
FILLS_TIMES = 3.0
# Share of the limit in use without page cache at a kill.
FILLED = 0.6
# Relative to the fastest pace at which queries accumulate: below it hardly more are added.
SLOWER = 1 / 6
# How far before a burst growth without it is searched, and in how many ticks it must be seen.
_BEFORE_TICKS, _LEAST_QUIET = 100, 8


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many queries wait, one value per tick, and what counts them: `unit` is "queries", "goroutines", or similar.

    `counted`: ticks in which they were.
    """

    views: tuple[ResourceView, ...]
    metric: str
    unit: str
    values: FloatArray
    counted: BoolArray


@dataclass(frozen=True, slots=True)
class Burst:
    """Queries that accumulate from tick `growth.onset` on, and memory with them.

    `calm`: memory (bytes) of the program in the quietest quarter of its life before: what a heap keeps after an earlier
    burst is not needed without one. `per_query`: bytes for each additional waiting query (`per_query_range`: its
    bounds). `explained`: the share of the rise that this accounts for. `joining_per_s`: how many more wait each second,
    for `lasts_s` more seconds, until `ceiling` wait (inf: unbounded). `bound` is the reason: "max_concurrent",
    "latency", "deadline", or "none". `garbage` is added to the memory of queries (as a share of it). `arrivals_per_s`
    since the onset.
    """

    waiting: Waiting
    growth: Growth
    calm: float
    usual: float
    most: float
    per_query: float
    per_query_range: tuple[float, float]
    correlation: float
    explained: float
    joining_per_s: float
    arrivals_per_s: float
    lasts_s: float
    ceiling: float
    bound: str
    wait_s: float | None
    garbage: float

    def fills(self, limit: float) -> bool:
        """Whether it brought memory near a limit (bytes), rather than coinciding with another reason."""
        return self.growth.now >= FILLED * limit

    @property
    def highest(self) -> float:
        """Memory (bytes) when the maximum number of queries wait, without garbage."""
        return self.growth.base + max(0.0, self.ceiling - self.usual) * self.per_query

    @property
    def highest_with_garbage(self) -> float:
        return self.growth.base + (1 + self.garbage) * (self.highest - self.growth.base)


@dataclass(frozen=True, slots=True)
class NoBurst:
    """Why waiting queries do not explain the rise."""

    reason: str
    numbers: dict[str, float]


def may_pile_up(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false if few queries wait."""
    return peak(snapshot.dns_servers, "dns_inflight") >= LEAST_WAITING


@reading
def waiting(snapshot: Snapshot, life: Life) -> Waiting | None:
    """Queries without an answer if packets are captured, except those left behind by a killed process."""
    views = tuple(view for view in snapshot.dns_servers if "dns_inflight" in view.series)
    recorded = added_up(views, "dns_inflight", snapshot.ticks)
    counted = np.isfinite(recorded)
    # Do not interpolate from the end of another life to the beginning of this one.
    own = slice(life.start, life.end)
    if not counted[own].any():
        return None
    values = filled(recorded)
    values[own] = filled(recorded[own])
    if life.again and life.start < len(values):
        # These are abandoned; the capture gives each up after 5 s.
        gone = np.cumsum(np.nan_to_num(added_up(views, "dns_timeouts", snapshot.ticks)[life.start :]))
        values[life.start :] -= np.maximum(0.0, values[life.start] - gone)
    return Waiting(views, "dns_inflight", "queries", np.maximum(values, 0.0), counted)


def burst(snapshot: Snapshot, life: Life) -> Burst | NoBurst:
    """Whether waiting queries explain the rise that leads to the end of a life."""
    memory = read(snapshot)
    return NoBurst("No memory was recorded.", {}) if memory is None else burst_until(snapshot, memory, life, life.end)


def is_unseen(snapshot: Snapshot, life: Life, onset: int) -> bool:
    """Whether a DNS server's queries were not counted in the second from tick `onset` on.

    A collector without CPU time finds a new container's server seconds after it began to answer.
    """
    if not snapshot.dns_servers and not any(runs(view, name) for view in snapshot.processes for name in DNS_SOFTWARE):
        return False
    counted = waiting(snapshot, life)
    return counted is None or not counted.counted[onset : onset + _ticks(snapshot, 1.0)].any()


def burst_until(snapshot: Snapshot, memory: Memory, life: Life, stop: int) -> Burst | NoBurst:
    """Whether they do, by what was known at tick `stop` of the life."""
    counted = waiting(snapshot, life)
    if counted is None or stop - life.start < 3:
        return NoBurst("No waiting queries were counted.", {})
    queue = smooth(counted.values[life.start : stop])
    low, top = float(queue.min()), float(queue[-3:].max())
    onset = life.start + max(int(np.flatnonzero(queue <= low + ONSET * (top - low))[-1]), _knee(queue))
    before = counted.values[max(life.start, onset - _ticks(snapshot, USUAL_S)) : onset + 1]
    # A server that was just restarted has no baseline yet: what has accumulated since belongs to the burst.
    young = life.again and onset - life.start < _ticks(snapshot, USUAL_S)
    usual = low if young else float(np.median(before))
    numbers = {"waiting": top, "usual": usual}
    if top - usual < LEAST_WAITING or top < TIMES_USUAL * usual:
        return NoBurst(f"Queries do not pile up: {top:,.0f} wait, usually {usual:,.0f}.", numbers)
    rise = measured(memory.net, onset, stop, snapshot.step_us)
    if rise is None or rise.risen <= 0:
        return NoBurst(f"Memory does not grow although {top:,.0f} queries wait.", numbers)
    more = top - float(counted.values[onset])
    if more <= 0:  # a single tick that smoothing removed
        return NoBurst(f"Queries do not pile up: {top:,.0f} wait, as many as when memory began to grow.", numbers)
    held, explained = _shares(snapshot, memory.net, queue, counted.counted, life.start, rise, more)
    per_query = held / more
    together = lead_lag(counted.values[onset:stop], memory.net[onset:stop], 1).correlation
    numbers |= {"bytes_per_query": per_query, "explained_ratio": explained, "correlation": together}
    if explained < 0.5:
        return NoBurst(
            f"Memory grows as fast without more waiting queries ({top:,.0f} wait): they explain "
            f"{100 * max(0.0, explained):.0f} % of the rise.", numbers,
        )  # fmt: skip
    if not LEAST_PER_QUERY <= per_query <= MOST_PER_QUERY:
        return NoBurst(
            f"{more:,.0f} more queries wait, which would be {per_query / 1024:,.0f} KiB each: not what a query "
            "holds.", numbers,
        )  # fmt: skip
    if together < 0.8 and stop - onset >= 8:
        return NoBurst(f"Memory does not follow the waiting queries (r {together:.2f}).", numbers)
    piled = per_query * max(0.0, float(counted.values[onset]) - low)
    # Before anything was counted, the reason for growth is unknown.
    seen = replace(life, start=life.start + int(np.argmax(counted.counted[life.start : onset + 1])))
    if (full := _would_fill(memory, seen, rise, piled, snapshot.step_us)) is not None:
        return NoBurst(
            f"Memory had grown by {(full.risen - piled) / (1 << 20):,.0f} MiB in {full.seconds:.0f} s before queries "
            f"piled up, and would have reached its limit without them: {top:,.0f} have waited since.", numbers,
        )  # fmt: skip
    calm = float(np.quantile(memory.net[life.start : onset + 1], 0.25))
    return _burst(snapshot, counted, rise, calm, usual, top, per_query, explained, together, life)


def _would_fill(memory: Memory, life: Life, rise: Growth, piled: float, step_us: int) -> Growth | None:
    """Growth from before the queries that reaches the limit on its own, if it is more than they added.

    A server that is nearly out of memory answers late, so queries accumulate because memory is full. `piled` bytes of
    that growth belong to queries.
    """
    before = growth(memory.net, replace(life, end=rise.onset + 1), step_us)
    if before is None or before.risen - piled <= rise.risen:
        return None
    limit = float(memory.limit[rise.end - 1])
    return before if before.time_to(limit) <= FILLS_TIMES * before.seconds else None


def _knee(queue: FloatArray) -> int:
    """Where the queue begins to grow near its fastest pace: before, it grew by less than a sixth of that."""
    steps = np.diff(queue)
    if len(steps) < 4:
        return 0
    pace = np.convolve(steps, np.ones(3) / 3, mode="same")
    fastest = int(np.argmax(pace))
    slower = np.flatnonzero(pace[: fastest + 1] < pace[fastest] * SLOWER)
    knee = int(slower[-1]) if len(slower) else 0
    # The mean of three ticks rises before the queue does.
    while knee < fastest and steps[knee] < pace[fastest] * SLOWER:
        knee += 1
    return knee


def _full(queue: FloatArray, start: int, onset: int) -> int:
    """The tick from which on hardly more wait: 85 % of the maximum above the beginning."""
    part = queue[onset - start :]
    return onset + int(np.flatnonzero(part >= part[0] + 0.85 * (part.max() - part[0]))[0])


def _aside(net: FloatArray, queue: FloatArray, counted: BoolArray, start: int, onset: int) -> float:
    """Bytes per tick by which memory grew before the queries did, in ticks in which hardly more started to wait.

    A server that starts amid a burst grows with queries that are not counted yet: unobserved ticks are not quiet.
    """
    first = max(start, onset - _BEFORE_TICKS)
    pace = np.diff(queue)
    quiet = pace[first - start : onset - start] < pace.max() * SLOWER
    quiet &= counted[first:onset] & counted[first + 1 : onset + 1]
    grown = np.cumsum(np.diff(net[first : onset + 1])[quiet])
    return max(0.0, slope(grown)) if len(grown) >= _LEAST_QUIET else 0.0


def _shares(
    snapshot: Snapshot, net: FloatArray, queue: FloatArray, counted: BoolArray, start: int, rise: Growth, more: float
) -> tuple[float, float]:
    """(bytes held by `more` waiting queries, share of the rise due to these and their garbage, 0..1).

    Growth from before the queries is assumed to continue. Growth once the maximum number of queries wait is their
    garbage, as long as it is no more than garbage can be.
    """
    aside = _aside(net, queue, counted, start, rise.onset)
    full = min(max(_full(queue, start, rise.onset), rise.onset + 2), rise.end - 1)
    part = max(0.05, float(queue[full - start] - queue[rise.onset - start]) / more)
    held = max(0.0, float(net[full] - net[rise.onset]) - aside * (full - rise.onset)) / min(1.0, part)
    after = max(0.0, float(net[rise.end - 1] - net[full]) - aside * (rise.end - 1 - full))
    most = (2 * garbage_share(snapshot) + 0.3) * held
    total = held * min(1.0, part) + (after if after <= most else 0.0)
    return held, min(1.0, total / rise.risen)


def _burst(
    snapshot: Snapshot, counted: Waiting, rise: Growth, calm: float, usual: float, top: float, per_query: float,
    explained: float, together: float, life: Life,
) -> Burst:  # fmt: skip
    joining = _joining(snapshot, counted, rise, 2)
    ceiling, bound, wait_s, lasts = _ceiling(snapshot, counted, rise, usual, top, joining, life)
    return Burst(
        waiting=counted,
        growth=rise,
        calm=calm,
        usual=usual,
        most=top,
        per_query=per_query,
        per_query_range=(0.85 * per_query, 1.15 * per_query),
        correlation=together,
        explained=explained,
        joining_per_s=joining,
        arrivals_per_s=rate_of(snapshot, "dns_queries", rise.onset + 1, rise.end),
        lasts_s=lasts,
        ceiling=ceiling,
        bound=bound,
        wait_s=wait_s,
        garbage=garbage_share(snapshot),
    )


def _joining(snapshot: Snapshot, counted: Waiting, rise: Growth, share: int) -> float:
    """How many more wait each second, in the last part of the rise."""
    part = counted.values[rise.onset : rise.end]
    return max(0.0, slope(part[-max(3, len(part) // share) :]) * 1e6 / snapshot.step_us)


def _unanswered_per_s(snapshot: Snapshot, rise: Growth) -> float:
    """By how many per second arriving queries exceed answers while they accumulate, without pauses between bursts."""
    asked, answered = (added_up(snapshot.dns_servers, name, snapshot.ticks) for name in ("dns_queries", "dns_answers"))
    more = np.nan_to_num(asked)[rise.onset + 1 : rise.end] - np.nan_to_num(answered)[rise.onset + 1 : rise.end]
    piling = more[more > SLOWER * smooth(more).max(initial=0.0)]
    return float(piling.mean()) * 1e6 / snapshot.step_us if len(piling) else 0.0


def _ceiling(
    snapshot: Snapshot, counted: Waiting, rise: Growth, usual: float, top: float, joining: float, life: Life
) -> tuple[float, str, float | None, float]:
    """(maximum number waiting at once, its bound, maximum seconds that each waits, seconds until as many wait)."""
    cap = concurrency_cap(snapshot)
    wait_s, bound = wait_of(snapshot, rise, life)
    lately = min(joining, _joining(snapshot, counted, rise, 4))
    if wait_s is not None and rise.seconds >= 1.2 * wait_s and lately * rise.seconds > 0.3 * top:
        # Still growing after the first ones must have left: the rate rises, or the server itself is behind.
        wait_s, bound = None, "none"
    if wait_s is not None and bound == "deadline":
        # Each is held for that long, whatever the capture counts: it gives up before the server does.
        joining = _unanswered_per_s(snapshot, rise)
        reached = max(top, joining * wait_s)
    else:
        # Little's law: number waiting = rate of joining × waiting time.
        reached = max(top, usual + joining * (rise.seconds if wait_s is None else wait_s))
    lasts = (reached - top) / joining if joining > 0 else 0.0
    # If more wait than that, they do not wait in forward.
    if cap is not None and top <= 1.3 * cap and cap < reached:
        return max(top, float(cap)), "max_concurrent", wait_s, max(0.0, cap - top) / max(joining, 1.0)
    return (reached, bound, wait_s, lasts) if wait_s is not None else (math.inf, "none", None, lasts)


def _ticks(snapshot: Snapshot, seconds: float) -> int:
    return int(seconds * 1e6 / snapshot.step_us)
