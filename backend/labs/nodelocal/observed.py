"""The lab's figures, computed from what the product stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitterscope.diagnosis.core.sketch import quantile_us, value_of
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import TICK_US, FloatArray
from labs.nodelocal.figures import IN_TIME_US, PathFigures, first_s
from labs.servers import Server


def observed(
    node_local: Recording,
    node_local_server: Server,
    dnsmasqs: Sequence[tuple[Recording, Server]],
    limit: int,
    slow_ms: float,
    ticks: int,
) -> PathFigures:
    """What the product saw, from recordings of the same time, one per server's cgroup.

    They begin with the measured window of `ticks` ticks, and extend until its last query was given up.
    """
    clients_side = _server(node_local, node_local_server)
    children = [_children(recording) for recording, _ in dnsmasqs]
    backlog = [_series(_server(recording, server), "dns_accept_backlog") for recording, server in dnsmasqs]
    overflows = [_series(_server(recording, server), "dns_listen_overflows") for recording, server in dnsmasqs]
    limit_reached = [
        np.flatnonzero((some >= limit) & (waiting > 0))
        for some, waiting in zip(children, backlog, strict=True)
        if some is not None and waiting is not None
    ]
    return PathFigures(
        p50_ms=_quantile_ms(clients_side, 0.5),
        p99_ms=_quantile_ms(clients_side, 0.99),
        slow_share=_slow_share(clients_side, slow_ms),
        # The first are answers in time; the others came after the product had given up their queries.
        servfail_share=_share(clients_side, "dns_servfail", "dns_late_servfail"),
        timeout_share=_share(clients_side, "dns_timeouts"),
        failed_share=_share(clients_side, "dns_servfail", "dns_timeouts"),
        children_peak=_peak(children),
        backlog_peak=_peak(backlog),
        backlog_share=max((float(np.nanmean(one[:ticks] > 0)) for one in backlog if one is not None), default=None),
        # Counted per network namespace, so the same for each.
        listen_overflows=max((int(np.nansum(one)) for one in overflows if one is not None), default=None),
        limit_reached_s=_first_tick_s(np.concatenate(limit_reached)) if limit_reached else None,
        first_servfail_s=_first_servfail_s(node_local, clients_side),
    )


def _server(recording: Recording, server: Server) -> RecordedResource | None:
    return next((one for one in recording.resources if one.kind == "dns_server" and one.key == server.key), None)


def _series(resource: RecordedResource | None, metric: str) -> FloatArray | None:
    return None if resource is None else resource.series.get(metric)


def _children(recording: Recording) -> FloatArray | None:
    """Children of the process in the subject that has the most."""
    own = [
        one.series["process_children"]
        for one in recording.resources
        if one.kind == "process" and one.parent == recording.subject and "process_children" in one.series
    ]
    return np.fmax.reduce(own) if own else None


def _peak(series: Sequence[FloatArray | None]) -> int | None:
    seen = [int(np.nanmax(one)) for one in series if one is not None and np.isfinite(one).any()]
    return max(seen, default=None)


def _first_tick_s(ticks: np.typing.NDArray[np.int64]) -> float | None:
    return first_s((ticks + 1) * TICK_US, 0)


def _share(server: RecordedResource | None, *metrics: str) -> float | None:
    """The sum of these counts as a share of all queries."""
    queries = _series(server, "dns_queries")
    counted = [one for metric in metrics if (one := _series(server, metric)) is not None]
    if not counted or queries is None or not np.nansum(queries):
        return None
    return float(sum(np.nansum(one) for one in counted) / np.nansum(queries))


def _first_servfail_s(recording: Recording, server: RecordedResource | None) -> float | None:
    """The first SERVFAIL counted, or the first log line about one: plugin `errors` writes it at that time."""
    if server is None:
        return None
    counted = _series(server, "dns_servfail")
    ticks = [] if counted is None else np.flatnonzero(counted > 0).tolist()
    seen = [recording.start_us + (tick + 1) * TICK_US for tick in ticks[:1]]
    seen += [event.start_us for event in server.events if event.kind == "dns.error"]
    return round((min(seen) - recording.start_us) / 1e6, 3) if seen else None


def _slow_share(server: RecordedResource | None, slow_ms: float) -> float | None:
    """Late answers and queries given up, as a share of all queries."""
    queries = _series(server, "dns_queries")
    if server is None or queries is None or "dns_latency_us" not in server.distributions or not np.nansum(queries):
        return None
    histogram = server.distributions["dns_latency_us"]
    late = int(histogram.count[value_of(histogram.bucket) > slow_ms * 1e3].sum())
    lost = _series(server, "dns_timeouts")
    return float((late + (0.0 if lost is None else np.nansum(lost))) / np.nansum(queries))


def _quantile_ms(server: RecordedResource | None, q: float) -> float | None:
    if server is None or "dns_latency_us" not in server.distributions:
        return None
    histogram = server.distributions["dns_latency_us"]
    in_time = value_of(histogram.bucket) <= IN_TIME_US
    value = quantile_us(histogram.bucket[in_time], histogram.count[in_time], q)
    return None if np.isnan(value) else value / 1e3
