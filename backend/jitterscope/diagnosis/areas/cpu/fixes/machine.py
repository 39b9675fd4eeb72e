"""Fixes: a machine whose CPUs are not shared, or more CPU credits."""

from __future__ import annotations

from jitterscope.diagnosis.core import predicted
from jitterscope.diagnosis.core.finding import Fix, Found, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot

REFERENCES = [
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances.html",
    "https://cloud.google.com/compute/docs/nodes/sole-tenant-nodes",
]
VERIFY = "Watch this incident: steal of the new node stays below 1 %, and slow answers no longer coincide with it."


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    left = predictions(slow_ratio=predicted.remaining(found, "slow_while_stolen", 0.0, 0.0, 0.2, counted="inside"))
    return [
        Fix(
            id="dedicated_cores",
            title="Run on a machine type with dedicated cores",
            summary="If each virtual CPU has its own core or hardware thread, the host cannot give it to others.",
            verdict="removes",
            predicted=left,
            precondition="Works only if the provider has such a type, or lets CPUs be pinned and not oversold.",
            caveats=["Moves the pods to another node: they restart."],
            verify=VERIFY,
            undo="Move back to a node of the old type.",
            references=REFERENCES,
        ),
        Fix(
            id="cpu_credits",
            title="Buy CPU credits: unlimited mode of a burstable instance",
            summary="A burstable instance whose credits are used up is held at its baseline, which the guest "
            "sees as steal.",
            verdict="unknown",
            precondition="Works only if the node is a burstable instance (T family or similar) and its credit "
            "balance is 0.",
            caveats=["Surplus credits are billed."],
            verify=VERIFY,
            undo="Set the credit mode back to standard.",
            references=REFERENCES,
        ),
    ]


_UNSEEN = Unseen(
    "A node of another type is another node: the workload is compared there, but no fact records the type."
)
FIXES = (
    FixKind(
        id="dedicated_cores",
        title="Run on dedicated cores",
        precondition="A machine type whose CPUs are not shared.",
        landing=_UNSEEN,
        measures=("slow_ratio",),
    ),
    FixKind(
        id="cpu_credits",
        title="Buy CPU credits",
        precondition="A burstable instance without credits.",
        landing=Unseen("The credit mode is a setting of the provider, and no collector reads it."),
        measures=("slow_ratio",),
    ),
)
