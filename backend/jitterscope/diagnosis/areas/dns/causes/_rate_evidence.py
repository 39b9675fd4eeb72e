"""Evidence of dns/upstream_rate_limited."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.readings.upstream_limit import RETRIED_S, RateCase, busiest
from jitterscope.diagnosis.core import servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import dilate


def evidence_of(snapshot: Snapshot, case: RateCase, low: int, high: int) -> list[Evidence]:
    rest = ~dilate(case.over, 0, RETRIED_S)
    refs = report.refs(snapshot, low, high, "dns_queries", "coredns_forward_requests", "dnsmasq_cache_misses")
    failures = report.refs(snapshot, low, high, "dns_servfail", "dns_refused", "dns_timeouts")
    asked = float(np.nansum(servers.summed(snapshot, "dns_queries")))
    sent = float(case.rates.sent.sum())
    found = [
        Evidence(
            id="rate",
            statement="Peak queries/s sent upstream / limit",
            value=f"{busiest(case.sent):,.0f} / {case.limit_per_s:,.0f}",
            comparison="published" if case.limit is not None else "the rate at which answers/s stop growing",
            numbers={"peak_per_s": busiest(case.sent), "limit_per_s": case.limit_per_s},
            series=refs,
        ),
        Evidence(
            id="sent_on",
            statement="Share of queries that no cache answered",
            value=say.percent(sent / asked if asked else 0.0),
            comparison=None if case.rates.measured else "at most: the server does not count them",
            numbers={"sent": sent, "queries": asked},
            series=refs,
        ),
    ]
    if not case.failed:
        return found
    found.append(
        Evidence(
            id="failed_over_limit",
            statement="Failed or retried queries that were sent while the rate was at the limit",
            value=f"{case.failed_over:,.0f} of {case.failed:,.0f}",
            comparison=f"by chance: {say.percent(float((~rest).mean()))}",
            numbers={"hits": case.failed_over, "of": case.failed, "chance_ratio": float((~rest).mean())},
            series=failures,
        )
    )
    if rest.any():
        found.append(
            Evidence(
                id="failed_under_limit",
                statement="Share of queries that failed or waited for a retry: at the limit / below it",
                value=f"{say.percent(case.ratio(case.over))} / {say.percent(case.ratio(rest))}",
                numbers={"over_ratio": case.ratio(case.over), "under_ratio": case.ratio(rest)},
                series=failures,
            )
        )
    at = case.over & (case.rates.failed > 0)
    if at.any():
        answered = float(np.median(np.maximum(0.0, case.sent - case.rates.failed)[at]))
        found.append(
            Evidence(
                id="answered",
                statement="Answers/s while queries failed",
                value=f"{answered:,.0f}",
                comparison=f"limit: {case.limit_per_s:,.0f}",
                numbers={"answered_per_s": answered, "limit_per_s": case.limit_per_s},
                series=refs,
            )
        )
    return found
