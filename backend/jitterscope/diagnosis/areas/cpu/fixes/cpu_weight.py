"""Fix: a larger CPU weight for the server, so that it gets what it needs while the node is full."""

from __future__ import annotations

import os.path
from itertools import takewhile

from jitterscope.diagnosis.areas.cpu.readings.run_waits import Neighbour
from jitterscope.diagnosis.core import patches, predicted
from jitterscope.diagnosis.core.finding import Fix, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot

REFERENCES = [
    "https://docs.kernel.org/admin-guide/cgroup-v2.html#weights",
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
]
MEASURES = ("slow_ratio", "run_delay_ms_per_min")
VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once slow answers and waiting for a "
    "CPU are gone. By hand: the second number of /proc/PID/task/TID/schedstat hardly rises."
)
MOST_WEIGHT = 10_000.0


def propose(snapshot: Snapshot, found: Found, named: list[Neighbour], need: float) -> Fix | None:
    """`need`: CPUs that the server is to get. None where its weight is large enough for that already."""
    cpus = number(snapshot.node.fact("node.cpus")) or need
    siblings = [one for one in named if _parent(one.view.key) == _parent(snapshot.subject.key)]
    weights = [number(one.view.fact("cpu.weight")) for one in siblings]
    beside = sum(weight for weight in weights if weight is not None)
    own = number(snapshot.subject.fact("cpu.weight"))
    share = min(0.8, need / cpus)
    weight = min(MOST_WEIGHT, share / (1 - share) * beside) if beside else min(MOST_WEIGHT, 10 * (own or 100.0))
    weight = max(1.0, round(weight))
    if own is not None and weight <= own:
        return None
    texts, undo = patches.cpu_weight(snapshot, need, weight)
    caveats = ["A weight matters only while the node is full: otherwise it takes nothing from others."]
    if len(siblings) < len(named) or not named:
        caveats.append(
            "Weights compare cgroups of one parent: if the neighbor is in another part of the tree, raise the "
            f"weight of the ancestor next to it{_level(snapshot, named)}."
        )
    if patches.manager(snapshot) == "kubernetes":
        caveats.append("A larger request needs a node with that much free CPU: the scheduler can move the pod.")
    inside = next((int(item.numbers["hits"]) for item in found.evidence if item.id == "held_up"), 0)
    kubernetes = patches.manager(snapshot) == "kubernetes"
    return Fix(
        id="raise_cpu_weight",
        title=f"Raise the CPU request to {patches.millicpus(need)}"
        if kubernetes
        else f"Raise the CPU weight to {weight:g}",
        summary=f"With it the server gets {need:g} CPU while all others want the rest: as much as it uses when it "
        "does not wait.",
        verdict="reduces",
        predicted=predictions(slow_ratio=predicted.scaled(found.impact, inside, 0.0, 0.1, 0.5)),
        patches=texts,
        caveats=caveats,
        verify=VERIFY,
        undo=undo,
        references=REFERENCES,
    )


def _parent(key: str) -> str:
    return os.path.dirname(key.rstrip("/"))


def _level(snapshot: Snapshot, named: list[Neighbour]) -> str:
    """Of the largest neighbor elsewhere: which ancestor of the subject stands beside it."""
    own = snapshot.subject.key.strip("/").split("/")
    for one in named:
        other = one.view.key.strip("/").split("/")
        depth = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, other, strict=False)))
        if depth < len(own) - 1:
            return f" (/{'/'.join(own[: depth + 1])} beside /{'/'.join(other[: depth + 1])})"
    return ""


def _raised(before: Facts, after: Facts) -> bool:
    new = number(after.get("cpu.weight"))
    # "idle" is no number: below every weight.
    return new is not None and "cpu.weight" in before and new > (number(before["cpu.weight"]) or 0.0)


FIXES = (
    FixKind(
        id="raise_cpu_weight",
        title="Raise the CPU request or weight",
        precondition="Neighbors that compete with the server for CPU, and a weight that is smaller than its need.",
        landing=Seen("The CPU weight of the container rises.", ("cpu.weight",), _raised),
        measures=MEASURES,
        lab="noisy-neighbour --apply raise_cpu_weight",
    ),
)
