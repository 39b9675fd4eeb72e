"""What the CPU causes share: needed signals, evidence about throttling, and how a Found is put together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings.impact import Harm, harm, impact, slow_answers
from jitterscope.diagnosis.areas.cpu.readings.throttling import Judged, Throttling, analyse, hot_mask, span_mask
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import missing_data, references
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Found, NotEnoughData, NotFound, SeriesRef
from jitterscope.diagnosis.core.gc import is_go
from jitterscope.diagnosis.core.impact import P50, P99, QUERIES, SLOW_RATIO
from jitterscope.diagnosis.core.served import Figure, not_timed
from jitterscope.diagnosis.core.served import metric as metric_of
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import has, number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import burst_ratio, coincidence
from jitterscope.diagnosis.core.unread import unread
from jitterscope.diagnosis.programs import runtimes

_GC = "gc_active_us"
_NOT_WATCHED = {"dns_queries": "queries", "requests": "requests", _GC: "garbage collection"}


@dataclass(frozen=True, slots=True)
class Context:
    """A snapshot in which throttling was seen, analysed."""

    cause: str
    snapshot: Snapshot
    throttling: Throttling


def prepare(cause: str, needs: tuple[str, ...], snapshot: Snapshot) -> Context | NotFound | NotEnoughData:
    """The analysed snapshot, or why this cause cannot be judged or cannot be here."""
    throttling = analyse(snapshot)
    missing = _missing(needs, throttling)
    # Without throttling it does not matter which runtimes there are; Go's GC is always looked for.
    other_runtime = missing == [_GC] and bool(snapshot.processes) and not any(map(is_go, snapshot.processes))
    if missing and not other_runtime:
        return missing_data.not_enough(cause, missing, snapshot)
    cpu = throttling.cpu
    if not np.isfinite(cpu.limit):
        limit_known = number(cpu.owner.fact("cpu.quota_us")) is not None
        if np.nansum(cpu.throttled) > 0 and not limit_known:
            return missing_data.not_enough(cause, ["cpu.quota_us"], snapshot)
        why = (
            "There is no CPU limit, so nothing" if limit_known else "Whether there is a CPU limit is not known; nothing"
        )
        return NotFound(cause=cause, reason=f"{why} is throttled.")
    if not throttling.judged:
        periods = float(np.nansum(cpu.periods))
        return NotFound(
            cause=cause,
            reason=f"0 of {periods:,.0f} periods were throttled outside start-up.",
            numbers={"periods": periods, "throttled_periods": 0.0},
        )
    if other_runtime:
        return runtimes.gc_not_observed(cause, snapshot)
    return Context(cause, snapshot, throttling)


def _missing(needs: tuple[str, ...], throttling: Throttling) -> list[str]:
    missing = [name for name in needs if name.startswith("cpu_") and not has(throttling.cpu.owner, name)]
    # Where the requests are no queries, a cause that needs these looks at requests.
    alike = {"requests": "dns_queries"}
    # That another process collects unseen says nothing against the GC that was seen.
    gone = [name for name in unwatched(throttling) if name != _GC or throttling.gc is None]
    return missing + [name for name in gone if name in needs or alike.get(name) in needs]


def unwatched(throttling: Throttling) -> list[str]:
    """Of the signals that tell the CPU causes apart, those that nobody recorded: what they would show is unknown."""
    gone = [] if throttling.served.known else ["dns_queries" if throttling.served.noun == "queries" else "requests"]
    seen = throttling.gc is not None and not throttling.unobserved
    return gone if seen else [*gone, _GC]


def refs(context: Context, judged: list[Judged], *metrics: tuple[int, str]) -> list[SeriesRef]:
    """References to those of the named (resource, metric) that were recorded, over the extent of the episodes."""
    snapshot = context.snapshot
    span = extent(snapshot, judged)
    views = {
        view.id: view
        for view in (context.throttling.cpu.owner, *snapshot.processes, *snapshot.dns_servers, *snapshot.tcp_servers)
    }
    views[snapshot.subject.id] = snapshot.subject
    found: list[SeriesRef] = []
    for resource, metric in metrics:
        # A metrics page counts cycles; only probes see the time they take.
        names = (metric, "gc_cycles") if metric == "gc_active_us" else (metric,)
        found += references.recorded(span, (views[resource],), *names)[:1]
    return found


def of_servers(context: Context, figure: Figure) -> list[tuple[int, str]]:
    """Where each server of the subject records this figure: (resource, metric)."""
    return [(server.id, metric_of(server, figure)) for server in context.throttling.served.servers]


def extent(snapshot: Snapshot, judged: list[Judged]) -> tuple[int, int]:
    return (
        snapshot.start_us + min(item.episode.start for item in judged) * snapshot.step_us,
        snapshot.start_us + max(item.episode.end for item in judged) * snapshot.step_us,
    )


def periods_of(judged: list[Judged]) -> int:
    return sum(item.episode.throttled_periods for item in judged)


def harm_of(context: Context, judged: list[Judged]) -> Harm:
    return harm(context.snapshot, context.throttling, span_mask(context.throttling, judged))


def longest_us(context: Context, judged: list[Judged]) -> float:
    return max((item.episode.last - item.episode.first + 1) * context.snapshot.step_us for item in judged)


def consequence(context: Context, judged: list[Judged], hurt: Harm) -> str:
    """How it ends for who asks: the last part of a title."""
    if hurt.by_stalls >= 1 and hurt.max_ms:
        return f"so answers are delayed up to {hurt.max_ms:,.0f} ms"
    if hurt.by_stalls >= 1:
        return "so answers are late"
    stalling = f"stalling it for up to {say.seconds(longest_us(context, judged))} at a time"
    if hurt.slow_inside and not hurt.compared:
        return f"{stalling}; whether it delays answers is not known"
    if hurt.slow_inside:
        return f"{stalling}; answers were as late as at other times"
    return f"{stalling}; no answer was late so far" if context.throttling.served.timed else stalling


def harm_sentence(context: Context, hurt: Harm) -> str:
    figures = impact(context.snapshot, context.throttling, hurt)
    queries, slow = QUERIES.of(figures), SLOW_RATIO.of(figures)
    served = context.throttling.served
    if not queries or slow is None:
        return not_timed(served)
    detail = ""
    p50, p99 = P50.of(figures), P99.of(figures)
    if p99 is not None and p50 is not None:
        detail = f" (p99 {say.ms(p99 * 1000)}, median {say.ms(p50 * 1000)})"
    allowed = lateness.allowance(hurt.answers.limits)
    told = f"{say.percent(slow)} of {queries:,.0f} {served.noun} took {hurt.answers.words}{detail}.{allowed}"
    if hurt.slow_inside and not hurt.compared:
        told += " Harm is not measured: stalls fill nearly the whole window, so no other answers show what is usual."
    return told


def work(context: Context) -> str:
    """What is replayed through a limit: work is known by its requests, else by the CPU use of quiet times."""
    served = context.throttling.served
    return f"the work of the {served.noun}" if served.known else "the usual CPU use"


def cpu_sentence(context: Context) -> str:
    cpu = context.throttling.cpu
    mean = float(np.nanmean(cpu.usage_us)) / cpu.step_us
    peak = float(np.nanmax(cpu.usage_us)) / cpu.step_us
    average, limit = say.apart(mean, cpu.limit)
    return f"Average use is {average} of {limit} CPU, {peak:.2f} CPU in the busiest 100 ms."


def slow_evidence(context: Context, judged: list[Judged], hurt: Harm) -> list[Evidence]:
    """Were the slow answers those that waited in a stall?"""
    if not hurt.slow:
        return []
    servers = of_servers(context, "slow")
    return [
        Evidence(
            id="slow_in_stalls",
            statement=f"Answers {lateness.words(hurt.answers.limits, brief=True)} that waited in one of these stalls",
            value=f"{hurt.slow_inside:,} of {hurt.slow:,}",
            comparison=f"by chance: {say.percent(hurt.chance_ratio)}",
            numbers={
                "hits": hurt.slow_inside,
                "of": hurt.slow,
                "chance_ratio": hurt.chance_ratio,
                "by_stalls": hurt.by_stalls,
            },
            series=refs(context, judged, *servers),
        )
    ]


def usage_evidence(context: Context, judged: list[Judged]) -> Evidence:
    cpu = context.throttling.cpu
    mean = float(np.nanmean(cpu.usage_us)) / cpu.step_us
    average, limit = say.apart(mean, cpu.limit)
    ratio = burst_ratio(cpu.usage_us)
    return Evidence(
        id="burst_ratio",
        statement="Busiest 100 ms, relative to average CPU use",
        value=say.times(ratio),
        comparison=f"average {average} of {limit} CPU",
        numbers={"burst_ratio": ratio, "cpu_mean": mean, "cpu_limit": cpu.limit},
        series=refs(context, judged, (cpu.owner.id, "cpu_usage_us")),
    )


def queue_evidence(context: Context, judged: list[Judged]) -> list[Evidence]:
    """Where slow answers spent their time, when the kernel-level split was recorded."""
    servers, over_us = context.throttling.served.servers, slow_answers(context.snapshot, context.throttling).over_us
    # Only some of the quicker answers are kept.
    kept = [(one, limit_us) for one, limit_us in zip(servers, over_us, strict=True) if limit_us >= SLOW_US]
    share = unread([one for one, _ in kept], [limit_us for _, limit_us in kept]).ratio
    if math.isnan(share):
        return []
    return [
        Evidence(
            id="waiting_in_socket",
            statement="Slow answers: share of time in the receive queue / in the server",
            value=f"{say.percent(share)} / {say.percent(1 - share)}",
            numbers={"queue_ratio": share, "work_ratio": 1 - share},
            series=refs(context, judged, *of_servers(context, "wait")),
        )
    ]


def gc_evidence(context: Context, judged: list[Judged]) -> Evidence | None:
    """Coincidence of all throttled ticks with GC cycles, one period of lag allowed."""
    throttling = context.throttling
    if throttling.gc is None:
        return None
    ticks = hot_mask(throttling)
    # The counter moves when a period ends: a cycle of one period ago still counts.
    near = throttling.gc_active.copy()
    for shift in range(1, throttling.cpu.lag + 1):
        near[shift:] |= throttling.gc_active[:-shift]
    together = coincidence(ticks, near)
    return Evidence(
        id="throttled_in_gc",
        statement="Throttled ticks during a GC cycle",
        value=f"{together.hits} of {together.of}",
        comparison=f"by chance: {say.percent(together.chance_ratio)}, p = {say.probability(together.p_shift)}",
        numbers={
            "hits": together.hits,
            "of": together.of,
            "chance_ratio": together.chance_ratio,
            "lift": together.lift,
            "p_value": together.p_shift,
            "p_independent": together.p_independent,
        },
        series=refs(
            context,
            judged,
            (throttling.cpu.owner.id, "cpu_throttled_periods"),
            (throttling.gc.view.id, "gc_active_us"),
        ),
    )


def build(
    context: Context,
    judged: list[Judged],
    hurt: Harm,
    *,
    confidence: Confidence,
    title: str,
    summary: str,
    evidence: list[Evidence],
) -> Found:
    """A Found over these episodes; the engine adds rivals and fixes, and is less certain where those
    lack data."""
    gone = unwatched(context.throttling)
    if gone:
        summary += f" Not watched here, so not ruled out: {' and '.join(_NOT_WATCHED[name] for name in gone)}."
    if unobserved := context.throttling.unobserved:
        summary += f" The GC of {' and '.join(sorted(map(runtimes.described, unobserved)))} was not observed."
    share = periods_of(judged) / max(1, context.throttling.throttled_periods)
    score = 0.6 * share + 0.3 * min(1.0, periods_of(judged) / 10) + (0.1 if hurt.severity else 0.0)
    low, high = extent(context.snapshot, judged)
    first = min(item.episode.first for item in judged)
    stall_us = context.snapshot.start_us + first * context.snapshot.step_us - context.throttling.cpu.period_us
    onset = hurt.first_slow_us or max(low, stall_us)
    return Found(
        cause=context.cause,
        score=round(min(1.0, score), 4),
        confidence=confidence,
        severity=hurt.severity,
        harm=hurt.known,
        title=title,
        summary=summary,
        onset_us=max(context.snapshot.start_us, onset),
        last_us=high,
        impact=impact(context.snapshot, context.throttling, hurt),
        evidence=evidence,
    )


Detector = Callable[[Snapshot], Found | NotFound | NotEnoughData]
