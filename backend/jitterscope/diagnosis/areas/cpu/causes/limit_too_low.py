"""The load needs more CPU than the limit allows, all the time, or as long as the service starts."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.causes import _report as report
from jitterscope.diagnosis.areas.cpu.fixes import cpu_limit, scale_out
from jitterscope.diagnosis.areas.cpu.readings.throttling import SIGNS, Judged, analyse
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.served import ENOUGH
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.start_up import CALM_US

ID = "cpu/limit_too_low"
NEEDS = ("cpu_usage_us", "cpu_throttled_periods")
LEAST_PERIODS, LEAST_SHARE = 10, 0.2
# Share of the periods that end throttled where the load never fits.
ALWAYS = 0.8
# Requests of a starting program become cheaper by this factor at least if its code is being compiled.
FALLS = 1.5


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    context = report.prepare(ID, NEEDS, snapshot)
    if not isinstance(context, report.Context):
        return context
    throttling = context.throttling
    judged = throttling.of("load")
    periods, of = report.periods_of(judged), throttling.throttled_periods
    if periods < LEAST_PERIODS or periods < LEAST_SHARE * of:
        return _while_starting(context) or _not_found(context, periods, of)
    hurt = report.harm_of(context, judged)
    cpu, need = throttling.cpu, _need(context, judged)
    rate = _rate(context, judged)
    name = say.who(snapshot)
    wait = report.consequence(context, judged, hurt)
    served = throttling.served
    load = f"its {rate:,.0f} {served.noun}/s" if np.isfinite(rate) else "its work"
    needed, limit = say.apart(need, cpu.limit)
    title = f"{name} needs {needed} CPU for {load}, more than its limit of {limit} CPU, {wait}"
    if not np.isfinite(need) or need <= cpu.limit or needed == limit:
        title = f"{name} keeps hitting its CPU limit of {cpu.limit:g} CPU with {load}, {wait}"
        if _ratio_of_periods(judged) >= ALWAYS:
            title = f"{name} uses its whole CPU limit of {cpu.limit:g} CPU for {load} all the time, {wait}"
    return report.build(
        context,
        judged,
        hurt,
        confidence=_confidence(context, judged),
        title=title,
        summary=f"{report.harm_sentence(context, hurt)} {report.cpu_sentence(context)} {periods} periods were "
        "throttled one after another"
        + (f", without a burst of {served.noun}: this is the load itself." if np.isfinite(rate) else "."),
        evidence=[
            *_evidence(context, judged, need, rate),
            *report.slow_evidence(context, judged, hurt),
            *report.queue_evidence(context, judged),
        ],
    )


def _while_starting(context: report.Context) -> Found | None:
    """Harm more than 30 s after the start of a service that the limit has throttled ever since."""
    throttling, snapshot = context.throttling, context.snapshot
    warm_up = throttling.warm_up
    judged = [item for item in throttling.of("start") if warm_up.overdue[item.episode.last]]
    periods = report.periods_of(judged)
    if warm_up.began is None or periods < LEAST_PERIODS or periods < LEAST_SHARE * throttling.throttled_periods:
        return None
    hurt = report.harm_of(context, judged)
    if hurt.severity is None:
        return None
    name, limit = say.who(snapshot), throttling.cpu.limit
    age_us = float(judged[-1].episode.last - warm_up.began) * snapshot.step_us
    costs = _costs(context, warm_up.began, judged[-1].episode.end)
    falls = costs is not None and costs[0] >= FALLS * costs[1]
    return report.build(
        context,
        judged,
        hurt,
        confidence="medium" if falls else "low",
        title=f"{name} is throttled at its limit of {limit:g} CPU while it starts, "
        f"{report.consequence(context, judged, hurt)}",
        summary=f"{report.harm_sentence(context, hurt)} {say.seconds(age_us)} after its start, the limit still "
        f"throttles it: it has not run for {CALM_US / 1e6:g} s without throttling yet. A starting program loads "
        "classes, compiles its code, and fills caches. Under a low limit, this takes long, and requests wait for it.",
        evidence=[
            _throttled_since_start(context, judged, age_us),
            *_cost_evidence(context, judged, costs),
            *report.slow_evidence(context, judged, hurt),
            *report.queue_evidence(context, judged),
        ],
    )


def _throttled_since_start(context: report.Context, judged: list[Judged], age_us: float) -> Evidence:
    cpu, ticks = context.throttling.cpu, context.throttling.warm_up.ticks
    throttled, periods = float(np.nansum(cpu.throttled[ticks])), float(np.nansum(cpu.periods[ticks]))
    return Evidence(
        id="throttled_since_start",
        statement="Throttled periods since the process started",
        value=f"{throttled:,.0f} of {periods:,.0f}",
        comparison=f"latest {say.seconds(age_us)} after the start",
        numbers={"throttled_periods": throttled, "of": periods, "age_us": age_us, "cpu_limit": cpu.limit},
        series=report.refs(context, judged, (cpu.owner.id, "cpu_throttled_periods")),
    )


def _cost_evidence(context: report.Context, judged: list[Judged], costs: tuple[float, float] | None) -> list[Evidence]:
    if costs is None:
        return []
    return [
        Evidence(
            id="cost_falls",
            statement=f"CPU time per answered {context.throttling.served.one}, first and latest {CALM_US / 1e6:g} s",
            value=f"{say.ms(costs[0])} / {say.ms(costs[1])}",
            numbers={"first_us": costs[0], "latest_us": costs[1]},
            series=report.refs(context, judged, (context.throttling.cpu.owner.id, "cpu_usage_us")),
        )
    ]


def _costs(context: report.Context, began: int, end: int) -> tuple[float, float] | None:
    """CPU (µs) per answer in the first 10 s with answers since a tick, and in the 10 s before `end`."""
    cpu, answers = context.throttling.cpu, np.nan_to_num(context.throttling.served.answers)
    size, first = CALM_US // context.snapshot.step_us, max(0, began)
    answered = np.flatnonzero(answers[first:end] > 0)
    if not len(answered):
        return None
    parts = (slice(first + int(answered[0]), first + int(answered[0]) + size), slice(max(first, end - size), end))
    counts = [float(answers[part].sum()) for part in parts]
    if min(counts) < ENOUGH:
        return None
    used = [float(np.nansum(cpu.usage_us[part])) for part in parts]
    return used[0] / counts[0], used[1] / counts[1]


def _inside(context: report.Context, judged: list[Judged]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask = np.zeros(context.snapshot.ticks, dtype=np.bool_)
    for item in judged:
        mask[item.episode.ticks] = True
    return mask


def _need(context: report.Context, judged: list[Judged]) -> float:
    """CPUs that the load of the stalls needs; NaN where only its capped use is known.

    The cost of a request inside a stall is no more than what the limit left for it.
    """
    if context.throttling.demand.is_hidden:
        return float("nan")
    load = context.throttling.demand.load_us[_inside(context, judged)]
    known = load[np.isfinite(load)]
    return float(known.mean()) / context.throttling.cpu.step_us if len(known) else float("nan")


def _rate(context: report.Context, judged: list[Judged]) -> float:
    queries = context.throttling.served.requests[_inside(context, judged)]
    known = queries[np.isfinite(queries)]
    return float(known.mean()) * 1e6 / context.snapshot.step_us if len(known) else float("nan")


def _ratio_of_periods(judged: list[Judged]) -> float:
    return report.periods_of(judged) / max(1, sum(item.episode.periods for item in judged))


def _use_ratio(context: report.Context, judged: list[Judged]) -> float:
    inside = _inside(context, judged)
    cpu = context.throttling.cpu
    return float(np.nansum(cpu.usage_us[inside]) / np.nansum(cpu.quota_us[inside & np.isfinite(cpu.usage_us)]))


def _confidence(context: report.Context, judged: list[Judged]) -> Confidence:
    seconds = sum(item.episode.length for item in judged) * context.snapshot.step_us / 1e6
    gc = sum(item.gc_us for item in judged) / max(1.0, sum(item.used_us for item in judged))
    if _ratio_of_periods(judged) >= ALWAYS and _use_ratio(context, judged) >= 0.9 and gc < 0.5 and seconds >= 3:
        return "high"
    return "medium"


def _evidence(context: report.Context, judged: list[Judged], need: float, rate: float) -> list[Evidence]:
    cpu, served = context.throttling.cpu, context.throttling.served
    of = sum(item.episode.periods for item in judged)
    periods, use = report.periods_of(judged), _use_ratio(context, judged)
    longest = max(item.episode.length for item in judged) * context.snapshot.step_us
    gc = sum(item.gc_us for item in judged) / max(1.0, sum(item.used_us for item in judged))
    found = [
        Evidence(
            id="always_throttled",
            statement="Periods that ended throttled while the load lasted",
            value=f"{periods} of {of}",
            comparison=f"longest stretch {say.seconds(longest)}",
            numbers={"throttled_periods": float(periods), "of": float(of), "longest_us": float(longest)},
            series=report.refs(context, judged, (cpu.owner.id, "cpu_throttled_periods")),
        ),
        Evidence(
            id="use_of_limit",
            statement="Share of the CPU limit used in that time",
            value=say.percent(use),
            comparison="{} of {} CPU".format(*say.apart(use * cpu.limit, cpu.limit)),
            numbers={"use_ratio": use, "cpu_limit": cpu.limit},
            series=report.refs(context, judged, (cpu.owner.id, "cpu_usage_us")),
        ),
    ]
    if np.isfinite(need) and np.isfinite(rate):
        needed, limit = say.apart(need, cpu.limit)
        found.append(
            Evidence(
                id="needed_cpu",
                statement=f"CPU that incoming {served.noun} need, from the cost of one {served.one}",
                value=f"{needed} CPU",
                comparison=f"limit: {limit} CPU ({rate:,.0f} {served.noun}/s × "
                           f"{say.ms(context.throttling.demand.per_query_us)} each)",
                numbers={"needed_cpu": need, "cpu_limit": cpu.limit, "queries_per_s": rate,
                         "per_query_us": context.throttling.demand.per_query_us},
                series=report.refs(context, judged, *report.of_servers(context, "requests")),
            )
        )  # fmt: skip
    if context.throttling.gc is not None:
        found.append(
            Evidence(
                id="gc_share",
                statement="Upper bound of GC's share of CPU time",
                value=say.percent(gc),
                numbers={"gc_cpu_ratio": gc},
                series=report.refs(context, judged, (context.throttling.gc.view.id, "gc_active_us")),
            )
        )
    return found


def _not_found(context: report.Context, periods: int, of: int) -> NotFound:
    throttling = context.throttling
    ratio, use = throttling.base_load_ratio, throttling.cpu.usage_us
    mean = float(np.nanmean(use)) / throttling.cpu.step_us
    quiet = 1 - sum(item.episode.length for item in throttling.judged) / context.snapshot.ticks
    numbers = {
        "cpu_mean": mean,
        "cpu_limit": throttling.cpu.limit,
        "unthrottled_ratio": quiet,
        "load_periods": float(periods),
    }
    if np.isfinite(ratio):
        numbers["load_ratio"] = ratio
        reason = (
            f"The {context.throttling.served.noun} need {say.percent(ratio)} of the limit on average, and the limit "
            f"was enough for {say.percent(quiet)} of the time."
        )
    else:
        average, limit = say.apart(mean, throttling.cpu.limit)
        reason = f"Average use is {average} of {limit} CPU: the limit was enough for {say.percent(quiet)} of the time."
    if periods:
        reason += f" Only {periods} of {of} throttled periods are steady load."
    return NotFound(cause=ID, reason=reason, numbers=numbers)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    throttling = analyse(snapshot)
    judged = throttling.of("load")
    if not _is_load(found):
        return [cpu_limit.for_start(snapshot, throttling)]
    proposals = [
        cpu_limit.for_load(snapshot, throttling, judged, found) if judged else None,
        scale_out.propose(snapshot, throttling, judged, found) if judged else None,
    ]
    return [fix for fix in proposals if fix is not None]


def _is_load(found: Found) -> bool:
    """Whether a finding is about the load, and not about the start of the service."""
    return all(one.id != "throttled_since_start" for one in found.evidence)


CAUSE = Cause(
    id=ID,
    title="CPU limit too low for the load",
    summary="The program uses its whole CPU limit for as long as the load lasts, and requests pile up.",
    mechanism="When the work that arrives in a second needs more CPU time than `quota ÷ period` gives, every period "
    "ends throttled and a queue builds up: answers get slower until clients give up. GC runs more often under load "
    "and coincides with throttled ticks without causing them. Found when stalls last for seconds, CPU use stays at "
    "the limit, and the incoming requests alone, at their measured cost, need the whole limit. A starting program "
    "needs more CPU than later. If the limit still throttles it more than 30 s after its start, without 10 s of calm "
    "in between, and answers are late, it is reported as starting, for at most 3 min.",
    needs=NEEDS,
    rivals=(
        "cpu/gc_throttling",
        "cpu/memory_limit_gc_spiral",
        "cpu/periodic_burst",
        "cpu/request_burst",
        "net/accept_queue",
    ),
    # What is throttled does not accept either: a full queue then says nothing else.
    excludes=("net/accept_queue",),
    detect=detect,
    propose=propose,
    false_positives=("A batch job that can take as long as it likes is throttled on purpose and harms no request.",),
    references=(
        "https://docs.kernel.org/scheduler/sched-bwc.html",
        "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    ),
    signs=SIGNS,
)
