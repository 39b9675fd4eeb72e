"""When answers were late all at once: spans in which most requests wait, unlike the rest of the window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from jitterscope.diagnosis.areas.unexplained.readings.processes import serving
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import ENOUGH, metric, read_served, slow_of, usual_us
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import has, read_cpu, series
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.start_up import LONGEST_US, WARM_UP_US, settled
from jitterscope.diagnosis.core.stats import BoolArray

# Causes need the seconds around a stall: a younger one is left to them, unless it lasts longer than `LONG_US`.
SETTLE_US = 5_000_000
LONG_US = 10_000_000
# What led to a stall at the very beginning of the window is not in it.
LEAD_US = 5_000_000
# Late answers no further apart than this belong to one stall.
GAP_US = 100_000
# A stall is late answers that are closer together than by chance, and a good share of all requests of that time.
FEWEST, SHARE, BY_CHANCE = 3, 0.2, 0.01
# Shorter ones are explained by a cause or ignored: any machine has some. An objective itself defines what is too long.
LEAST_US = 40_000
# Share of the CPU time that makes a JIT compiler the reason.
COMPILING = 0.3
# The first part of a stall, as a share of its length.
BEGIN = 0.1


@dataclass(frozen=True, slots=True)
class Stall:
    """`late` of `of` requests that arrived in [start_us, end_us) were answered late, the slowest after `max_us`.

    `latency_us` is the total time of the late ones; `waited_us` the part that they waited unread in the socket (None:
    not recorded). `end_us` is when the last of them was answered.
    """

    server: ResourceView
    start_us: int
    end_us: int
    late: int
    of: float
    max_us: float
    latency_us: float
    waited_us: float | None

    @property
    def length_us(self) -> int:
        return self.end_us - self.start_us


@dataclass(frozen=True, slots=True)
class Stalls:
    """`clear` ones stand out and can be judged; `young` ones are still left to other causes.

    `late` of `answers` cover the whole window, by each server's own limit (`limits`).
    """

    clear: tuple[Stall, ...]
    young: int
    late: int
    answers: float
    limits: tuple[Late, ...]

    @property
    def over(self) -> str:
        """ "over the objective of 50 ms"; "over 20 ms, 12 times its calm median"."""
        return lateness.words(self.limits)


@dataclass(frozen=True, slots=True)
class _Late:
    """Late answers of one server, by when they were sent; `many[i]` identical ones. `waits` -1: not recorded."""

    sent: IntArray
    took: FloatArray
    many: IntArray
    waits: FloatArray | None


@reading
def timed(snapshot: Snapshot) -> tuple[ResourceView, ...]:
    """The servers whose answers are counted and timed."""
    return tuple(
        server
        for server in read_served(snapshot).servers
        if has(server, metric(server, "answers")) and metric(server, "latency") in server.distributions
    )


@reading
def stalls(snapshot: Snapshot) -> Stalls:
    """The stalls of all servers of the subject, oldest first."""
    clear: list[Stall] = []
    young = late = 0
    answers, limits = 0.0, []
    for server in timed(snapshot):
        # Stalls are a small part of the window, so all of it defines the baseline.
        usual = usual_us(server, np.ones(snapshot.ticks, np.bool_))
        answered = series(server, metric(server, "answers"), snapshot.ticks)
        answers += float(np.nansum(answered))
        limit = lateness.late(server, usual)
        found = _late(snapshot, server, limit.over_us)
        limits.append(limit)
        late += int(found.many.sum())
        if usual is None or not len(found.sent):
            continue
        for stall in _outstanding(snapshot, server, _spans(snapshot, server, found), answered):
            if _is_early(snapshot, stall, answered, limit.over_us):
                continue
            if stall.end_us > snapshot.end_us - SETTLE_US and stall.length_us < LONG_US:
                young += 1
            elif limit.objective is not None or stall.max_us >= LEAST_US:
                clear.append(stall)
    ordered = tuple(sorted(clear, key=lambda one: (one.start_us, one.server.id)))
    return Stalls(ordered, young, late, answers, tuple(limits))


def _late(snapshot: Snapshot, server: ResourceView, limit_us: float) -> _Late:
    """From single requests if they are recorded, which always includes slow ones; else from histograms."""
    single = server.queries
    if single is not None and len(single.sent_us) and limit_us >= SLOW_US:
        chosen = (single.latency_us > limit_us) & (single.result != TIMEOUT)
        waits = None if single.queue_wait_us is None else single.queue_wait_us[chosen].astype(np.float64)
        took = single.latency_us[chosen].astype(np.float64)
        return _Late(single.sent_us[chosen], took, np.ones(int(chosen.sum()), np.int64), waits)
    part = server.distributions[metric(server, "latency")]
    took = value_of(part.bucket)
    chosen = took > limit_us
    sent = snapshot.start_us + (part.tick[chosen] + 1) * snapshot.step_us - took[chosen].astype(np.int64)
    order = np.argsort(sent, kind="stable")
    return _Late(sent[order], took[chosen][order], part.count[chosen][order], None)


def _spans(snapshot: Snapshot, server: ResourceView, late: _Late) -> list[Stall]:
    """Late answers, merged where they overlap."""
    ends = late.sent + late.took.astype(np.int64)
    furthest = np.maximum.accumulate(ends)
    cuts = np.flatnonzero(late.sent[1:] > furthest[:-1] + GAP_US) + 1
    found = []
    for part in np.split(np.arange(len(late.sent)), cuts):
        many, took = late.many[part], late.took[part]
        start, end = int(late.sent[part[0]]), int(furthest[part[-1]])
        latency = float((many * took).sum())
        came = _arrived(snapshot, server, start, end)
        waited = _waited(snapshot, server, late, part, (start, end))
        found.append(
            Stall(
                server, start, end, int(many.sum()), max(float(many.sum()), came), float(took.max()), latency,
                None if waited is None else min(waited, latency),
            )
        )  # fmt: skip
    return found


def _waited(
    snapshot: Snapshot, server: ResourceView, late: _Late, part: IntArray, span: tuple[int, int]
) -> float | None:
    """Time unread in the socket: of the late ones themselves, else of all that were read during the stall.

    Requests that arrived as it began may have been read just before: if enough arrived later, only those count.
    """
    if late.waits is not None and (known := late.waits[part] >= 0).any():
        chosen = part[known]
        later = chosen[late.sent[chosen] >= span[0] + BEGIN * (span[1] - span[0])]
        chosen = later if len(later) >= FEWEST else chosen
        return float(late.waits[chosen].sum() / late.took[chosen].sum() * (late.many[part] * late.took[part]).sum())
    waits = server.distributions.get(metric(server, "wait"))
    if waits is None:
        return None
    first, last = ((at - snapshot.start_us) // snapshot.step_us for at in span)
    inside = (waits.tick >= first) & (waits.tick <= last)
    return float((waits.count[inside] * value_of(waits.bucket[inside])).sum())


def _arrived(snapshot: Snapshot, server: ResourceView, start_us: int, end_us: int) -> float:
    """Requests that arrived in a span; ticks at its ends count in proportion."""
    came = np.nan_to_num(series(server, metric(server, "requests"), snapshot.ticks))
    return float((came * overlaps(snapshot, start_us, end_us)).sum())


def overlaps(snapshot: Snapshot, start_us: int, end_us: int) -> FloatArray:
    """The share of each tick that lies in [start_us, end_us), 0..1."""
    begins = snapshot.start_us + np.arange(snapshot.ticks) * snapshot.step_us
    inside = np.minimum(end_us, begins + snapshot.step_us) - np.maximum(start_us, begins)
    return np.asarray(np.clip(inside / snapshot.step_us, 0.0, 1.0))


def _outstanding(snapshot: Snapshot, server: ResourceView, spans: list[Stall], answered: FloatArray) -> list[Stall]:
    """Stalls that chance does not explain, given the frequency of late answers in the rest of the window."""
    dense = [one for one in spans if one.late >= FEWEST and one.late >= SHARE * one.of]
    rest = max(0.0, float(np.nansum(answered)) - sum(one.of for one in dense))
    scattered = sum(one.late for one in spans) - sum(one.late for one in dense)
    ratio = min(1.0, (scattered + 1.0) / (rest + 1.0))
    found = []
    for one in dense:
        tries = max(1.0, snapshot.ticks * snapshot.step_us / max(one.length_us, 1))
        if float(scipy.special.bdtrc(one.late - 1, max(one.late, round(one.of)), ratio)) * tries < BY_CHANCE:
            found.append(one)
    return found


def _is_early(snapshot: Snapshot, stall: Stall, answered: FloatArray, over_us: float) -> bool:
    """Whether too little of the time before it is in the window, or the server is still starting."""
    before = (stall.start_us - snapshot.start_us) // snapshot.step_us
    if stall.start_us < snapshot.start_us + LEAD_US or float(np.nansum(answered[: max(0, before)])) < ENOUGH:
        return True
    begins = [
        event.start_us for view in serving(snapshot, stall.server) for event in view.events
        if event.kind == "process.start"
    ]  # fmt: skip
    return any(_is_starting(snapshot, stall, at, answered, over_us) for at in begins)


def _is_starting(snapshot: Snapshot, stall: Stall, began_us: int, answered: FloatArray, over_us: float) -> bool:
    """Whether a stall belongs to the start of a process: it has not been calm since, and is young or throttled.

    What ends the start of a throttled one is time without throttling: late answers in it have another reason, unless
    a JIT compiler uses up the limit, which goes on with what is called often after any calm.
    """
    age_us = stall.start_us - began_us
    if not 0 <= age_us <= LONGEST_US:
        return False
    throttled = _is_throttled(snapshot, stall)
    if throttled and _is_compiling(snapshot, stall):
        return True
    if age_us <= WARM_UP_US:
        calm_from = settled(snapshot, began_us, answered, slow_of(snapshot, stall.server, over_us))
    elif throttled:
        calm_from = settled(snapshot, began_us, answered)
    else:
        return False
    return calm_from is None or snapshot.start_us + calm_from * snapshot.step_us > stall.start_us


def _is_throttled(snapshot: Snapshot, stall: Stall) -> bool:
    cpu, part = read_cpu(snapshot), ticks_of(snapshot, stall)
    return bool(np.nansum(cpu.throttled[part.start : part.stop + cpu.lag]) > 0)


def _is_compiling(snapshot: Snapshot, stall: Stall) -> bool:
    """Whether a JIT compiler took a large part of the CPU time."""
    part = ticks_of(snapshot, stall)
    compiled = sum(
        float(np.nansum(series(one, "jit_cpu_us", snapshot.ticks)[part])) for one in serving(snapshot, stall.server)
    )
    return compiled > 0 and compiled >= COMPILING * float(np.nansum(read_cpu(snapshot).usage_us[part]))


def ticks_of(snapshot: Snapshot, stall: Stall) -> slice:
    """The ticks that a stall touches."""
    first = (stall.start_us - snapshot.start_us) // snapshot.step_us
    return slice(max(0, first), min(snapshot.ticks, (stall.end_us - 1 - snapshot.start_us) // snapshot.step_us + 1))


def calm(snapshot: Snapshot, found: tuple[Stall, ...]) -> BoolArray:
    """Ticks that are neither in a stall nor right beside one."""
    mask = np.ones(snapshot.ticks, np.bool_)
    for one in found:
        part = ticks_of(snapshot, one)
        mask[max(0, part.start - 1) : part.stop + 1] = False
    return mask
