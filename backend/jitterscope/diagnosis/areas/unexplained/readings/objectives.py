"""Objectives that a server misses continuously rather than in stalls: more answers are late than allowed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.unexplained.readings.processes import serving
from jitterscope.diagnosis.areas.unexplained.readings.stalls import timed
from jitterscope.diagnosis.core.finding import Severity
from jitterscope.diagnosis.core.objective import Objective
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import metric, slow_of
from jitterscope.diagnosis.core.severity import severity
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.sketch import quantile_us, value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.start_up import WARM_UP_US

# In fewer ticks, a stall or a start may be all that there was.
LEAST_TICKS = 200
# An objective is missed continuously if at least this share of the seconds with answers has late ones.
SPREAD = 0.5


@dataclass(frozen=True, slots=True)
class Missed:
    """`late` of `answers` since `start_us` took longer than the objective; its quantile is at `value_us`.

    `waited_us` and `took_us`: time unread in the socket and answer time, of all answers together; None if it was not
    recorded.
    """

    server: ResourceView
    objective: Objective
    late: float
    answers: float
    value_us: float
    max_us: float
    start_us: int
    severity: Severity
    waited_us: float | None
    took_us: float


@reading
def missed(snapshot: Snapshot) -> tuple[Missed, ...]:
    """The misses of all servers of the subject that have an objective, the one with the most late answers first."""
    found = (_missed(snapshot, one, one.objective) for one in timed(snapshot) if one.objective is not None)
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (-one.late, one.server.id)))


def _missed(snapshot: Snapshot, server: ResourceView, objective: Objective) -> Missed | None:
    first = _warm(snapshot, server)
    part = server.distributions[metric(server, "latency")]
    over = np.nan_to_num(slow_of(snapshot, server, objective.limit_us))[first:]
    answered = np.nan_to_num(series(server, metric(server, "answers"), snapshot.ticks))[first:]
    known = part.tick >= first
    answers, late = float(part.count[known].sum()), float(over.sum())
    if int((answered > 0).sum()) < LEAST_TICKS or late <= objective.allowed_ratio * answers:
        return None
    if _by_second(over)[_by_second(answered) > 0].mean() < SPREAD:
        return None
    took = value_of(part.bucket[known])
    slowest = float(took.max())
    level = severity(late - objective.allowed_ratio * answers, answers, slowest / 1000, objective_us=objective.limit_us)
    if level is None or level == "info":
        return None
    waits = server.distributions.get(metric(server, "wait"))
    read = None if waits is None else waits.tick >= first
    return Missed(
        server, objective, late, answers,
        quantile_us(part.bucket[known], part.count[known], objective.quantile), slowest,
        snapshot.start_us + first * snapshot.step_us, level,
        None if waits is None else float((waits.count[read] * value_of(waits.bucket[read])).sum()),
        float((part.count[known] * took).sum()),
    )  # fmt: skip


def _warm(snapshot: Snapshot, server: ResourceView) -> int:
    """The first tick after the warm-up of its program."""
    starts = [
        event.start_us for view in serving(snapshot, server) for event in view.events if event.kind == "process.start"
    ]
    if not starts:
        return 0
    return int(np.clip((max(starts) + WARM_UP_US - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks))


def _by_second(values: FloatArray) -> FloatArray:
    """1 for each group of ten ticks with any."""
    if not len(values):
        return values
    return (np.add.reduceat(values, np.arange(0, len(values), 10)) > 0).astype(np.float64)
