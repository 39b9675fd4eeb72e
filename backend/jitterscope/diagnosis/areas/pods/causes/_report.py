"""What the causes of slow pod starts say alike: references to series, impact, severity, percentiles."""

from __future__ import annotations

from jitterscope.diagnosis.areas.pods.quantities import LATE_RATIO, MAX, P50, P99
from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_US, Nothing, PodStarts, Unknown
from jitterscope.diagnosis.core import references
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import (
    Confidence,
    Evidence,
    Impact,
    NotEnoughData,
    NotFound,
    SeriesRef,
    Severity,
)
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.snapshot import Snapshot

OBJECTIVE = "https://github.com/kubernetes/community/blob/master/sig-scalability/slos/pod_startup_latency.md"


def refs(snapshot: Snapshot, *metrics: str) -> list[SeriesRef]:
    """References to those of the metrics that the node recorded, over the window."""
    return references.recorded((snapshot.start_us, snapshot.end_us), (snapshot.node,), *metrics)


def answer(cause: str, why: Nothing | Unknown) -> NotFound | NotEnoughData:
    """Why there is no finding, as a cause says it."""
    if isinstance(why, Nothing):
        return NotFound(cause=cause, reason=why.reason, numbers=why.numbers)
    return NotEnoughData(cause=cause, missing=list(why.missing), reason=why.reason)


def severity(starts: PodStarts) -> Severity | None:
    """None where the objective is met: nobody is hurt yet."""
    late, n = starts.late, starts.starts.n
    if not pod_starts.missed(late, n):
        return None
    return "critical" if late >= 3 and late / n >= 0.1 else "warning"


def confidence(starts: PodStarts) -> Confidence:
    n = starts.starts.n
    return "high" if n >= 20 else "medium" if n >= 5 else "low"


def impact(starts: PodStarts) -> Impact:
    return impact_of(
        {
            LATE_RATIO: starts.late / starts.starts.n,
            P50: starts.starts.quantile_us(0.5) / 1000,
            P99: starts.starts.quantile_us(0.99) / 1000,
            MAX: starts.starts.quantile_us(1.0) / 1000,
        }
    )


def objective(snapshot: Snapshot, starts: PodStarts) -> Evidence:
    """How many starts were late, and how likely that is where the objective is just met."""
    late, n = starts.late, starts.starts.n
    chance = pod_starts.chance_of_late(late, n)
    basis = "" if starts.basis == "sli" else "; measured with image pulls, which took hardly any time"
    return Evidence(
        id="objective",
        statement=f"Pods that took more than {OBJECTIVE_US / 1e6:.0f} s to start, of those that started",
        value=f"{late} of {n}",
        comparison=f"objective: at most 1 %; by chance: p = {say.probability(chance)}{basis}",
        numbers={"late": float(late), "of": float(n), "chance_ratio": chance},
        series=refs(snapshot, starts.metric),
    )


def percentiles(starts: PodStarts) -> str:
    return " / ".join(say.ms(starts.starts.quantile_us(q)) for q in pod_starts.PERCENTILES)
