"""Servers of a node as stations of a path: the addresses of one process are one station, with combined figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.containment import match
from jitterscope.diagnosis.areas.dns.readings.path import PathGraph
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, IntArray, Queries, ResourceView
from jitterscope.inventory.types import ResourceRow

# Counted per process or network namespace rather than address: the same at each of them.
_OF_PROCESS = ("coredns_", "dnsmasq_", "dns_upstream_", "dns_listen_overflows", "dns_latency_max_us")
MAX_MATCHED = 20_000


@dataclass(frozen=True, slots=True)
class Station:
    """A DNS server: the views of its addresses, and all of them in one. `process` and `cgroup` if known."""

    id: str
    views: tuple[ResourceView, ...]
    whole: ResourceView
    process: ResourceView | None
    cgroup: ResourceRow | None

    @property
    def server_ids(self) -> frozenset[int]:
        return frozenset(view.id for view in self.views)


@dataclass(frozen=True, slots=True)
class OwnTime:
    """Time at a station without waiting for the next one, µs, of single queries."""

    p50_us: float
    p99_us: float
    max_us: float
    queries: int


def stations(
    views: Sequence[ResourceView], processes: dict[int, ResourceView], cgroups: dict[int, ResourceRow]
) -> list[Station]:
    """`processes` and `cgroups` by the id of the server that lives in them."""
    groups: dict[tuple[str, int], list[ResourceView]] = {}
    for view in views:
        process = processes.get(view.id)
        groups.setdefault(("server", view.id) if process is None else ("process", process.id), []).append(view)
    return [
        Station(
            id=f"server-{group[0].id}",
            views=tuple(group),
            whole=_whole(group),
            process=processes.get(group[0].id),
            cgroup=cgroups.get(group[0].id),
        )
        for group in groups.values()
    ]


def _whole(views: Sequence[ResourceView]) -> ResourceView:
    """One view of several addresses; queries stay with their addresses."""
    first = views[0]
    if len(views) == 1:
        return first
    metrics = sorted({name for view in views for name in view.series})
    return ResourceView(
        id=first.id,
        kind=first.kind,
        key=first.key,
        name=first.name,
        series={name: _joined(name, [view.series[name] for view in views if name in view.series]) for name in metrics},
        distributions={
            name: _merged([view.distributions[name] for view in views if name in view.distributions])
            for name in sorted({name for view in views for name in view.distributions})
        },
        facts=tuple(fact for view in views for fact in view.facts),
        events=tuple(event for view in views for event in view.events),
    )


def _joined(name: str, arrays: Sequence[FloatArray]) -> FloatArray:
    stacked = np.stack(arrays)
    if name.startswith(_OF_PROCESS):
        return np.asarray(np.fmax.reduce(stacked, axis=0))
    return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))


def _merged(parts: Sequence[Distribution]) -> Distribution:
    return Distribution(
        np.concatenate([part.tick for part in parts]),
        np.concatenate([part.bucket for part in parts]),
        np.concatenate([part.count for part in parts]),
    )


def own_time(graph: PathGraph, station: Station) -> OwnTime | None:
    """From queries that were seen both here and at an upstream of this server; None if there were none."""
    spent: list[FloatArray] = []
    for view in station.views:
        # A server can be the upstream of several zones: its queries count once.
        for number in {edge.target for edge in graph.upstreams_of(view.id)}:
            target = graph.view(number)
            if target is None or target.queries is None or view.queries is None:
                continue
            # If only slow queries were kept, a query that only waited here would find no partner.
            spans = _common(view.queries.complete, target.queries.complete)
            outer, inner = _within(view.queries, spans), _within(target.queries, spans)
            if len(outer.sent_us) and len(inner.sent_us):
                pairs = match(outer, inner)
                spent.append(pairs.before_us + pairs.after_us)
    times = np.concatenate(spent) if spent else np.empty(0)
    if not len(times):
        return None
    p50, p99 = np.quantile(times, (0.5, 0.99))
    return OwnTime(float(p50), float(p99), float(times.max()), len(times))


def _common(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    pairs = [(max(a[0], b[0]), min(a[1], b[1])) for a in one for b in other]
    return sorted(pair for pair in pairs if pair[0] < pair[1])


def _within(queries: Queries, spans: Sequence[tuple[int, int]]) -> Queries:
    """Queries of the spans; the newest if there are too many to compare."""
    chosen = np.zeros(len(queries.sent_us), np.bool_)
    for from_us, to_us in spans:
        chosen |= (queries.sent_us >= from_us) & (queries.sent_us < to_us)
    at: IntArray = np.flatnonzero(chosen)[-MAX_MATCHED:]
    return Queries(queries.sent_us[at], queries.latency_us[at], queries.result[at])
