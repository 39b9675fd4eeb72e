"""Short bursts of requests need more CPU than the limit allows in a period."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.causes import _report as report
from jitterscope.diagnosis.areas.cpu.fixes import cfs_burst, cpu_limit, udp_sockets
from jitterscope.diagnosis.areas.cpu.readings.throttling import RISE, SIGNS, Judged, analyse, hot_mask
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import coincidence, dilate

ID = "cpu/request_burst"
NEEDS = ("cpu_usage_us", "cpu_throttled_periods", "dns_queries")


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    context = report.prepare(ID, NEEDS, snapshot)
    if not isinstance(context, report.Context):
        return context
    throttling = context.throttling
    judged = throttling.of("requests")
    periods, of = report.periods_of(judged), throttling.throttled_periods
    hurt = report.harm_of(context, judged)
    enough = periods >= 3 or len(judged) >= 2 or hurt.slow_inside >= 20
    if not judged or periods < 0.2 * of or not enough:
        return _not_found(context, judged)
    usual, peak = _usual(context), _peak(context, judged)
    name, cpu, noun = say.who(snapshot), throttling.cpu, throttling.served.noun
    burst = float(np.median([item.raised_s for item in judged]))
    return report.build(
        context,
        judged,
        hurt,
        confidence=_confidence(context, judged),
        title=f"Bursts of up to {peak:,.0f} {noun}/s (usually {usual:,.0f}) use up {name}'s CPU limit, "
        f"{report.consequence(context, judged, hurt)}",
        summary=f"{report.harm_sentence(context, hurt)} {report.cpu_sentence(context)} In "
        f"{say.count(len(judged), 'burst')} of about {burst:.1f} s the {noun} alone need more than "
        f"{cpu.limit:g} CPU."
        + (" GC runs at the same time but did not use the missing CPU." if throttling.gc is not None else ""),
        evidence=[
            *_evidence(context, judged, usual, peak),
            *report.slow_evidence(context, judged, hurt),
            report.usage_evidence(context, judged),
            *report.queue_evidence(context, judged),
        ],
    )


def _usual(context: report.Context) -> float:
    """Requests/s outside the stalls."""
    base = context.throttling.demand.base_queries
    if not np.isfinite(base):
        base = float(np.nanmedian(context.throttling.served.requests))
    return base * 1e6 / context.snapshot.step_us


def _peak(context: report.Context, judged: list[Judged]) -> float:
    """Requests/s in the busiest tick of the stalls."""
    queries = context.throttling.served.requests
    return max(float(np.nanmax(queries[item.episode.ticks])) for item in judged) * 1e6 / context.snapshot.step_us


def _confidence(context: report.Context, judged: list[Judged]) -> Confidence:
    share = report.periods_of(judged) / max(1, context.throttling.throttled_periods)
    explained = sum(item.by_queries * item.episode.throttled_periods for item in judged) / max(
        1, report.periods_of(judged)
    )
    if share >= 0.6 and explained >= 0.7 and (len(judged) >= 2 or report.periods_of(judged) >= 4):
        return "high"
    return "medium"


def _evidence(context: report.Context, judged: list[Judged], usual: float, peak: float) -> list[Evidence]:
    throttling = context.throttling
    cpu, served, servers = throttling.cpu, throttling.served, report.of_servers(context, "requests")
    periods = report.periods_of(judged)
    explained = sum(item.by_queries * item.episode.throttled_periods for item in judged)
    level = throttling.demand.base_queries if np.isfinite(throttling.demand.base_queries) else 0.0
    raised = np.nan_to_num(throttling.served.requests) > max(RISE * level, level + 4 * np.sqrt(max(level, 1.0)))
    together = coincidence(hot_mask(throttling), dilate(raised, 0, throttling.cpu.lag))
    found = [
        Evidence(
            id="rate",
            statement=f"{served.noun.capitalize()}/s in the bursts / baseline",
            value=f"{peak:,.0f} / {usual:,.0f}",
            comparison=say.times(peak / usual) if usual > 0 else None,
            numbers={"peak_queries_per_s": peak, "usual_queries_per_s": usual},
            series=report.refs(context, judged, *servers),
        ),
        Evidence(
            id="throttled_in_burst",
            statement="Throttled ticks during raised arrivals or one period after",
            value=f"{together.hits} of {together.of}",
            comparison=f"by chance: {say.percent(together.chance_ratio)}, p = {say.probability(together.p_shift)}",
            numbers={
                "hits": together.hits,
                "of": together.of,
                "chance_ratio": together.chance_ratio,
                "lift": together.lift,
                "p_value": together.p_shift,
            },
            series=report.refs(context, judged, (cpu.owner.id, "cpu_throttled_periods"), *servers),
        ),
        Evidence(
            id="queries_alone",
            statement=f"Throttled periods when the {served.noun} alone are replayed through the limit",
            value=f"{explained:,.0f} of {periods}",
            comparison=f"{say.ms(throttling.demand.per_query_us)} of CPU per {served.one}",
            numbers={
                "throttled_periods": explained,
                "of": float(periods),
                "per_query_us": throttling.demand.per_query_us,
            },
            series=report.refs(context, judged, (cpu.owner.id, "cpu_usage_us"), *servers),
        ),
    ]
    if throttling.gc is not None:
        used = sum(item.used_us for item in judged)
        gc = sum(item.gc_us for item in judged)
        found.append(
            Evidence(
                id="gc_share",
                statement="Upper bound of GC's share of CPU time in the bursts",
                value=say.percent(gc / used if used else 0.0),
                comparison=f"although {sum(i.gc_ticks for i in judged)} of {sum(i.hot_ticks for i in judged)} "
                "throttled ticks coincide with a cycle",
                numbers={"gc_cpu_ratio": gc / used if used else 0.0},
                series=report.refs(context, judged, (throttling.gc.view.id, "gc_active_us")),
            )
        )
    return found


def _not_found(context: report.Context, judged: list[Judged]) -> NotFound | NotEnoughData:
    items = context.throttling.judged
    served, scale = context.throttling.served, 1e6 / context.snapshot.step_us
    inside = np.concatenate([served.requests[item.episode.start : item.episode.first + 1] for item in items])
    during = float(np.nanmean(inside)) * scale if np.isfinite(inside).any() else float("nan")
    usual = _usual(context)
    if not judged and not (np.isfinite(during) and np.isfinite(usual)):
        gone = "dns_queries" if served.noun == "queries" else "requests"
        when = "when the stalls began" if not np.isfinite(during) else "outside the stalls"
        reason = f"Needs {gone}: no {served.noun} were counted {when}, so whether they came in a burst is not known."
        return NotEnoughData(cause=ID, missing=[gone], reason=reason)
    numbers = {
        "usual_queries_per_s": usual,
        "onset_queries_per_s": during,
        "throttled_periods": float(context.throttling.throttled_periods),
        "in_bursts": float(report.periods_of(judged)),
    }
    numbers = {name: value for name, value in numbers.items() if np.isfinite(value)}
    if judged:
        reason = (
            f"Only {report.periods_of(judged)} of {context.throttling.throttled_periods} throttled periods fall into "
            f"a burst of {served.noun}."
        )
    elif np.isfinite(during) and during >= RISE * usual:
        reason = (
            f"{during:,.0f} {served.noun}/s when the stalls began, usually {usual:,.0f}: elevated, but not a short "
            "burst that uses up the limit by itself."
        )
    else:
        reason = f"{during:,.0f} {served.noun}/s when the stalls began, {usual:,.0f} at other times: no burst."
    return NotFound(cause=ID, reason=reason, numbers=numbers)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    throttling = analyse(snapshot)
    judged = throttling.of("requests")
    if not judged:
        return []
    proposals = [
        cpu_limit.for_load(snapshot, throttling, judged, found),
        cfs_burst.for_requests(snapshot, throttling, judged, found),
        udp_sockets.propose(snapshot, throttling, found),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Request bursts use up the CPU limit",
    summary="For a fraction of a second far more requests arrive than usual, and answering them takes more CPU time "
    "than a period allows.",
    mechanism="A burst needs `requests × CPU per request`. When that is more than the quota of a period, the kernel "
    "stops the program until the next one, and the queue of the burst drains one quota at a time. A garbage-collected "
    "server allocates along with the requests, so every throttled tick can coincide with a GC cycle. On a small heap "
    "a cycle takes a few ms and is not what uses up the limit. Found when arrivals rise before or with the throttling "
    "and the requests alone, replayed through the limit, are throttled.",
    needs=NEEDS,
    rivals=("cpu/gc_throttling", "cpu/limit_too_low", "cpu/memory_limit_gc_spiral", "cpu/periodic_burst"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Clients that retry after a stall raise the rate after it, not before: only arrivals at the onset count.",
    ),
    references=(
        "https://docs.kernel.org/scheduler/sched-bwc.html#burst-feature",
        "https://github.com/kubernetes/kubernetes/issues/104516",
    ),
    signs=SIGNS,
)
