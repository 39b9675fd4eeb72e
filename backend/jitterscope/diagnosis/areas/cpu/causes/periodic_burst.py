"""Something in the cgroup that is neither requests nor GC burns CPU again and again: a cron job, a reload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.causes import _report as report
from jitterscope.diagnosis.areas.cpu.fixes import cfs_burst, cpu_limit, own_cgroup
from jitterscope.diagnosis.areas.cpu.readings.throttling import SIGNS, Judged, Throttling, analyse
from jitterscope.diagnosis.core import missing_data
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound, SeriesRef
from jitterscope.diagnosis.core.gc import is_go
from jitterscope.diagnosis.core.severity import lowered
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

ID = "cpu/periodic_burst"
NEEDS = ("cpu_usage_us", "cpu_throttled_periods")


@dataclass(frozen=True, slots=True)
class Culprit:
    """Who used the extra CPU: a process, short-lived processes (None, share of the rest), or unknown (share NaN)."""

    process: ResourceView | None
    share: float

    @property
    def name(self) -> str:
        if self.process is not None:
            return say.program(self.process) or f"process {self.process.key.split(':')[0]}"
        return "something else in the cgroup" if not np.isfinite(self.share) else "short-lived processes"


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    context = report.prepare(ID, NEEDS, snapshot)
    if not isinstance(context, report.Context):
        return context
    throttling = context.throttling
    quota = throttling.cpu.period_quota_us
    # One throttled period with a little unexplained CPU is noise; a burst leaves more than that.
    judged = [
        item for item in throttling.of("other") if item.episode.throttled_periods >= 2 or item.other_us >= 1.5 * quota
    ]
    periods, of = report.periods_of(judged), throttling.throttled_periods
    if len(judged) < 2 or periods < 0.2 * of:
        return _not_found(context, judged)
    guilty = culprit(throttling, snapshot, judged)
    every, spread = _interval_s(context, judged)
    unobserved = _unobserved(throttling, guilty)
    itself = guilty.process is not None and (unobserved or is_go(guilty.process) or len(snapshot.processes) == 1)
    if not snapshot.processes:
        # Nobody looked at what runs here: it may be a program and its GC.
        return missing_data.not_enough(ID, ["process_cpu_us"], snapshot)
    # That it was another process than the server is the strongest sign; without it only the rhythm speaks.
    vague = itself or not guilty.share >= 0.6
    # Of a process that is alone here the burst may be its own GC, where nobody watches that.
    own_gc = unobserved or throttling.gc is None
    if throttling.gc is None and vague and any(map(is_go, snapshot.processes)):
        return missing_data.not_enough(ID, ["gc_active_us"], snapshot)
    if vague and (len(judged) < _rhythmic(throttling, judged) or spread > 0.4):
        return _not_found(context, judged)
    hurt = report.harm_of(context, judged)
    name = say.who(snapshot)
    beside = f" beside {name}" if guilty.name != name and throttling.served.servers and not itself else ""
    extra = float(np.median([item.other_us for item in judged]))
    rhythm = f"every {every:.1f} s" if spread <= 0.25 else f"about every {every:.0f} s"
    return report.build(
        context,
        judged,
        hurt,
        confidence=lowered(_confidence(context, judged, guilty, spread), int(vague and own_gc)),
        title=f"{_capital(guilty.name)}{beside} uses {say.seconds(extra)} of CPU time {rhythm} and uses up the CPU "
        f"limit, {report.consequence(context, judged, hurt)}",
        summary=f"{report.harm_sentence(context, hurt)} {report.cpu_sentence(context)} "
        f"{_explained(throttling, say.count(len(judged), 'burst'))}",
        evidence=[
            *_evidence(context, judged, guilty, every, spread),
            *report.slow_evidence(context, judged, hurt),
            report.usage_evidence(context, judged),
        ],
    )


def _rhythmic(throttling: Throttling, judged: list[Judged]) -> int:
    """Bursts that make a rhythm: a program that has just started also compiles its code and fills caches in bursts."""
    return 6 if all(throttling.warm_up.young[item.episode.first] for item in judged) else 3


def _unobserved(throttling: Throttling, guilty: Culprit) -> bool:
    """Whether the bursts may be GC of the process that makes them, and that process the server."""
    return guilty.process is not None and guilty.process in throttling.unobserved


def _explained(throttling: Throttling, bursts: str) -> str:
    """What the extra CPU does not come with, as far as anybody watched."""
    gone = report.unwatched(throttling)
    known = [f"with more {throttling.served.noun}"] if throttling.served.known else []
    known += [] if "gc_active_us" in gone else ["with GC cycles"]
    if len(known) == 2:
        return f"The extra CPU time of {bursts} coincides neither {known[0]} nor {known[1]}."
    return f"The extra CPU time of {bursts} does not coincide {known[0]}." if known else f"{bursts} repeat."


def _capital(text: str) -> str:
    return text if text[:1].isupper() or "python" in text else text[:1].upper() + text[1:] if " " in text else text


def culprit(throttling: Throttling, snapshot: Snapshot, judged: list[Judged]) -> Culprit:
    """The process whose CPU rose most in these stalls over its own use at other times."""
    if not throttling.process_cpu_us:
        return Culprit(None, float("nan"))
    quiet = throttling.demand.quiet
    shares: dict[int, float] = {}
    for view_id, used in throttling.process_cpu_us.items():
        base = used[quiet & np.isfinite(used)]
        usual = float(np.median(base)) if len(base) else 0.0
        # A process that was not watched yet in a burst is judged by the others.
        seen = [item for item in judged if item.episode.observed(np.isfinite(used))]
        extra = sum(item.other_us + item.gc_us for item in seen)
        rise = sum(float(np.nansum(used[item.episode.ticks])) - usual * item.episode.length for item in seen)
        shares[view_id] = float(np.clip(rise / extra, 0.0, 1.0)) if extra > 0 else 0.0
    best = max(shares, key=lambda key: (shares[key], -key))
    if shares[best] < 0.5:
        return Culprit(None, max(0.0, 1.0 - sum(shares.values())))
    return Culprit(next(view for view in snapshot.processes if view.id == best), shares[best])


def _interval_s(context: report.Context, judged: list[Judged]) -> tuple[float, float]:
    """(median seconds from burst to burst, spread of them relative to it)."""
    starts = np.array([item.episode.first for item in judged], dtype=np.float64) * context.snapshot.step_us / 1e6
    gaps = np.diff(starts)
    middle = float(np.median(gaps))
    # Two bursts have one gap, which says nothing about regularity.
    spread = float(np.median(np.abs(gaps - middle))) / middle if len(gaps) >= 2 else 1.0
    return middle, spread


def _confidence(context: report.Context, judged: list[Judged], guilty: Culprit, spread: float) -> Confidence:
    share = report.periods_of(judged) / max(1, context.throttling.throttled_periods)
    if len(judged) >= 3 and spread <= 0.25 and share >= 0.6 and np.isfinite(guilty.share) and guilty.share >= 0.5:
        return "high"
    return "medium" if share >= 0.6 and np.isfinite(guilty.share) else "low"


def _evidence(
    context: report.Context, judged: list[Judged], guilty: Culprit, every: float, spread: float
) -> list[Evidence]:
    cpu = context.throttling.cpu
    extra = sum(item.other_us for item in judged)
    whole = max(1.0, sum(item.other_us + item.gc_us for item in judged))
    replayed = sum(item.by_queries * item.episode.throttled_periods for item in judged)
    low, high = report.extent(context.snapshot, judged)
    found = [
        Evidence(
            id="rhythm",
            statement="Interval between bursts",
            value=f"{every:.1f} s",
            comparison=f"± {spread * every:.1f} s over {len(judged)} bursts"
            if len(judged) > 2
            else f"{len(judged)} bursts",
            numbers={"interval_s": every, "spread_ratio": spread, "bursts": float(len(judged))},
            series=report.refs(context, judged, (cpu.owner.id, "cpu_throttled_periods")),
        ),
        Evidence(
            id="unexplained_cpu",
            statement=f"Extra CPU time of a burst beyond {_subtracted(context.throttling)} / quota of one period",
            value=f"{say.seconds(extra / len(judged))} / {say.seconds(cpu.period_quota_us)}",
            comparison=f"{say.percent(extra / whole)} of the extra CPU time",
            numbers={
                "extra_us": extra / len(judged),
                "period_quota_us": cpu.period_quota_us,
                "unexplained_ratio": extra / whole,
            },
            series=report.refs(context, judged, (cpu.owner.id, "cpu_usage_us")),
        ),
        Evidence(
            id="queries_alone",
            statement=f"Throttled periods when {report.work(context)} alone is replayed through the limit",
            value=f"{replayed:,.0f} of {report.periods_of(judged)}",
            numbers={"throttled_periods": replayed, "of": float(report.periods_of(judged))},
            series=report.refs(context, judged, (cpu.owner.id, "cpu_throttled_periods")),
        ),
    ]
    if np.isfinite(guilty.share):
        series = (
            [SeriesRef(resource_id=guilty.process.id, metric="process_cpu_us", from_us=low, to_us=high)]
            if guilty.process is not None
            else [SeriesRef(resource_id=cpu.owner.id, metric="cpu_usage_us", from_us=low, to_us=high)]
        )
        found.append(
            Evidence(
                id="culprit",
                statement=f"Share of the extra CPU time that {guilty.name} used",
                value=say.percent(guilty.share),
                numbers={"share_ratio": guilty.share},
                series=series,
            )
        )
    return found


def _subtracted(throttling: Throttling) -> str:
    """What was taken off the CPU use of a burst."""
    gone = report.unwatched(throttling)
    work = f"its {throttling.served.noun}" if throttling.served.known else "the usual CPU use"
    return work if "gc_active_us" in gone else f"{work} and GC"


def _not_found(context: report.Context, judged: list[Judged]) -> NotFound:
    items = context.throttling.judged
    extra = sum(item.other_us for item in items)
    whole = max(1.0, sum(item.used_us for item in items))
    numbers = {"unexplained_cpu_ratio": extra / whole, "bursts": float(len(judged)),
               "throttled_periods": float(context.throttling.throttled_periods)}  # fmt: skip
    compiled = report.periods_of(context.throttling.of("jit"))
    if compiled:
        numbers["by_jit"] = float(compiled)
    if judged:
        reason = f"{say.count(len(judged), 'burst')} of unexplained CPU time so far: too few to be called periodic."
    else:
        known = _subtracted(context.throttling)
        reason = f"{say.percent(1 - extra / whole)} of the CPU time of the stalls is explained by {known}."
    if compiled:
        of = context.throttling.throttled_periods
        reason += f" The server's own JIT compiler caused {compiled} of {of} throttled periods."
    return NotFound(cause=ID, reason=reason, numbers=numbers)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    throttling = analyse(snapshot)
    judged = throttling.of("other")
    if not judged:
        return []
    guilty = culprit(throttling, snapshot, judged)
    proposals = [
        None
        if _unobserved(throttling, guilty)
        else own_cgroup.propose(snapshot, throttling, found, guilty.name, guilty.process),
        cpu_limit.for_bursts(snapshot, throttling, judged, found),
        cfs_burst.for_bursts(snapshot, throttling, judged, found),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="A periodic job uses up the CPU limit",
    summary="A process in the same cgroup uses up the quota every few seconds, and meanwhile every process in the "
    "cgroup is throttled.",
    mechanism="Every process in a cgroup shares its limit. A job that starts every few seconds (a cron script, a "
    "health check, a configuration reload) takes the quota of several periods in a row, and the server beside it is "
    "throttled with it. Found when bursts repeat and their CPU time coincides neither with more requests nor with GC "
    "cycles. Per-process CPU time names the process.",
    needs=NEEDS,
    rivals=("cpu/gc_throttling", "cpu/limit_too_low", "cpu/memory_limit_gc_spiral", "cpu/request_burst"),
    detect=detect,
    propose=propose,
    false_positives=("CPU steal or a busy node delays work, which then catches up: single, irregular periods.",),
    references=(
        "https://docs.kernel.org/scheduler/sched-bwc.html",
        "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files",
    ),
    signs=SIGNS,
)
