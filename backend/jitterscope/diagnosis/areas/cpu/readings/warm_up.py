"""When a service is still starting: it loads data, collects garbage, is throttled, and no request waits for it yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import read_served
from jitterscope.diagnosis.core.signals import Cpu, read_cpu, serving
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.start_up import LONGEST_US, WARM_UP_US, settled
from jitterscope.diagnosis.core.stats import BoolArray

_WARM_UP_S = WARM_UP_US // 1_000_000
WITHOUT_ANSWERS_S = 10
# Throttling that continues from startup into the first answers belongs to startup for this long.
AFTERWARDS_S = 1


@dataclass(frozen=True, slots=True)
class WarmUp:
    """`ticks` from the start of a serving process to its first calm stretch; `overdue` ones come over 30 s after it.

    `young` are all of the first 3 min, calm or not. `began` is the tick of the newest start that `ticks` has (negative:
    before the window); None without one.
    """

    ticks: BoolArray
    overdue: BoolArray
    young: BoolArray
    began: int | None


@reading
def warming_up(snapshot: Snapshot) -> WarmUp:
    """When the limit has throttled a serving process since its start, for at most 3 min."""
    ticks, overdue, young = (np.zeros(snapshot.ticks, dtype=np.bool_) for _ in range(3))
    began = None
    servers, answers = serving(snapshot), read_served(snapshot).answers
    starts = [
        event.start_us for view in snapshot.processes if view.id in servers
        for event in view.events if event.kind == "process.start"
    ]  # fmt: skip
    for at_us in sorted(starts):
        first, usual, last = (
            int((us - snapshot.start_us) // snapshot.step_us) for us in (at_us, at_us + WARM_UP_US, at_us + LONGEST_US)
        )
        young[max(0, first) : max(0, last)] = True
        calm_from = settled(snapshot, at_us, answers)
        last = last if calm_from is None else min(last, calm_from)
        if last <= 0 or first >= snapshot.ticks:
            continue
        ticks[max(0, first) : last] = True
        overdue[max(0, usual) : last] = True
        began = first
    return WarmUp(ticks, overdue, young, began)


@reading
def starting(snapshot: Snapshot) -> BoolArray:
    """True from the start of the serving process until its first answer (at most 30 s; 10 s if none is known).

    A process that starts beside a running service (a cron job) does not count as a start of the service.
    """
    cpu, served = read_cpu(snapshot), read_served(snapshot)
    mask = np.zeros(snapshot.ticks, dtype=np.bool_)
    second = max(1, 1_000_000 // snapshot.step_us)
    answered = np.flatnonzero(np.nan_to_num(served.answers) > 0)
    servers = serving(snapshot)
    for view in snapshot.processes:
        for event in view.events:
            if event.kind != "process.start":
                continue
            first = int((event.start_us - snapshot.start_us) // snapshot.step_us)
            if first < -_WARM_UP_S * second or first >= snapshot.ticks:
                continue
            if servers:
                if view.id not in servers:
                    continue
                later = answered[answered >= first]
                end = first + _WARM_UP_S * second
                if len(later):
                    end = min(end, _worked_off(cpu, int(later[0]), AFTERWARDS_S * second))
            elif _already_busy(cpu, first, 3 * second):
                continue
            else:
                end = first + WITHOUT_ANSWERS_S * second
            mask[max(0, first) : max(0, end)] = True
    return mask


def _worked_off(cpu: Cpu, answered: int, most: int) -> int:
    """The end of the throttling that the first answer fell into; the answer's own tick if there was none."""
    end = answered
    while end < min(len(cpu.throttled), answered + most) and cpu.throttled[end] > 0:
        end += 1
    return end


def _already_busy(cpu: Cpu, first: int, ticks: int) -> bool:
    """Whether the cgroup used CPU (over 0.5 %) just before the tick."""
    before = cpu.usage_us[max(0, first - ticks) : max(0, first)]
    known = before[np.isfinite(before)]
    return len(known) > 0 and float(np.median(known)) > 0.005 * cpu.step_us
