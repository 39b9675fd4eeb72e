"""Fix: a CPU limit for the neighbour that took most."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.areas.cpu.fixes.cpu_weight import HALF, MEASURES, UNKNOWN, VERIFY
from jitterscope.diagnosis.areas.cpu.readings.run_waits import Neighbour
from jitterscope.diagnosis.core import patches, predicted
from jitterscope.diagnosis.core.area import NEIGHBOUR
from jitterscope.diagnosis.core.finding import Fix, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number, read_cpu
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import cpu_requests
from jitterscope.diagnosis.programs.workload_facts import NEIGHBOUR_CPU_LIMIT, cpu_limit

REFERENCES = [
    "https://docs.kernel.org/scheduler/sched-bwc.html",
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
]
# From this share of what all neighbors used on, limiting one of them frees what the server needs.
MOST_OF_IT = 0.8
# The smallest limit that is proposed, in CPUs.
_LEAST_LIMIT = 0.1


def propose(snapshot: Snapshot, found: Found, named: list[Neighbour], need: float | None, others: float) -> Fix | None:
    """A limit that frees `need` CPUs for the server, in tenths; `others`: CPUs that all others used together.

    Half of the node if the need is not known. None where no neighbor is known that used more than that: limiting one of
    several would not free enough.
    """
    cpus = number(snapshot.node.fact("node.cpus")) or math.inf
    freed = HALF * cpus if need is None else need
    if not named or named[0].cpus < freed + _LEAST_LIMIT:
        return None
    first = named[0]
    limit = max(_LEAST_LIMIT, math.floor(round(10 * (first.cpus - freed), 6)) / 10)
    name = first.view.fact("workload.container") or first.view.name or first.view.key
    # The patch is written for whoever manages the neighbor.
    neighbour = replace(snapshot, subject=first.view, ancestors=())
    cpu = read_cpu(neighbour)
    unlimited = not math.isfinite(cpu.limit)
    if unlimited:
        cpu = replace(cpu, quota_us=np.full(snapshot.ticks, limit * snapshot.step_us))
    texts, undo = patches.cpu_limit(neighbour, cpu, limit)
    alone = first.cpus >= MOST_OF_IT * others
    caveats = [f"{name} is then throttled: its own requests, if any, get slower."]
    if not alone:
        caveats.append(
            f"Others used {others - first.cpus:.2g} CPU and take what it leaves, according to their weights: limit "
            "them too, or raise the weight of the server."
        )
    refused = _refused(neighbour, limit)
    left = predicted.remaining(found, "held_up", 0.0, 0.1, 0.5) if alone and need is not None else None
    needs = UNKNOWN if need is None else f"The server needs {need:g} CPU."
    return Fix(
        id="limit_neighbour",
        title=f"Limit {name} to {limit:g} CPU",
        summary=f"{name} used {first.cpus:.2g} of the node's {cpus:g} CPUs while the server waited. A limit of "
        f"{limit:g} CPU frees {first.cpus - limit:.2g} CPU. {needs}",
        verdict="removes" if left is not None else "unknown" if need is None else "reduces",
        predicted=predictions(slow_ratio=left),
        precondition=f"Works only if the CPU request of {name} is at most {limit:g} CPU: Kubernetes refuses a limit "
        "below it. Lower the request first."
        if refused
        else None,
        patches=[] if refused else texts,
        caveats=caveats,
        verify=VERIFY,
        undo=f"Remove the CPU limit of {name}." if unlimited else undo,
        references=REFERENCES,
    )


def _lowered(before: Facts, after: Facts) -> bool:
    old, new = cpu_limit(before, NEIGHBOUR), cpu_limit(after, NEIGHBOUR)
    return old is not None and new is not None and new < old


def _refused(neighbour: Snapshot, limit: float) -> bool:
    """Whether the neighbor's CPU request is, or may be, above its new limit."""
    if patches.manager(neighbour) != "kubernetes":
        return False
    request = cpu_requests.read(neighbour.subject, neighbour.node)
    return request is None or request.high > limit


FIXES = (
    FixKind(
        id="limit_neighbour",
        title="Limit the CPU of the neighbor",
        precondition="A neighbor that takes most of the node's CPU and can run slower.",
        landing=Seen(
            "The CPU limit of a neighbor that the evidence names falls, or it gets one.",
            tuple(one.fact for one in NEIGHBOUR_CPU_LIMIT),
            _lowered,
        ),
        measures=MEASURES,
        lab="noisy-neighbour --apply limit_neighbour",
    ),
)
