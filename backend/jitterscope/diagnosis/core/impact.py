"""The harm over the window: figures of the answers and of CPU use, for the findings of any area."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Impact
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.objective import limit_words
from jitterscope.diagnosis.core.quantity import Quantity, impact_of
from jitterscope.diagnosis.core.served import Served, quantiles_ms, read_dns, read_served, slowest_us
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.slow import loosest_us
from jitterscope.diagnosis.core.slow import slow as slow_of
from jitterscope.diagnosis.core.snapshot import Snapshot


def _of_requests(impact: Impact) -> str | None:
    slow, queries = SLOW_QUERIES.of(impact), QUERIES.of(impact)
    if slow is None or queries is None:
        return None
    return f"{slow:,.0f} of {queries:,.0f}" + ("" if (over := _over(impact)) is None else f", {over}")


def _over(impact: Impact) -> str | None:
    """ "over the objective of 50 ms"; "over 20 ms, 12 times its calm median"."""
    objective, after, usual = OBJECTIVE.of(impact), SLOW_AFTER.of(impact), CALM_P50.of(impact)
    if objective is not None:
        return f"over the objective of {limit_words(round(objective * 1000))}"
    return None if after is None else lateness.Late(after * 1000, None if usual is None else usual * 1000).words


def _median(impact: Impact) -> str | None:
    median = P50.of(impact)
    return None if median is None else f"median {say.ms(median * 1000)}"


def _of_limit(impact: Impact) -> str:
    limit = CPU_LIMIT.of(impact)
    return "no limit" if limit is None else f"of limit {limit:.3g}"


def _times_mean(impact: Impact) -> str | None:
    mean, peak = CPU_MEAN.of(impact), CPU_PEAK.of(impact)
    return None if not mean or peak is None else f"{say.times(peak / mean)} the mean"


def _in_all(known: Impact) -> str | None:
    throttled = THROTTLED_MS.of(known)
    return None if throttled is None else f"{say.ms(throttled * 1000)} total"


QUERIES = Quantity("queries", "Requests", "1", better="none", aside=True, proves="sample")
SLOW_QUERIES = Quantity("slow_queries", "Number of slow answers", "1", aside=True, per_subject=True, proves="harm")
SLOW_RATIO = Quantity(
    "slow_ratio", "Slow answers", "ratio",
    threshold=0.0, phrase="slow answers", short="slow", detail=_of_requests,
)  # fmt: skip
# It results from one of the two after it, if that is known.
SLOW_AFTER = Quantity("slow_after_ms", "An answer is slow after", "ms", better="none", aside=True)
OBJECTIVE = Quantity("objective_ms", "Latency objective", "ms", better="none", aside=True)
CALM_P50 = Quantity("calm_p50_ms", "p50 latency without the stalls", "ms", better="none", aside=True)
P50 = Quantity("p50_ms", "p50 latency", "ms", aside=True)
P99 = Quantity("p99_ms", "p99 latency", "ms", short="p99", detail=_median)
MAX = Quantity("max_ms", "Slowest answer", "ms", per_subject=True)
THROTTLED_MS = Quantity("throttled_ms", "Total throttled time", "ms", aside=True, proves="harm")
THROTTLED_RATIO = Quantity(
    "throttled_ratio", "Throttled periods", "ratio",
    threshold=0.0, phrase="throttled periods", short="throttled", detail=_in_all,
)  # fmt: skip
CPU_LIMIT = Quantity("cpu_limit", "CPU limit", "cpu", better="none", aside=True)
CPU_MEAN = Quantity("cpu_mean", "Mean CPU", "cpu", better="none", detail=_of_limit)
CPU_PEAK = Quantity(
    "cpu_peak_100ms", "Peak CPU in 100 ms", "cpu", better="none", threshold=CPU_LIMIT.id, detail=_times_mean
)
# In display order.
ANSWERS = (SLOW_RATIO, SLOW_QUERIES, SLOW_AFTER, OBJECTIVE, CALM_P50, QUERIES, P99, P50, MAX)
CPU_USE = (CPU_MEAN, CPU_PEAK, CPU_LIMIT)


def of_answers(
    snapshot: Snapshot, served: Served, slow: float, max_ms: float | None, limits: Sequence[Late] = ()
) -> Impact:
    """Impact of `slow` of the window's answers that were late by `limits`.

    If answer times were not recorded, the number of slow ones is unknown.
    """
    p50, p99 = quantiles_ms(snapshot, served)
    requests = float(np.nansum(served.requests))
    timed = requests > 0 and served.timed
    if timed:
        # Slow ones that still wait can have come before the window.
        requests = max(requests, slow)
    return impact_of(
        {
            QUERIES: int(requests) if requests > 0 else None,
            SLOW_QUERIES: int(slow) if timed else None,
            SLOW_RATIO: slow / requests if timed else None,
            **(slow_after(limits) if timed else {}),
            P50: p50,
            P99: p99,
            MAX: max_ms,
        }
    )


def slow_after(limits: Sequence[Late]) -> dict[Quantity, float | None]:
    """When an answer counts as slow, and why.

    Of several servers, the loosest limit, and the reason only if they share it.
    """
    loosest = loosest_us(limits)
    by_people = {None if one.objective is None else one.objective.limit_us for one in limits}
    by_usual = [one.usual_us for one in limits if one.times_usual is not None]
    objective = by_people.pop() if len(by_people) == 1 else None
    is_usual = objective is None and len(by_usual) == len(limits) and len({one.over_us for one in limits}) == 1
    return {
        SLOW_AFTER: loosest / 1000,
        OBJECTIVE: None if objective is None else objective / 1000,
        CALM_P50: max(one for one in by_usual if one is not None) / 1000 if is_usual and by_usual else None,
    }


def of_harm(snapshot: Snapshot, found: AnswersHarm) -> Impact:
    """Answers of the servers that the harm is about; the slow ones are the late, lost, and waiting ones."""
    slow = found.late + found.lost + found.waiting
    return of_answers(snapshot, found.served, slow, found.max_ms, found.limits)


def of_servers(snapshot: Snapshot) -> Impact:
    """Answers of the whole window as the DNS servers counted them, and the subject's CPU use."""
    return _counted(snapshot, read_dns(snapshot)) | of_cpu(snapshot)


def of_served(snapshot: Snapshot) -> Impact:
    """Answers of the whole window as the servers counted them, and the subject's CPU use."""
    return _counted(snapshot, read_served(snapshot)) | of_cpu(snapshot)


def _counted(snapshot: Snapshot, served: Served) -> Impact:
    peak, slow = slowest_us(snapshot, served), slow_of(snapshot, served)
    max_ms = float(np.nanmax(peak)) / 1000 if np.isfinite(peak).any() else None
    return of_answers(snapshot, served, float(np.nansum(slow.ticks)), max_ms, slow.limits)


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
