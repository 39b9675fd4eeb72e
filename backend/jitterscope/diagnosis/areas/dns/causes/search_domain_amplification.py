"""Search domains and ndots turn every lookup into several queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.areas.dns.causes import _report as report
from jitterscope.diagnosis.areas.dns.fixes import autopath, negative_cache, search_domains
from jitterscope.diagnosis.areas.dns.readings import names as dns_names
from jitterscope.diagnosis.areas.dns.readings.amplification import (
    Amplification,
    Chain,
    amplification,
    measure,
    per_lookup,
)
from jitterscope.diagnosis.areas.dns.readings.nxdomain import NEEDS, NxdomainCount, counted
from jitterscope.diagnosis.areas.dns.readings.path import path
from jitterscope.diagnosis.areas.dns.readings.upstream_trouble import trouble_of_upstream
from jitterscope.diagnosis.core import impact, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound, Severity
from jitterscope.diagnosis.core.severity import SLOW_US, harm_of, severity
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "dns/search_domain_amplification"
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


def _few(count: NxdomainCount) -> bool:
    return count.is_few(LEAST_WASTED, 0.5 * LEAST_RATIO)


def _many_denied(snapshot: Snapshot) -> bool:
    return not _few(counted(snapshot))


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := servers.missing(snapshot, NEEDS):
        return report.not_enough(ID, gone, snapshot)
    count = counted(snapshot)
    numbers = {"queries": count.queries, "nxdomain": count.nxdomain}
    if _few(count):
        return NotFound(cause=ID, reason=count.too_few, numbers=numbers)
    spans = dns_names.of(snapshot)
    if not spans:
        return report.not_enough(ID, ["dns.names"], snapshot)
    found = amplification(snapshot)
    numbers |= {"wasted": float(found.wasted), "nonexistent": float(found.nonexistent)}
    if found.seen < LEAST_WASTED or found.wasted < LEAST_RATIO * found.queries:
        return NotFound(cause=ID, reason=_why_not(found), numbers=numbers)
    if (front := _judged_in_front(snapshot)) is not None:
        return NotFound(
            cause=ID,
            reason=f"The {found.wasted:,} wasted queries come through {front} and are attributed to that server.",
            numbers=numbers,
        )
    return _found(snapshot, spans, found)


def _why_not(found: Amplification) -> str:
    if found.nonexistent > 2 * found.wasted:
        return (
            f"{found.nonexistent:,} queries were for names that do not exist, with or without a search domain; only "
            f"{found.wasted:,} of {found.queries:,} were wasted steps of a lookup that was answered."
        )
    return f"Only {found.wasted:,} of {found.queries:,} queries were wasted steps of a lookup that was answered."


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
    """Lookups that wait over 20 ms for queries that are denied, and those whose extra queries stay unanswered."""
    slow = [chain for chain in chains if chain.added_us > SLOW_US]
    lookups = sum(chain.lookups for chain in chains)
    return Delay(
        lookups=lookups,
        slow=sum(chain.lookups for chain in slow),
        lost=sum(chain.failed for chain in chains),
        worst_us=max((chain.added_us for chain in slow), default=0.0),
        mean_us=sum(chain.wasted_us for chain in chains) / lookups if lookups else 0.0,
    )


def _by_harm(cost: Delay) -> Severity | None:
    return severity(cost.slow, cost.lookups, cost.worst_us / 1000 if cost.slow else None, cost.lost)


def _found(snapshot: Snapshot, spans: list[dns_names.NameSpan], found: Amplification) -> Found:
    low, high = report.extent(snapshot, spans)
    cost, load = delay(found.chains), report.cpu_load(snapshot)
    share = found.wasted / max(1, found.queries)
    blamed = trouble_of_upstream(snapshot) if cost.slow or cost.lost else None
    by_harm = _by_harm(cost) if blamed is None else None
    level = by_harm or ("info" if load >= BUSY and blamed is None else None)
    return Found(
        cause=ID,
        score=round(min(1.0, 0.25 + 0.35 * share + (0.15 + 0.1 * min(1.0, cost.slow / 100)) * (level is not None)), 4),
        confidence=_confidence(found),
        severity=level,
        # A busy CPU is trouble, but no lookup is late for it. How long names took comes with them.
        harm=harm_of(by_harm, known=True),
        title=f"Search domains turn each lookup at {say.who(snapshot)} into {found.queries_per_name:.1f} queries; "
        f"{say.percent(share)} are wasted",
        summary=_summary(found, cost, load if level is not None else 0.0, blamed),
        onset_us=low,
        last_us=high,
        impact=impact.of_servers(snapshot),
        evidence=_evidence(snapshot, found, cost, low, high),
    )


def _summary(found: Amplification, cost: Delay, load: float, blamed: str | None) -> str:
    first = found.clients[0]
    text = (
        f"{found.wasted:,} of {found.queries:,} queries asked for a name with a search domain appended and got "
        f"NXDOMAIN before the lookup succeeded with another suffix or none. {search_domains.label(first)} sends "
        f"{first.queries_per_lookup:.1f} queries for each such lookup. A and AAAA count as separate lookups."
    )
    if blamed is not None:
        return f"{text} The current delay has another cause: {blamed}."
    if cost.slow or cost.lost:
        return f"{text} The wasted queries add {say.ms(cost.mean_us)} to a lookup."
    return f"{text} The server uses {say.percent(load)} of its CPU limit." if load >= BUSY else text


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
            statement="Queries per lookup of one name and type, all lookups",
            value=f"{found.queries_per_name:.2f}",
            comparison=f"{per_lookup(chains):.1f} for names found through the search list, "
            f"{say.count(len(by_name), 'name')} listed; 1 for a full name with a trailing dot",
            numbers={
                "queries_per_lookup": found.queries_per_name,
                "searched_queries_per_lookup": per_lookup(chains),
                "lookups": float(sum(c.lookups for c in chains)),
            },
            series=refs,
        ),
        Evidence(
            id="wasted",
            statement="Wasted queries: NXDOMAIN on the way to a name that exists",
            value=f"{found.wasted:,} of {found.queries:,}",
            comparison=f"{found.wasted / seconds:,.0f}/s; "
            f"{say.percent(found.listed / max(1, found.queries))} of the queries are in the table of names",
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
                "matching_resolv_conf": f"a matching resolv.conf of this node, ndots:{first.search.ndots}",
            }.get(first.search.source, "inferred from its queries; its resolv.conf is not known"),
            numbers={"domains": float(len(first.search.domains)), "ndots": float(first.search.ndots or 0)},
        ),
        Evidence(
            id="clients",
            statement="Clients with the most wasted queries (queries per lookup)",
            value=", ".join(f"{search_domains.label(use)} {use.queries_per_lookup:.1f} ×" for use in users),
            numbers={f"wasted_{place}": float(use.wasted) for place, use in enumerate(users, 1)},
        ),
        Evidence(
            id="names",
            statement="Most expensive names (queries per lookup)",
            value=", ".join(f"{name} {per_lookup(parts):.1f} ×" for name, parts in names),
            numbers={f"wasted_{i}": float(sum(c.wasted for c in parts)) for i, (_, parts) in enumerate(names, 1)},
        ),
        Evidence(
            id="added_time",
            statement="Time that wasted queries add to a lookup, mean",
            value=say.ms(cost.mean_us),
            comparison=f"{cost.slow:,} of {cost.lookups:,} lookups wait over 20 ms for them",
            numbers={"added_us": cost.mean_us, "slow_lookups": float(cost.slow), "failed": float(cost.lost)},
        ),
        Evidence(
            id="names_that_do_not_exist",
            statement="NXDOMAIN for names that do not exist, with or without a search domain",
            value=f"{found.nonexistent:,} of {found.nxdomain:,}",
            comparison=say.percent(denied_elsewhere),
            numbers={"nonexistent": float(found.nonexistent), "of": float(found.nxdomain)},
        ),
    ]


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    use = amplification(snapshot)
    if not use.chains:
        return []
    proposals = [
        search_domains.trailing_dot(use),
        search_domains.ndots(snapshot, use),
        autopath.propose(snapshot, use),
        negative_cache.propose(snapshot, "The cache then answers the wasted queries: their number stays the same, but "
                               "none goes upstream."),
    ]  # fmt: skip
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Search domains multiply the queries",
    summary="Programs look up names with fewer dots than ndots, so the resolver tries every search domain, and gets "
    "NXDOMAIN, before it tries the name itself.",
    mechanism="A stub resolver appends each domain of resolv.conf's `search` to a name with fewer dots than `ndots` "
    "and tries the name itself last. Kubernetes sets `ndots:5` and three search domains, GKE six: "
    "`api.example.com` costs 7 queries per type. Each of them can be slow or fail, and all of them are load. Found "
    "where the same client gets NXDOMAIN for a name and then, with another suffix or none, an answer. Names that do "
    "not exist do not count as amplification.",
    needs=NEEDS,
    rivals=("dns/no_negative_cache",),
    detect=detect,
    propose=propose,
    false_positives=(
        "A client that looks up a name under several domains on purpose, as some service discovery does.",
        "Behind an address that many pods share, the queries of one lookup can come from two of them.",
    ),
    references=(
        "https://man7.org/linux/man-pages/man5/resolv.conf.5.html",
        "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/",
        "https://github.com/kubernetes/kubernetes/issues/33554#issuecomment-266251056",
    ),
    signs=Signs(NEEDS, _many_denied),
)
