"""Harm by a stall of a node's kernel: late answers, tasks that waited, the collector's own late ticks.

The severity of answers is that of severity.py. If no server is watched, it depends on the time that tasks waited for a
CPU or for memory (PSI "some", above the baseline) inside the spans: 5 s critical, half a second warning; and on the
time that the kernel was busy, at least half a second: info, as tasks of that CPU waited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core import harm as answers_harm
from jitterscope.diagnosis.core.finding import Harm, Impact, Severity
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.impact import of_harm
from jitterscope.diagnosis.core.served import read_served
from jitterscope.diagnosis.core.severity import harm_of
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.slow import limits, loosest_us
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate, robust_baseline

_LATE_TICK_US = 50_000
_RANK: dict[Severity | None, int] = {None: 0, "info": 1, "warning": 2, "critical": 3}


@dataclass(frozen=True, slots=True)
class NodeHarm:
    """`waited_us`: wall time in which some task waited more than usual; None without PSI.

    `late_ticks` of the collector were over 50 ms late, by at most `latest_us`. `answers` is None if no server is
    watched.
    """

    answers: AnswersHarm | None
    waited_us: float | None
    late_ticks: int
    latest_us: float
    severity: Severity | None
    harm: Harm


def harm(snapshot: Snapshot, spans: BoolArray, busy_us: float) -> NodeHarm:
    """Harm in the ticks `spans`, in which the kernel was busy for `busy_us`."""
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
    answers = _answers(snapshot, wide)
    level: Severity | None = "info" if busy_us >= 500_000 else None
    if waited is not None and waited >= 5_000_000:
        level = "critical"
    elif (waited is not None and waited >= 500_000) or len(late) >= 5:
        level = "warning"
    if answers is not None and _RANK[answers.severity] > _RANK[level]:
        level = answers.severity
    known = waited is not None or (answers is not None and answers.timed and answers.served.all_timed)
    return NodeHarm(answers, waited, len(late), float(late.max(initial=0.0)), level, harm_of(level, known=known))


def _above_usual(values: np.ndarray[tuple[int], np.dtype[np.float64]], spans: BoolArray) -> float | None:
    inside = values[spans & np.isfinite(values)]
    usual = robust_baseline(values[~spans])
    if not len(inside) or usual.n < 10:
        return None
    return float(np.maximum(0.0, inside - usual.median - 2 * usual.spread).sum())


def _answers(snapshot: Snapshot, spans: BoolArray) -> AnswersHarm | None:
    served = read_served(snapshot)
    if not served.servers:
        return None
    late_us = loosest_us(limits(snapshot, snapshot.dns_servers, ~spans))
    return answers_harm.harm(snapshot, spans, late_us, served=served)


def impact(snapshot: Snapshot, found: NodeHarm) -> Impact:
    return of_harm(snapshot, found.answers) if found.answers is not None else {}
