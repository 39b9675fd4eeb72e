"""Who was hurt by a stall of a node's kernel: DNS answers that came late, tasks that waited, the collector's own ticks.

The severity of DNS answers is that of severity.py. Where no DNS server is watched it goes by the time that tasks waited
for a CPU or for memory (PSI "some", above the usual) inside the spans: 5 s critical, half a second warning; and by the
time that the kernel was busy, half a second at least: info, as whoever was to run on that CPU waited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core import harm as dns_harm
from jitterscope.diagnosis.core.finding import Harm, Impact, Severity
from jitterscope.diagnosis.core.harm import DnsHarm
from jitterscope.diagnosis.core.impact import of_harm
from jitterscope.diagnosis.core.severity import harm_of
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate, robust_baseline

_LATE_TICK_US = 50_000
_RANK: dict[Severity | None, int] = {None: 0, "info": 1, "warning": 2, "critical": 3}


@dataclass(frozen=True, slots=True)
class NodeHarm:
    """`waited_us`: wall time in which some task waited more than usual; None without PSI. `late_ticks` of the
    collector were over 50 ms late, by `latest_us` at most. `dns` is None where no server is watched."""

    dns: DnsHarm | None
    waited_us: float | None
    late_ticks: int
    latest_us: float
    severity: Severity | None
    harm: Harm


def harm(snapshot: Snapshot, spans: BoolArray, busy_us: float) -> NodeHarm:
    """Of the ticks `spans`, in which the kernel was busy for `busy_us`."""
    node, n = snapshot.node, snapshot.ticks
    wide = dilate(spans, 0, 2)
    waits = [
        excess
        for name in ("psi_cpu_some_us", "psi_memory_some_us")
        if (excess := _above_usual(series(node, name, n), wide)) is not None
    ]
    waited = max(waits) if waits else None
    late = series(node, "collector_lateness_us", n)[wide]
    late = late[np.isfinite(late) & (late > _LATE_TICK_US)]
    dns = _dns(snapshot, wide)
    level: Severity | None = "info" if busy_us >= 500_000 else None
    if waited is not None and waited >= 5_000_000:
        level = "critical"
    elif (waited is not None and waited >= 500_000) or len(late) >= 5:
        level = "warning"
    if dns is not None and _RANK[dns.severity] > _RANK[level]:
        level = dns.severity
    known = waited is not None or (dns is not None and dns.queries > 0)
    return NodeHarm(dns, waited, len(late), float(late.max(initial=0.0)), level, harm_of(level, known=known))


def _above_usual(values: np.ndarray[tuple[int], np.dtype[np.float64]], spans: BoolArray) -> float | None:
    inside = values[spans & np.isfinite(values)]
    usual = robust_baseline(values[~spans])
    if not len(inside) or usual.n < 10:
        return None
    return float(np.maximum(0.0, inside - usual.median - 2 * usual.spread).sum())


def _dns(snapshot: Snapshot, spans: BoolArray) -> DnsHarm | None:
    if not snapshot.dns_servers:
        return None
    usual = [found for view in snapshot.dns_servers if (found := dns_harm.usual_us(view, ~spans)) is not None]
    return dns_harm.harm(snapshot, spans, dns_harm.late_after(max(usual, default=None)))


def impact(snapshot: Snapshot, found: NodeHarm) -> Impact:
    return of_harm(snapshot, found.dns) if found.dns is not None else {}
