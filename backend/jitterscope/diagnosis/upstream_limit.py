"""A server at the limit of its upstream: which rate goes there, when it is over, what fails when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis import dns_names
from jitterscope.diagnosis.dns_upstreams import Upstream
from jitterscope.diagnosis.resolver_limits import Limit
from jitterscope.diagnosis.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.stats import BoolArray, dilate
from jitterscope.diagnosis.upstream_rate import Rates

# Of the limit: from here on it is a risk; from there on failures are its doing (what is counted is less than is sent).
NEAR, OVER = 0.8, 0.9
# A query that is dropped is tried again for up to 5 s, so the pressure outlasts the burst.
RETRIED_S = 6
LEAST_FAILED = 10


@dataclass(frozen=True, slots=True)
class RateCase:
    """Rates towards the limited upstream, one value a second; `limit_per_s` is the published or the observed one."""

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


def share_of(snapshot: Snapshot, asked: list[Upstream], limited: tuple[Upstream, ...]) -> float | None:
    """Share of what is sent on that goes to the limited upstreams, 0..1; None: there are several zones and no names.

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
    """A limit that nobody published: failures only in seconds in which the answers stay at one rate, as quick as "
    "ever."""
    ratio = found.failed / np.maximum(found.sent, 1.0)
    over, under = (ratio >= 0.05) & (found.sent >= 20), ratio < 0.01
    if over.sum() < 3 or under.sum() < 3 or found.failed.sum() < 50:
        return None
    answers = found.answered[over]
    level = float(np.median(answers))
    spread = float(np.percentile(answers, 90) - np.percentile(answers, 10))
    asked_over, asked_under = float(np.median(found.sent[over])), float(np.percentile(found.sent[under], 95))
    quick = np.nanmedian(found.quick[over]) if np.isfinite(found.quick[over]).any() else np.nan
    usual = np.nanmedian(found.quick[under]) if np.isfinite(found.quick[under]).any() else np.nan
    flat = spread <= 0.25 * level and asked_over >= 1.2 * level and asked_under <= 1.1 * level
    return level if flat and quick <= 2 * usual + 5_000 else None


def busiest(sent: FloatArray) -> float:
    """Highest mean over two seconds: resolvers let short bursts through."""
    return float(np.convolve(sent, [0.5, 0.5], "valid").max()) if len(sent) > 1 else float(sent.max(initial=0.0))
