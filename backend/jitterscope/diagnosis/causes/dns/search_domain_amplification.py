"""Search domains and ndots make every look-up several queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis import dns_names
from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.amplification import Amplification, Chain, measure, per_lookup
from jitterscope.diagnosis.cause import Cause
from jitterscope.diagnosis.causes.dns import _report as report
from jitterscope.diagnosis.causes.dns._borrowed import trouble_of_upstream
from jitterscope.diagnosis.dns_path import path
from jitterscope.diagnosis.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound, Severity
from jitterscope.diagnosis.fixes import autopath, negative_cache, search_domains
from jitterscope.diagnosis.severity import SLOW_US, severity
from jitterscope.diagnosis.snapshot import Snapshot

ID = "dns/search_domain_amplification"
NEEDS = ("dns_queries", "dns_nxdomain")
# Below these it is not worth a word: one search domain of a rare name, a handful of queries.
LEAST_WASTED, LEAST_RATIO = 30, 0.2
# From here on the server is near its CPU limit, and what is wasted decides.
BUSY = 0.8


@dataclass(frozen=True, slots=True)
class Delay:
    """What the denied queries cost, in the median over spans, so that one bad minute of a server is not it."""

    lookups: int
    slow: int
    lost: int
    worst_us: float
    mean_us: float


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := report.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    queries, denied = (float(np.nansum(report.summed(snapshot, name))) for name in NEEDS)
    numbers = {"queries": queries, "nxdomain": denied}
    if denied < LEAST_WASTED or denied < 0.5 * LEAST_RATIO * queries:
        return NotFound(
            cause=ID,
            reason=f"{denied:,.0f} of {queries:,.0f} queries were for names that do not exist: too few.",
            numbers=numbers,
        )
    spans = dns_names.of(snapshot)
    if not spans:
        return report.not_enough(ID, ["dns.names"], snapshot)
    found = measure(spans, snapshot.workloads)
    numbers |= {"wasted": float(found.wasted), "nonexistent": float(found.nonexistent)}
    if found.seen < LEAST_WASTED or found.wasted < LEAST_RATIO * found.queries:
        return NotFound(cause=ID, reason=_why_not(found), numbers=numbers)
    if (front := _judged_in_front(snapshot)) is not None:
        return NotFound(
            cause=ID,
            reason=f"The {found.wasted:,} wasted queries come through {front}, which the clients ask: judged there.",
            numbers=numbers,
        )
    return _found(snapshot, spans, found)


def _why_not(found: Amplification) -> str:
    if found.nonexistent > 2 * found.wasted:
        return (
            f"{found.nonexistent:,} queries were denied for names that nothing answered, with or without a search "
            f"domain; only {found.wasted:,} of {found.queries:,} were steps of a look-up that was answered."
        )
    return f"Only {found.wasted:,} of {found.queries:,} queries were denied steps of a look-up that was answered."


def _judged_in_front(snapshot: Snapshot) -> str | None:
    """The server that these queries come through, where they are wasted as well; None: clients ask here."""
    graph = path(snapshot)
    own = {server.id for server in snapshot.dns_servers}
    askers = {edge.asker for server in own for edge in graph.askers_of(server)} - own
    views = [graph.servers[asker] for asker in sorted(askers)]
    there = measure(dns_names.spans(views), snapshot.workloads)
    if there.wasted < LEAST_WASTED or there.wasted < LEAST_RATIO * there.queries:
        return None
    return views[0].fact("dns.software") or views[0].key


def delay(chains: Sequence[Chain]) -> Delay:
    """Look-ups that wait over 20 ms for queries that are denied, and those whose extra queries stay unanswered."""
    slow = [chain for chain in chains if chain.added_us > SLOW_US]
    lookups = sum(chain.lookups for chain in chains)
    return Delay(
        lookups=lookups,
        slow=sum(chain.lookups for chain in slow),
        lost=sum(chain.failed for chain in chains),
        worst_us=max((chain.added_us for chain in slow), default=0.0),
        mean_us=sum(chain.wasted_us for chain in chains) / lookups if lookups else 0.0,
    )


def _severity(cost: Delay, load: float) -> Severity | None:
    by_harm = severity(cost.slow, cost.lookups, cost.worst_us / 1000 if cost.slow else None, cost.lost)
    return by_harm or ("info" if load >= BUSY else None)


def _found(snapshot: Snapshot, spans: list[dns_names.NameSpan], found: Amplification) -> Found:
    low, high = report.extent(snapshot, spans)
    cost, load = delay(found.chains), report.cpu_load(snapshot)
    share, factor = found.wasted / max(1, found.queries), per_lookup(found.chains)
    blamed = trouble_of_upstream(snapshot) if cost.slow or cost.lost else None
    level = _severity(cost, load) if blamed is None else None
    name = say.who(snapshot)
    harm = ""
    if level is not None and (cost.slow or cost.lost):
        harm = f", and a look-up takes {say.ms(cost.mean_us)} longer"
    elif level is not None:
        harm = f", at {say.percent(load)} of its CPU limit"
    return Found(
        cause=ID,
        score=round(min(1.0, 0.25 + 0.35 * share + (0.15 + 0.1 * min(1.0, cost.slow / 100)) * (level is not None)), 4),
        confidence=_confidence(found),
        severity=level,
        title=f"Search domains make {factor:.1f} queries of a look-up: {say.percent(share)} of what {name} is asked "
        f"is in vain{harm}",
        summary=_summary(found, blamed),
        onset_us=low,
        last_us=high,
        impact=report.impact(snapshot),
        evidence=_evidence(snapshot, found, cost, low, high),
    )


def _summary(found: Amplification, blamed: str | None) -> str:
    first = found.clients[0]
    text = (
        f"{found.wasted:,} of {found.queries:,} queries asked for a name with a search domain appended, were told "
        "that it "
        f"does not exist, and the look-up then found its name elsewhere. {search_domains.label(first)} asks "
        f"{first.queries_per_lookup:.1f} queries for each such look-up. A and AAAA are counted as look-ups of their "
        "own."
    )
    return text if blamed is None else f"{text} That they are late now is another trouble: {blamed}."


def _confidence(found: Amplification) -> Confidence:
    by_file = sum(use.wasted for use in found.clients if use.search.source in ("resolv_conf", "matching_resolv_conf"))
    if by_file >= 0.5 * found.seen or len({chain.name for chain in found.chains}) >= 3:
        return "high"
    return "medium"


def _evidence(snapshot: Snapshot, found: Amplification, cost: Delay, low: int, high: int) -> list[Evidence]:
    chains, seconds = found.chains, max(found.seconds, 0.1)
    refs = report.refs(snapshot, low, high, "dns_queries", "dns_nxdomain")
    by_name: dict[str, list[Chain]] = defaultdict(list)
    for chain in chains:
        by_name[chain.name].append(chain)
    names = sorted(by_name.items(), key=lambda item: (-sum(c.wasted for c in item[1]), item[0]))[:3]
    users = [use for use in found.clients if use.wasted][:3]
    first = users[0]
    denied_elsewhere = found.nonexistent / found.nxdomain if found.nxdomain else 0.0
    return [
        Evidence(
            id="queries_per_lookup",
            statement="Queries that a look-up of one name and type takes; with the full name and a dot at its end",
            value=f"{per_lookup(chains):.1f} / 1",
            comparison=f"{sum(c.lookups for c in chains):,} look-ups of {say.count(len(by_name), 'name')}",
            numbers={"queries_per_lookup": per_lookup(chains), "lookups": float(sum(c.lookups for c in chains))},
            series=refs,
        ),
        Evidence(
            id="wasted",
            statement="Queries that were steps on the way to another name, of all queries",
            value=f"{found.wasted:,} of {found.queries:,}",
            comparison=f"{found.wasted / seconds:,.0f} a second; {say.percent(found.listed / max(1, found.queries))} "
            "of "
            "the queries are in the table of names",
            numbers={
                "wasted": float(found.wasted),
                "of": float(found.queries),
                "wasted_per_s": found.wasted / seconds,
                "listed_ratio": found.listed / max(1, found.queries),
            },
            series=refs,
        ),
        Evidence(
            id="search_list",
            statement=f"Search domains of {search_domains.label(first)}",
            value=" ".join(first.search.domains),
            comparison={
                "resolv_conf": f"its resolv.conf, ndots:{first.search.ndots}",
                "matching_resolv_conf": f"a resolv.conf of this node that fits, ndots:{first.search.ndots}",
            }.get(first.search.source, "from what it asks, as its resolv.conf is not known"),
            numbers={"domains": float(len(first.search.domains)), "ndots": float(first.search.ndots or 0)},
        ),
        Evidence(
            id="clients",
            statement="Clients that waste most, with their queries per look-up",
            value=", ".join(f"{search_domains.label(use)} {use.queries_per_lookup:.1f} ×" for use in users),
            numbers={f"wasted_{place}": float(use.wasted) for place, use in enumerate(users, 1)},
        ),
        Evidence(
            id="names",
            statement="Names that cost most, with their queries per look-up",
            value=", ".join(f"{name} {per_lookup(parts):.1f} ×" for name, parts in names),
            numbers={f"wasted_{i}": float(sum(c.wasted for c in parts)) for i, (_, parts) in enumerate(names, 1)},
        ),
        Evidence(
            id="added_time",
            statement="Time that the denied queries add to a look-up, on average",
            value=say.ms(cost.mean_us),
            comparison=f"{cost.slow:,} of {cost.lookups:,} look-ups wait over 20 ms for them",
            numbers={"added_us": cost.mean_us, "slow_lookups": float(cost.slow), "failed": float(cost.lost)},
        ),
        Evidence(
            id="names_that_do_not_exist",
            statement="Of all denied queries: those for names that nothing answered, with or without a search domain",
            value=f"{found.nonexistent:,} of {found.nxdomain:,}",
            comparison=say.percent(denied_elsewhere),
            numbers={"nonexistent": float(found.nonexistent), "of": float(found.nxdomain)},
        ),
    ]


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    use = measure(dns_names.of(snapshot), snapshot.workloads)
    if not use.chains:
        return []
    proposals = [
        search_domains.trailing_dot(use),
        search_domains.ndots(snapshot, use),
        autopath.propose(snapshot, use),
        negative_cache.propose(snapshot, "Denied steps of a look-up are then answered from memory: as many queries, "
                               "but none of them goes further."),
    ]  # fmt: skip
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Search domains multiply the queries",
    summary="Programs look up names with fewer dots than ndots, so every search domain is tried, and denied, before "
    "the name "
    "itself is asked for.",
    mechanism="A stub resolver appends each domain of resolv.conf's `search` to a name with fewer dots than `ndots` "
    "and asks "
    "for the name itself last. Kubernetes sets ndots:5 and three search domains, GKE six: `api.example.com` costs 7 "
    "queries "
    "per type. Each of them can be slow or fail, and all of them are load. Found where the same client is denied a "
    "name and "
    "then, with another ending or none, gets an answer; names that nothing answers are no amplification.",
    needs=NEEDS,
    rivals=("dns/no_negative_cache",),
    detect=detect,
    propose=propose,
    false_positives=(
        "A client that asks for a name under several domains on purpose, as some service discovery does.",
        "Behind an address that many pods share, the queries of one look-up can come from two of them.",
    ),
    references=(
        "https://man7.org/linux/man-pages/man5/resolv.conf.5.html",
        "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/",
        "https://github.com/kubernetes/kubernetes/issues/33554#issuecomment-266251056",
    ),
)
