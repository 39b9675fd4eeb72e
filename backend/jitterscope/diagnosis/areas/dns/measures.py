"""What a DNS fix is measured by, before and after: figures of the subject's servers, one amount a tick.

`slow_ratio` counts answers over 20 ms, as everywhere. A server whose upstream takes 50 ms always has those: what a
fault makes of it is told by answers that took so long that programs notice, by the mean, and by the mechanism's own
figures.
"""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.readings import tcp_limit
from jitterscope.diagnosis.areas.dns.readings.amplification import by_tick
from jitterscope.diagnosis.areas.dns.readings.upstream_rate import sent_on
from jitterscope.diagnosis.core import answers
from jitterscope.diagnosis.core.area import Amounts, Load, Measure
from jitterscope.diagnosis.core.events import runs
from jitterscope.diagnosis.core.query_results import GIVEN_UP_US
from jitterscope.diagnosis.core.servers import summed
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

# No resolver nearby takes so long for a name that it can find; the first retry of a resolver comes after 1 s.
OVERDUE_US = 500_000
UNREAD_US = 5_000


def _histogram(snapshot: Snapshot, metric: str, over_us: float | None = None) -> FloatArray | None:
    """Values per tick of all servers: how many are over a limit, or without one their sum (µs). None: not recorded."""
    parts = [server.distributions[metric] for server in snapshot.dns_servers if metric in server.distributions]
    if not parts:
        return None
    total = np.zeros(snapshot.ticks)
    for part in parts:
        value = value_of(part.bucket)
        total += np.bincount(
            part.tick, part.count * (value if over_us is None else value > over_us), minlength=snapshot.ticks
        )[: snapshot.ticks]
    return total


def _of_queries(snapshot: Snapshot, part: FloatArray | None) -> Amounts | None:
    """A share of the queries, where both were recorded; each run of ticks with some is one event."""
    queries = summed(snapshot, "dns_queries")
    if part is None or not np.isfinite(part).any() or not np.isfinite(queries).any():
        return None
    part = np.where(np.isfinite(queries), np.nan_to_num(part), np.nan)
    return Amounts(part, queries, runs(part, snapshot.step_us))


def _counted(snapshot: Snapshot, *metrics: str) -> FloatArray | None:
    """Counters added up, NaN as 0 beside another that is known; None where none was recorded."""
    rows = [row for metric in metrics if np.isfinite(row := summed(snapshot, metric)).any()]
    return np.sum([np.nan_to_num(row) for row in rows], axis=0) if rows else None


def _overdue(snapshot: Snapshot) -> Amounts | None:
    late = _histogram(snapshot, "dns_latency_us", OVERDUE_US)
    lost = _counted(snapshot, "dns_timeouts")
    return None if late is None else _of_queries(snapshot, late if lost is None else late + lost)


def _failed(snapshot: Snapshot) -> Amounts | None:
    return _of_queries(snapshot, _counted(snapshot, "dns_servfail", "dns_refused", "dns_timeouts"))


def _servfail(snapshot: Snapshot) -> Amounts | None:
    return _of_queries(snapshot, _counted(snapshot, "dns_servfail", "dns_late_servfail"))


def _timed_out(snapshot: Snapshot) -> Amounts | None:
    return _of_queries(snapshot, _counted(snapshot, "dns_timeouts"))


def _nxdomain(snapshot: Snapshot) -> Amounts | None:
    return _of_queries(snapshot, _counted(snapshot, "dns_nxdomain"))


def _dropped(snapshot: Snapshot) -> Amounts | None:
    return _of_queries(snapshot, _counted(snapshot, "dns_socket_drops"))


def _mean_ms(snapshot: Snapshot) -> Amounts | None:
    """One that is given up counts with the time that was waited for it: else the mean is that of the lucky ones."""
    took, answered = _histogram(snapshot, "dns_latency_us"), _histogram(snapshot, "dns_latency_us", -1.0)
    if took is None or answered is None:
        return None
    lost = _counted(snapshot, "dns_timeouts")
    lost = np.zeros(snapshot.ticks) if lost is None else lost
    return Amounts((took + GIVEN_UP_US * lost) / 1000, answered + lost)


def _unread_ms(snapshot: Snapshot) -> Amounts | None:
    waited, read = _histogram(snapshot, "dns_queue_wait_us"), _histogram(snapshot, "dns_queue_wait_us", -1.0)
    return None if waited is None or read is None else Amounts(waited / 1000, read)


def _unread(snapshot: Snapshot) -> Amounts | None:
    waited, read = (_histogram(snapshot, "dns_queue_wait_us", over) for over in (UNREAD_US, -1.0))
    return None if waited is None or read is None else Amounts(waited, read, runs(waited, snapshot.step_us))


def _connections_short(snapshot: Snapshot) -> Amounts | None:
    """Ticks in which all children were busy and connections waited, of those in which both were counted."""
    tcp = tcp_limit.read(snapshot)
    if tcp is None:
        return None
    known = np.isfinite(tcp.children) & np.isfinite(tcp.backlog)
    if not known.any():
        return None
    short = np.where(known, tcp.short.astype(np.float64), np.nan)
    return Amounts(short, np.where(known, 1.0, np.nan), runs(short, snapshot.step_us))


def _mean_of(snapshot: Snapshot, *metrics: str) -> Amounts | None:
    """Mean of a gauge, or of several added up."""
    rows = [row for metric in metrics if np.isfinite(row := summed(snapshot, metric)).any()]
    if not rows:
        return None
    known = np.isfinite(np.stack(rows)).any(axis=0)
    return Amounts(np.where(known, np.nansum(rows, axis=0), np.nan), np.where(known, 1.0, np.nan))


def _sent_on(snapshot: Snapshot) -> Amounts | None:
    sent = sent_on(snapshot)
    return None if sent is None else _of_queries(snapshot, sent)


def _sent_on_per_s(snapshot: Snapshot) -> Amounts | None:
    sent = sent_on(snapshot)
    if sent is None:
        return None
    return Amounts(sent, np.where(np.isfinite(sent), snapshot.step_us / 1e6, np.nan))


def _per_lookup(snapshot: Snapshot) -> Amounts | None:
    counted = by_tick(snapshot)
    return None if counted is None else Amounts(counted.queries, counted.lookups)


def _lookups_per_s(snapshot: Snapshot) -> FloatArray | None:
    """Names that programs wanted: what search domains add is no load, as a fix may take it away."""
    counted = by_tick(snapshot)
    return None if counted is None else counted.lookups / (snapshot.step_us / 1e6)


_ANSWERS = ("dns_latency_us", "dns_queries", "dns_timeouts")
_SENT = ("coredns_forward_requests", "dnsmasq_cache_misses", "dns_queries", "dns_timeouts")
MEASURES = (
    Measure("overdue_ratio", "Answers over 0.5 s, and timeouts", "ratio", _ANSWERS, _overdue),
    Measure(
        "failed_ratio", "SERVFAIL, REFUSED and timeouts", "ratio",
        ("dns_servfail", "dns_refused", "dns_timeouts", "dns_queries"), _failed,
    ),
    answers.SLOW_DNS_ANSWERS,
    Measure(
        "mean_ms", "Mean latency, 5 s if no answer came", "ms", ("dns_latency_us", "dns_timeouts"), _mean_ms,
        least=0.5,
    ),
    answers.DNS_P99,
    Measure("timeout_ratio", "Timed-out queries", "ratio", ("dns_timeouts", "dns_queries"), _timed_out),
    Measure(
        "servfail_ratio", "SERVFAIL answers", "ratio", ("dns_servfail", "dns_late_servfail", "dns_queries"), _servfail
    ),
    Measure("nxdomain_ratio", "NXDOMAIN answers", "ratio", ("dns_nxdomain", "dns_queries"), _nxdomain),
    Measure(
        "queries_per_lookup", "Queries per lookup", "1", ("dns.names", "dns_queries"), _per_lookup, least=0.1
    ),
    Measure("sent_on_ratio", "Queries sent upstream, of all", "ratio", _SENT, _sent_on),
    Measure("sent_on_per_s", "Queries sent upstream", "1/s", _SENT, _sent_on_per_s, least=1.0),
    Measure(
        "connections_short_ratio", "Time with all children busy and connections waiting", "ratio",
        ("process_children", "dns_accept_backlog", "dns_listen_drops"), _connections_short,
    ),
    Measure(
        "accept_backlog", "Connections waiting to be accepted", "1", ("dns_accept_backlog",),
        lambda snapshot: _mean_of(snapshot, "dns_accept_backlog"), least=0.1,
    ),
    Measure(
        "tcp_connections", "TCP connections from clients", "1", ("dns_tcp_connections",),
        lambda snapshot: _mean_of(snapshot, "dns_tcp_connections"), decides=False,
    ),
    Measure(
        "idle_connections", "Idle TCP connections", "1", ("dns_tcp_idle", "dns_upstream_idle"),
        lambda snapshot: _mean_of(snapshot, "dns_tcp_idle", "dns_upstream_idle"), least=1.0,
    ),
    Measure("unread_ratio", "Queries unread for over 5 ms", "ratio", ("dns_queue_wait_us",), _unread),
    Measure(
        "unread_ms", "Time unread in the receive queue", "ms", ("dns_queue_wait_us",), _unread_ms, least=0.1
    ),
    Measure(
        "socket_drops_ratio", "Datagrams dropped by the full socket", "ratio", ("dns_socket_drops", "dns_queries"),
        _dropped,
    ),
)  # fmt: skip
# Lookups first: a fix of search domains changes how many queries the same lookups take.
LOAD = (Load("lookups", "lookups/s", ("dns.names", "dns_queries"), _lookups_per_s), answers.QUERIES)
