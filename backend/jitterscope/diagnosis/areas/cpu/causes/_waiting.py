"""What the causes share whose server waits for a CPU: who was late because of it, evidence, and how it reads."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.quantities import RUN_DELAY_MS
from jitterscope.diagnosis.areas.cpu.readings import run_waits
from jitterscope.diagnosis.areas.cpu.readings.run_waits import RunWaits
from jitterscope.diagnosis.core import harm, held_up, references
from jitterscope.diagnosis.core import impact as of
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence, Impact, SeriesRef
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.held_up import HeldUp
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.served import metric, not_timed, read_served
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate
from jitterscope.diagnosis.core.unread import Unread, unread

# Ticks without waiting that show what a server needs.
ENOUGH_TICKS = 20


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who was hurt while threads waited; `share` of the time that they wanted a CPU for (0..1).

    `own_late`: of the node's CPU time while late answers were on their way, what the subject used itself, at most; NaN
    where no answer was late or the use is not known. `ticks`: those of waits with late answers on their way; all of
    waits where there is none, or nobody times answers. Threads of many servers also wait while nobody is hurt, on idle
    nodes too: that says nothing about the trouble. `unread`: how long the requests of late answers waited until the
    server read them.
    """

    hurt: AnswersHarm
    held: HeldUp
    share: float
    noun: str
    own_late: float
    ticks: BoolArray
    unread: Unread

    @property
    def numbers(self) -> dict[str, float]:
        told = {"share": self.share, "late": self.hurt.late, "held_up": self.held.hits, "own_late": self.own_late,
                "unread": self.unread.ratio}  # fmt: skip
        return {name: float(value) for name, value in told.items() if math.isfinite(value)}


def judge(snapshot: Snapshot, waits: RunWaits) -> Waiting:
    """Late answers are counted in the ticks in which threads waited and just after: a late one leaves when they run."""
    spans, served = held_up.apart(snapshot, waits.spans | waits.free), read_served(snapshot)
    late_us = held_up.late_us(snapshot, spans)
    late_time_us = held_up.late_time_us(snapshot, late_us)
    hurtful = late_time_us > 0
    return Waiting(
        harm.harm(snapshot, spans, late_us, served=served),
        run_waits.held_up(snapshot, waits, late_us),
        run_waits.starvation(snapshot, waits),
        served.noun,
        run_waits.own_share(snapshot, late_time_us),
        waits.spans & hurtful if (waits.free & hurtful).any() else waits.spans,
        unread(served.servers, [late_us] * len(served.servers)),
    )


def consequence(snapshot: Snapshot, found: Waiting) -> str:
    """The verb of a title: what it does to those who ask."""
    if found.hurt.lost and found.hurt.max_ms:
        return f"takes up to {found.hurt.max_ms:,.0f} ms to answer or does not answer"
    if found.hurt.max_ms:
        return f"takes up to {found.hurt.max_ms:,.0f} ms to answer"
    return "answers late" if found.hurt.suffered else "waits for a CPU"


def harm_sentence(found: Waiting) -> str:
    if not found.hurt.timed:
        return not_timed(found.hurt.served)
    lost = f", and {found.hurt.lost:,} got no answer" if found.hurt.lost else ""
    return (
        f"{found.hurt.inside:,} of {found.hurt.queries:,.0f} {found.noun} took {found.hurt.over} "
        f"while it waited for a CPU{lost}.{lateness.allowance(found.hurt.limits)}"
    )


def extent(snapshot: Snapshot, waits: RunWaits) -> tuple[int, int]:
    """Begin and end (µs) of the time in which threads waited."""
    ticks = np.flatnonzero(waits.spans | waits.free)
    return (
        snapshot.start_us + int(ticks[0]) * snapshot.step_us,
        snapshot.start_us + (int(ticks[-1]) + 1) * snapshot.step_us,
    )


def onset(snapshot: Snapshot, waits: RunWaits, found: Waiting) -> int:
    low, high = extent(snapshot, waits)
    first = found.hurt.first_late_us
    return low if first is None or not low <= first < high else first


def refs(snapshot: Snapshot, waits: RunWaits, views: Iterable[ResourceView], *metrics: str) -> list[SeriesRef]:
    """Those of the metrics that the views recorded, over the time in which threads waited."""
    return references.recorded(extent(snapshot, waits), views, *metrics)


def impact(snapshot: Snapshot, waits: RunWaits, found: Waiting) -> Impact:
    waited = waits.total_us(np.isfinite(waits.waited_us)) / 1000
    known = impact_of({RUN_DELAY_MS: waited}) if waits.source == "run_delay" else {}
    return of.of_harm(snapshot, found.hurt) | of.of_cpu(snapshot) | known


def evidence(snapshot: Snapshot, waits: RunWaits, found: Waiting) -> list[Evidence]:
    """The waits themselves, and whether the late answers are those that waited."""
    told = "its threads" if waits.source == "run_delay" else "some thread (pressure)"
    free, hot = waits.total_us(waits.free), waits.total_us(waits.hot)
    found_evidence = [
        Evidence(
            id="waiting_share",
            statement=f"Time {told} spent waiting for a CPU, of the time a CPU was wanted",
            value=say.percent(found.share),
            comparison=f"{say.seconds(waits.total_us(waits.spans))} waited",
            numbers={"waited_us": waits.total_us(waits.spans), "share": found.share},
            series=refs(snapshot, waits, waits.views, waits.metric),
        ),
        Evidence(
            id="not_throttled",
            statement="Waiting outside throttled periods of its cgroup and ancestors",
            value=f"{say.seconds(free)} of {say.seconds(hot)}",
            numbers={"free_us": free, "of_us": hot},
            series=refs(snapshot, waits, (snapshot.subject,), "cpu_throttled_periods"),
        ),
    ]
    held = found.held
    if held.of:
        servers = found.hurt.served.servers
        dose = held.dose
        found_evidence.append(
            Evidence(
                id="held_up",
                statement="Late answers during which its threads waited for at least "
                f"{say.percent(held_up.HELD_UP)} of the time, beyond what they wait while answers are quick",
                value=f"{held.hits:,} of {held.of:,}",
                comparison=held.by_dose_words if dose.p < 0.05 else f"their median: {say.ms(held.typical_us)}",
                numbers={"hits": held.hits, "of": held.of, "rho": dose.rho, "p_value": dose.p},
                series=[one for server in servers for one in refs(snapshot, waits, (server,), metric(server, "slow"))],
            )
        )
    return found_evidence


def name_of(view: ResourceView) -> str:
    """What people call a cgroup: its container, with its pod where that is known, else its path."""
    container, pod = view.fact("workload.container"), view.fact("workload.pod")
    if container and pod:
        return f"{pod}/{container}"
    return container or view.name or view.key


def delayed(found: Waiting) -> int | None:
    """Slow answers during which threads waited for a CPU, and as many of those that never came; None: not known."""
    if not found.held.of:
        return None
    return round(found.hurt.suffered * found.held.hits / found.held.of)


def needed_cpus(snapshot: Snapshot, waits: RunWaits) -> float | None:
    """CPUs that the subject uses where it does not wait (its 95th percentile), in tenths, rounded up.

    None if it waits nearly always: what it got then says nothing about what it needs.
    """
    usage = series(snapshot.subject, "cpu_usage_us", snapshot.ticks)
    calm = usage[~dilate(waits.hot | waits.spans, 1, 2) & np.isfinite(usage)]
    if len(calm) < ENOUGH_TICKS:
        return None
    return max(0.1, math.ceil(round(12 * float(np.quantile(calm, 0.95)) / snapshot.step_us, 6)) / 10)
