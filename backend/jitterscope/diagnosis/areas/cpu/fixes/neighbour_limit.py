"""Fix: a CPU limit for the neighbour that took most."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.areas.cpu.fixes.cpu_weight import MEASURES, VERIFY
from jitterscope.diagnosis.areas.cpu.readings.run_waits import Neighbour
from jitterscope.diagnosis.core import patches, predicted
from jitterscope.diagnosis.core.area import NEIGHBOUR
from jitterscope.diagnosis.core.finding import Fix, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number, read_cpu
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.workload_facts import NEIGHBOUR_CPU_LIMIT, cpu_limit

REFERENCES = [
    "https://docs.kernel.org/scheduler/sched-bwc.html",
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
]
# From this share of what all neighbors used on, limiting one of them frees what the server needs.
MOST_OF_IT = 0.8


def propose(snapshot: Snapshot, found: Found, named: list[Neighbour], need: float, others: float) -> Fix | None:
    """A limit that leaves `need` CPUs to the server, in tenths; `others`: CPUs that all others used together.

    None where nobody is known to have taken the CPU.
    """
    if not named:
        return None
    first, cpus = named[0], number(snapshot.node.fact("node.cpus")) or math.inf
    limit = max(0.1, math.floor(round(10 * (first.cpus - need), 6)) / 10)
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
    inside = next((int(item.numbers["hits"]) for item in found.evidence if item.id == "held_up"), 0)
    left = predicted.scaled(found.impact, inside, 0.0, 0.1, 0.5) if alone and first.cpus > need else None
    return Fix(
        id="limit_neighbour",
        title=f"Limit {name} to {limit:g} CPU",
        summary=f"{name} used {first.cpus:.2g} of the node's {cpus:g} CPUs while the server waited. A limit of "
        f"{limit:g} CPU leaves the server the {need:g} CPU that it needs.",
        verdict="removes" if left is not None else "reduces",
        predicted=predictions(slow_ratio=left),
        patches=texts,
        caveats=caveats,
        verify=VERIFY,
        undo=f"Remove the CPU limit of {name}." if unlimited else undo,
        references=REFERENCES,
    )


def _lowered(before: Facts, after: Facts) -> bool:
    old, new = cpu_limit(before, NEIGHBOUR), cpu_limit(after, NEIGHBOUR)
    return old is not None and new is not None and new < old


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
