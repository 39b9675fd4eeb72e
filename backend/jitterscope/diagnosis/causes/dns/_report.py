"""What the causes read from names and rates share: missing signals, references, impact."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis import missing_data
from jitterscope.diagnosis.dns_names import NameSpan
from jitterscope.diagnosis.finding import Impact, NotEnoughData, SeriesRef
from jitterscope.diagnosis.impact import quantiles_ms
from jitterscope.diagnosis.signals import has, read_cpu
from jitterscope.diagnosis.snapshot import FloatArray, Snapshot

SOURCE_OF = {
    "dns_queries": "dns_capture",
    "dns_nxdomain": "dns_capture",
    "dns_queue_wait_us": "dns_path_split",
    "dns_work_us": "dns_path_split",
    "cpu_usage_us": "cgroup_cpu",
    "dns.names": "dns_names",
    "dns.negative_cache": "dns_settings",
    "dns.udp_sockets": "udp_socket",
    "dns.upstreams": "dns_settings",
    "coredns_forward_requests": "coredns_metrics",
    "coredns_forward_time_us": "coredns_metrics",
    "dns_timeouts": "dns_capture",
    "dns_inflight": "dns_capture",
    "process_children": "process_children",
    "dns_accept_backlog": "dns_tcp",
    "dns_tcp_connections": "dns_tcp",
    "dns_tcp_idle": "dns_tcp",
}


def summed(snapshot: Snapshot, metric: str) -> FloatArray:
    """A metric of all servers of the subject added up, per tick; NaN where none has a value."""
    rows = [
        np.asarray(server.series[metric], dtype=np.float64)
        for server in snapshot.dns_servers
        if metric in server.series
    ]
    if not rows:
        return np.full(snapshot.ticks, np.nan)
    stack = np.stack(rows)
    return np.where(np.isfinite(stack).any(axis=0), np.nansum(stack, axis=0), np.nan)


def missing(snapshot: Snapshot, metrics: tuple[str, ...]) -> list[str]:
    """Those that no server of the subject (for cpu_…: the subject) recorded, as series or as histogram."""
    gone = []
    for metric in metrics:
        views = (snapshot.subject, *snapshot.ancestors) if metric.startswith("cpu_") else snapshot.dns_servers
        if not any(has(view, metric) or metric in view.distributions for view in views):
            gone.append(metric)
    return gone


def not_enough(cause: str, gone: list[str], snapshot: Snapshot) -> NotEnoughData:
    """Names the sources behind what is missing, and what they need."""
    return missing_data.not_enough(cause, gone, snapshot, SOURCE_OF)


def refs(snapshot: Snapshot, low_us: int, high_us: int, *metrics: str) -> list[SeriesRef]:
    """References to those of the metrics that the subject's servers (for cpu_…: the subject) recorded."""
    views = (*snapshot.dns_servers, snapshot.subject)
    return [
        SeriesRef(resource_id=view.id, metric=metric, from_us=low_us, to_us=high_us)
        for view in views
        for metric in metrics
        if metric in view.series or metric in view.distributions
    ]


def extent(snapshot: Snapshot, spans: list[NameSpan]) -> tuple[int, int]:
    """[low, high) in µs of the spans inside the window."""
    low = max(snapshot.start_us, min(span.start_us for span in spans))
    return low, max(low + snapshot.step_us, min(snapshot.end_us, max(span.end_us for span in spans)))


def impact(snapshot: Snapshot) -> Impact:
    """Latency, slow queries and CPU of the whole window."""
    queries, slow = float(np.nansum(summed(snapshot, "dns_queries"))), float(np.nansum(summed(snapshot, "dns_slow")))
    p50, p99 = quantiles_ms(snapshot)
    peak = summed(snapshot, "dns_latency_max_us")
    cpu = read_cpu(snapshot)
    usage = cpu.usage_us[np.isfinite(cpu.usage_us)]
    return Impact(
        queries=int(queries) if queries else None,
        slow_queries=int(slow) if queries else None,
        slow_ratio=min(1.0, slow / queries) if queries else None,
        p50_ms=p50,
        p99_ms=p99,
        max_ms=float(np.nanmax(peak)) / 1000 if np.isfinite(peak).any() else None,
        cpu_mean=float(usage.mean()) / cpu.step_us if len(usage) else None,
        cpu_limit=cpu.limit if np.isfinite(cpu.limit) else None,
        cpu_peak_100ms=float(usage.max()) / cpu.step_us if len(usage) else None,
    )


def cpu_load(snapshot: Snapshot) -> float:
    """Mean CPU use over the limit, 0..1; NaN where there is no limit or no data."""
    cpu = read_cpu(snapshot)
    usage = cpu.usage_us[np.isfinite(cpu.usage_us)]
    return float(usage.mean()) / cpu.step_us / cpu.limit if len(usage) and np.isfinite(cpu.limit) else float("nan")
