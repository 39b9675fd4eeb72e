"""How long the upstreams of a forwarding server take, and whether one of them is slow on its own.

Measured at the upstream if it is on the same node, else by the forwarder's own counters (CoreDNS). Slow are answers
that take about a second or more (CoreDNS gives an attempt 2 s), and whole seconds in which most answers take five times
what that upstream takes otherwise: single answers of 50 to 300 ms are normal for a resolver that has to look up a new
name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.path import Edge, PathGraph, is_loopback, path
from jitterscope.diagnosis.areas.dns.readings.slowest import SIGNS as LATE_SIGNS
from jitterscope.diagnosis.areas.dns.readings.slowest import answers_over
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.signs import by_second
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

UPSTREAM_SLOW_US = 900_000.0
CHANGED_US = 100_000.0
TIMES_USUAL = 5.0
BLOCK_TICKS = 10
MANY = 5
COUNTERS = ("coredns_forward_time_us", "coredns_forward_requests")
SHARE = 0.05
# An upstream whose accept queue is not drained for this many ticks has run out of connections; it is not slow.
STANDING_TICKS = 3


@dataclass(frozen=True, slots=True)
class UpstreamTime:
    """One upstream of `asker`, in blocks of a second.

    Mean and median answer time (µs), number of answers, how many were slow, and how many queries it left unanswered.
    NaN: no answer in the block. `slow_us`: the median from which a whole second is slow. `overdue`: upper bound on
    queries that have waited longer than that for an answer, and `waits_us` for how long. `silent`: more such queries
    waited than were answered within a second; how slow the upstream is shows later, or never.
    """

    edge: Edge
    asker: ResourceView
    target: ResourceView | None
    measured: Literal["upstream", "counters"]
    usual_us: float | None
    slow_us: float
    mean_us: FloatArray
    median_us: FloatArray
    answers: FloatArray
    slow: FloatArray
    unanswered: FloatArray
    overdue: FloatArray
    waits_us: FloatArray
    silent: BoolArray

    @property
    def blocks(self) -> BoolArray:
        """Seconds with at least one slow answer and at least 5 % slow answers; and those in which it was silent."""
        return np.asarray(((self.slow >= 1) & (self.slow >= SHARE * self.answers)) | self.silent)

    @property
    def bulk(self) -> BoolArray:
        """Seconds in which most answers were slow, or it was silent."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.median_us >= self.slow_us) | self.silent)

    @property
    def slow_queries(self) -> float:
        """Slow answers, and those still awaited where it was silent; each query once."""
        return float(self.slow.sum() + (self.overdue[self.silent].max() if self.silent.any() else 0.0))

    @property
    def is_slow(self) -> bool:
        return float(self.slow[self.blocks].sum()) >= MANY or bool(self.silent.any())

    def mean_of(self, blocks: BoolArray) -> float:
        """Mean answer time of those seconds, of the slow ones if there are any (µs).

        For a server that gave no answers, how long it has been silent.
        """
        known = blocks & (self.answers > 0)
        with np.errstate(invalid="ignore"):
            slow = known & (self.median_us >= self.slow_us)
        if slow.any():
            known = slow
        elif self.silent[blocks].any():
            return float(self.waits_us[blocks].max())
        return float((self.mean_us[known] * self.answers[known]).sum() / self.answers[known].sum())

    def ticks(self, blocks: BoolArray, n: int) -> BoolArray:
        """Those blocks as ticks of the window."""
        return np.asarray(np.repeat(blocks, BLOCK_TICKS)[:n])


@reading
def upstream_times(snapshot: Snapshot, asker_id: int) -> list[UpstreamTime]:
    """One for each measurable upstream of a server; by counters, all its upstreams together are one."""
    graph = path(snapshot)
    asker = graph.servers[asker_id]
    found: list[UpstreamTime] = []
    unseen: list[Edge] = []
    for edge in graph.upstreams_of(asker.id):
        target = graph.view(edge.target)
        measured = _at_upstream(snapshot, edge, asker, target) if target is not None else None
        if measured is None:
            unseen.append(edge)
        elif all(measured.target is not known.target for known in found):
            found.append(measured)
    if unseen and has(asker, "coredns_forward_time_us") and not found:
        found.append(_by_counters(snapshot, unseen[0], asker))
    return found


def _at_upstream(
    snapshot: Snapshot, edge: Edge, asker: ResourceView, target: ResourceView | None
) -> UpstreamTime | None:
    if target is None or (part := target.distributions.get("dns_latency_us")) is None:
        return None
    blocks = _count(snapshot)
    block = part.tick // BLOCK_TICKS
    value = value_of(part.bucket)
    answers = np.bincount(block, part.count, blocks).astype(np.float64)
    total = np.bincount(block, part.count * value, blocks)
    median = np.full(blocks, np.nan)
    for number in np.flatnonzero(answers):
        chosen = block == number
        order = np.argsort(value[chosen], kind="stable")
        places = np.cumsum(part.count[chosen][order])
        median[number] = value[chosen][order][np.searchsorted(places, places[-1] / 2)]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / answers
    usual = usual_of(median, answers)
    limit = slow_from(usual)
    in_bulk = (np.nan_to_num(median) >= limit) & (answers >= MANY)
    counted = part.count * ((value >= UPSTREAM_SLOW_US) | ((value >= limit) & in_bulk[block]))
    slow = np.bincount(block, counted, blocks).astype(np.float64)
    lost = np.nan_to_num(series(target, "dns_timeouts", snapshot.ticks))
    unanswered = np.add.reduceat(lost, np.arange(0, snapshot.ticks, BLOCK_TICKS))
    in_flight = part.count * value * (value < limit) / snapshot.step_us
    held = np.bincount(part.tick, in_flight, snapshot.ticks).astype(np.float64)
    overdue, waits, silent = _overdue(snapshot, asker, target, limit, lost, held[: snapshot.ticks])
    return UpstreamTime(
        edge, asker, target, "upstream", usual, limit, mean, median, answers, slow, unanswered, overdue, waits, silent
    )


def _overdue(
    snapshot: Snapshot, asker: ResourceView, target: ResourceView, limit_us: float, lost: FloatArray, held: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Per block: the most queries without an answer for over `limit_us`, the longest wait (µs), and silence.

    It was silent if these queries were more than the answers of the second before, and the asker's own clients waited
    too, so the queries were real. A shorter stall does not count. Nor do queries that were already waiting while it
    answered most others quickly: those were dropped, and do not become more when the load and its answers end. `held`:
    how many of those answered quickly in each tick were in flight, on average.

    Only counts are known: those in flight that were not answered within `limit_us` wait longer; they are assumed to be
    answered in order, which underestimates the wait if they are not. A query that the capture lost track of is in
    flight until it is given up, but no downstream client waits for it.
    """
    n, step = snapshot.ticks, snapshot.step_us
    came, answered = (np.nan_to_num(series(target, metric, n)) for metric in ("dns_queries", "dns_answers"))
    ago = -(-int(limit_us) // step)
    inflight = np.nan_to_num(series(target, "dns_inflight", n))
    overdue = np.maximum(0.0, inflight - trailing(came, ago))
    asked, done = np.cumsum(came), np.cumsum(answered + lost)
    oldest = np.searchsorted(asked, done, side="right")
    waits = np.where(overdue > 0, np.maximum(ago, np.arange(n) + 1 - oldest) * float(step), 0.0)
    in_front = np.nan_to_num(series(asker, "dns_inflight", n))
    silent = (overdue >= MANY) & (overdue > trailing(answered + lost, BLOCK_TICKS)) & (in_front >= MANY)
    dropped = np.maximum(0.0, inflight - 2 * trailing(held, BLOCK_TICKS) / BLOCK_TICKS)
    silent &= overdue >= _latest(dropped, (held > 0) & ~silent) + MANY
    starts = np.arange(0, n, BLOCK_TICKS)
    return (
        np.maximum.reduceat(overdue, starts),
        np.maximum.reduceat(waits, starts),
        np.asarray(np.logical_or.reduceat(silent, starts)),
    )


def trailing(values: FloatArray, ticks: int) -> FloatArray:
    """Sums of each value and those before it, `ticks` in total."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(total[1:] - total[np.maximum(0, np.arange(len(values)) + 1 - ticks)])


def _latest(values: FloatArray, chosen: BoolArray) -> FloatArray:
    """The value of the last chosen tick up to each tick; 0 before the first."""
    at = np.maximum.accumulate(np.where(chosen, np.arange(len(values)), -1))
    return np.where(at >= 0, values[at], 0.0)


def _by_counters(snapshot: Snapshot, edge: Edge, asker: ResourceView) -> UpstreamTime:
    """Requests and their time, summed between samples: only means are known."""
    took, answers = (by_second(snapshot, asker, name) for name in COUNTERS)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(answers > 0, took / answers, np.nan)
    usual = usual_of(mean, answers)
    limit = slow_from(usual)
    slow = np.where((np.nan_to_num(mean) >= limit) & (answers >= MANY), answers, 0.0)
    none = np.zeros(len(mean))
    never = np.zeros(len(mean), dtype=np.bool_)
    return UpstreamTime(edge, asker, None, "counters", usual, limit, mean, mean, answers, slow, none, none, none, never)


SIGNS = (*LATE_SIGNS, "dns_inflight", *COUNTERS)


def may_be_slow(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false only if no upstream of the subject can be slow."""
    graph = path(snapshot)
    for server in snapshot.dns_servers:
        edges = graph.upstreams_of(server.id)
        targets = {target.id: target for edge in edges for target in _may_be(edge, graph)}.values()
        if edges and _slow_by_counters(snapshot, server):
            return True
        if any(answers_over(snapshot, one, CHANGED_US) >= MANY or _leaves_many(snapshot, one) for one in targets):
            return True
    return False


def _may_be(edge: Edge, graph: PathGraph) -> list[ResourceView]:
    """The servers of the node that an edge can lead to: only single queries show which one is behind a Service."""
    target = graph.view(edge.target)
    if target is not None:
        return [target]
    return [] if is_loopback(edge.address) else [view for view in graph.servers.values() if view.id != edge.asker]


def _leaves_many(snapshot: Snapshot, server: ResourceView) -> bool:
    """Whether more queries are in flight than arrived within a tick: otherwise none waits for longer."""
    inflight, came = (np.nan_to_num(series(server, name, snapshot.ticks)) for name in ("dns_inflight", "dns_queries"))
    return bool((inflight - came >= MANY).any())


def _slow_by_counters(snapshot: Snapshot, server: ResourceView) -> bool:
    took, answers = (by_second(snapshot, server, name) for name in COUNTERS)
    return bool(((answers >= MANY) & (took >= CHANGED_US * answers)).any())


def usual_of(median_us: FloatArray, answers: FloatArray) -> float | None:
    """The upstream's time in its calmer seconds: their lowest tenth; None with fewer than 3 s or 20 answers.

    Seconds with next to no answers are left out: those are health checks and version.bind queries, which a server
    answers itself.
    """
    busy = float(np.percentile(answers[answers > 0], 90)) if (answers > 0).any() else 0.0
    known = (answers >= max(MANY, 0.05 * busy)) & np.isfinite(median_us)
    if known.sum() < 3 or answers[known].sum() < 20:
        return None
    return float(np.percentile(median_us[known], 10))


def slow_from(usual: float | None) -> float:
    """The median from which a second of an upstream is slow, µs."""
    return UPSTREAM_SLOW_US if usual is None else float(np.clip(TIMES_USUAL * usual, CHANGED_US, UPSTREAM_SLOW_US))


def waits_for_another(snapshot: Snapshot, time: UpstreamTime) -> UpstreamTime | None:
    """The upstream's own upstream, if that is the slow one: then `time.target` only waits for it."""
    if time.target is None:
        return None
    for further in upstream_times(snapshot, time.target.id):
        if further.is_slow and further.slow_queries >= 0.5 * time.slow_queries:
            return further
    return None


def out_of_connections(snapshot: Snapshot, server: ResourceView) -> int:
    """Longest stretch of ticks in which connections waited to be accepted; 0 if under STANDING_TICKS."""
    waiting = np.nan_to_num(series(server, "dns_accept_backlog", snapshot.ticks)) > 0
    longest = run = 0
    for value in waiting:
        run = run + 1 if value else 0
        longest = max(longest, run)
    return longest if longest >= STANDING_TICKS else 0


def _count(snapshot: Snapshot) -> int:
    return -(-snapshot.ticks // BLOCK_TICKS)
