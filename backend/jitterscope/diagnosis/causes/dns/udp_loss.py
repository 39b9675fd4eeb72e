"""Datagrams are lost, so that queries wait for a time-out to be asked again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from jitterscope.diagnosis import dns_harm
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.cause import Cause
from jitterscope.diagnosis.causes.dns import _loss_evidence as proof
from jitterscope.diagnosis.causes.dns import _report as report
from jitterscope.diagnosis.causes.dns import upstream_rate_limited
from jitterscope.diagnosis.dns_harm import DnsHarm
from jitterscope.diagnosis.dns_path import Edge, PathGraph, path, quantiles
from jitterscope.diagnosis.dns_retries import ATTEMPT_US, CLIENT_US, Retries, by_rate, retries, spread_ratio, ticks_of
from jitterscope.diagnosis.dns_tcp_limit import is_dnsmasq
from jitterscope.diagnosis.dns_upstream_time import out_of_connections, upstream_times
from jitterscope.diagnosis.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.fixes import dns_loss
from jitterscope.diagnosis.signals import read_cpu, series
from jitterscope.diagnosis.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.stats import BoolArray, dilate

ID = "dns/udp_loss"
NEEDS = ("dns_queries", "dns_timeouts")
MANY = 5
LEAST_RATIO = 0.0005
# More than this is no loss by chance but a server that does not answer.
MOST_RATIO = 0.2
SPREAD = 0.4
# A socket that stays full for so long is not hit by a burst: its reader is too slow.
STAYS_FULL_TICKS = 10


@dataclass(frozen=True, slots=True)
class Case:
    """`where` datagrams are lost: in the server's own receive buffer, or on the way to or from its upstream."""

    where: Literal["socket", "upstream"]
    server: ResourceView
    edge: Edge | None
    target: ResourceView | None
    drops: float
    found: Retries | None
    ticks: BoolArray
    hurt: DnsHarm

    @property
    def lost(self) -> float:
        return self.drops if self.where == "socket" else float(self.found.suspects if self.found is not None else 0)


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := report.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    case = find(snapshot)
    return _found(snapshot, case) if isinstance(case, Case) else case


def find(snapshot: Snapshot) -> Case | NotFound:
    graph = path(snapshot)
    judged: list[Case | NotFound | None] = [_socket(snapshot, server) for server in snapshot.dns_servers]
    judged += [_upstream(snapshot, graph, server) for server in snapshot.dns_servers]
    cases = [item for item in judged if isinstance(item, Case)]
    if cases:
        return max(cases, key=lambda case: case.lost)
    reasons = [item for item in judged if isinstance(item, NotFound)]
    return max(reasons, key=lambda item: item.numbers.get("weight", 0.0))


def _socket(snapshot: Snapshot, server: ResourceView) -> Case | NotFound:
    n = snapshot.ticks
    drops = np.nan_to_num(series(server, "dns_socket_drops", n))
    total, queries = float(drops.sum()), float(np.nansum(series(server, "dns_queries", n)))
    hot = drops > 0
    if total < MANY or total < LEAST_RATIO * queries:
        return NotFound(
            cause=ID,
            reason=f"{total:,.0f} of {queries:,.0f} datagrams were dropped by the server's socket.",
            numbers={"socket_drops": total, "queries": queries},
        )
    longest = run = 0
    for value in dilate(hot, 0, 1):
        run = run + 1 if value else 0
        longest = max(longest, run)
    if longest > STAYS_FULL_TICKS:
        return NotFound(
            cause=ID,
            reason=f"The socket's buffer stayed full for {say.seconds(longest * snapshot.step_us)}: {total:,.0f} "
            "datagrams were dropped because the server reads too slowly, not in a burst.",
            numbers={"socket_drops": total, "full_ticks": float(longest), "weight": 2.0},
        )
    throttled = np.nan_to_num(read_cpu(snapshot).throttled) > 0
    in_stall = float(drops[dilate(throttled, 3, 3)].sum())
    if in_stall >= 0.5 * total:
        return NotFound(
            cause=ID,
            reason=f"{in_stall:,.0f} of {total:,.0f} drops happened while the CPU was throttled: nobody could read.",
            numbers={"socket_drops": total, "in_stall": in_stall, "weight": 2.0},
        )
    # A dropped query is given up 5 s later.
    after = dilate(hot, 0, 51)
    hurt = dns_harm.harm(snapshot, hot, dns_harm.late_after(dns_harm.usual_us(server, ~after)))
    return Case("socket", server, None, None, total, None, hot, hurt)


def _upstream(snapshot: Snapshot, graph: PathGraph, server: ResourceView) -> Case | NotFound | None:
    """Loss between a forwarder and its upstream, where it uses UDP."""
    queries, n = server.queries, snapshot.ticks
    edges = [edge for edge in graph.upstreams_of(server.id) if edge.upstream is None or not edge.upstream.force_tcp]
    asked = float(np.nansum(series(server, "dns_queries", n)))
    if not edges or queries is None or not asked:
        return None
    if stood := out_of_connections(snapshot, server):
        return NotFound(
            cause=ID,
            reason=f"Connections waited here to be accepted for {say.seconds(stood * snapshot.step_us)} on end: their "
            "queries were not lost.",
            numbers={"backlog_ticks": float(stood), "weight": 1.0},
        )
    edge = edges[0]
    target = graph.view(edge.target)
    _, p99 = quantiles(server) if target is None else quantiles(target)
    found = retries(queries, asked, min(p99 or 0.0, 500_000.0))
    numbers = {"again": float(len(found.again)), "lost": float(len(found.lost)), "between": float(found.between),
               "queries": asked, "weight": 1.0}  # fmt: skip
    counts = (
        f"{len(found.again):,} of {asked:,.0f} answers came right behind a time-out, {len(found.lost):,} never, "
        f"{found.between:,} were late in between"
    )
    suspects = found.suspects
    if suspects < MANY or suspects < LEAST_RATIO * asked:
        return NotFound(cause=ID, reason=f"{counts}.", numbers=numbers)
    if found.between > 0.5 * suspects or suspects > MOST_RATIO * asked:
        return NotFound(cause=ID, reason=f"{counts}: lost datagrams would leave a gap.", numbers=numbers)
    drops = float(np.nansum(series(server, "dns_socket_drops", n)))
    if drops > 0.3 * suspects:
        return None  # they never were sent on
    unanswered = float(np.nansum(series(target, "dns_timeouts", n))) if target is not None else 0.0
    if unanswered > 0.3 * suspects:
        return NotFound(
            cause=ID,
            reason=f"{counts}, but {unanswered:,.0f} of these queries reached the upstream, which did not answer.",
            numbers=numbers | {"unanswered": unanswered},
        )
    for time in upstream_times(snapshot, graph, server):
        if time.target is not None and (time.is_slow or out_of_connections(snapshot, time.target)):
            return NotFound(cause=ID, reason=f"{counts}, while the upstream was slow or full.", numbers=numbers)
    if (doubt := _unconfirmed(snapshot, graph, server, found)) is not None:
        return NotFound(cause=ID, reason=f"{counts}, but {doubt}.", numbers=numbers)
    if _asks_again(server) and len(found.again) < 0.5 * suspects:
        return NotFound(cause=ID, reason=f"{counts}: the server would have asked again.", numbers=numbers)
    sent = queries.sent_us[np.concatenate([found.again, found.lost])].astype(np.float64)
    if (spread := spread_ratio(snapshot, sent)) < SPREAD:
        return NotFound(
            cause=ID,
            reason=f"{counts}, in clumps ({say.percent(spread)} of the moments that chance gives): so many at once are "
            "rather packets that the collector missed.",
            numbers=numbers | {"spread_ratio": spread},
        )
    if by_rate(snapshot, server, sent) or isinstance(upstream_rate_limited.detect(snapshot), Found):
        return NotFound(cause=ID, reason=f"{counts}, but only above a certain rate.", numbers=numbers)
    ticks = ticks_of(snapshot, sent)
    hurt = dns_harm.harm(snapshot, ticks, 0.9 * found.after_us)
    return Case("upstream", server, edge, target, 0.0, found, ticks, hurt)


def _unconfirmed(snapshot: Snapshot, graph: PathGraph, server: ResourceView, found: Retries) -> str | None:
    """Why queries without an answer may be packets that the collector missed; None where nothing speaks for that."""
    if len(found.again) >= len(found.lost):
        return None
    connections = np.nan_to_num(series(server, "dns_tcp_connections", snapshot.ticks))
    if is_dnsmasq(server) and connections.max(initial=0.0) >= 1:
        return "clients ask by TCP, and dnsmasq then asks on by TCP, which repeats what is lost"
    askers = [graph.servers[edge.asker] for edge in graph.askers_of(server.id)]
    if not askers:
        return None
    everywhere = np.ones(snapshot.ticks, dtype=np.bool_)
    seen = dns_harm.harm(replace(snapshot, dns_servers=tuple(askers)), everywhere, 0.9 * ATTEMPT_US)
    waited = seen.inside + seen.lost
    if waited < 0.5 * len(found.lost):
        return f"the servers that asked saw only {waited:,} that took so long"
    return None


def _asks_again(server: ResourceView) -> bool:
    """CoreDNS tries for 5 s; dnsmasq leaves it to its client."""
    return server.fact("dns.software") in ("coredns", "node-cache")


def _found(snapshot: Snapshot, case: Case) -> Found:
    hot = np.flatnonzero(case.ticks)
    onset = snapshot.start_us + int(hot[0]) * snapshot.step_us
    last = snapshot.start_us + int(hot[-1] + 1) * snapshot.step_us
    asked = float(np.nansum(series(case.server, "dns_queries", snapshot.ticks)))
    ratio = case.lost / max(1.0, asked)
    name = say.who(snapshot)
    if case.where == "socket":
        title = f"{name}'s socket dropped {case.lost:,.0f} queries in bursts; each waits until its client asks again"
        summary = (
            f"{case.lost:,.0f} of {asked:,.0f} datagrams ({say.percent(ratio)}) found the receive buffer full. The "
            "server never saw them; a client that uses glibc or Go asks again after 5 s."
        )
    else:
        assert case.edge is not None
        assert case.found is not None
        wait = f"{case.found.after_us / 1e6:g} s"
        where = f"{case.edge.address}:{case.edge.port}"
        title = f"Datagrams between {name} and {where} are lost: {case.lost:,.0f} queries waited {wait} or failed"
        summary = (
            f"{case.lost:,.0f} of {asked:,.0f} queries ({say.percent(ratio)}) were answered only right behind a "
            f"time-out or never, while {say.percent(case.found.quick / max(1, case.found.queries))} were quick and "
            "hardly any took a time in between: that is not a slow upstream, but a query or an answer that got lost."
        )
    return Found(
        cause=ID,
        score=round(0.5 + 0.2 * min(1.0, case.lost / 20) + (0.2 if case.hurt.severity else 0.0), 4),
        confidence=_confidence(case),
        severity=case.hurt.severity,
        title=title,
        summary=summary,
        onset_us=onset,
        last_us=last,
        impact=dns_harm.impact(snapshot, case.hurt),
        evidence=proof.evidence(snapshot, case, asked),
    )


def _confidence(case: Case) -> Confidence:
    if case.where == "socket":
        return "high"
    if case.found is not None and len(case.found.lost) > len(case.found.again):
        return "low"
    # The upstream's own capture proves that it was quick and answered all that it saw.
    return "high" if case.target is not None and case.lost >= 20 else "medium" if case.lost >= 10 else "low"


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = find(snapshot)
    if not isinstance(case, Case):
        return []
    if case.where == "socket":
        proposals = [dns_loss.larger_buffer(case.server, case.drops, found), dns_loss.multisocket(case.server)]
    else:
        assert case.edge is not None
        proposals = [dns_loss.force_tcp(case.server, case.target, case.edge, found)]
    after = case.found.after_us if case.found is not None else CLIENT_US
    proposals += [dns_loss.conntrack(case.where), dns_loss.client_timeout(after)]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Datagrams are lost: queries wait for a time-out",
    summary="A query or its answer is lost, and whoever sent it waits 2 s (CoreDNS) or 5 s (glibc, Go) to ask again.",
    mechanism="UDP repeats nothing by itself: a full receive buffer, a race in conntrack (two queries from one "
    "socket at once, kubernetes/kubernetes#56903) or a lossy link drops a datagram, and the query waits for the "
    "resolver's time-out. Found at a socket that drops in bursts, or at a forwarder whose late answers all come "
    "right behind a time-out, with none in between and an upstream that is quick. A loss between a client and the "
    "server before it was seen shows only at the client.",
    needs=NEEDS,
    rivals=("dns/dnsmasq_connection_exhaustion", "dns/slow_upstream", "dns/upstream_rate_limited"),
    detect=detect,
    propose=propose,
    false_positives=("A client that asks the same question every few seconds on purpose.",),
    references=(
        "https://man7.org/linux/man-pages/man5/resolv.conf.5.html",
        "https://github.com/kubernetes/kubernetes/issues/56903",
        "https://coredns.io/plugins/forward/",
    ),
)
