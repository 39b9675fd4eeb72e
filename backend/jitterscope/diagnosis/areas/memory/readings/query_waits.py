"""How long queries wait at most, how many can wait, and their garbage: as observed, else from the settings."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.memory.readings.signals import Growth, Life
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.sketch import quantile_us, value_of
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import golang
from jitterscope.diagnosis.programs.corefile import of
from jitterscope.diagnosis.programs.dns_upstreams import upstreams

COREDNS = ("coredns", "node-cache")
LEAST_ANSWERS = 20
REFUTED_S = 1.0
# plugin/forward gives an attempt 2 s and starts none after 5 s; while its upstream counts as down, it makes only one.
COREDNS_DEADLINE_S = 6.0
# Relative to the memory of waiting queries at GOGC=100: additional garbage, and its rate as a share of the rise before.
GARBAGE, GARBAGE_RATE = 0.5, 0.25


def wait_of(snapshot: Snapshot, rise: Growth, life: Life) -> tuple[float | None, str]:
    """How long a query waits at most: as before the burst unless that is refuted, else until the server gives up."""
    before = latency_s(snapshot, life.start, rise.onset)
    lately = max(rise.onset, rise.end - max(3, (rise.end - rise.onset) // 3))
    asked, answered = (rate_of(snapshot, name, lately, rise.end) for name in ("dns_queries", "dns_answers"))
    if before is not None and (rise.seconds < 1.5 * before or answered >= 0.5 * asked):
        return before, "latency"
    if before is not None and before < REFUTED_S and rise.seconds < REFUTED_S:
        return None, "none"  # a server that stalls for a moment looks like an unreachable upstream
    for view in snapshot.dns_servers:
        if view.fact("dns.software") in COREDNS and forwards(view):
            return COREDNS_DEADLINE_S, "deadline"
    return None, "none"


def latency_s(snapshot: Snapshot, first: int, last: int) -> float | None:
    """The duration of the slow ones among the latest queries that were answered in the ticks [first, last).

    None with fewer than 20 answers. Cached names do not show how long others take, and recently sent queries show more
    than recently answered ones: an upstream that is marked as down shortens the wait.
    """
    parts = [view.distributions["dns_latency_us"] for view in snapshot.dns_servers
             if "dns_latency_us" in view.distributions]  # fmt: skip
    if not parts:
        return None
    tick, bucket, count = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("tick", "bucket", "count")
    )
    inside = (tick >= first) & (tick < last)
    tick, bucket, count = tick[inside], bucket[inside], count[inside]
    if count.sum() < LEAST_ANSWERS:
        return None
    took = value_of(bucket)
    slow = took >= 0.4 * quantile_us(bucket, count, 0.99)
    tick, took, count = tick[slow], took[slow], count[slow]
    latest = np.argsort(-(tick - took / snapshot.step_us), kind="stable")
    enough = int(np.searchsorted(np.cumsum(count[latest]), LEAST_ANSWERS // 2)) + 1
    return float(np.median(took[latest[:enough]])) / 1e6


def forwards(server: ResourceView) -> bool:
    """Whether it is known to forward to other servers."""
    return bool(upstreams(server)) or any(block.plugin("forward") for block in of(server))


def concurrency_cap(snapshot: Snapshot) -> int | None:
    """forward's max_concurrent, summed over all its zones, if each has one; else None.

    A server at several addresses is one program: the largest value counts.
    """
    found = []
    for server in snapshot.dns_servers:
        caps = {upstream.zone: upstream.max_concurrent for upstream in upstreams(server)}
        if any(cap is None for cap in caps.values()):
            return None
        found.append(sum(cap for cap in caps.values() if cap is not None))
    return max(found, default=0) or None


def forward_blocks(snapshot: Snapshot) -> int:
    """Number of forwarded zones, at least 1: each `forward` counts its own queries."""
    return max(1, max((len({up.zone for up in upstreams(view)}) for view in snapshot.dns_servers), default=1))


def garbage_share(snapshot: Snapshot) -> float:
    """Garbage relative to the memory in use: half at GOGC=100, at most twice that; 0 without GC."""
    percents = [golang.gogc(process) for process in snapshot.processes if process.fact("go.version") is not None]
    if not percents and any(view.fact("dns.software") in COREDNS for view in snapshot.dns_servers):
        percents = [100]
    return max((GARBAGE * (100 if percent is None else percent) / 100 for percent in percents), default=0.0)


def rate_of(snapshot: Snapshot, metric: str, first: int, last: int) -> float:
    """Rate per second, over all servers of the subject."""
    total = sum(float(np.nansum(series(view, metric, snapshot.ticks)[first:last])) for view in snapshot.dns_servers)
    return total * 1e6 / max(1, (last - first) * snapshot.step_us)
