"""Calls of a subject's servers to other servers while their own answers were late.

No data link a call to a request, but both have a start and an end, and a request that waited for a call spans it. If
calls are long at the same time, all of them may also wait for a connection or a lock that one of them holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core import slow
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import metric, read_served
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.sketch import quantile_us, value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate
from jitterscope.diagnosis.core.unread import unread

# A late answer waited for calls that take this share of its time. A call is long if it takes this share of the late
# time.
WAITED, LONG = 0.6, 0.5
# Both ends of a connection share one clock; the caller's own work lies between them.
SLACK_US = 2_000
# Concurrent long calls only explain a late answer if they are rare.
LIFT = 2.0
# The server's own share of a call: the round trip is not its time.
OWN = 0.8
MOST = 5_000
# Requests that waited for one lock continue at the same time.
AT_ONCE_US = 20_000


@dataclass(frozen=True, slots=True)
class Late:
    """Late answers of the subject's TCP servers, parallel arrays in µs; `gone[i]`: the client did not wait for it.

    `late_us`: when an answer is late, of the server with the lowest limit. It is at least 20 ms, whatever the
    objectives: only some of the quicker requests and calls are kept.
    """

    start_us: IntArray
    end_us: IntArray
    gone: BoolArray
    server: IntArray
    servers: tuple[ResourceView, ...]
    late_us: float

    def __len__(self) -> int:
        return len(self.start_us)


@dataclass(frozen=True, slots=True)
class Account:
    """What the server behind an upstream recorded itself during long calls to it.

    Counted are answers that took `OWN` of a long call. `unread`: the share of their time (0..1) in which they waited
    unread in its socket; None if single ones are not known.
    """

    server: ResourceView
    long: float
    unread: float | None


@dataclass(frozen=True, slots=True)
class Waits:
    """Calls to one upstream. `hit[i]`: the late answer i waited for them; `within` of those span their own calls.

    `long` of `calls` took over `long_us`, the slowest `max_us`, a typical one `usual_us` (NaN: too few); `open_ratio`:
    the share of the window in which a long one was in flight; `together`: the share of long ones that ended at the same
    time as another; `ticks`: those that long ones touch.
    """

    upstream: ResourceView
    hit: BoolArray
    within: int
    long: int
    calls: float
    long_us: float
    usual_us: float
    max_us: float
    open_ratio: float
    together: float
    ticks: BoolArray
    account: Account | None

    @property
    def hits(self) -> int:
        return int(self.hit.sum())

    @property
    def address(self) -> str:
        """ADDRESS:PORT."""
        return self.upstream.key.partition(">")[2]


@reading
def read_late(snapshot: Snapshot) -> Late:
    every = np.ones(snapshot.ticks, np.bool_)
    chosen = []
    servers = tuple(one for one in read_served(snapshot).servers if one.kind == "tcp_server")
    over_us = [max(float(SLOW_US), one.over_us) for one in slow.limits(snapshot, servers, every)]
    least = min(over_us, default=float(SLOW_US))
    for number, (server, limit_us) in enumerate(zip(servers, over_us, strict=True)):
        single = server.queries
        if single is None or not len(single.sent_us):
            continue
        late = single.latency_us > limit_us
        sent, took = single.sent_us[late], single.latency_us[late]
        chosen.append((sent, sent + took, single.result[late] == TIMEOUT, np.full(len(sent), number, np.int64)))
    if not chosen:
        none = np.zeros(0, np.int64)
        return Late(none, none, np.zeros(0, np.bool_), none, servers, least)
    start, end, gone, which = (np.concatenate(part) for part in zip(*chosen, strict=True))
    order = np.argsort(start, kind="stable")[-MOST:]
    return Late(start[order], end[order], gone[order], which[order], servers, least)


@reading
def read_waits(snapshot: Snapshot) -> tuple[Waits, ...]:
    """The waits for every upstream that is not a server of the subject itself, the one with the most hits first."""
    late = read_late(snapshot)
    own = {server.key for server in snapshot.tcp_servers}
    found = [
        _waits(snapshot, late, upstream)
        for upstream in snapshot.tcp_upstreams
        if upstream.fact("upstream.server") not in own
    ]
    return tuple(sorted(found, key=lambda one: (-one.hits, -one.long, one.upstream.id)))


def _waits(snapshot: Snapshot, late: Late, upstream: ResourceView) -> Waits:
    long_us = LONG * late.late_us
    single = upstream.queries
    known = single is not None and len(single.sent_us) > 0
    begin = single.sent_us[single.latency_us >= long_us][-MOST:] if single is not None and known else _NONE
    took = single.latency_us[single.latency_us >= long_us][-MOST:] if single is not None and known else _NONE
    end = begin + took
    open_us = _under_way(begin, end)
    window = float(snapshot.ticks * snapshot.step_us)
    ratio = min(1.0, open_us.total / window)
    length = np.maximum(1, late.end_us - late.start_us).astype(np.float64)
    covered = open_us.inside(late.start_us, late.end_us) >= WAITED * length
    own = _spanned(late, begin, end) >= WAITED * length
    rare = len(late) > 0 and float(covered.mean()) >= LIFT * ratio
    part = upstream.distributions.get("upstream_latency_us")
    calls = float(np.nansum(upstream.series.get("upstream_calls", np.zeros(1))))
    ticks = _touched(snapshot, begin, end)
    return Waits(
        upstream=upstream,
        hit=np.asarray((covered | own) if rare else own),
        within=int(own.sum()),
        long=len(begin),
        calls=max(calls, float(len(begin))),
        long_us=long_us,
        usual_us=quantile_us(part.bucket, part.count, 0.5) if part is not None and part.count.sum() >= 20 else np.nan,
        max_us=float(took.max()) if len(took) else 0.0,
        open_ratio=ratio,
        together=_together(end),
        ticks=ticks,
        account=_account(snapshot, upstream, long_us, ticks),
    )


_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """Spans in which at least one call was in flight: time up to each edge, µs."""

    edges: FloatArray
    so_far: FloatArray

    @property
    def total(self) -> float:
        return float(self.so_far[-1]) if len(self.so_far) else 0.0

    def inside(self, start_us: IntArray, end_us: IntArray) -> FloatArray:
        if not len(self.edges):
            return np.zeros(len(start_us))
        low, high = (np.interp(at.astype(np.float64), self.edges, self.so_far) for at in (start_us, end_us))
        return np.asarray(high - low)


def _under_way(begin: IntArray, end: IntArray) -> _UnderWay:
    if not len(begin):
        return _UnderWay(np.zeros(0), np.zeros(0))
    order = np.argsort(begin, kind="stable")
    low, furthest = begin[order].astype(np.float64), np.maximum.accumulate(end[order]).astype(np.float64)
    first = np.concatenate([[True], low[1:] > furthest[:-1]])
    last = np.concatenate([first[1:], [True]])
    starts, ends = low[first], furthest[last]
    edges = np.stack([starts, ends], axis=1).reshape(-1)
    so_far = np.stack([np.concatenate([[0.0], np.cumsum(ends - starts)[:-1]]), np.cumsum(ends - starts)], axis=1)
    return _UnderWay(edges, so_far.reshape(-1))


def _spanned(late: Late, begin: IntArray, end: IntArray) -> FloatArray:
    """Time of the calls that each late answer spans; a call counts for the answer that fits it most closely."""
    spanned = np.zeros(len(late))
    if not len(late):
        return spanned
    length = late.end_us - late.start_us
    for low, high in zip(begin.tolist(), end.tolist(), strict=True):
        fits = np.flatnonzero((late.start_us <= low + SLACK_US) & (late.end_us >= high - SLACK_US))
        if len(fits):
            spanned[fits[int(np.argmin(length[fits]))]] += high - low
    return spanned


def _together(end: IntArray) -> float:
    """The share of long calls that end at the same time as another."""
    if len(end) < 2:
        return 0.0
    near = np.diff(np.sort(end)) <= AT_ONCE_US
    return float((np.concatenate([[False], near]) | np.concatenate([near, [False]])).mean())


def _touched(snapshot: Snapshot, begin: IntArray, end: IntArray) -> BoolArray:
    ticks = np.zeros(snapshot.ticks, np.bool_)
    first = np.clip((begin - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    last = np.clip((end - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        ticks[low : high + 1] = True
    return ticks


def _account(snapshot: Snapshot, upstream: ResourceView, long_us: float, ticks: BoolArray) -> Account | None:
    key = upstream.fact("upstream.server")
    server = next((one for one in snapshot.called_servers if one.key == key), None)
    if server is None or (part := server.distributions.get(metric(server, "latency"))) is None:
        return None
    near = dilate(ticks, 0, 1)
    chosen = near[part.tick] & (value_of(part.bucket) >= OWN * long_us)
    share = unread([server], [OWN * long_us]).ratio
    return Account(server, float(part.count[chosen].sum()), None if math.isnan(share) else share)
