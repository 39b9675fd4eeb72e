"""Fix: give a periodic job a cgroup, and so a CPU limit, of its own."""

from __future__ import annotations

from jitterscope.diagnosis.areas.cpu.quantities import THROTTLED_RATIO
from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling
from jitterscope.diagnosis.core import patches, predicted
from jitterscope.diagnosis.core.finding import Fix, Found, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.signals import serving
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

REFERENCES = [
    "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files",
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/",
]


def propose(snapshot: Snapshot, throttling: Throttling, found: Found, name: str, process: ResourceView | None) -> Fix:
    kind = patches.manager(snapshot)
    pid = process.key.split(":")[0] if process is not None else "PID"
    if kind == "kubernetes":
        texts = [
            Patch(
                label="Run it as a container of its own",
                language="yaml",
                text="containers:\n- name: job\n  image: IMAGE\n  command: [COMMAND]\n  resources:\n    limits: "
                "{cpu: 500m}",
            )
        ]
    elif kind == "systemd":
        texts = [
            Patch(
                label="Run it as its own unit", language="shell", text="systemd-run --unit=job -p CPUQuota=50% COMMAND"
            )
        ]
    elif snapshot.node.fact("node.cgroup_version") == "2":
        texts = [
            Patch(
                label="Now, as root",
                language="shell",
                text=f"mkdir /sys/fs/cgroup/job\necho {pid} > /sys/fs/cgroup/job/cgroup.procs",
            )
        ]
    else:
        texts = [
            Patch(
                label="Now, as root",
                language="shell",
                text=f"mkdir /sys/fs/cgroup/cpu/job\necho {pid} > /sys/fs/cgroup/cpu/job/cgroup.procs",
            )
        ]
    alone = throttling.process_cpu_us and (process is None or process.id not in serving(snapshot))
    left = predicted.remaining(found, "slow_in_stalls", 0.0, 0.0, 0.1, counted="by_stalls") if alone else None
    return Fix(
        id="own_cgroup",
        title=f"Give {name} a CPU limit of its own",
        summary=f"The {throttling.served.noun} alone were not throttled when replayed through the limit: without the "
        "job beside them they have enough CPU."
        if alone
        else "If the burst comes from a separate job, moving it frees the quota. Which process causes the burst was "
        "not seen.",
        verdict="removes" if alone else "unknown",
        predicted=predictions(
            slow_ratio=left,
            throttled_ratio=predicted.share(THROTTLED_RATIO.of(found.impact), 0.0, 0.0, 0.1) if alone else None,
        ),
        patches=texts,
        caveats=["On a node without free CPUs the job still competes with the server but can no longer stop it."],
        verify="The server's cgroup is not throttled while the job runs.",
        undo="Move the job back.",
        references=REFERENCES,
    )


FIXES = (
    FixKind(
        id="own_cgroup",
        title="Give the periodic job a cgroup of its own",
        precondition="A job beside the server that can run elsewhere.",
        landing=Unseen(
            "Which processes a cgroup holds is not a setting: a job that is gone and one that waits look the same."
        ),
    ),
)
