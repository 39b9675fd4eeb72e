"""A server does not cache that a name does not exist, and asks for it again each time."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.fixes import negative_cache
from jitterscope.diagnosis.areas.dns.readings import names as dns_names
from jitterscope.diagnosis.areas.dns.readings.denials import Denials, denials
from jitterscope.diagnosis.areas.dns.readings.nxdomain import NEEDS, NxdomainCount, counted
from jitterscope.diagnosis.areas.dns.readings.path import path
from jitterscope.diagnosis.areas.dns.readings.upstream_trouble import trouble_of_upstream
from jitterscope.diagnosis.core import impact, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.severity import harm_of, severity
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

ID = "dns/no_negative_cache"
LEAST_REPEATED, LEAST_RATIO = 30, 0.2


def _few(count: NxdomainCount) -> bool:
    return count.is_few(LEAST_REPEATED, LEAST_RATIO)


def _many_denied(snapshot: Snapshot) -> bool:
    return not _few(counted(snapshot))


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := servers.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    count = counted(snapshot)
    numbers = {"queries": count.queries, "nxdomain": count.nxdomain}
    if _few(count):
        return NotFound(cause=ID, reason=count.too_few, numbers=numbers)
    told = {view.fact("dns.negative_cache") for view in snapshot.dns_servers}
    if told == {"yes"}:
        return NotFound(
            cause=ID,
            reason="The server's settings cache negative answers. "
            f"{count.nxdomain:,.0f} of {count.queries:,.0f} queries were answered NXDOMAIN.",
            numbers=numbers,
        )
    spans = dns_names.of(snapshot)
    if not spans:
        return report.not_enough(ID, ["dns.names"], snapshot)
    found = denials(snapshot)
    numbers |= {"repeated": float(found.repeated), "listed": float(found.total)}
    if found.repeated_short < LEAST_REPEATED or found.repeated_short < LEAST_RATIO * count.queries:
        return NotFound(
            cause=ID,
            reason=f"Only {found.repeated_short:,} of {count.nxdomain:,.0f} negative answers repeated, within 5 s, a "
            "name that the upstream has to answer.",
            numbers=numbers,
        )
    passed = _passed_on(snapshot)
    if "no" in told:
        return _found(snapshot, spans, found, passed, "high")
    if passed is None:
        return report.not_enough(ID, ["dns.negative_cache"], snapshot)
    if passed < 0.5:
        return NotFound(
            cause=ID,
            reason=f"Only {say.percent(passed)} of the NXDOMAIN queries reached the upstream: negative answers are "
            "cached.",
            numbers=numbers | {"passed_on_ratio": passed},
        )
    return _found(snapshot, spans, found, passed, "medium")


def _passed_on(snapshot: Snapshot) -> float | None:
    """Share of the denied queries that the next server denied too, 0..1; None: nobody counted there."""
    graph = path(snapshot)
    behind = {edge.target for server in snapshot.dns_servers for edge in graph.upstreams_of(server.id)}
    views = [view for target in sorted(t for t in behind if t is not None) if (view := graph.view(target)) is not None]
    known = [view for view in views if np.isfinite(_denials(view)).any()]
    here = float(np.nansum(servers.summed(snapshot, "dns_nxdomain")))
    if not known or here <= 0:
        return None
    return min(1.0, sum(float(np.nansum(_denials(view))) for view in known) / here)


def _denials(view: ResourceView) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(view.series.get("dns_nxdomain", np.full(1, np.nan)), dtype=np.float64)


def _found(
    snapshot: Snapshot, spans: list[dns_names.NameSpan], found: Denials, passed: float | None, confidence: Confidence
) -> Found:
    low, high = report.extent(snapshot, spans)
    queries = dns_names.total_queries(spans)
    blamed = trouble_of_upstream(snapshot) if found.slow else None
    level = severity(found.slow, queries, found.worst_us / 1000) if found.slow and blamed is None else None
    share = found.repeated / max(1, queries)
    name = say.who(snapshot)
    late = f" and each takes {say.ms(found.mean_us)}" if level is not None else ""
    return Found(
        cause=ID,
        score=round(min(1.0, 0.2 + 0.35 * share + (0.2 + 0.1 * min(1.0, found.slow / 100)) * (level is not None)), 4),
        confidence=confidence,
        severity=level,
        # How long names took comes with them.
        harm=harm_of(level, known=True),
        title=f"{name} does not cache NXDOMAIN: {say.percent(share)} of its queries repeat one{late}",
        summary=f"{found.total:,} of {queries:,} queries were answered NXDOMAIN, {found.repeated_short:,} of these "
        "within 5 s of a negative answer for the same name. A cache would answer them. Here each goes to the "
        "upstream and waits for it."
        + (f" The current delay has a separate cause: {blamed}." if blamed is not None else ""),
        onset_us=low,
        last_us=high,
        impact=impact.of_servers(snapshot),
        evidence=_evidence(snapshot, spans, found, passed, low, high),
    )


def _evidence(
    snapshot: Snapshot, spans: list[dns_names.NameSpan], found: Denials, passed: float | None, low: int, high: int
) -> list[Evidence]:
    refs = report.refs(snapshot, low, high, "dns_queries", "dns_nxdomain")
    seconds = max(dns_names.total_seconds(spans), 0.1)
    evidence = [
        Evidence(
            id="repeated",
            statement="NXDOMAIN answers that a cache of 5 s / 30 s would have given",
            value=f"{found.repeated_short:,} / {found.repeated:,} of {found.total:,}",
            comparison=f"{found.repeated / seconds:,.0f}/s",
            numbers={"repeated_5s": float(found.repeated_short), "repeated_30s": float(found.repeated),
                     "of": float(found.total)},
            series=refs,
        ),
        Evidence(
            id="names",
            statement="Most frequent names that do not exist",
            value=", ".join(f"{name} {times:,} ×" for name, times in found.names),
            numbers={f"denied_{place}": float(times) for place, (_, times) in enumerate(found.names, 1)},
        ),
        Evidence(
            id="denial_time",
            statement="Latency of negative answers, mean",
            value=say.ms(found.mean_us),
            comparison=f"{found.slow:,} of {found.total:,} over 20 ms",
            numbers={"denial_us": found.mean_us, "slow": float(found.slow)},
        ),
    ]  # fmt: skip
    server = negative_cache.server_without(snapshot)
    if server is not None:
        arguments = (server.fact("dns.arguments") or "").split()
        switch = next((word for word in arguments if word in ("--no-negcache", "-N")), "no cache for negative answers")
        evidence.append(
            Evidence(id="setting", statement="The server's settings", value=switch, numbers={"negative_cache": 0.0})
        )
    if passed is not None:
        evidence.append(
            Evidence(
                id="passed_on",
                statement="NXDOMAIN answers that came from the upstream",
                value=say.percent(passed),
                numbers={"passed_on_ratio": passed},
            )
        )
    return evidence


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    denied = denials(snapshot)
    share = denied.repeated / max(1, denied.total)
    effect = f"{say.percent(share)} of the NXDOMAIN queries repeat within 30 s and are then answered from the cache."
    server = negative_cache.server_without(snapshot) or next(iter(snapshot.dns_servers), None)
    proposals = [
        negative_cache.propose(snapshot, effect, server),
        negative_cache.elsewhere(snapshot, found),
        negative_cache.stop_asking(denied.names),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Negative answers are not cached",
    summary="The server queries its upstream each time a client looks up a name that does not exist.",
    mechanism="A negative answer (NXDOMAIN) carries an SOA record that says how long it can be cached (RFC 2308). "
    "kube-dns starts dnsmasq with --no-negcache, and a CoreDNS without `cache` keeps nothing, so every NXDOMAIN step "
    "of a search list goes to the upstream. Found where the same names get NXDOMAIN repeatedly within seconds and the "
    "settings, or the upstream's own counts, show that they are not cached.",
    needs=NEEDS,
    rivals=("dns/search_domain_amplification",),
    detect=detect,
    propose=propose,
    false_positives=(
        "An upstream whose negative answers carry no SOA record: they must not be cached, whatever the settings.",
    ),
    references=(
        "https://www.rfc-editor.org/rfc/rfc2308",
        "https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html",
        "https://coredns.io/plugins/cache/",
    ),
    signs=Signs(NEEDS, _many_denied),
)
