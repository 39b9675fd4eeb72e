"""TCP connections are opened in bursts, carry little and stay open: a pool holds what it does not need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis import dns_harm, dns_tcp_limit
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.cause import Cause
from jitterscope.diagnosis.causes.dns import _churn_evidence as proof
from jitterscope.diagnosis.causes.dns import _report as report
from jitterscope.diagnosis.causes.dns.dnsmasq_connection_exhaustion import (
    FAILS_AFTER_US,
    FEW,
    HARDLY_BUSY,
    harm_of,
    in_front,
)
from jitterscope.diagnosis.dns_harm import DnsHarm
from jitterscope.diagnosis.dns_path import PathGraph, path
from jitterscope.diagnosis.dns_tcp_limit import TcpLimit
from jitterscope.diagnosis.dns_upstream_time import out_of_connections, upstream_times
from jitterscope.diagnosis.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.fixes import dns_connections, dns_pool, dns_transport
from jitterscope.diagnosis.signals import series
from jitterscope.diagnosis.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.stats import BoolArray

ID = "dns/connection_pool_churn"
NEEDS = ("dns_tcp_connections", "dns_tcp_idle")
# A forwarder that opens a connection for so many of its queries, and so many a second, has no use of its pool.
MISS_RATIO = 0.3
OPENED_PER_S = 5.0
# Forwarded queries that take longer than this lose their connections to time-outs.
QUICK_US = 200_000.0


@dataclass(frozen=True, slots=True)
class Held:
    """At a dnsmasq: connections were short though its children had little to do."""

    tcp: TcpLimit
    graph: PathGraph
    busy_ratio: float
    hurt: DnsHarm
    front: Snapshot


@dataclass(frozen=True, slots=True)
class Opened:
    """At a forwarder: how many connections its queries needed. `ticks` in which it opened some."""

    server: ResourceView
    graph: PathGraph
    hits: float
    misses: float
    seconds: float
    mean_us: float
    expire_s: float | None
    ticks: BoolArray

    @property
    def miss_ratio(self) -> float:
        return self.misses / (self.hits + self.misses)


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := report.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    case = find(snapshot)
    if isinstance(case, Held):
        return _found_held(snapshot, case)
    return _found_opened(snapshot, case) if isinstance(case, Opened) else case


def find(snapshot: Snapshot) -> Held | Opened | NotFound:
    graph = path(snapshot)
    tcp = dns_tcp_limit.read(snapshot)
    if tcp is not None and tcp.short.any():
        busy = dns_tcp_limit.busy_ratio(snapshot, tcp)
        if busy >= HARDLY_BUSY:
            return NotFound(
                cause=ID,
                reason=f"The children were busy with queries {say.percent(busy)} of the time: the connections are "
                "needed.",
                numbers={"busy_ratio": busy},
            )
        usual = next((u for server in tcp.servers if (u := dns_harm.usual_us(server, ~tcp.short)) is not None), None)
        front = in_front(snapshot, graph, tcp)
        hurt = harm_of(front, tcp, usual)
        if hurt.severity is None and hurt.suffered + hurt.turned_away < FEW:
            return NotFound(
                cause=ID,
                reason=f"{hurt.suffered + hurt.turned_away} connections waited for a moment: too few to say.",
                numbers={"busy_ratio": busy},
            )
        return Held(tcp, graph, busy, hurt, front)
    reasons = [_opened(snapshot, graph, server) for server in snapshot.dns_servers]
    opened = [case for case in reasons if isinstance(case, Opened)]
    if opened:
        return max(opened, key=lambda case: case.misses)
    return next((reason for reason in reasons if isinstance(reason, NotFound)), _nothing(snapshot))


def _nothing(snapshot: Snapshot) -> NotFound:
    peak = float(np.nanmax(np.nan_to_num(report.summed(snapshot, "dns_tcp_connections"))))
    return NotFound(
        cause=ID,
        reason=f"At most {peak:,.0f} TCP connections at the same time, and none had to wait.",
        numbers={"tcp_connections_max": peak},
    )


def _opened(snapshot: Snapshot, graph: PathGraph, server: ResourceView) -> Opened | NotFound | None:
    n = snapshot.ticks
    edges = graph.upstreams_of(server.id)
    forced = any(edge.upstream is not None and edge.upstream.force_tcp for edge in edges)
    pooled = np.nan_to_num(series(server, "dns_upstream_connections", n)).max(initial=0.0) >= 1
    if not (forced or pooled):
        return None
    hits, misses = series(server, "coredns_conn_cache_hits", n), series(server, "coredns_conn_cache_misses", n)
    opened, reused = float(np.nansum(misses)), float(np.nansum(hits))
    if opened + reused < 1:
        return None
    seconds = max(1.0, n * snapshot.step_us / 1e6)
    requests = float(np.nansum(series(server, "coredns_forward_requests", n)))
    took = float(np.nansum(series(server, "coredns_forward_time_us", n)))
    mean = took / requests if requests else float("nan")
    numbers = {"opened": opened, "reused": reused, "miss_ratio": opened / (opened + reused)}
    if opened / (opened + reused) < MISS_RATIO or opened / seconds < OPENED_PER_S:
        return NotFound(
            cause=ID,
            reason=f"{opened:,.0f} connections were opened for {opened + reused:,.0f} forwarded queries "
            f"({opened / seconds:.1f}/s).",
            numbers=numbers,
        )
    starving = [view for edge in edges if (view := graph.view(edge.target)) and out_of_connections(snapshot, view)]
    slow = any(time.is_slow for time in upstream_times(snapshot, graph, server))
    if starving or slow or not mean <= QUICK_US:
        return NotFound(
            cause=ID,
            reason=f"{opened:,.0f} connections were opened because those before them got no answer in time (mean "
            f"{say.ms(mean) if np.isfinite(mean) else 'unknown'}): the pool is not what is wrong.",
            numbers=numbers,
        )
    expire = next(
        (e.upstream.expire_s for e in edges if e.upstream is not None and e.upstream.expire_s is not None), None
    )
    return Opened(server, graph, reused, opened, seconds, mean, expire, np.nan_to_num(misses) > 0)


def _found_held(snapshot: Snapshot, case: Held) -> Found:
    tcp, hurt = case.tcp, case.hurt
    short = np.flatnonzero(tcp.short)
    onset = snapshot.start_us + int(short[0]) * snapshot.step_us
    last = snapshot.start_us + int(short[-1] + 1) * snapshot.step_us
    end = f"{hurt.failures:,} queries failed" if hurt.failures else "none has failed yet"
    peak = float(np.nanmax(tcp.backlog))
    return Found(
        cause=ID,
        score=round(0.55 + 0.25 * min(1.0, len(short) / 10) + (0.2 if hurt.severity else 0.0), 4),
        confidence=_confidence(case),
        severity=hurt.severity,
        title=f"All {tcp.now:,.0f} TCP connections of {say.who(snapshot)} are taken, but in use only "
        f"{say.percent(case.busy_ratio)} of the time; {peak:,.0f} wait and {end}",
        summary=f"Clients opened connections in a burst and keep them open without using them. For "
        f"{say.seconds(last - onset)} all {tcp.now:,.0f} children served such connections, while queries on others "
        f"waited unread; a server in front gives them up after {FAILS_AFTER_US / 1e6:.0f} s.",
        onset_us=onset,
        last_us=last,
        impact=dns_harm.impact(case.front, hurt),
        evidence=proof.of_held(snapshot, case),
    )


def _confidence(case: Held) -> Confidence:
    idle = case.tcp.idle_served[case.tcp.short]
    seen = bool(np.isfinite(idle).any()) and float(np.nanmax(idle)) >= 0.5 * case.tcp.now
    if seen and case.tcp.short.sum() >= 10:
        return "high"
    return "medium" if case.tcp.short.sum() >= 3 else "low"


def _found_opened(snapshot: Snapshot, case: Opened) -> Found:
    ticks = np.flatnonzero(case.ticks)
    onset = snapshot.start_us + int(ticks[0]) * snapshot.step_us
    last = snapshot.start_us + int(ticks[-1] + 1) * snapshot.step_us
    rate = case.misses / case.seconds
    hurt = dns_harm.harm(snapshot, np.zeros(snapshot.ticks, dtype=np.bool_), 20_000.0)
    return Found(
        cause=ID,
        score=round(min(0.5, 0.3 + 0.2 * case.miss_ratio), 4),
        confidence="high" if case.misses >= 100 else "medium",
        severity=None,
        title=f"{say.who(snapshot)} opens a TCP connection for {say.percent(case.miss_ratio)} of the queries it "
        f"forwards ({rate:,.0f}/s)",
        summary=f"{case.misses:,.0f} of {case.misses + case.hits:,.0f} forwarded queries found no idle connection. "
        "Each new one costs a round trip and, at a dnsmasq, a process; and it stays open after its query. Nobody is "
        "known to be hurt yet: it is what exhausts a server with few connections.",
        onset_us=onset,
        last_us=last,
        impact=dns_harm.impact(snapshot, hurt),
        evidence=proof.of_opened(snapshot, case),
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = find(snapshot)
    if isinstance(case, NotFound):
        return []
    if isinstance(case, Opened):
        proposals = [
            dns_pool.expire(snapshot, case.server, case.expire_s),
            dns_pool.max_idle(snapshot, case.server, None),
            dns_pool.prefer_udp_here(snapshot, case.graph, case.server),
        ]
    else:
        servers = case.tcp.servers
        askers = dns_transport.askers_of(case.graph, servers)
        edge, asker = askers[0] if askers else (None, None)
        known = edge.upstream.expire_s if edge is not None and edge.upstream is not None else None
        proposals = [
            dns_pool.max_idle(snapshot, asker, case.tcp.now),
            dns_pool.expire(snapshot, asker, known),
            dns_connections.max_tcp_connections(snapshot, case.tcp, None, found),
            dns_transport.prefer_udp(snapshot, case.graph, servers, found),
            dns_connections.newer_gke(snapshot, found),
            dns_transport.cloud_dns(snapshot, found),
        ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="A connection pool holds connections that it does not need",
    summary="A forwarder opens TCP connections in bursts and keeps them open unused; a server with few of them runs "
    "out.",
    mechanism="With `force_tcp`, CoreDNS opens a connection for every query that finds no idle one, without a bound, "
    "and keeps it. `expire` only says which idle connections may not be used again: since 1.7.1 they are closed when "
    "the next query meets them or at a clean-up every 10 s, so that with `expire 1s` they stay for up to 11 s "
    "(before, the clean-up ran every `expire`). Since 1.14.1 the oldest idle connection is used first, so that a "
    "burst's connections all stay in use. dnsmasq keeps a child for each. Found at a dnsmasq whose connections are "
    "short while its children have little to do; as a risk at a forwarder that opens connections for a third of its "
    "queries.",
    needs=NEEDS,
    rivals=("dns/dnsmasq_connection_exhaustion", "dns/slow_upstream", "dns/udp_loss"),
    detect=detect,
    propose=propose,
    false_positives=("Clients that keep a connection open on purpose (RFC 7766), where the server can afford it.",),
    references=(
        "https://github.com/coredns/coredns/blob/v1.7.1/plugin/forward/persistent.go",
        "https://github.com/coredns/coredns/blob/v1.14.1/plugin/pkg/proxy/connect.go",
        "https://www.rfc-editor.org/rfc/rfc7766#section-6.2",
    ),
    spreads=True,
)
