"""All children of a dnsmasq are busy with TCP connections; further connections wait, and nobody reads their queries."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes import _exhaustion_evidence as proof
from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.fixes import connections as dns_connections
from jitterscope.diagnosis.areas.dns.fixes import replicas as dns_replicas
from jitterscope.diagnosis.areas.dns.fixes import transport as dns_transport
from jitterscope.diagnosis.areas.dns.readings import tcp_limit as dns_tcp_limit
from jitterscope.diagnosis.areas.dns.readings.shortage import Shortage, shortage
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import WAITING, may_be_short
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.query_results import GIVEN_UP_US
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "dns/dnsmasq_connection_exhaustion"
NEEDS = ("process_children", "dns_accept_backlog")


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    software = [server.fact("dns.software") for server in snapshot.dns_servers]
    # A server whose software is not known may be a dnsmasq.
    if software and all(software) and "dnsmasq" not in software:
        reason = f"No dnsmasq among {say.count(len(software), 'server')}: other servers need no child per connection."
        return NotFound(cause=ID, reason=reason, numbers={"servers": float(len(software))})
    if gone := _missing(snapshot):
        return report.not_enough(ID, gone, snapshot)
    found = shortage(snapshot)
    return report.not_found(ID, found, snapshot) if isinstance(found, WhyNot) else _found(snapshot, found)


def _missing(snapshot: Snapshot) -> list[str]:
    gone = [] if any(has(view, "process_children") for view in snapshot.processes) else ["process_children"]
    servers = [server for server in snapshot.dns_servers if dns_tcp_limit.is_dnsmasq(server)]
    return gone + ([] if any(has(view, "dns_accept_backlog") for view in servers) else ["dns_accept_backlog"])


def _found(snapshot: Snapshot, case: Shortage) -> Found:
    tcp, hurt = case.tcp, case.hurt
    short = np.flatnonzero(tcp.short)
    onset = snapshot.start_us + int(short[0]) * snapshot.step_us
    last = snapshot.start_us + int(short[-1] + 1) * snapshot.step_us
    wanted = f"{case.demand.expected:,.0f} are needed" if case.demand is not None else "more are needed"
    peak = float(np.nanmax(tcp.backlog))
    waiting = f"{say.count(peak, 'connection waits', 'connections wait')}" if peak else "connections are turned away"
    title = (
        f"{say.who(snapshot)} serves {tcp.now:,.0f} concurrent TCP connections but {wanted}: {waiting}, {_end(hurt)}"
    )
    score = 0.55 + 0.25 * min(1.0, len(short) / 10) + (0.2 if hurt.severity else 0.0)
    return Found(
        cause=ID,
        score=round(score, 4),
        confidence=_confidence(case),
        severity=hurt.severity,
        harm=hurt.harm,
        title=title,
        summary=_summary(snapshot, case),
        onset_us=onset,
        last_us=last,
        impact=impact.of_harm(case.front, hurt),
        evidence=proof.evidence(snapshot, case),
    )


def _end(hurt: AnswersHarm) -> str:
    if hurt.failures:
        return f"and {say.count(hurt.failures, 'query', 'queries')} failed"
    if hurt.inside and hurt.max_ms:
        return f"so answers take up to {hurt.max_ms:,.0f} ms; no query has failed yet"
    return "and their queries will fail after 5 s; no query has failed yet"


def _summary(snapshot: Snapshot, case: Shortage) -> str:
    tcp, failures = case.tcp, case.hurt.failures
    lasted_us, latest_us = tcp.short_ticks * snapshot.step_us, tcp.latest_ticks * snapshot.step_us
    parts = [
        f"dnsmasq serves each TCP connection in a child process, up to {tcp.now:,.0f}. For "
        f"{say.seconds(lasted_us)} all of them were busy while other connections waited unread in the accept queue."
    ]
    if case.demand is not None:
        need = case.demand
        parts.append(
            f"{need.rate:,.0f} queries/s that keep a connection for {say.ms(need.hold_us)} each need "
            f"{need.expected:,.0f} connections (between {need.low:,.0f} and {need.high:,.0f})."
        )
    if failures:
        parts.append(f"{say.count(failures, 'query', 'queries')} failed so far.")
    else:
        parts.append(
            "No query has failed yet. Forwarding servers give up after 5 s, so the waiting queries fail "
            f"{max(0.0, GIVEN_UP_US - latest_us) / 1e6:.1f} s after the end of this window unless they are served."
        )
    return " ".join(parts)


def _confidence(case: Shortage) -> Confidence:
    if case.tcp.short.sum() >= 3 and (case.hurt.waiting >= 3 or case.hurt.turned_away >= 3):
        return "high"
    return "medium" if case.tcp.short.sum() >= 3 else "low"


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = shortage(snapshot)
    if isinstance(case, WhyNot):
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
    title="dnsmasq runs out of child processes for TCP",
    summary="All child processes of dnsmasq are busy with TCP connections; queries on further connections wait unread.",
    mechanism="dnsmasq answers UDP itself but forks a child for each TCP connection, up to 20 (`MAX_PROCS`; since "
    "2.90 the default of `--max-tcp-connections`). With all children busy it stops accepting: the kernel still "
    "completes the handshake of further connections, the client sends its query, and the query stays unread. "
    "NodeLocal DNSCache makes this likely: `force_tcp` sends every query over TCP, and CoreDNS opens a connection "
    "whenever none is idle, without a limit. The connections needed are queries/s × the seconds that an answer takes. "
    "Found within 0.2 s when the children are at the limit and connections wait. Being at the limit alone does no "
    "harm. Answers become late after one to two seconds, and the first query fails about five seconds after it began.",
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
    signs=Signs(WAITING, may_be_short),
)
