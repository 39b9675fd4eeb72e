"""Fix: more replicas, where the load is more than one of them may serve."""

from __future__ import annotations

import math
import shlex

import numpy as np

from jitterscope.diagnosis.areas.cpu.fixes import predict
from jitterscope.diagnosis.areas.cpu.readings.throttling import Judged, Throttling
from jitterscope.diagnosis.core import owners, patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, FixSetting, Found, Patch, predictions
from jitterscope.diagnosis.core.landing import MORE_PODS, FixKind
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

REFERENCES = [
    "https://kubernetes.io/docs/tasks/administer-cluster/dns-horizontal-autoscaling/",
    "https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/",
]


def propose(snapshot: Snapshot, throttling: Throttling, judged: list[Judged], found: Found) -> Fix | None:
    """Only where a controller can make replicas."""
    if patches.manager(snapshot) != "kubernetes" or not judged:
        return None
    owner = owners.of(snapshot)
    if not owner.can_scale:
        return None
    inside = np.concatenate([throttling.demand.load_us[item.episode.ticks] for item in judged])
    known = inside[np.isfinite(inside)]
    hidden = not len(known) or throttling.demand.is_hidden
    replayed = None if hidden else predict.fewest_replicas(snapshot)
    factor = replayed or _by_mean(throttling, known)
    setting = FixSetting(replicas=float(factor))
    said = predict.Replayed() if hidden else predict.replayed(snapshot, setting)
    ends = replayed is not None
    namespace = shlex.quote(snapshot.subject.fact("workload.namespace") or "NAMESPACE")
    return Fix(
        id="scale_out",
        title=f"Run {factor} times as many replicas",
        summary=f"{factor} times as many pods leave each {100 / factor:.0f} % of its load. Throttling hides how much "
        "CPU that needs: measure again."
        if hidden
        else f"With {factor} times as many pods, each gets {100 / factor:.0f} % of the load, at the same limit. "
        + _predicted(said),
        verdict="removes" if ends else "reduces",
        predicted=predictions(slow_ratio=said.slow_ratio, throttled_ratio=said.throttled_ratio),
        setting=setting,
        precondition="Works only if the clients spread over the replicas (a Service spreads them per connection or "
        "UDP flow).",
        patches=[
            Patch(
                label="kubectl",
                language="shell",
                text=f"kubectl -n {namespace} scale {owner} --replicas=$(( {factor} * $(kubectl -n {namespace} get "
                f"{owner} -o jsonpath='{{.spec.replicas}}') ))",
            )
        ],
        caveats=["An autoscaler (HPA, cluster-proportional-autoscaler) resets the number: change it there instead."],
        verify="CPU use of each replica stays below its limit. " + patches.VERIFY,
        undo=f"Scale {owner} back to the number of replicas it had.",
        references=REFERENCES,
    )


def _by_mean(throttling: Throttling, known: FloatArray) -> int:
    """For the mean load of the stalls, with a fifth of headroom."""
    if not len(known):
        return 2
    return max(2, math.ceil(1.2 * float(known.mean()) / throttling.cpu.step_us / throttling.cpu.limit))


def _predicted(said: predict.Replayed) -> str:
    ratio = said.throttled_ratio
    if ratio is None:
        return "Requests are not counted, so what that leaves is not predicted."
    return f"{say.percent(ratio.expected)} of its periods are then throttled."


FIXES = (
    FixKind(
        id="scale_out",
        title="Run more replicas",
        precondition="A controller that creates replicas, and clients that spread over them.",
        landing=MORE_PODS,
    ),
)
