"""Datagrams are lost, so that queries wait for a timeout to be asked again."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes import _loss_evidence as proof
from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.fixes import loss as dns_loss
from jitterscope.diagnosis.areas.dns.readings.loss import SIGNS, Loss, loss, may_be_lost
from jitterscope.diagnosis.areas.dns.readings.retries import (
    CLIENT_US,
)
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import impact, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "dns/udp_loss"
NEEDS = ("dns_queries", "dns_timeouts")


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := servers.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    case = loss(snapshot)
    return report.not_found(ID, case, snapshot) if isinstance(case, WhyNot) else _found(snapshot, case)


def _found(snapshot: Snapshot, case: Loss) -> Found:
    hot = np.flatnonzero(case.ticks)
    onset = snapshot.start_us + int(hot[0]) * snapshot.step_us
    last = snapshot.start_us + int(hot[-1] + 1) * snapshot.step_us
    asked = float(np.nansum(series(case.server, "dns_queries", snapshot.ticks)))
    ratio = case.lost / max(1.0, asked)
    name = say.who(snapshot)
    if case.where == "socket":
        title = f"{name}'s socket dropped {case.lost:,.0f} queries in bursts; each waits until its client retries"
        summary = (
            f"{case.lost:,.0f} of {asked:,.0f} datagrams ({say.percent(ratio)}) found the receive buffer full. The "
            "server never saw them. A client that uses glibc or Go retries after 5 s."
        )
    else:
        assert case.edge is not None
        assert case.found is not None
        wait = f"{case.found.after_us / 1e6:g} s"
        where = f"{case.edge.address}:{case.edge.port}"
        title = f"Datagrams between {name} and {where} are lost: {case.lost:,.0f} queries waited {wait} or failed"
        summary = (
            f"{case.lost:,.0f} of {asked:,.0f} queries ({say.percent(ratio)}) were answered only right after a "
            f"timeout or never, while {say.percent(case.found.quick / max(1, case.found.queries))} were quick and "
            "hardly any fell in between. So the upstream is not slow: the queries or their answers were lost."
        )
    return Found(
        cause=ID,
        score=round(0.5 + 0.2 * min(1.0, case.lost / 20) + (0.2 if case.hurt.severity else 0.0), 4),
        confidence=_confidence(case),
        severity=case.hurt.severity,
        harm=case.hurt.harm,
        title=title,
        summary=summary,
        onset_us=onset,
        last_us=last,
        impact=impact.of_harm(snapshot, case.hurt),
        evidence=proof.evidence(snapshot, case, asked),
    )


def _confidence(case: Loss) -> Confidence:
    if case.where == "socket":
        return "high"
    if case.found is not None and len(case.found.lost) > len(case.found.again):
        return "low"
    # The upstream's own capture proves that it was quick and answered all that it saw.
    return "high" if case.target is not None and case.lost >= 20 else "medium" if case.lost >= 10 else "low"


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = loss(snapshot)
    if isinstance(case, WhyNot):
        return []
    if case.where == "socket":
        proposals = [
            dns_loss.larger_buffer(case.server, case.drops, found),
            dns_loss.multisocket(snapshot, case.server),
        ]
    else:
        assert case.edge is not None
        asked = float(np.nansum(series(case.server, "dns_queries", snapshot.ticks)))
        lost_ratio = case.lost / max(1.0, asked)
        proposals = [dns_loss.force_tcp(snapshot, case.server, case.target, case.edge, lost_ratio)]
    after = case.found.after_us if case.found is not None else CLIENT_US
    proposals += [dns_loss.conntrack(case.where), dns_loss.client_timeout(after)]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Datagrams are lost: queries wait for a timeout",
    summary="A query or its answer is lost, and its sender waits 2 s (CoreDNS) or 5 s (glibc, Go) before it retries.",
    mechanism="UDP does not retransmit: a full receive buffer, a race in conntrack (two concurrent queries from one "
    "socket, kubernetes/kubernetes#56903), or a lossy link drops a datagram, and the query waits for the resolver's "
    "timeout. Found at a socket that drops in bursts, or at a forwarder whose late answers all come right after a "
    "timeout, with none in between and a quick upstream. A datagram lost between a client and the first server that "
    "is observed shows only at the client.",
    needs=NEEDS,
    relies_on=("dns_socket_drops",),
    rivals=("dns/dnsmasq_connection_exhaustion", "dns/slow_upstream", "dns/upstream_rate_limited"),
    detect=detect,
    propose=propose,
    false_positives=("A client that sends the same query every few seconds on purpose.",),
    references=(
        "https://man7.org/linux/man-pages/man5/resolv.conf.5.html",
        "https://github.com/kubernetes/kubernetes/issues/56903",
        "https://coredns.io/plugins/forward/",
    ),
    signs=Signs(SIGNS, may_be_lost),
)
