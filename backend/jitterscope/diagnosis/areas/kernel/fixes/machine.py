"""Fixes: where a virtual machine is paused or held back by its host, only the host or another machine helps."""

from __future__ import annotations

from jitterscope.diagnosis.core import predicted
from jitterscope.diagnosis.core.finding import Fix, Found, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen

REFERENCES = [
    "https://libvirt.org/formatdomain.html#cpu-tuning",
    "https://cloud.google.com/compute/docs/instances/live-migration-process",
]
VERIFY = "Watch this incident: the collector's real-time thread is no longer late by 30 ms or more."


def propose(found: Found) -> list[Fix]:
    left = predictions(slow_ratio=predicted.remaining(found, "late_in_freezes", 0.0, 0.0, 0.2))
    return [
        Fix(
            id="host_cpu_limit",
            title="Give the virtual machine the CPU time of the CPUs that it shows",
            summary="A machine with 2 CPUs whose host allows it the time of 1.5 is paused whenever both are busy.",
            verdict="unknown",
            precondition="Works only if the node is a virtual machine with such a limit: cputune in libvirt, a quota "
            "on the cgroup of its threads, or the CPU limit of a VM in Kubernetes.",
            caveats=["The host needs that CPU time."],
            verify=VERIFY,
            undo="Restore the limit.",
            references=REFERENCES[:1],
        ),
        Fix(
            id="another_host",
            title="Move the virtual machine, or its workloads, to another host",
            summary="What pauses it on this host, such as other machines, snapshots, or maintenance, stays there.",
            verdict="unknown",
            predicted=left,
            precondition="Works only if the node is a virtual machine, and its host or what is done to it there is the "
            "reason: ask whoever runs the host, with the times of the freezes.",
            caveats=["Stops the machine, or moves the pods to another node: they restart."],
            verify=VERIFY,
            undo="Move it back.",
            references=REFERENCES[1:],
        ),
    ]


_UNSEEN = Unseen("What the host allows a machine, and which host it is, cannot be read from inside.")
FIXES = (
    FixKind(
        id="host_cpu_limit",
        title="Raise the host's CPU limit of the virtual machine",
        precondition="A virtual machine that its host limits to less than its CPUs.",
        landing=_UNSEEN,
        measures=("frozen_ms_per_min", "slow_ratio"),
    ),
    FixKind(
        id="another_host",
        title="Move to another host",
        precondition="A virtual machine that its host pauses.",
        landing=_UNSEEN,
        measures=("frozen_ms_per_min", "slow_ratio"),
    ),
)
