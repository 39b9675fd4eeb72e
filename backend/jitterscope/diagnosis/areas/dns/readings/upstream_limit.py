"""A server at the rate limit of its upstream: the rate sent there, when it exceeds the limit, and what fails when."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.dns.readings import names as dns_names
from jitterscope.diagnosis.areas.dns.readings.path import path
from jitterscope.diagnosis.areas.dns.readings.slowest import SIGNS as LATE_SIGNS
from jitterscope.diagnosis.areas.dns.readings.slowest import answers_over
from jitterscope.diagnosis.areas.dns.readings.upstream_rate import LATE_US, Rates, rates
from jitterscope.diagnosis.areas.dns.readings.upstream_time import out_of_connections
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signs import by_second, total
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate
from jitterscope.diagnosis.programs.dns_upstreams import Upstream, upstreams
from jitterscope.diagnosis.programs.resolver_limits import Limit, limit_of

# Share of the limit: from NEAR on there is a risk; from OVER on it causes failures (the count is below what is sent).
NEAR, OVER = 0.8, 0.9
# A dropped query is retried for up to 5 s, so the pressure outlasts the burst.
RETRIED_S = 6
LEAST_FAILED = 10


@dataclass(frozen=True, slots=True)
class RateCase:
    """Rates towards the limited upstream, one value per second; `limit_per_s` is the published or observed limit."""

    rates: Rates
    sent: FloatArray
    over: BoolArray
    limit_per_s: float
    limit: Limit | None
    upstreams: tuple[Upstream, ...]

    @property
    def name(self) -> str:
        address = self.upstreams[0].address
        return f"{self.limit.operator} ({address})" if self.limit is not None else address

    @property
    def failed_over(self) -> float:
        return float(self.rates.failed[dilate(self.over, 0, RETRIED_S)].sum())

    @property
    def failed(self) -> float:
        return float(self.rates.failed.sum())

    def ratio(self, seconds: BoolArray) -> float:
        sent = float(self.rates.sent[seconds].sum())
        return float(self.rates.failed[seconds].sum()) / sent if sent else 0.0


@dataclass(frozen=True, slots=True)
class RateLimited:
    """`hurts`: queries fail because of it; otherwise the rate only comes near the limit."""

    case: RateCase
    hurts: bool


_FAILURES = ("dns_servfail", "dns_refused", "dns_timeouts")
SIGNS = (*LATE_SIGNS, *_FAILURES)


def may_be_limited(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false if hardly anything fails, at a rate that is far from any published limit."""
    limits = [limit_of(snapshot, one) for view in snapshot.dns_servers for one in upstreams(view)]
    failed = sum(total(snapshot.dns_servers, name) for name in _FAILURES)
    late = sum(answers_over(snapshot, server, LATE_US) for server in snapshot.dns_servers)
    if limits and failed + late >= LEAST_FAILED:
        return True
    least = min((limit.per_s for limit in limits if limit is not None), default=math.inf)
    asked = sum((by_second(snapshot, view, "dns_queries") for view in snapshot.dns_servers), np.zeros(1))
    return busiest(asked) >= NEAR * least


@reading
def rate_limited(snapshot: Snapshot) -> RateLimited | WhyNot:
    """Whether the queries sent on reach the limit of an upstream, and fail there and only there."""
    found = rates(snapshot)
    asked = [(upstream, limit_of(snapshot, upstream)) for view in snapshot.dns_servers for upstream in upstreams(view)]
    if found is None or not asked:
        queries = float(np.nansum(servers.summed(snapshot, "dns_queries")))
        if found is not None and any(view.fact("dns.upstreams") == "[]" for view in snapshot.dns_servers):
            return WhyNot(reason=f"The server forwards 0 of its {queries:,.0f} queries.")
        return WhyNot("", missing=["dns.upstreams"])
    known = [(upstream, limit) for upstream, limit in asked if limit is not None]
    if known:
        limit = min((limit for _, limit in known), key=lambda item: item.per_s)
        limited = tuple(upstream for upstream, other in known if other is limit)
        share = share_of(snapshot, [upstream for upstream, _ in asked], limited)
        if share is None:
            return WhyNot("", missing=["dns.names"])
        sent = found.sent * share
        case = RateCase(found, sent, sent >= OVER * limit.per_s, limit.per_s, limit, limited)
        return _judge(case)
    if (full := _out_of_connections(snapshot)) is not None:
        return full
    observed = observed_limit(found)
    if observed is None:
        return WhyNot(
            reason=f"{found.failed.sum():,.0f} failures at up to {busiest(found.sent):,.0f} queries/s sent upstream. "
            "No upstream has a published limit, and answers/s do not level off at one rate.",
            numbers={"failed": float(found.failed.sum()), "peak_per_s": busiest(found.sent)},
        )
    every = tuple(upstream for upstream, _ in asked)
    return _judge(RateCase(found, found.sent, found.sent >= 1.05 * observed, observed, None, every))


def _out_of_connections(snapshot: Snapshot) -> WhyNot | None:
    """An upstream on this node that accepts no further connections also stops answering at a certain rate."""
    graph = path(snapshot)
    for server in snapshot.dns_servers:
        for edge in graph.upstreams_of(server.id):
            target = graph.view(edge.target)
            if target is not None and (ticks := out_of_connections(snapshot, target)):
                return WhyNot(
                    reason=f"{edge.address}:{edge.port} is out of connections: some waited in the accept queue for "
                    f"{say.seconds(ticks * snapshot.step_us)} at a stretch.",
                    numbers={"backlog_ticks": float(ticks)},
                )
    return None


def _judge(case: RateCase) -> RateLimited | WhyNot:
    peak = busiest(case.sent)
    numbers = {
        "failed": case.failed,
        "failed_over": case.failed_over,
        "peak_per_s": peak,
        "limit_per_s": case.limit_per_s,
    }
    rest = ~dilate(case.over, 0, RETRIED_S)
    if case.failed < LEAST_FAILED and not case.rates.measured and peak >= NEAR * case.limit_per_s:
        return WhyNot("", missing=["coredns_forward_requests"])
    if case.failed < LEAST_FAILED:
        if peak >= NEAR * case.limit_per_s:
            return RateLimited(case, hurts=False)
        return WhyNot(
            reason=f"At most {peak:,.0f} queries/s go to {case.name}, which answers {case.limit_per_s:,.0f}.",
            numbers=numbers,
        )
    if not case.over.any():
        return WhyNot(
            reason=f"{case.failed:,.0f} queries failed at no more than {peak:,.0f}/s, below the limit of "
            f"{case.limit_per_s:,.0f}/s of {case.name}{_others(case)}",
            numbers=numbers,
        )
    if case.failed_over < 0.8 * case.failed or (rest.any() and case.ratio(rest) > 0.2 * case.ratio(case.over)):
        return WhyNot(
            reason=f"{case.failed - case.failed_over:,.0f} of {case.failed:,.0f} failures came while the rate was "
            f"below the limit of {case.limit_per_s:,.0f}/s.",
            numbers=numbers,
        )
    excess = float(np.maximum(0.0, case.sent - case.limit_per_s)[case.over].sum())
    if not rest.any() and case.failed_over > 3 * excess + LEAST_FAILED:
        return WhyNot(
            reason=f"{case.failed_over:,.0f} queries failed, but only {excess:,.0f} were above what {case.name} "
            "answers.",
            numbers=numbers | {"excess": excess},
        )
    return RateLimited(case, hurts=True)


def _others(case: RateCase) -> str:
    """What this node cannot see: other clients behind the same address."""
    if case.limit is None or case.limit.counted_by != "public IP address":
        return "."
    return "; other nodes behind the same public address share the limit, and this node does not see them."


def share_of(snapshot: Snapshot, asked: list[Upstream], limited: tuple[Upstream, ...]) -> float | None:
    """Share of the forwarded queries that goes to the limited upstreams, 0..1; None: several zones and no names.

    CoreDNS and dnsmasq spread a zone over its upstreams; the addresses of one operator count together.
    """
    zones = {upstream.zone for upstream in asked}

    def within(zone: str) -> float:
        of_zone = {upstream.endpoint for upstream in asked if upstream.zone == zone}
        return len(of_zone & {upstream.endpoint for upstream in limited}) / len(of_zone)

    if len(zones) == 1:
        return within(next(iter(zones)))
    spans = dns_names.of(snapshot)
    counts = dict.fromkeys(zones, 0)
    for row in dns_names.merged(spans):
        fitting = [zone for zone in zones if zone == "." or row.name == zone or row.name.endswith("." + zone)]
        if fitting:
            counts[max(fitting, key=lambda zone: (zone != ".", len(zone)))] += row.queries
    total = sum(counts.values())
    return sum(within(zone) * count for zone, count in counts.items()) / total if total else None


def observed_limit(found: Rates) -> float | None:
    """An unpublished limit: failures only in seconds in which the answers stay at one rate, as quick as ever.

    Queries that nearly all arrive within one tick show no rate: even the shortest queue drops them like that.
    """
    ratio = found.failed / np.maximum(found.sent, 1.0)
    # Queries of the last seconds may still be waiting or retried: how many of them fail is not known yet.
    settled = np.arange(len(ratio)) < len(ratio) - RETRIED_S
    over, under = (ratio >= 0.05) & (found.sent >= 20) & settled, (ratio < 0.01) & settled
    if over.sum() < 3 or under.sum() < 3 or found.failed.sum() < 50:
        return None
    answers = found.answered[over]
    level = float(np.median(answers))
    spread = float(np.percentile(answers, 90) - np.percentile(answers, 10))
    asked_over, asked_under = float(np.median(found.sent[over])), float(np.percentile(found.sent[under], 95))
    quick = np.nanmedian(found.quick[over]) if np.isfinite(found.quick[over]).any() else np.nan
    usual = np.nanmedian(found.quick[under]) if np.isfinite(found.quick[under]).any() else np.nan
    flat = spread <= 0.25 * level and asked_over >= 1.2 * level and asked_under <= 1.1 * level
    spread_out = float(np.median(found.densest_ratio[over])) <= 0.5
    return level if flat and spread_out and quick <= 2 * usual + 5_000 else None


def busiest(sent: FloatArray) -> float:
    """Highest mean over two seconds: resolvers let short bursts through."""
    return float(np.convolve(sent, [0.5, 0.5], "valid").max()) if len(sent) > 1 else float(sent.max(initial=0.0))
