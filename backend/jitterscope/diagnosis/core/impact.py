"""Who was hurt, over the window: figures of a DNS server's answers and of CPU use, for the findings of any area."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Impact
from jitterscope.diagnosis.core.harm import DnsHarm, answers_timed, quantiles_ms
from jitterscope.diagnosis.core.quantity import Quantity, impact_of
from jitterscope.diagnosis.core.servers import summed
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import read_cpu, read_dns
from jitterscope.diagnosis.core.snapshot import Snapshot


def _of_queries(impact: Impact) -> str | None:
    slow, queries = SLOW_QUERIES.of(impact), QUERIES.of(impact)
    return None if slow is None or queries is None else f"{slow:,.0f} of {queries:,.0f} queries"


def _median(impact: Impact) -> str | None:
    median = P50.of(impact)
    return None if median is None else f"median {say.ms(median * 1000)}"


def _of_limit(impact: Impact) -> str:
    limit = CPU_LIMIT.of(impact)
    return "no limit" if limit is None else f"of limit {limit:.3g}"


def _times_mean(impact: Impact) -> str | None:
    mean, peak = CPU_MEAN.of(impact), CPU_PEAK.of(impact)
    return None if not mean or peak is None else f"{say.times(peak / mean)} the mean"


QUERIES = Quantity("queries", "Queries", "1", better="none", aside=True, proves="sample")
SLOW_QUERIES = Quantity("slow_queries", "Slow queries", "1", aside=True, per_subject=True, proves="harm")
SLOW_RATIO = Quantity(
    "slow_ratio", "Slow answers", "ratio",
    threshold=0.0, phrase=f"answers over {SLOW_US // 1000} ms", short="slow", detail=_of_queries,
)  # fmt: skip
P50 = Quantity("p50_ms", "p50 latency", "ms", aside=True)
P99 = Quantity("p99_ms", "p99 latency", "ms", short="p99", detail=_median)
MAX = Quantity("max_ms", "Slowest answer", "ms", per_subject=True)
CPU_LIMIT = Quantity("cpu_limit", "CPU limit", "cpu", better="none", aside=True)
CPU_MEAN = Quantity("cpu_mean", "Mean CPU", "cpu", better="none", detail=_of_limit)
CPU_PEAK = Quantity(
    "cpu_peak_100ms", "Peak CPU in 100 ms", "cpu", better="none", threshold=CPU_LIMIT.id, detail=_times_mean
)
# In the order in which they are shown.
ANSWERS = (SLOW_RATIO, SLOW_QUERIES, QUERIES, P99, P50, MAX)
CPU_USE = (CPU_MEAN, CPU_PEAK, CPU_LIMIT)


def of_answers(snapshot: Snapshot, queries: float, slow: float, max_ms: float | None) -> Impact:
    """`slow` of the window's `queries`; where nobody recorded how long answers took, how many were slow is unknown."""
    p50, p99 = quantiles_ms(snapshot)
    timed = queries > 0 and answers_timed(snapshot)
    return impact_of(
        {
            QUERIES: int(queries) if queries > 0 else None,
            SLOW_QUERIES: int(slow) if timed else None,
            SLOW_RATIO: min(1.0, slow / queries) if timed else None,
            P50: p50,
            P99: p99,
            MAX: max_ms,
        }
    )


def of_harm(snapshot: Snapshot, found: DnsHarm) -> Impact:
    """Answers of the snapshot's servers; slow queries are the late, lost and waiting ones."""
    queries = float(np.nansum(read_dns(snapshot).queries))
    return of_answers(snapshot, queries, found.late + found.lost + found.waiting, found.max_ms)


def of_servers(snapshot: Snapshot) -> Impact:
    """Answers of the whole window as the servers counted them, and the subject's CPU use."""
    queries, slow = float(np.nansum(summed(snapshot, "dns_queries"))), float(np.nansum(summed(snapshot, "dns_slow")))
    peak = summed(snapshot, "dns_latency_max_us")
    max_ms = float(np.nanmax(peak)) / 1000 if np.isfinite(peak).any() else None
    return of_answers(snapshot, queries, slow, max_ms) | of_cpu(snapshot)


def of_cpu(snapshot: Snapshot) -> Impact:
    """CPU use and limit of the subject over the whole window."""
    cpu = read_cpu(snapshot)
    usage = cpu.usage_us[np.isfinite(cpu.usage_us)]
    return impact_of(
        {
            CPU_MEAN: float(usage.mean()) / cpu.step_us if len(usage) else None,
            CPU_LIMIT: cpu.limit if np.isfinite(cpu.limit) else None,
            CPU_PEAK: float(usage.max()) / cpu.step_us if len(usage) else None,
        }
    )
