"""dnsmasq's limit of TCP connections: when it was reached, what waited, and how many connections the load needs.

dnsmasq serves each TCP connection in a child process, at most 20 unless --max-tcp-connections says otherwise. A further
connection is established for its client, but stays in the accept queue: the query sent on it is not read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from jitterscope.diagnosis.areas.dns.readings.path import PathGraph, path, quantiles
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import added_up, fact_series, runs, series
from jitterscope.diagnosis.core.signs import shows
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

DEFAULT_LIMIT = 20.0
# A child that ended may not be replaced yet in the tick in which children are counted.
NEARLY = 0.9
MIN_TICKS = 2
GAP_TICKS = 3
ENOUGH_RATIO = 0.999


@dataclass(frozen=True, slots=True)
class Demand:
    """Connections that the load needs at once (Little's law: rate × the time a query keeps its connection).

    `low` counts the queries that arrived, `high` also the attempts that were turned away; `expected` what the servers
    in front wanted to forward, if that is known.
    """

    rate_low: float
    rate: float
    rate_high: float
    hold_us: float
    low: float
    expected: float
    high: float
    from_askers: bool


@dataclass(frozen=True, slots=True)
class TcpLimit:
    """The subject's dnsmasq. Arrays have one value per tick; NaN: not measured.

    `full`: (nearly) as many children as allowed; `short`: full, and connections waited or were turned away, for at
    least two consecutive ticks. `idle_served`: connections that have a child but sent nothing for over 1 s.
    """

    servers: tuple[ResourceView, ...]
    process: ResourceView | None
    limit: FloatArray
    children: FloatArray
    backlog: FloatArray
    drops: FloatArray
    inflight: FloatArray
    connections: FloatArray
    close_wait: FloatArray
    idle_served: FloatArray
    full: BoolArray
    short: BoolArray

    @property
    def now(self) -> float:
        """The limit at the end of the window."""
        return float(self.limit[-1])

    @property
    def short_ticks(self) -> int:
        """For how many ticks connections were short in total."""
        return int(self.short.sum())

    @property
    def latest_ticks(self) -> int:
        """For how many ticks connections were short the last time."""
        ended = int(np.flatnonzero(self.short)[-1]) + 1
        before = np.flatnonzero(~self.short[:ended])
        return ended - (int(before[-1]) + 1 if len(before) else 0)

    def standing(self) -> tuple[int, float]:
        """(minimum number of queries that waited at the same time, for at least how many ticks); 0 if none did.

        A query beyond what the children can serve waits; three consecutive ticks with at least this many of them are a
        queue that does not move fast enough, not a single unlucky moment.
        """
        beyond = np.fmax(self.backlog, np.nan_to_num(self.inflight - self.limit))
        beyond = np.where(self.short, np.nan_to_num(beyond), 0.0)
        if len(beyond) < 3:
            return 0, 0.0
        lowest = np.minimum(np.minimum(beyond[:-2], beyond[1:-1]), beyond[2:])
        longest = run = 0
        for value in self.short:
            run = run + 1 if value else 0
            longest = max(longest, run)
        return int(lowest.max()), float(longest) if lowest.max() >= 1 else 0.0


def is_dnsmasq(server: ResourceView) -> bool:
    return server.fact("dns.software") == "dnsmasq"


WAITING = ("dns_accept_backlog", "dns_listen_drops")


def may_be_short(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false if no connection waited or was turned away."""
    return shows(snapshot.dns_servers, *WAITING)


@reading
def read(snapshot: Snapshot) -> TcpLimit | None:
    """The limit of the subject's dnsmasq; None if none of its servers is one."""
    servers = tuple(server for server in snapshot.dns_servers if is_dnsmasq(server))
    if not servers:
        return None
    n = snapshot.ticks
    process = _process(snapshot)
    limit = fact_series(snapshot, servers[0], "dns.child_limit", DEFAULT_LIMIT)
    children = series(process, "process_children", n) if process is not None else np.full(n, np.nan)
    backlog, idle = added_up(servers, "dns_accept_backlog", n), added_up(servers, "dns_tcp_idle", n)
    drops = added_up(servers, "dns_listen_drops", n)
    with np.errstate(invalid="ignore"):
        full = children >= np.maximum(1.0, np.floor(NEARLY * limit))
    waits = full & ((np.nan_to_num(backlog) > 0) | (np.nan_to_num(drops) > 0))
    return TcpLimit(
        servers=servers,
        process=process,
        limit=limit,
        children=children,
        backlog=backlog,
        drops=drops,
        inflight=added_up(servers, "dns_inflight", n),
        connections=added_up(servers, "dns_tcp_connections", n),
        close_wait=added_up(servers, "dns_tcp_close_wait", n),
        idle_served=idle,
        full=np.asarray(full),
        short=_lasting(waits, np.asarray(np.nan_to_num(children) >= limit)),
    )


def _process(snapshot: Snapshot) -> ResourceView | None:
    """The dnsmasq whose children are counted; of several, the one with the most."""
    known = [view for view in snapshot.processes if np.isfinite(series(view, "process_children", snapshot.ticks)).any()]
    named = [view for view in known if runs(view, "dnsmasq")] or known
    return max(named, key=lambda view: float(np.nanmax(view.series["process_children"])), default=None)


def _lasting(waits: BoolArray, at_limit: BoolArray) -> BoolArray:
    """Stretches of at least two ticks that reach the limit; a gap of up to three ticks does not end one."""
    out = np.zeros(len(waits), dtype=np.bool_)
    hot = np.flatnonzero(waits)
    if not len(hot):
        return out
    for group in np.split(hot, np.flatnonzero(np.diff(hot) > GAP_TICKS + 1) + 1):
        if len(group) >= MIN_TICKS and (np.diff(group) == 1).any() and at_limit[group[0] : group[-1] + 1].any():
            out[group[0] : group[-1] + 1] = True
    return out


@reading
def demand(snapshot: Snapshot) -> Demand | None:
    """What the load needed while connections were short; None without a dnsmasq, or queries to count."""
    tcp = read(snapshot)
    if tcp is None:
        return None
    n, step_s = snapshot.ticks, snapshot.step_us / 1e6
    askers = _askers(tcp, path(snapshot))
    short = _under_load(snapshot, tcp, askers)
    arrived, answered = added_up(tcp.servers, "dns_queries", n), added_up(tcp.servers, "dns_answers", n)
    known = short & np.isfinite(arrived) & np.isfinite(answered)
    if known.sum() < MIN_TICKS or np.nansum(answered[known]) < 5:
        return None
    served = float(answered[known].sum()) / (known.sum() * step_s)
    busy = float(np.nanmean(np.maximum(1.0, (tcp.children - np.nan_to_num(tcp.idle_served))[known])))
    hold_us = busy / served * 1e6
    low = float(arrived[known].sum()) / (known.sum() * step_s)
    # Only the first seconds: later ones are full of retries.
    early = _first_seconds(short, n) & known
    turned_away = float(np.nansum(tcp.drops[early])) / max(step_s, early.sum() * step_s)
    first = float(np.nansum(arrived[early])) / max(step_s, early.sum() * step_s)
    high = max(low, first) + turned_away
    asked = _asked_by_servers(snapshot, askers, short)
    rate = max(low, asked) if asked is not None else (low + high) / 2
    high = max(high, rate)
    few, some, many = (max(value * hold_us / 1e6, busy) for value in (low, rate, high))
    return Demand(low, rate, high, hold_us, few, some, many, from_askers=asked is not None)


def _first_seconds(short: BoolArray, n: int) -> BoolArray:
    mask = np.zeros(n, dtype=np.bool_)
    first = int(np.flatnonzero(short)[0])
    mask[first : first + 20] = True
    return mask


def _askers(tcp: TcpLimit, graph: PathGraph) -> list[ResourceView]:
    """The servers of this node that query it."""
    numbers = {edge.asker for server in tcp.servers for edge in graph.askers_of(server.id)}
    return [graph.servers[number] for number in sorted(numbers)]


def _under_load(snapshot: Snapshot, tcp: TcpLimit, askers: list[ResourceView]) -> BoolArray:
    """Where connections were short under load: those that were given up still wait after the load has ended."""
    front = added_up(tuple(askers) or tcp.servers, "dns_queries", snapshot.ticks)
    known = tcp.short & np.isfinite(front)
    if not known.any():
        return tcp.short
    return np.asarray(known & (front >= 0.25 * np.percentile(front[known], 90)))


def _asked_by_servers(snapshot: Snapshot, askers: list[ResourceView], short: BoolArray) -> float | None:
    """Queries/s that the servers in front of it on this node could not answer from their caches."""
    step_s, n = snapshot.step_us / 1e6, snapshot.ticks
    total = 0.0
    for asker in askers:
        queries = series(asker, "dns_queries", n)
        known = short & np.isfinite(queries)
        if not known.any():
            return None
        hits = float(np.nansum(series(asker, "coredns_cache_hits", n)))
        misses = float(np.nansum(series(asker, "coredns_cache_misses", n)))
        share = misses / (hits + misses) if hits + misses > 0 else 1.0
        total += share * float(queries[known].sum()) / (known.sum() * step_s)
    return total if askers else None


def answered_while_short(snapshot: Snapshot, tcp: TcpLimit, upstreams: list[ResourceView]) -> float | None:
    """Queries answered while connections were short: by the upstreams if they are seen, else by the dnsmasq itself.

    None if not counted.
    """
    answers = added_up(tuple(upstreams) or tcp.servers, "dns_answers", snapshot.ticks)
    return float(np.nansum(answers[tcp.short])) if np.isfinite(answers[tcp.short]).any() else None


def busy_ratio(snapshot: Snapshot, tcp: TcpLimit) -> float:
    """Share of the children that worked on a query while connections were short, 0..1; 1 if that is unknown.

    Queries in progress are those without an answer, less those that wait in the accept queue; or, if that queue is full
    of connections that their clients have given up, answers/s × the time of an answer (Little's law).
    """
    n, short = snapshot.ticks, tcp.short
    known = short & np.isfinite(tcp.children) & np.isfinite(tcp.inflight)
    children = float(tcp.children[known].sum())
    if not children:
        return 1.0
    in_work = np.clip(tcp.inflight - np.nan_to_num(tcp.backlog), 0.0, tcp.children)
    answers = np.nan_to_num(added_up(tcp.servers, "dns_answers", n))
    took = [us for server in tcp.servers if (us := quantiles(server, short.astype(np.float64))[0]) is not None]
    by_answers = float(answers[known].sum()) / (snapshot.step_us / 1e6) * (min(took) / 1e6 if took else 0.0)
    return min(1.0, max(float(in_work[known].sum()), by_answers) / children)


def headroom(wanted: float) -> float:
    """Connections that are enough 99.9 % of the time if `wanted` are needed on average (Poisson)."""
    least = int(wanted)
    while scipy.special.pdtr(least, wanted) < ENOUGH_RATIO:
        least += 1
    return float(least)


def load_per_server(limit: float) -> float:
    """The average demand at which a limit is still enough 99.9 % of the time: the inverse of `headroom`."""
    return float(scipy.special.pdtri(int(limit), ENOUGH_RATIO)) if limit >= 1 else 0.0


def waiting_ratio(wanted: float, limit: float) -> float:
    """Probability that a query has to wait for a connection (Erlang C), 0..1; 1 if the limit is below the demand."""
    servers = int(limit)
    if servers < 1 or wanted >= servers:
        return 1.0
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = wanted * blocked / (count + wanted * blocked)
    return blocked / (1 - wanted / servers * (1 - blocked))
