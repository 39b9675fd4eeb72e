"""A shortage of TCP connections at a dnsmasq caused by the load itself, and the resulting harm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.areas.dns.readings import tcp_limit as dns_tcp_limit
from jitterscope.diagnosis.areas.dns.readings.path import PathGraph, path
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import TcpLimit
from jitterscope.diagnosis.areas.dns.readings.upstream_time import UpstreamTime, upstream_times
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import harm as dns_harm
from jitterscope.diagnosis.core import served
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.late import late_after
from jitterscope.diagnosis.core.query_results import GIVEN_UP_US
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import Snapshot

HARDLY_BUSY = 0.3
FEW = 3


@dataclass(frozen=True, slots=True)
class Shortage:
    """The limit, the path, the upstreams' times, the connections that the load needs, and the harm."""

    tcp: TcpLimit
    graph: PathGraph
    upstreams: list[UpstreamTime]
    demand: dns_tcp_limit.Demand | None
    hurt: AnswersHarm
    usual_us: float | None
    front: Snapshot


@reading
def shortage(snapshot: Snapshot) -> Shortage | WhyNot:
    """The shortage of connections caused by the load itself, or why there is none."""
    tcp = dns_tcp_limit.read(snapshot)
    assert tcp is not None
    numbers = {
        "children_max": float(np.nanmax(tcp.children)),
        "child_limit": tcp.now,
        "full_ticks": float(tcp.full.sum()),
        "backlog_max": float(np.nanmax(tcp.backlog)),
    }
    if not tcp.full.any():
        reason = f"At most {numbers['children_max']:,.0f} of {tcp.now:,.0f} connections were served at the same time."
        return WhyNot(reason=reason, numbers=numbers)
    if not tcp.short.any():
        return WhyNot(
            reason=f"{say.count(numbers['children_max'], 'child was', 'children were')} busy, of {tcp.now:,.0f} "
            "allowed, but no connection waited for two ticks in a row: at the limit, without harm.",
            numbers=numbers,
        )
    graph = path(snapshot)
    upstreams = [time for server in tcp.servers for time in upstream_times(snapshot, server.id)]
    for time in upstreams:
        slow = time.ticks(time.bulk, snapshot.ticks) & tcp.short
        if time.is_slow and slow.sum() >= 0.5 * tcp.short.sum():
            mean = time.mean_of(time.bulk)
            return WhyNot(
                reason=f"Connections ran short because a slow upstream ({time.edge.address}:{time.edge.port}) holds "
                f"each for {say.ms(mean)}: at its usual latency, {tcp.now:,.0f} would be enough or the shortage "
                "smaller.",
                numbers=numbers | {"upstream_mean_us": mean},
            )
    turned = dns_tcp_limit.answered_while_short(snapshot, tcp, [time.target for time in upstreams if time.target])
    if turned is not None and turned < tcp.now:
        return WhyNot(
            reason=f"Since all {tcp.now:,.0f} children are busy only {say.count(turned, 'query was', 'queries were')} "
            "answered, less than one per child: too early to tell a shortage of connections from an upstream that "
            "does not answer.",
            numbers=numbers | {"answered": turned},
        )
    busy = dns_tcp_limit.busy_ratio(snapshot, tcp)
    if busy < HARDLY_BUSY:
        return WhyNot(
            reason=f"The children worked on a query only {say.percent(busy)} of the time: their connections are kept "
            "open without need.",
            numbers=numbers | {"busy_ratio": busy},
        )
    usual = next((t.usual_us for t in upstreams if t.usual_us is not None), None)
    if usual is None:
        usual = next((u for server in tcp.servers if (u := served.usual_us(server, ~tcp.short)) is not None), None)
    front = in_front(snapshot, graph, tcp)
    hurt = harm_of(front, tcp, usual)
    if hurt.severity is None and hurt.suffered + hurt.turned_away < FEW:
        return WhyNot(
            reason=f"{say.count(hurt.suffered + hurt.turned_away, 'connection')} waited briefly with "
            f"{tcp.now:,.0f} children busy: too few to tell.",
            numbers=numbers | {"waiting": float(hurt.waiting)},
        )
    return Shortage(tcp, graph, upstreams, dns_tcp_limit.demand(snapshot), hurt, usual, front)


def in_front(snapshot: Snapshot, graph: PathGraph, tcp: TcpLimit) -> Snapshot:
    """The same window with the servers that clients query: those in front of the dnsmasq, if this node has them.

    A query that is not accepted never shows at the dnsmasq itself; the server that sent it waits.
    """
    askers = {edge.asker for server in tcp.servers for edge in graph.askers_of(server.id)}
    servers = tuple(graph.servers[number] for number in sorted(askers))
    return replace(snapshot, dns_servers=servers) if servers else snapshot


def harm_of(front: Snapshot, tcp: TcpLimit, usual_us: float | None) -> AnswersHarm:
    """The harm at the servers that clients query."""
    waiting, ticks = tcp.standing()
    if not tcp.short[-3:].any():
        waiting = 0  # it is over: waiting queries are among the late ones
    at_front = next((u for server in front.dns_servers if (u := served.usual_us(server, ~tcp.short)) is not None), None)
    usual = max(usual_us or 0.0, at_front or 0.0)
    return dns_harm.harm(
        front, tcp.short, late_after(usual), waiting=waiting,
        turned_away=int(np.nansum(tcp.drops[tcp.short])),
        waited_us=min(ticks * front.step_us, float(GIVEN_UP_US)),
    )  # fmt: skip
