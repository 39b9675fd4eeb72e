"""More queries go to a resolver than it answers for one address or interface."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.causes._rate_evidence import evidence_of
from jitterscope.diagnosis.areas.dns.fixes import rate_limit
from jitterscope.diagnosis.areas.dns.readings.upstream_limit import (
    NEAR,
    RETRIED_S,
    SIGNS,
    RateCase,
    busiest,
    may_be_limited,
    rate_limited,
)
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import impact, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.severity import harm_of, severity
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.dns_upstreams import upstreams
from jitterscope.diagnosis.programs.resolver_limits import limit_of

ID = "dns/upstream_rate_limited"
NEEDS = ("dns_queries",)


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := servers.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    found = rate_limited(snapshot)
    if isinstance(found, WhyNot):
        return report.not_found(ID, found, snapshot)
    return _found(snapshot, found.case, found.hurts)


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
        # Failures are counted wherever it is found; near the limit there are none yet.
        harm=harm_of(level, known=True) if hurts else "predicted",
        title=f"{who} sends {peak:,.0f} queries/s to {name}, which answers {case.limit_per_s:,.0f}/s per {per}{effect}",
        summary=f"{_when(case)} {_limit_text(case)}"
        if hurts
        else f"At {say.percent(peak / case.limit_per_s)} of the limit no query fails yet. {_limit_text(case)}",
        upstream=case.upstreams[0].endpoint if len(case.upstreams) == 1 else None,
        onset_us=low,
        last_us=high,
        impact=impact.of_servers(snapshot),
        evidence=evidence_of(snapshot, case, low, high),
    )


def _when(case: RateCase) -> str:
    seconds = say.count(int(case.over.sum()), "second")
    return (
        f"{case.failed_over:,.0f} of {case.failed:,.0f} queries that failed, or were answered only after a retry, "
        f"were sent in {seconds} at the limit or in the {RETRIED_S} s of retries after that."
    )


def _limit_text(case: RateCase) -> str:
    if case.limit is None:
        return "The limit is not published: it is the rate at which answers/s stop growing without becoming slower."
    return f"{case.limit.operator}: {case.limit.per_s:,.0f} {case.limit.unit}/s per {case.limit.counted_by}; " + (
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
    summary="A resolver gets more queries/s than it answers for one address or network interface, and drops or "
    "refuses the rest.",
    mechanism="Public and cloud resolvers count the queries of each client: Google Public DNS answers 1,500/s per "
    "public address, the resolver of an AWS VPC 1,024 packets/s per network interface. Queries above the limit time "
    "out: the forwarder retries, which adds to the rate, and gives up after 5 s with SERVFAIL. Found where the "
    "queries sent upstream reach the limit and only queries sent at that time fail; without a published limit, where "
    "answers/s stop growing at one rate without becoming slower.",
    needs=NEEDS,
    relies_on=("dns.upstreams",),
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
    signs=Signs(SIGNS, may_be_limited),
)
