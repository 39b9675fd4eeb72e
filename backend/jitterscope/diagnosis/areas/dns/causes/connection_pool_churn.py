"""TCP connections are opened in bursts, carry little and stay open: a pool holds what it does not need."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes import _churn_evidence as proof
from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.fixes import connections as dns_connections
from jitterscope.diagnosis.areas.dns.fixes import pool as dns_pool
from jitterscope.diagnosis.areas.dns.fixes import transport as dns_transport
from jitterscope.diagnosis.areas.dns.readings.pool import OPENED, Held, Opened, may_be_idle, pool
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import WAITING
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import harm as dns_harm
from jitterscope.diagnosis.core import impact, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.query_results import GIVEN_UP_US
from jitterscope.diagnosis.core.severity import SLOW_US, harm_of
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "dns/connection_pool_churn"
NEEDS = ("dns_tcp_connections", "dns_tcp_idle")


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := servers.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    case = pool(snapshot)
    if isinstance(case, Held):
        return _found_held(snapshot, case)
    return report.not_found(ID, case, snapshot) if isinstance(case, WhyNot) else _found_opened(snapshot, case)


def _found_held(snapshot: Snapshot, case: Held) -> Found:
    tcp, hurt = case.tcp, case.hurt
    short = np.flatnonzero(tcp.short)
    onset = snapshot.start_us + int(short[0]) * snapshot.step_us
    last = snapshot.start_us + int(short[-1] + 1) * snapshot.step_us
    end = f"{say.count(hurt.failures, 'query', 'queries')} failed" if hurt.failures else "no query has failed yet"
    peak = float(np.nanmax(tcp.backlog))
    return Found(
        cause=ID,
        score=round(0.55 + 0.25 * min(1.0, len(short) / 10) + (0.2 if hurt.severity else 0.0), 4),
        confidence=_confidence(case),
        severity=hurt.severity,
        harm=hurt.harm,
        title=f"All {tcp.now:,.0f} TCP connections of {say.who(snapshot)} are in use but busy only "
        f"{say.percent(case.busy_ratio)} of the time; {peak:,.0f} wait and {end}",
        summary=f"Clients opened connections in a burst and keep them open idle. For "
        f"{say.seconds(tcp.short_ticks * snapshot.step_us)} all {tcp.now:,.0f} children served such connections while "
        "queries on other connections waited unread. A server in front gives up on a query after "
        f"{GIVEN_UP_US / 1e6:.0f} s.",
        onset_us=onset,
        last_us=last,
        impact=impact.of_harm(case.front, hurt),
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
    hurt = dns_harm.harm(snapshot, np.zeros(snapshot.ticks, dtype=np.bool_), SLOW_US)
    return Found(
        cause=ID,
        score=round(min(0.5, 0.3 + 0.2 * case.miss_ratio), 4),
        confidence="high" if case.misses >= 100 else "medium",
        severity=None,
        # What was late here is not known to be late for this.
        harm=harm_of(None, known=hurt.timed and hurt.served.all_timed),
        title=f"{say.who(snapshot)} opens a TCP connection for {say.percent(case.miss_ratio)} of the queries it "
        f"forwards ({rate:,.0f}/s)",
        summary=f"{case.misses:,.0f} of {case.misses + case.hits:,.0f} forwarded queries found no idle connection. "
        "Each new connection costs a round trip and, with dnsmasq, a process, and it stays open after its query. This "
        "can exhaust a server that allows few connections.",
        onset_us=onset,
        last_us=last,
        impact=impact.of_harm(snapshot, hurt),
        evidence=proof.of_opened(snapshot, case),
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = pool(snapshot)
    if isinstance(case, WhyNot):
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
    title="Idle pooled connections exhaust the server",
    summary="A forwarder opens TCP connections in bursts and keeps them open idle. A server that allows few "
    "connections runs out of them.",
    mechanism="With `force_tcp`, CoreDNS opens a connection for every query that finds no idle one, without a limit, "
    "and keeps it. `expire` only decides which idle connections are not reused: since 1.7.1 they are closed when the "
    "next query comes across them, or by a clean-up every 10 s, so with `expire 1s` they stay open for up to 11 s. "
    "Before 1.7.1 the clean-up ran every `expire`. Since 1.14.1 the oldest idle connection is reused first, so all "
    "connections of a burst stay in use. dnsmasq keeps a child process for each of them. Found at a dnsmasq that runs "
    "out of connections while its children have little to do, and as a risk at a forwarder that opens connections for "
    "a third of its queries.",
    needs=NEEDS,
    relies_on=("dns_tcp_connections", "dns_accept_backlog"),
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
    signs=Signs((OPENED, *WAITING), may_be_idle),
)
