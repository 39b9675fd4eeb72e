"""Memory grows up to the limit, and not because of queries that wait: a leak, or simply more than the limit allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.memory.causes import _report as report
from jitterscope.diagnosis.areas.memory.fixes import memory_limit
from jitterscope.diagnosis.areas.memory.readings import signals as memory_signals
from jitterscope.diagnosis.areas.memory.readings.oom import Alarm, NoAlarm, first_alarm, may_fill, of_growth
from jitterscope.diagnosis.areas.memory.readings.signals import Growth, Life, Memory
from jitterscope.diagnosis.areas.memory.readings.waiting_queries import Burst, NoBurst, burst, is_unseen
from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound, Severity
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "memory/limit_oom"
NEEDS = ("memory_usage_bytes",)
# Under this share of the limit in use at a kill, the memory that filled it counts as page cache: files in memory.
FILLED = 0.5
# A collector that is short of CPU reads memory this seldom.
SAMPLED_EVERY_S = 1.0
SOON_S = 60.0


@dataclass(frozen=True, slots=True)
class Case:
    """`rise` is None where the memory was full before the window; `alarm` where it was killed already.

    `unseen`: queries were not counted when memory began to grow, so they may be the reason.
    """

    memory: Memory
    life: Life
    limit: float
    rise: Growth | None
    alarm: Alarm | None
    first: Alarm | None
    not_queries: str
    unseen: bool

    @property
    def used(self) -> float:
        return float(self.memory.net[self.life.end - 1])

    @property
    def sampled(self) -> float:
        """All memory in use at the last sample, with page cache (bytes)."""
        return float(self.memory.usage[self.life.end - 1])

    @property
    def in_files(self) -> bool:
        """What filled it counts as page cache but could not be given back (tmpfs, shared memory)."""
        return self.life.killed and self.used < FILLED * self.limit <= self.sampled

    @property
    def sudden(self) -> bool:
        """It was filled after the last sample, faster than it had grown until then: what with, no sample shows."""
        grown = 0.0 if self.rise is None else self.rise.rate * SAMPLED_EVERY_S
        return self.life.killed and self.sampled + grown < FILLED * self.limit


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    case = find(snapshot)
    return _found(snapshot, case) if isinstance(case, Case) else case


@reading
def find(snapshot: Snapshot) -> Case | NotFound | NotEnoughData:
    """The newest life of the program that ended at its limit, or is on the way there."""
    memory = memory_signals.read(snapshot)
    if memory is None:
        return report.not_enough(ID, ["memory_usage_bytes"], snapshot)
    if memory.owner.fact("memory.limit_bytes") is None:
        return report.not_enough(ID, ["memory.limit_bytes"], snapshot)
    if not np.isfinite(memory.limit_bytes):
        return NotFound(cause=ID, reason="There is no memory limit.")
    why: NotFound | NotEnoughData | None = None
    for life in reversed(memory_signals.lives(memory)):
        case = _judge(snapshot, memory, life)
        if isinstance(case, Case):
            return case
        why = why or case
        if life.killed and _by_queries(snapshot, memory, life):
            break  # what killed it last is known: an earlier kill that tells less is no other trouble
    return why or NotFound(cause=ID, reason="Too little data to tell whether memory grows.")


def _limit(snapshot: Snapshot, memory: Memory, life: Life) -> float:
    return float(memory.limit[min(life.end, snapshot.ticks) - 1])


def _by_queries(snapshot: Snapshot, memory: Memory, life: Life) -> Burst | None:
    """The burst of queries that memory follows, if it is what ended the life."""
    queries = burst(snapshot, life)
    if isinstance(queries, Burst) and (not life.killed or queries.fills(_limit(snapshot, memory, life))):
        return queries
    return None


def _judge(snapshot: Snapshot, memory: Memory, life: Life) -> Case | NotFound | NotEnoughData:
    limit = _limit(snapshot, memory, life)
    rise = memory_signals.growth(memory.net, life, snapshot.step_us)
    if (queries := _by_queries(snapshot, memory, life)) is not None:
        return NotFound(
            cause=ID,
            reason=f"Memory follows the waiting queries: {queries.most:,.0f} at {report.kib(queries.per_query)} each "
            f"explain {say.percent(queries.explained)} of its rise.",
            numbers={"explained_ratio": queries.explained, "bytes_per_query": queries.per_query},
        )
    unexplained = burst(snapshot, life)
    why = unexplained.reason if isinstance(unexplained, NoBurst) else "Few queries wait."
    if unseen := is_unseen(snapshot, life, life.start if rise is None else rise.onset):
        why = "Queries were not counted then: whether a burst of them is the reason is not known."
    if life.killed:
        if (elsewhere := _elsewhere(snapshot, memory, life)) is not None:
            return elsewhere
        first = first_alarm(snapshot, memory, life, limit, by_queries=False)
        return Case(memory, life, limit, rise, None, first, why, unseen)
    if rise is None:
        used = float(memory.net[life.end - 1])
        return NotFound(
            cause=ID,
            reason=f"Memory does not grow: {say.mebibytes(used)} of {say.mebibytes(limit)}.",
            numbers={"used_bytes": used, "limit_bytes": limit},
        )
    if (cache := _mostly_cache(memory, rise, limit)) is not None:
        return cache
    alarm = of_growth(snapshot, memory, rise, limit)
    if isinstance(alarm, NoAlarm):
        return NotFound(cause=ID, reason=alarm.reason, numbers=alarm.numbers)
    if not np.isfinite(memory.file).any():
        # What grows may be page cache, which the kernel takes back at the limit.
        return report.not_enough(ID, ["memory_file_bytes"], snapshot)
    return Case(memory, life, limit, rise, alarm, None, why, unseen)


def _elsewhere(snapshot: Snapshot, memory: Memory, life: Life) -> NotFound | None:
    """The node, not this limit, had no memory left."""
    event = report.record(snapshot, memory, life)
    if event is None or event.attributes.get("constraint", "memcg") == "memcg":
        return None
    used, limit = float(memory.usage[life.end - 1]), float(memory.limit[life.end - 1])
    return NotFound(
        cause=ID,
        reason=f"It was killed because the node ran out of memory, not at its own limit ({say.mebibytes(used)} of "
        f"{say.mebibytes(limit)}).",
        numbers={"used_bytes": used, "limit_bytes": limit},
    )


def _mostly_cache(memory: Memory, rise: Growth, limit: float) -> NotFound | None:
    """Usage grows for files that were read or written: the kernel takes that back before it kills anybody."""
    used = float(memory.usage[rise.end - 1])
    grown = used - float(memory.usage[rise.onset])
    file = float(np.nan_to_num(memory.file[rise.end - 1]))
    known = np.isfinite(memory.owner.series.get("memory_file_bytes", np.array([]))[rise.onset : rise.end]).sum()
    if np.isfinite(memory.file).any() and known < 2:
        return NotFound(
            cause=ID,
            reason=f"Only {known} samples of page cache since memory began to grow: too early to tell.",
            numbers={"used_bytes": used, "limit_bytes": limit},
        )
    if grown > 0 and rise.risen < 0.3 * grown:
        return NotFound(
            cause=ID,
            reason=f"{say.mebibytes(file)} of {say.mebibytes(used)} is page cache, which is reclaimable.",
            numbers={"file_bytes": file, "used_bytes": used, "limit_bytes": limit},
        )
    return None


def _found(snapshot: Snapshot, case: Case) -> Found:
    start = case.life.start if case.rise is None else case.rise.onset
    onset = snapshot.start_us + start * snapshot.step_us
    last = snapshot.start_us + min(snapshot.ticks, case.life.end + case.life.killed) * snapshot.step_us
    severity: Severity = "critical"
    if case.alarm is not None and case.alarm.seconds > SOON_S:
        severity = "warning"
    return Found(
        cause=ID,
        score=0.9,
        confidence=_confidence(case),
        severity=severity,
        harm="measured" if case.memory.kills.any() else "predicted",
        title=_title(snapshot, case),
        summary=_summary(snapshot, case),
        onset_us=onset,
        last_us=max(onset + snapshot.step_us, last),
        impact=impact.of_served(snapshot),
        evidence=_evidence(snapshot, case),
    )


def _confidence(case: Case) -> Confidence:
    if case.unseen:
        return "low"
    known = np.isfinite(case.memory.file).any()
    if case.rise is None or case.in_files or case.sudden or not known:
        return "medium"
    return "high" if case.life.killed or case.rise.seconds >= 10 else "medium"


def _title(snapshot: Snapshot, case: Case) -> str:
    who, limit = say.who(snapshot), say.mebibytes(case.limit)
    if case.in_files:
        return f"{who} was OOM-killed at its memory limit of {limit}, filled by tmpfs or shared memory"
    if case.sudden:
        return f"{who} was OOM-killed at its memory limit of {limit}, which was filled at once"
    if case.alarm is not None and case.rise is not None:
        rate, when = report.per_second(case.rise.rate), report.about(case.alarm.seconds)
        return f"{who}'s memory grows by {rate} and reaches its limit of {limit} in about {when}"
    if case.rise is None:
        return f"{who} was OOM-killed at its memory limit of {limit}, which was full throughout"
    return f"{who} was OOM-killed at its memory limit of {limit} after growing by {report.per_second(case.rise.rate)}"


def _summary(snapshot: Snapshot, case: Case) -> str:
    if case.in_files:
        file = float(np.nan_to_num(case.memory.file[case.life.end - 1]))
        return (
            f"Only {say.mebibytes(case.used)} was not page cache. {say.mebibytes(file)} was, but not reclaimable: "
            "files on a tmpfs (an emptyDir with medium Memory) and shared memory count as page cache."
        )
    if case.sudden:
        return _sudden(snapshot, case)
    if case.rise is None:
        return f"{say.mebibytes(case.used)} was in use from the beginning of the window. {case.not_queries}"
    rise = case.rise
    grew = (
        f"Memory without page cache went from {say.mebibytes(rise.base)} to {say.mebibytes(rise.now)} of "
        f"{say.mebibytes(case.limit)} in {report.about(rise.seconds)}"
    )
    if case.unseen:
        return f"{grew}. {case.not_queries}"
    return (
        f"{grew}, and no burst of queries explains it. {case.not_queries} Unreclaimable growth is a leak, or work that "
        "needs more than the limit."
    )


def _sudden(snapshot: Snapshot, case: Case) -> str:
    """What the last sample shows, and the kernel's record of the killed program."""
    event = report.record(snapshot, case.memory, case.life)
    anon = None if event is None else number(event.attributes.get("anon_bytes"))
    held = "" if anon is None else f" The kernel's record: the killed program held {say.mebibytes(anon)} of its own."
    return (
        f"The last sample before the kill shows {say.mebibytes(case.sampled)} in use: the rest was filled before the "
        f"next one.{held} {case.not_queries}"
    )


def _evidence(snapshot: Snapshot, case: Case) -> list[Evidence]:
    memory, rise = case.memory, case.rise
    items: list[Evidence] = []
    first = case.life.start if rise is None else rise.onset
    if case.alarm is not None:
        items.append(report.prediction(snapshot, memory, case.alarm, first, case.limit))
    if case.life.killed:
        items += report.killed(snapshot, memory, case.life, case.first, case.limit)
    if rise is not None and not case.sudden:
        items.append(
            Evidence(
                id="growth",
                statement="Growth of memory without page cache",
                value=report.per_second(rise.rate),
                comparison=f"for {report.about(rise.seconds)}, R² {rise.steadiness:.2f}",
                numbers={
                    "bytes_per_s": rise.rate, "seconds": rise.seconds, "r2": rise.steadiness, "base_bytes": rise.base,
                    "used_bytes": rise.now,
                },
                series=report.refs(snapshot, first, rise.end, (memory.owner,), "memory_usage_bytes"),
            )
        )  # fmt: skip
    return [*items, _kind(snapshot, case, first)]


def _kind(snapshot: Snapshot, case: Case, first: int) -> Evidence:
    memory, at = case.memory, case.life.end - 1
    anon, file = (float(np.nan_to_num(values[at])) for values in (memory.anon, memory.file))
    return Evidence(
        id="kind",
        statement="Memory in use: anonymous / page cache",
        value=f"{say.mebibytes(anon)} / {say.mebibytes(file)}",
        comparison=f"limit: {say.mebibytes(case.limit)}",
        numbers={"anon_bytes": anon, "file_bytes": file, "limit_bytes": case.limit},
        series=report.refs(snapshot, first, at + 1, (memory.owner,), "memory_anon_bytes", "memory_file_bytes"),
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = find(snapshot)
    if not isinstance(case, Case):
        return []
    rise = None if case.sudden else case.rise
    return memory_limit.for_growth(snapshot, case.memory, rise, case.limit, in_files=case.in_files)


CAUSE = Cause(
    id=ID,
    title="Memory grows until the OOM kill",
    summary="Unreclaimable memory grows until the limit is reached and the kernel kills the program, "
    "without a burst of queries that would explain it.",
    mechanism="At its limit a cgroup first reclaims page cache. When nothing reclaimable is left, the kernel kills "
    "its largest process (Documentation/admin-guide/cgroup-v2.rst). So usage without page cache is what counts. "
    "Steady growth is extrapolated for as long as it was seen, or three times as long once it was seen for a minute. "
    "Growth that follows waiting queries, and the doubling of a Go heap between two GC cycles, do not count.",
    needs=NEEDS,
    rivals=("memory/query_burst_oom", "memory/reclaim_stall"),
    # What cannot be given back is no reclaim, by memory's own figures.
    excludes=("memory/reclaim_stall",),
    detect=detect,
    propose=propose,
    false_positives=(
        "A program that loads a fixed amount of data for a minute or longer, and stops just below its limit.",
        "Reclaimable kernel memory (dentries of a container) counts as unreclaimable.",
    ),
    references=(
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory",
        "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    ),
    signs=Signs(memory_signals.SERIES, may_fill),
)
