"""Fix: the server and what takes its CPU on different nodes."""

from __future__ import annotations

import shlex

from jitterscope.diagnosis.areas.cpu.fixes.cpu_weight import MEASURES, VERIFY
from jitterscope.diagnosis.areas.cpu.readings.run_waits import Neighbour
from jitterscope.diagnosis.core import patches, predicted
from jitterscope.diagnosis.core.finding import Fix, Found, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot

REFERENCES = ["https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/"]

_CONDITION = (
    "The prediction holds if the server finds an idle CPU whenever it wants one: the CPU use of the other nodes is not "
    "part of it."
)


def propose(snapshot: Snapshot, found: Found, named: list[Neighbour], delayed: int | None) -> Fix:
    """`delayed`: slow answers during which its threads waited for a CPU; None: not known."""
    texts = []
    neighbour = named[0].view.fact("workload.container") or named[0].view.name if named else ""
    if patches.manager(snapshot) == "kubernetes":
        namespace = named[0].view.fact("workload.namespace") if named else None
        texts = [
            Patch(
                label="In the server's pod template",
                language="yaml",
                text="affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n"
                "    - topologyKey: kubernetes.io/hostname\n"
                f"      namespaces: [{shlex.quote(namespace or 'NAMESPACE')}]\n"
                "      labelSelector:\n        matchLabels: {LABEL: VALUE}  # a label of the neighbor's pods",
            )
        ]
    left = None if delayed is None else predicted.scaled(found.impact, delayed, 0.0, 0.0, 0.1)
    told = [] if left is None else [_CONDITION]
    return Fix(
        id="move_apart",
        title=f"Move {neighbour or 'the neighbor'} to another node",
        summary="Weights and limits only divide a node that has too little CPU for both. On two nodes both have "
        "enough.",
        verdict="removes",
        predicted=predictions(slow_ratio=left),
        precondition="Works only if a node has free CPU and one of the two can run there.",
        patches=texts,
        caveats=["The neighbor's next node needs free CPU. Otherwise the servers on that node wait instead.", *told],
        verify=VERIFY,
        undo="Remove the rule.",
        references=REFERENCES,
    )


FIXES = (
    FixKind(
        id="move_apart",
        title="Run server and neighbor on different nodes",
        precondition="Another node with free CPU.",
        landing=Unseen("The node of another workload is not a setting of this one."),
        measures=MEASURES,
    ),
)
