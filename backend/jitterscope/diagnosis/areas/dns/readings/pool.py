"""TCP connections that a pool holds needlessly: at a dnsmasq that is short of them, or a forwarder that opens them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.dns.readings import tcp_limit as dns_tcp_limit
from jitterscope.diagnosis.areas.dns.readings.path import PathGraph, path
from jitterscope.diagnosis.areas.dns.readings.shortage import FEW, HARDLY_BUSY, harm_of, in_front
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import TcpLimit
from jitterscope.diagnosis.areas.dns.readings.upstream_time import out_of_connections, upstream_times
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import served, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.signs import total
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

# A forwarder that opens connections for this share of its queries, and this often, does not benefit from its pool.
MISS_RATIO = 0.3
OPENED_PER_S = 5.0
# Forwarded queries that take longer than this lose their connections to timeouts.
QUICK_US = 200_000.0


@dataclass(frozen=True, slots=True)
class Held:
    """At a dnsmasq: connections were short although its child processes had little to do."""

    tcp: TcpLimit
    graph: PathGraph
    busy_ratio: float
    hurt: AnswersHarm
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


OPENED = "coredns_conn_cache_misses"


def may_be_idle(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false if no connection waited, and few were opened."""
    seconds = max(1.0, snapshot.ticks * snapshot.step_us / 1e6)
    opened = max((total((server,), OPENED) for server in snapshot.dns_servers), default=0.0)
    return opened / seconds >= OPENED_PER_S or dns_tcp_limit.may_be_short(snapshot)


@reading
def pool(snapshot: Snapshot) -> Held | Opened | WhyNot:
    graph = path(snapshot)
    tcp = dns_tcp_limit.read(snapshot)
    if tcp is not None and tcp.short.any():
        busy = dns_tcp_limit.busy_ratio(snapshot, tcp)
        if busy >= HARDLY_BUSY:
            return WhyNot(
                reason=f"The children were busy with queries {say.percent(busy)} of the time: the connections are "
                "needed.",
                numbers={"busy_ratio": busy},
            )
        usual = next((u for server in tcp.servers if (u := served.usual_us(server, ~tcp.short)) is not None), None)
        front = in_front(snapshot, graph, tcp)
        hurt = harm_of(front, tcp, usual)
        if hurt.severity is None and hurt.suffered + hurt.turned_away < FEW:
            return WhyNot(
                reason=f"{hurt.suffered + hurt.turned_away} connections waited briefly: too few to tell.",
                numbers={"busy_ratio": busy},
            )
        return Held(tcp, graph, busy, hurt, front)
    reasons = [_opened(snapshot, graph, server) for server in snapshot.dns_servers]
    opened = [case for case in reasons if isinstance(case, Opened)]
    if opened:
        return max(opened, key=lambda case: case.misses)
    return next((reason for reason in reasons if isinstance(reason, WhyNot)), _nothing(snapshot, tcp))


def _nothing(snapshot: Snapshot, tcp: TcpLimit | None) -> WhyNot:
    peak = float(np.nanmax(np.nan_to_num(servers.summed(snapshot, "dns_tcp_connections"))))
    if tcp is not None and peak >= max(1.0, np.floor(dns_tcp_limit.NEARLY * tcp.now)):
        known = {"process_children": tcp.children, "dns_accept_backlog": tcp.backlog}
        gone = [name for name, values in known.items() if not np.isfinite(values).any()]
        if gone:
            return WhyNot("", missing=gone)
    counted = np.isfinite(servers.summed(snapshot, "dns_accept_backlog")).any()
    return WhyNot(
        reason=f"At most {peak:,.0f} TCP connections at the same time" + (", and none waited." if counted else "."),
        numbers={"tcp_connections_max": peak},
    )


def _opened(snapshot: Snapshot, graph: PathGraph, server: ResourceView) -> Opened | WhyNot | None:
    n = snapshot.ticks
    edges = graph.upstreams_of(server.id)
    forced = any(edge.upstream is not None and edge.upstream.force_tcp for edge in edges)
    pooled = np.nan_to_num(series(server, "dns_upstream_connections", n)).max(initial=0.0) >= 1
    if not (forced or pooled):
        return None
    if not any(has(one, OPENED) for one in snapshot.dns_servers):
        is_coredns = forced or server.fact("dns.software") == "coredns"
        return WhyNot("", missing=[OPENED]) if is_coredns else None
    hits, misses = series(server, "coredns_conn_cache_hits", n), series(server, OPENED, n)
    opened, reused = float(np.nansum(misses)), float(np.nansum(hits))
    if opened + reused < 1:
        return None
    seconds = max(1.0, n * snapshot.step_us / 1e6)
    requests = float(np.nansum(series(server, "coredns_forward_requests", n)))
    took = float(np.nansum(series(server, "coredns_forward_time_us", n)))
    mean = took / requests if requests else float("nan")
    numbers = {"opened": opened, "reused": reused, "miss_ratio": opened / (opened + reused)}
    if opened / (opened + reused) < MISS_RATIO or opened / seconds < OPENED_PER_S:
        return WhyNot(
            reason=f"{opened:,.0f} connections were opened for {opened + reused:,.0f} forwarded queries "
            f"({opened / seconds:.1f}/s).",
            numbers=numbers,
        )
    starving = [view for edge in edges if (view := graph.view(edge.target)) and out_of_connections(snapshot, view)]
    slow = any(time.is_slow for time in upstream_times(snapshot, server.id))
    if starving or slow or not mean <= QUICK_US:
        return WhyNot(
            reason=f"{opened:,.0f} connections were opened because earlier ones got no answer in time (mean "
            f"{say.ms(mean) if np.isfinite(mean) else 'unknown'}): the pool is not the cause.",
            numbers=numbers,
        )
    expire = next(
        (e.upstream.expire_s for e in edges if e.upstream is not None and e.upstream.expire_s is not None), None
    )
    return Opened(server, graph, reused, opened, seconds, mean, expire, np.nan_to_num(misses) > 0)
