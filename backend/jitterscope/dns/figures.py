"""Figures of a station, or of some of its clients, over a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.path import figures, quantiles
from jitterscope.diagnosis.core.snapshot import Distribution, ResourceView, Snapshot
from jitterscope.dns.hops import Station


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of some clients together; None: not measured."""

    queries_per_s: float | None
    p50_us: float | None
    p99_us: float | None
    slow_ratio: float | None
    error_ratio: float | None
    nxdomain_ratio: float | None
    timeouts: int | None


class Figures(TypedDict):
    queries_per_s: float | None
    p50_us: float | None
    p99_us: float | None
    max_us: float | None
    slow_ratio: float | None
    error_ratio: float | None
    nxdomain_ratio: float | None
    timeouts: int | None
    error_lines: int
    concurrency: float | None
    connections: float | None
    idle: float | None
    backlog: float | None
    dropped: float | None
    children: float | None
    child_limit: int | None
    upstream_connections: float | None
    upstream_idle: float | None
    new_connections_per_s: float | None
    cache_hit_ratio: float | None
    forward_mean_us: float | None
    rejected: int | None


def rates(snapshot: Snapshot, views: Sequence[ResourceView]) -> Rates:
    """The rates of one or several clients."""
    queries = _sum(views, "dns_queries")
    seconds = max(
        (int(np.isfinite(view.series["dns_queries"]).sum()) for view in views if "dns_queries" in view.series),
        default=0,
    ) * (snapshot.step_us / 1e6)  # fmt: skip
    timeouts = _sum(views, "dns_timeouts")
    parts = [part for view in views if (part := view.distributions.get("dns_latency_us")) is not None]
    p50, p99 = (None, None) if not parts else quantiles(_carrying(views[0], parts))
    return Rates(
        queries_per_s=queries / seconds if queries is not None and seconds else None,
        p50_us=p50,
        p99_us=p99,
        slow_ratio=_share(_sum(views, "dns_slow"), queries),
        error_ratio=_share(_errors(views), queries),
        nxdomain_ratio=_share(_sum(views, "dns_nxdomain"), queries),
        timeouts=None if timeouts is None else int(timeouts),
    )


def station_figures(snapshot: Snapshot, station: Station) -> Figures:
    """All displayed figures of a server."""
    whole = station.whole
    own = figures(snapshot, whole)
    seen = rates(snapshot, [whole])
    hits, misses = _counted(whole, "cache_hits"), _counted(whole, "cache_misses")
    forwarded, took_us = _sum([whole], "coredns_forward_requests"), _sum([whole], "coredns_forward_time_us")
    limit = whole.fact("dns.child_limit")
    rejected = _sum([whole], "coredns_max_concurrent_rejects")
    return Figures(
        queries_per_s=seen.queries_per_s,
        p50_us=own.p50_us,
        p99_us=own.p99_us,
        max_us=own.max_us,
        slow_ratio=seen.slow_ratio,
        error_ratio=seen.error_ratio,
        nxdomain_ratio=seen.nxdomain_ratio,
        timeouts=seen.timeouts,
        error_lines=sum(_lines(event.attributes.get("count")) for event in whole.events if event.kind == "dns.error"),
        concurrency=own.concurrency,
        connections=_most(whole, "dns_tcp_connections"),
        idle=_most(whole, "dns_tcp_idle"),
        backlog=_most(whole, "dns_accept_backlog"),
        dropped=_sum([whole], "dns_listen_drops"),
        children=None if station.process is None else _most(station.process, "process_children"),
        child_limit=int(limit) if limit is not None and limit.isdecimal() else None,
        upstream_connections=_most(whole, "dns_upstream_connections"),
        upstream_idle=_most(whole, "dns_upstream_idle"),
        new_connections_per_s=per_second(snapshot, whole, "coredns_conn_cache_misses"),
        cache_hit_ratio=None if hits is None or misses is None else _share(hits, hits + misses),
        forward_mean_us=took_us / forwarded if took_us is not None and forwarded else None,
        rejected=None if rejected is None else int(rejected),
    )


def _carrying(view: ResourceView, parts: Sequence[Distribution]) -> ResourceView:
    whole = Distribution(
        np.concatenate([part.tick for part in parts]),
        np.concatenate([part.bucket for part in parts]),
        np.concatenate([part.count for part in parts]),
    )
    return ResourceView(view.id, view.kind, view.key, view.name, distributions={"dns_latency_us": whole})


def _sum(views: Sequence[ResourceView], metric: str) -> float | None:
    arrays = [array for view in views if (array := view.series.get(metric)) is not None and np.isfinite(array).any()]
    return float(sum(np.nansum(array) for array in arrays)) if arrays else None


def _most(view: ResourceView, metric: str) -> float | None:
    array = view.series.get(metric)
    return float(np.nanmax(array)) if array is not None and np.isfinite(array).any() else None


def per_second(snapshot: Snapshot, view: ResourceView, metric: str) -> float | None:
    """The rate of a counter over the whole window."""
    array = view.series.get(metric)
    # Scraped counters have values in some ticks only; the others are missing, not zero: the rate is over the whole
    # window.
    seconds = snapshot.ticks * snapshot.step_us / 1e6
    return float(np.nansum(array)) / seconds if array is not None and np.isfinite(array).any() else None


def _counted(view: ResourceView, what: str) -> float | None:
    own = _sum([view], f"coredns_{what}")
    return own if own is not None else _sum([view], f"dnsmasq_{what}")


def _errors(views: Sequence[ResourceView]) -> float | None:
    found = [_sum(views, name) for name in ("dns_servfail", "dns_refused", "dns_timeouts")]
    return None if all(one is None for one in found) else sum(one or 0.0 for one in found)


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _lines(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 1
