"""All children of a dnsmasq are busy with TCP connections; further connections wait, and nobody reads their queries."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis import dns_harm, dns_tcp_limit
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.cause import Cause
from jitterscope.diagnosis.causes.dns import _exhaustion_evidence as proof
from jitterscope.diagnosis.causes.dns import _report as report
from jitterscope.diagnosis.dns_harm import DnsHarm
from jitterscope.diagnosis.dns_path import PathGraph, path
from jitterscope.diagnosis.dns_tcp_limit import TcpLimit
from jitterscope.diagnosis.dns_upstream_time import UpstreamTime, upstream_times
from jitterscope.diagnosis.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.fixes import dns_connections, dns_replicas, dns_transport
from jitterscope.diagnosis.signals import has
from jitterscope.diagnosis.snapshot import Snapshot

ID = "dns/dnsmasq_connection_exhaustion"
NEEDS = ("process_children", "dns_accept_backlog")
# A forwarder that gets no answer gives up after 5 s: no query fails before.
FAILS_AFTER_US = 5_000_000
HARDLY_BUSY = 0.3
FEW = 3


@dataclass(frozen=True, slots=True)
class Shortage:
    """What detect found, for evidence and fixes."""

    tcp: TcpLimit
    graph: PathGraph
    upstreams: list[UpstreamTime]
    demand: dns_tcp_limit.Demand | None
    hurt: DnsHarm
    usual_us: float | None
    front: Snapshot


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    known = [server for server in snapshot.dns_servers if server.fact("dns.software")]
    if known and not any(map(dns_tcp_limit.is_dnsmasq, known)):
        reason = f"No dnsmasq among {say.count(len(known), 'server')}: others need no child for a connection."
        return NotFound(cause=ID, reason=reason, numbers={"servers": float(len(known))})
    if gone := _missing(snapshot):
        return report.not_enough(ID, gone, snapshot)
    found = _shortage(snapshot)
    return found if isinstance(found, NotFound) else _found(snapshot, found)


def _missing(snapshot: Snapshot) -> list[str]:
    gone = [] if any(has(view, "process_children") for view in snapshot.processes) else ["process_children"]
    servers = [server for server in snapshot.dns_servers if dns_tcp_limit.is_dnsmasq(server)]
    return gone + ([] if any(has(view, "dns_accept_backlog") for view in servers) else ["dns_accept_backlog"])


def _shortage(snapshot: Snapshot) -> Shortage | NotFound:
    """The shortage of connections that the load itself makes, or why there is none."""
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
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    if not tcp.short.any():
        return NotFound(
            cause=ID,
            reason=f"{say.count(numbers['children_max'], 'child was', 'children were')} busy, of {tcp.now:,.0f} "
            "allowed, but no connection waited for two ticks in a row: it is at its edge, and nobody is hurt.",
            numbers=numbers,
        )
    graph = path(snapshot)
    upstreams = [time for server in tcp.servers for time in upstream_times(snapshot, graph, server)]
    for time in upstreams:
        slow = time.ticks(time.bulk, snapshot.ticks) & tcp.short
        if time.is_slow and slow.sum() >= 0.5 * tcp.short.sum():
            mean = time.mean_of(time.bulk)
            return NotFound(
                cause=ID,
                reason=f"Connections ran short because each is held for {say.ms(mean)} by a slow upstream "
                f"({time.edge.address}:{time.edge.port}): at its usual speed {tcp.now:,.0f} would do or be fewer "
                "short.",
                numbers=numbers | {"upstream_mean_us": mean},
            )
    turned = dns_tcp_limit.answered_while_short(snapshot, tcp, [time.target for time in upstreams if time.target])
    if turned is not None and turned < tcp.now:
        return NotFound(
            cause=ID,
            reason=f"Since all {tcp.now:,.0f} children were busy only {say.count(turned, 'query was', 'queries were')} "
            "answered, not even one of each: it is too early to tell a shortage of connections from an upstream that "
            "does not answer.",
            numbers=numbers | {"answered": turned},
        )
    busy = dns_tcp_limit.busy_ratio(snapshot, tcp)
    if busy < HARDLY_BUSY:
        return NotFound(
            cause=ID,
            reason=f"The children worked on a query only {say.percent(busy)} of the time: their connections are not "
            "needed, but kept open.",
            numbers=numbers | {"busy_ratio": busy},
        )
    usual = next((t.usual_us for t in upstreams if t.usual_us is not None), None)
    if usual is None:
        usual = next((u for server in tcp.servers if (u := dns_harm.usual_us(server, ~tcp.short)) is not None), None)
    front = in_front(snapshot, graph, tcp)
    hurt = harm_of(front, tcp, usual)
    if hurt.severity is None and hurt.suffered + hurt.turned_away < FEW:
        return NotFound(
            cause=ID,
            reason=f"{say.count(hurt.suffered + hurt.turned_away, 'connection')} waited for a moment with "
            f"{tcp.now:,.0f} children busy: too few to say.",
            numbers=numbers | {"waiting": float(hurt.waiting)},
        )
    return Shortage(tcp, graph, upstreams, dns_tcp_limit.demand(snapshot, tcp, graph), hurt, usual, front)


def in_front(snapshot: Snapshot, graph: PathGraph, tcp: TcpLimit) -> Snapshot:
    """The same window with the servers that clients ask: those in front of the dnsmasq, where this node has them.

    A query that nobody accepts never shows at the dnsmasq itself; the server that sent it waits.
    """
    askers = {edge.asker for server in tcp.servers for edge in graph.askers_of(server.id)}
    servers = tuple(graph.servers[number] for number in sorted(askers))
    return replace(snapshot, dns_servers=servers) if servers else snapshot


def harm_of(front: Snapshot, tcp: TcpLimit, usual_us: float | None) -> DnsHarm:
    """Who was hurt, at the servers that clients ask."""
    waiting, ticks = tcp.standing()
    if not tcp.short[-3:].any():
        waiting = 0  # it is over: who waited is among the late ones
    at_front = next(
        (u for server in front.dns_servers if (u := dns_harm.usual_us(server, ~tcp.short)) is not None), None
    )
    usual = max(usual_us or 0.0, at_front or 0.0)
    return dns_harm.harm(
        front, tcp.short, dns_harm.late_after(usual), waiting=waiting,
        turned_away=int(np.nansum(tcp.drops[tcp.short])),
        waited_us=min(ticks * front.step_us, float(FAILS_AFTER_US)),
    )  # fmt: skip


def _found(snapshot: Snapshot, case: Shortage) -> Found:
    tcp, hurt = case.tcp, case.hurt
    short = np.flatnonzero(tcp.short)
    onset = snapshot.start_us + int(short[0]) * snapshot.step_us
    last = snapshot.start_us + int(short[-1] + 1) * snapshot.step_us
    wanted = f"{case.demand.expected:,.0f} are wanted" if case.demand is not None else "more are wanted"
    peak = float(np.nanmax(tcp.backlog))
    waiting = f"{say.count(peak, 'connection waits', 'connections wait')}" if peak else "connections are turned away"
    title = f"{say.who(snapshot)} serves {tcp.now:,.0f} TCP connections at once and {wanted}: {waiting}, {_end(hurt)}"
    score = 0.55 + 0.25 * min(1.0, len(short) / 10) + (0.2 if hurt.severity else 0.0)
    return Found(
        cause=ID,
        score=round(score, 4),
        confidence=_confidence(case),
        severity=hurt.severity,
        title=title,
        summary=_summary(snapshot, case, last - onset),
        onset_us=onset,
        last_us=last,
        impact=dns_harm.impact(case.front, hurt),
        evidence=proof.evidence(snapshot, case),
    )


def _end(hurt: DnsHarm) -> str:
    if hurt.failures:
        return f"and {say.count(hurt.failures, 'query', 'queries')} failed"
    if hurt.inside and hurt.max_ms:
        return f"so answers take up to {hurt.max_ms:,.0f} ms; none has failed yet"
    return "and their queries will fail after 5 s; none has failed yet"


def _summary(snapshot: Snapshot, case: Shortage, lasted_us: int) -> str:
    tcp, failures = case.tcp, case.hurt.failures
    parts = [
        f"dnsmasq serves each TCP connection in a child process, {tcp.now:,.0f} at most, and for "
        f"{say.seconds(lasted_us)} all were busy while others waited in the accept queue, where nobody reads them."
    ]
    if case.demand is not None:
        need = case.demand
        parts.append(
            f"{need.rate:,.0f} queries/s that keep a connection for {say.ms(need.hold_us)} each want "
            f"{need.expected:,.0f} connections (between {need.low:,.0f} and {need.high:,.0f})."
        )
    if failures:
        parts.append(f"{say.count(failures, 'query', 'queries')} failed so far.")
    else:
        parts.append(
            "No query has failed yet: servers that forward give up after 5 s, so those that wait now fail "
            f"{max(0.0, FAILS_AFTER_US - lasted_us) / 1e6:.1f} s from the end of this window unless they are served."
        )
    return " ".join(parts)


def _confidence(case: Shortage) -> Confidence:
    if case.tcp.short.sum() >= 3 and (case.hurt.waiting >= 3 or case.hurt.turned_away >= 3):
        return "high"
    return "medium" if case.tcp.short.sum() >= 3 else "low"


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = _shortage(snapshot)
    if isinstance(case, NotFound):
        return []
    proposals = [
        dns_connections.max_tcp_connections(snapshot, case.tcp, case.demand, found),
        dns_connections.newer_kubernetes_dns(snapshot),
        dns_connections.newer_gke(snapshot, found),
        dns_transport.prefer_udp(snapshot, case.graph, case.tcp.servers, found),
        dns_replicas.scale(snapshot, case.tcp, case.demand, found),
        dns_transport.cloud_dns(snapshot, found),
        dns_transport.without_nodelocal(snapshot, case.graph, case.tcp.servers, found),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="dnsmasq has no child left for further TCP connections",
    summary="All child processes of dnsmasq are busy with TCP connections; queries on further connections wait unread.",
    mechanism="dnsmasq answers UDP itself but forks a child for each TCP connection, 20 at once (`MAX_PROCS`; since "
    "2.90 the default of `--max-tcp-connections`). With all children busy it stops accepting: the kernel completes "
    "further connections, the client sends its query, and nobody reads it. NodeLocal DNSCache makes it likely: "
    "`force_tcp` turns each query into one on TCP, and CoreDNS opens a connection whenever none is idle, without a "
    "bound. Wanted are as many connections as queries per second times the seconds that an answer takes. Found when "
    "the children are at the limit AND connections wait, within 0.2 s; at the limit alone nobody is hurt. Answers "
    "are late after one to two seconds; the first query fails about five seconds after it began.",
    needs=NEEDS,
    rivals=("dns/connection_pool_churn", "dns/slow_upstream", "dns/udp_loss"),
    detect=detect,
    propose=propose,
    false_positives=("A health check or a zone transfer that keeps many connections open on purpose.",),
    references=(
        "https://www.signicat.com/blog/dont-use-nodelocal-dnscache-on-gke",
        "https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html",
        "https://thekelleys.org.uk/dnsmasq/CHANGELOG",
        "https://man7.org/linux/man-pages/man2/listen.2.html",
    ),
    spreads=True,
)
