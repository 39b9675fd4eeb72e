"""GET /dns/names and /dns/clients: the most queried names, and the effect of search domains on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal

from jitterscope.diagnosis.areas.dns.readings.amplification import Amplification, ClientUse, best_ndots, per_lookup
from jitterscope.diagnosis.areas.dns.readings.names import NameRow, NameSpan, merged, total_queries, total_seconds
from jitterscope.dns.schemas import DnsAdvice, DnsClient, DnsLookup, DnsName, DnsWorkload

Order = Literal["queries", "nxdomain", "time"]
MAX_LOOKUPS = 5
MAX_WORKLOADS = 5
_COSTS: dict[Order, Callable[[DnsName], float]] = {
    "queries": lambda item: item.queries,
    "nxdomain": lambda item: item.nxdomain_ratio * item.queries,
    "time": lambda item: item.total_us,
}


def costliest(spans: Sequence[NameSpan], order: Order, limit: int) -> list[DnsName]:
    """Names with their cost, all clients together."""
    seconds, total = total_seconds(spans), total_queries(spans)
    groups: dict[tuple[str, str], list[NameRow]] = defaultdict(list)
    for row in merged(spans):
        groups[row.name, row.type].append(row)
    items = [_name(name, kind, rows, total, seconds) for (name, kind), rows in groups.items()]
    cost = _COSTS[order]
    return sorted(items, key=lambda item: (-cost(item), item.name, item.type))[:limit]


def _name(name: str, kind: str, rows: Sequence[NameRow], total: int, seconds: float) -> DnsName:
    queries = sum(row.queries for row in rows)
    total_us = sum(row.latency_sum_us for row in rows)
    return DnsName(
        name=name,
        type=kind,
        queries=queries,
        queries_per_s=queries / seconds if seconds else 0.0,
        share_ratio=queries / total if total else 0.0,
        nxdomain_ratio=sum(row.nxdomain for row in rows) / queries,
        servfail_ratio=sum(row.servfail for row in rows) / queries,
        mean_us=total_us / queries,
        total_us=total_us,
        clients=len({row.client for row in rows}),
    )


def clients(found: Amplification, limit: int) -> list[DnsClient]:
    """Clients that waste most first."""
    return [_client(use) for use in found.clients[:limit]]


def overall(found: Amplification) -> float:
    """Queries per lookup for the names that took more than one."""
    return per_lookup(found.chains)


def _client(use: ClientUse) -> DnsClient:
    advice = best_ndots(use) if use.chains else None
    return DnsClient(
        address=use.client,
        workloads=[DnsWorkload(id=view.id, name=view.name) for view in use.search.workloads[:MAX_WORKLOADS]],
        queries=use.queries,
        lookups=use.lookups,
        wasted=use.wasted,
        queries_per_lookup=use.queries_per_lookup,
        search=list(use.search.domains),
        ndots=use.search.ndots,
        source=use.search.source,
        costliest=[
            DnsLookup(
                name=chain.name,
                type=chain.type,
                answer=chain.answer,
                lookups=chain.lookups,
                wasted=chain.wasted,
                queries_per_lookup=chain.queries_per_lookup,
                added_us=chain.added_us,
            )
            for chain in sorted(use.chains, key=lambda chain: -chain.wasted)[:MAX_LOOKUPS]
        ],
        best_ndots=None if advice is None else DnsAdvice(ndots=advice[0], queries_per_lookup=advice[1]),
    )
