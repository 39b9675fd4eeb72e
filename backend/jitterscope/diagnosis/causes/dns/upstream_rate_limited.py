"""More queries go to a resolver than it answers for one address or interface."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.cause import Cause
from jitterscope.diagnosis.causes.dns import _report as report
from jitterscope.diagnosis.causes.dns._rate_evidence import evidence_of
from jitterscope.diagnosis.dns_path import path
from jitterscope.diagnosis.dns_upstream_time import out_of_connections
from jitterscope.diagnosis.dns_upstreams import upstreams
from jitterscope.diagnosis.finding import Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.fixes import rate_limit
from jitterscope.diagnosis.resolver_limits import limit_of
from jitterscope.diagnosis.severity import severity
from jitterscope.diagnosis.snapshot import Snapshot
from jitterscope.diagnosis.stats import dilate
from jitterscope.diagnosis.upstream_limit import (
    LEAST_FAILED,
    NEAR,
    OVER,
    RETRIED_S,
    RateCase,
    busiest,
    observed_limit,
    share_of,
)
from jitterscope.diagnosis.upstream_rate import rates

ID = "dns/upstream_rate_limited"
NEEDS = ("dns_queries",)


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := report.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    found = rates(snapshot)
    asked = [(upstream, limit_of(snapshot, upstream)) for view in snapshot.dns_servers for upstream in upstreams(view)]
    if found is None or not asked:
        queries = float(np.nansum(report.summed(snapshot, "dns_queries")))
        if found is not None and any(view.fact("dns.upstreams") == "[]" for view in snapshot.dns_servers):
            return NotFound(cause=ID, reason=f"The server forwards none of its {queries:,.0f} queries.")
        return report.not_enough(ID, ["dns.upstreams"], snapshot)
    known = [(upstream, limit) for upstream, limit in asked if limit is not None]
    if known:
        limit = min((limit for _, limit in known), key=lambda item: item.per_s)
        limited = tuple(upstream for upstream, other in known if other is limit)
        share = share_of(snapshot, [upstream for upstream, _ in asked], limited)
        if share is None:
            return report.not_enough(ID, ["dns.names"], snapshot)
        sent = found.sent * share
        case = RateCase(found, sent, sent >= OVER * limit.per_s, limit.per_s, limit, limited)
        return _judge(snapshot, case)
    if (full := _out_of_connections(snapshot)) is not None:
        return full
    observed = observed_limit(found)
    if observed is None:
        return NotFound(
            cause=ID,
            reason=f"{found.failed.sum():,.0f} failures at up to {busiest(found.sent):,.0f} queries/s sent on; no "
            "upstream has "
            "a published limit, and answers do not stop at one rate.",
            numbers={"failed": float(found.failed.sum()), "peak_per_s": busiest(found.sent)},
        )
    every = tuple(upstream for upstream, _ in asked)
    return _judge(snapshot, RateCase(found, found.sent, found.sent >= 1.05 * observed, observed, None, every))


def _out_of_connections(snapshot: Snapshot) -> NotFound | None:
    """An upstream on this node that accepts no further connection stops answering at one rate too."""
    graph = path(snapshot)
    for server in snapshot.dns_servers:
        for edge in graph.upstreams_of(server.id):
            target = graph.view(edge.target)
            if target is not None and (ticks := out_of_connections(snapshot, target)):
                return NotFound(
                    cause=ID,
                    reason=f"{edge.address}:{edge.port} is out of connections: some waited to be accepted for "
                    f"{say.seconds(ticks * snapshot.step_us)} on end.",
                    numbers={"backlog_ticks": float(ticks)},
                )
    return None


def _judge(snapshot: Snapshot, case: RateCase) -> Found | NotFound | NotEnoughData:
    peak = busiest(case.sent)
    numbers = {
        "failed": case.failed,
        "failed_over": case.failed_over,
        "peak_per_s": peak,
        "limit_per_s": case.limit_per_s,
    }
    rest = ~dilate(case.over, 0, RETRIED_S)
    if case.failed < LEAST_FAILED and not case.rates.measured and peak >= NEAR * case.limit_per_s:
        return report.not_enough(ID, ["coredns_forward_requests"], snapshot)
    if case.failed < LEAST_FAILED:
        if peak >= NEAR * case.limit_per_s:
            return _found(snapshot, case, hurts=False)
        return NotFound(
            cause=ID,
            reason=f"At most {peak:,.0f} queries/s go to {case.name}, which answers {case.limit_per_s:,.0f}.",
            numbers=numbers,
        )
    if not case.over.any():
        return NotFound(
            cause=ID,
            reason=f"{case.failed:,.0f} queries failed at no more than {peak:,.0f}/s, under the limit of "
            f"{case.limit_per_s:,.0f}/s of {case.name}{_others(case)}",
            numbers=numbers,
        )
    if case.failed_over < 0.8 * case.failed or (rest.any() and case.ratio(rest) > 0.2 * case.ratio(case.over)):
        return NotFound(
            cause=ID,
            reason=f"{case.failed - case.failed_over:,.0f} of {case.failed:,.0f} failures came while the rate was "
            f"under the limit of {case.limit_per_s:,.0f}/s.",
            numbers=numbers,
        )
    excess = float(np.maximum(0.0, case.sent - case.limit_per_s)[case.over].sum())
    if not rest.any() and case.failed_over > 3 * excess + LEAST_FAILED:
        return NotFound(
            cause=ID,
            reason=f"{case.failed_over:,.0f} queries failed, but only {excess:,.0f} were more than {case.name} "
            "answers.",
            numbers=numbers | {"excess": excess},
        )
    return _found(snapshot, case, hurts=True)


def _others(case: RateCase) -> str:
    """What this node cannot see: others behind the same address."""
    if case.limit is None or case.limit.counted_by != "public IP address":
        return "."
    return "; other nodes behind the same public address count with it, which this node does not see."


def _found(snapshot: Snapshot, case: RateCase, hurts: bool) -> Found:
    over = np.flatnonzero(case.over) if hurts else np.flatnonzero(case.sent >= NEAR * case.limit_per_s)
    second = 1_000_000
    low = snapshot.start_us + int(over[0] if len(over) else 0) * second
    high = min(snapshot.end_us, snapshot.start_us + (int(over[-1] if len(over) else 0) + 1) * second)
    queries, peak, name = float(case.rates.sent.sum()), busiest(case.sent), case.name
    failed = case.failed_over if hurts else 0.0
    level = severity(0.0, queries, None, failed) if hurts else None
    who, per = say.who(snapshot), case.limit.counted_by if case.limit is not None else "client"
    effect = f", so {say.percent(failed / max(1.0, queries))} of them fail or wait" if hurts else ""
    return Found(
        cause=ID,
        score=round(min(1.0, 0.3 + 0.5 * (failed / max(1.0, case.failed)) * hurts + 0.2 * (level is not None)), 4),
        confidence="low" if not case.rates.measured else "high" if case.limit is not None else "medium",
        severity=level,
        title=f"{who} sends {peak:,.0f} queries/s to {name}, which answers {case.limit_per_s:,.0f} for one "
        f"{per}{effect}",
        summary=f"{_when(case)} {_limit_text(case)}"
        if hurts
        else f"At {say.percent(peak / case.limit_per_s)} of its limit nothing fails yet. {_limit_text(case)}",
        upstream=case.upstreams[0].endpoint if len(case.upstreams) == 1 else None,
        onset_us=low,
        last_us=high,
        impact=report.impact(snapshot),
        evidence=evidence_of(snapshot, case, low, high),
    )


def _when(case: RateCase) -> str:
    seconds = say.count(int(case.over.sum()), "second")
    return (
        f"{case.failed_over:,.0f} of {case.failed:,.0f} queries that failed, or were answered only when asked again, "
        f"were sent in {seconds} at the limit or in the {RETRIED_S} s of retries after."
    )


def _limit_text(case: RateCase) -> str:
    if case.limit is None:
        return "The limit is not published: it is where the answers stop to grow, without becoming slower."
    return f"{case.limit.operator}: {case.limit.per_s:,.0f} {case.limit.unit}/s for one {case.limit.counted_by}; " + (
        f"{case.limit.what_happens}."
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    numbers = {key: value for item in found.evidence for key, value in item.numbers.items()}
    limits = [limit for view in snapshot.dns_servers for up in upstreams(view) if (limit := limit_of(snapshot, up))]
    load = rate_limit.Load(
        peak_per_s=numbers["peak_per_s"],
        limit_per_s=numbers["limit_per_s"],
        sent_ratio=min(1.0, numbers["sent"] / numbers["queries"]) if numbers["queries"] else 1.0,
        limit=min(limits, key=lambda item: item.per_s) if limits else None,
        failed=numbers.get("of", 0.0),
    )
    return rate_limit.propose(snapshot, load)


CAUSE = Cause(
    id=ID,
    title="The upstream resolver limits the rate",
    summary="More queries a second go to a resolver than it answers for one address or network interface; the rest is "
    "dropped "
    "or refused.",
    mechanism="Public and cloud resolvers count the queries of each client: Google Public DNS 1,500 a second for one "
    "public "
    "address, the resolver of an AWS VPC 1,024 packets a second for one network interface. What is above stays "
    "unanswered, "
    "the forwarder tries again and adds to the rate, and gives up after 5 s with SERVFAIL. Found where the queries "
    "sent on reach "
    "the limit and failures were sent only then; without a published limit, where answers stop to grow at one rate "
    "without "
    "becoming slower.",
    needs=NEEDS,
    rivals=("dns/search_domain_amplification", "dns/slow_upstream", "dns/udp_loss"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Other machines behind the same public address use up the limit: their queries are not seen here.",
    ),
    references=(
        "https://developers.google.com/speed/public-dns/docs/isp",
        "https://docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html",
        "https://repost.aws/knowledge-center/vpc-find-cause-of-failed-dns-queries",
    ),
    spreads=True,
)
