"""Fix: more replicas, where the load is more than one of them may serve."""

from __future__ import annotations

import math
import shlex

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings.throttling import Judged, Throttling
from jitterscope.diagnosis.core import owners, patches
from jitterscope.diagnosis.core.finding import Fix, Found, Patch
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot

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
    factor = (
        max(2, math.ceil(1.2 * float(known.mean()) / throttling.cpu.step_us / throttling.cpu.limit))
        if len(known)
        else 2
    )
    hidden = not len(known) or throttling.demand.is_hidden
    namespace = shlex.quote(snapshot.subject.fact("workload.namespace") or "NAMESPACE")
    return Fix(
        id="scale_out",
        title=f"Run {factor} times as many replicas",
        summary=f"{factor} times as many pods leave each {100 / factor:.0f} % of its load. Throttling hides how much "
        "CPU that needs: measure again."
        if hidden
        else f"With {factor} times as many pods, each one's share of the load fits into its limit with 20 % headroom.",
        verdict="reduces" if hidden else "removes",
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


FIXES = (
    FixKind(
        id="scale_out",
        title="Run more replicas",
        precondition="A controller that creates replicas, and clients that spread over them.",
        landing=Unseen("No fact records the replicas of a workload: a collector sees only those on its node."),
    ),
)
