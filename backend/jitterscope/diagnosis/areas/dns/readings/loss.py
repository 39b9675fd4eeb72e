"""Lost datagrams: in the server's own receive queue, or on the way to its upstream and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.path import Edge, PathGraph, path, quantiles
from jitterscope.diagnosis.areas.dns.readings.retries import (
    ATTEMPT_US,
    Retries,
    asks_again,
    by_rate,
    retries,
    spread_ratio,
    ticks_of,
)
from jitterscope.diagnosis.areas.dns.readings.slowest import SIGNS as LATE_SIGNS
from jitterscope.diagnosis.areas.dns.readings.slowest import answers_over
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import is_dnsmasq
from jitterscope.diagnosis.areas.dns.readings.upstream_limit import RateLimited, rate_limited
from jitterscope.diagnosis.areas.dns.readings.upstream_time import out_of_connections, upstream_times
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import harm as dns_harm
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, read_cpu, series
from jitterscope.diagnosis.core.signs import shows, total
from jitterscope.diagnosis.core.slow import limits, loosest_us
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

MANY = 5
LEAST_RATIO = 0.0005
# A higher ratio is not random loss but a server that does not answer.
MOST_RATIO = 0.2
SPREAD = 0.4
# A socket that stays full for this long is not hit by a burst: its reader is too slow.
STAYS_FULL_TICKS = 10


@dataclass(frozen=True, slots=True)
class Loss:
    """`where` datagrams are lost: in the server's own receive queue, or on the way to or from its upstream."""

    where: Literal["socket", "upstream"]
    server: ResourceView
    edge: Edge | None
    target: ResourceView | None
    drops: float
    found: Retries | None
    ticks: BoolArray
    hurt: AnswersHarm

    @property
    def lost(self) -> float:
        return self.drops if self.where == "socket" else float(self.found.suspects if self.found is not None else 0)


SIGNS = (*LATE_SIGNS, "dns_socket_drops", "dns_timeouts")


def may_be_lost(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false only if no datagram of the subject's servers is known to be lost."""
    graph = path(snapshot)
    forwarding = [server for server in snapshot.dns_servers if graph.upstreams_of(server.id)]
    dropped = any(total((server,), "dns_socket_drops") >= MANY for server in snapshot.dns_servers)
    late = any(answers_over(snapshot, server, 0.99 * ATTEMPT_US) > 0 for server in forwarding)
    return dropped or late or shows(forwarding, "dns_timeouts")


@reading
def loss(snapshot: Snapshot) -> Loss | WhyNot:
    graph = path(snapshot)
    judged: list[Loss | WhyNot | None] = [_socket(snapshot, server) for server in snapshot.dns_servers]
    judged += [_upstream(snapshot, graph, server) for server in snapshot.dns_servers]
    cases = [item for item in judged if isinstance(item, Loss)]
    if cases:
        return max(cases, key=lambda case: case.lost)
    # Whatever speaks against loss on the way to an upstream says nothing about the server's own socket.
    if not any(has(server, "dns_socket_drops") for server in snapshot.dns_servers):
        return WhyNot("", missing=["dns_socket_drops"])
    reasons = [item for item in judged if isinstance(item, WhyNot)]
    return max(reasons, key=lambda item: item.numbers.get("weight", 0.0))


def _socket(snapshot: Snapshot, server: ResourceView) -> Loss | WhyNot:
    n = snapshot.ticks
    drops = np.nan_to_num(series(server, "dns_socket_drops", n))
    total, queries = float(drops.sum()), float(np.nansum(series(server, "dns_queries", n)))
    hot = drops > 0
    if total < MANY or total < LEAST_RATIO * queries:
        return WhyNot(
            reason=f"{total:,.0f} of {queries:,.0f} datagrams were dropped by the server's socket.",
            numbers={"socket_drops": total, "queries": queries},
        )
    longest = run = 0
    for value in dilate(hot, 0, 1):
        run = run + 1 if value else 0
        longest = max(longest, run)
    if longest > STAYS_FULL_TICKS:
        return WhyNot(
            reason=f"The socket's buffer stayed full for {say.seconds(longest * snapshot.step_us)}: {total:,.0f} "
            "datagrams were dropped because the server reads too slowly, not in a burst.",
            numbers={"socket_drops": total, "full_ticks": float(longest), "weight": 2.0},
        )
    throttled = np.nan_to_num(read_cpu(snapshot).throttled) > 0
    in_stall = float(drops[dilate(throttled, 3, 3)].sum())
    if in_stall >= 0.5 * total:
        return WhyNot(
            reason=f"{in_stall:,.0f} of {total:,.0f} drops happened during throttling, when the server read nothing.",
            numbers={"socket_drops": total, "in_stall": in_stall, "weight": 2.0},
        )
    # A dropped query is given up 5 s later.
    after = dilate(hot, 0, 51)
    hurt = dns_harm.harm(snapshot, hot, loosest_us(limits(snapshot, [server], ~after)))
    return Loss("socket", server, None, None, total, None, hot, hurt)


def _upstream(snapshot: Snapshot, graph: PathGraph, server: ResourceView) -> Loss | WhyNot | None:
    """Loss between a forwarder and its upstream, if it uses UDP."""
    queries, n = server.queries, snapshot.ticks
    edges = [edge for edge in graph.upstreams_of(server.id) if edge.upstream is None or not edge.upstream.force_tcp]
    asked = float(np.nansum(series(server, "dns_queries", n)))
    if not edges or queries is None or not asked:
        return None
    if stood := out_of_connections(snapshot, server):
        return WhyNot(
            reason=f"Connections waited in the accept queue here for {say.seconds(stood * snapshot.step_us)} at a "
            "stretch: their queries were not lost.",
            numbers={"backlog_ticks": float(stood), "weight": 1.0},
        )
    edge = edges[0]
    target = graph.view(edge.target)
    _, p99 = quantiles(server) if target is None else quantiles(target)
    found = retries(queries, asked, min(p99 or 0.0, 500_000.0))
    numbers = {"again": float(len(found.again)), "lost": float(len(found.lost)), "between": float(found.between),
               "queries": asked, "weight": 1.0}  # fmt: skip
    counts = (
        f"{len(found.again):,} of {asked:,.0f} answers came right after a timeout, {len(found.lost):,} never came, "
        f"{found.between:,} were late in between"
    )
    suspects = found.suspects
    if suspects < MANY or suspects < LEAST_RATIO * asked:
        return WhyNot(reason=f"{counts}.", numbers=numbers)
    if found.between > 0.5 * suspects or suspects > MOST_RATIO * asked:
        return WhyNot(reason=f"{counts}: lost datagrams would leave a gap.", numbers=numbers)
    drops = float(np.nansum(series(server, "dns_socket_drops", n)))
    if drops > 0.3 * suspects:
        return None  # they were never sent on
    unanswered = _left_alone(snapshot, server, target)
    if unanswered > 0.3 * suspects:
        return WhyNot(
            reason=f"{counts}, but {unanswered:,.0f} of these queries reached the upstream, which did not answer.",
            numbers=numbers | {"unanswered": unanswered},
        )
    for time in upstream_times(snapshot, server.id):
        if time.target is not None and (time.is_slow or out_of_connections(snapshot, time.target)):
            return WhyNot(reason=f"{counts}, while the upstream was slow or full.", numbers=numbers)
    if (doubt := _unconfirmed(snapshot, graph, server, found)) is not None:
        return WhyNot(reason=f"{counts}, but {doubt}.", numbers=numbers)
    if asks_again(server) and len(found.again) < 0.5 * suspects:
        return WhyNot(reason=f"{counts}: the server would have retried.", numbers=numbers)
    sent = queries.sent_us[np.concatenate([found.again, found.lost])].astype(np.float64)
    if (spread := spread_ratio(snapshot, sent)) < SPREAD:
        return WhyNot(
            reason=f"{counts}, in clusters ({say.percent(spread)} of the moments expected by chance): losses this "
            "bunched are more likely packets that the collector missed.",
            numbers=numbers | {"spread_ratio": spread},
        )
    if by_rate(snapshot, server, sent) or isinstance(rate_limited(snapshot), RateLimited):
        return WhyNot(reason=f"{counts}, but only above a certain rate.", numbers=numbers)
    ticks = ticks_of(snapshot, sent)
    hurt = dns_harm.harm(snapshot, ticks, 0.9 * found.after_us, made=True)
    return Loss("upstream", server, edge, target, 0.0, found, ticks, hurt)


def _left_alone(snapshot: Snapshot, server: ResourceView, target: ResourceView | None) -> float:
    """Queries without an answer in seconds in which the upstream hardly answered others.

    A datagram dropped after the capture point looks as if it had reached the upstream, but other queries of that second
    are answered.
    """
    times = [time for time in upstream_times(snapshot, server.id) if target is not None and time.target is target]
    return float(sum(time.unanswered[time.answers < np.maximum(MANY, time.unanswered)].sum() for time in times))


def _unconfirmed(snapshot: Snapshot, graph: PathGraph, server: ResourceView, found: Retries) -> str | None:
    """Why queries without an answer may be packets that the collector missed; None if nothing suggests that."""
    if len(found.again) >= len(found.lost):
        return None
    connections = np.nan_to_num(series(server, "dns_tcp_connections", snapshot.ticks))
    if is_dnsmasq(server) and connections.max(initial=0.0) >= 1:
        return "clients use TCP, and dnsmasq then forwards over TCP, which resends lost segments"
    askers = [graph.servers[edge.asker] for edge in graph.askers_of(server.id)]
    if not askers:
        return None
    everywhere = np.ones(snapshot.ticks, dtype=np.bool_)
    seen = dns_harm.harm(replace(snapshot, dns_servers=tuple(askers)), everywhere, 0.9 * ATTEMPT_US, made=True)
    waited = seen.inside + seen.lost
    if waited < 0.5 * len(found.lost):
        return f"the servers in front saw only {waited:,} that took so long"
    return None
