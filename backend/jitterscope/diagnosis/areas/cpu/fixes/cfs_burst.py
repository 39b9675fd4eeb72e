"""Fix: CFS burst, which lets a period use what earlier ones left over (Linux 5.14)."""

from __future__ import annotations

from jitterscope.diagnosis.areas.cpu.fixes import gc_demand, predict
from jitterscope.diagnosis.areas.cpu.readings.throttling import Judged, Throttling
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, FixSetting, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import golang

REFERENCES = [
    "https://docs.kernel.org/scheduler/sched-bwc.html#burst-feature",
    "https://lore.kernel.org/lkml/162452036714.395.9249272896491500398.tip-bot2@tip-bot2/",
    "https://github.com/kubernetes/kubernetes/issues/104516",
    "https://github.com/systemd/systemd/issues/26658",
]
WHO = {
    "kubernetes": "The kubelet cannot set it (no field in the pod spec): use a node agent such as Koordinator's "
    "CPUBurst.",
    "docker": "docker run has no flag for it, but the OCI runtime does (linux.resources.cpu.burst).",
    "systemd": "systemd has no setting for it: write it to the cgroup in an ExecStartPost of the unit.",
}


def for_gc(snapshot: Snapshot, throttling: Throttling, judged: list[Judged], found: Found) -> Fix | None:
    what = (
        f"one GC cycle adds {gc_demand.peak_us(throttling, judged) / max(1.0, throttling.cpu.period_quota_us):.1f} "
        "quotas of CPU"
    )
    return _propose(snapshot, throttling, what)


def for_requests(snapshot: Snapshot, throttling: Throttling, judged: list[Judged], found: Found) -> Fix | None:
    quota = max(1.0, throttling.cpu.period_quota_us)
    what = f"one burst of {throttling.served.noun} needs {max(item.queries_us for item in judged) / quota:.1f} quotas"
    return _propose(snapshot, throttling, what)


def for_bursts(snapshot: Snapshot, throttling: Throttling, judged: list[Judged], found: Found) -> Fix | None:
    what = (
        f"one burst adds {gc_demand.peak_us(throttling, judged) / max(1.0, throttling.cpu.period_quota_us):.1f} "
        "quotas of CPU"
    )
    return _propose(snapshot, throttling, what)


def _propose(snapshot: Snapshot, throttling: Throttling, what: str) -> Fix | None:
    """None where burst is as high as it can be, or where the kernel has none."""
    cpu = throttling.cpu
    quota, kernel = int(cpu.period_quota_us), golang.version(snapshot.node.fact("node.kernel"))
    if cpu.burst_us is not None and cpu.burst_us >= quota:
        return None
    if cpu.burst_us is None and kernel and kernel < (5, 14):
        return None
    setting = FixSetting(burst_us=quota)
    said = predict.replayed(snapshot, setting)
    verdict = "unknown"
    if said.remains is not None:
        verdict = "removes" if said.remains < 0.02 else "reduces" if said.remains <= 0.6 else "cannot_help"
    opening = {"removes": "", "reduces": "Helps in part. ", "cannot_help": "Cannot help enough. ", "unknown": ""}[
        verdict
    ]
    node_manager = patches.manager(snapshot)
    return Fix(
        id="cfs_burst",
        title=f"Allow a CFS burst of {say.ms(quota)} (the quota, the most that the kernel allows)",
        summary=f"{opening}Burst adds at most one quota, saved from earlier periods, to what a period can use, and "
        f"{what}.",
        verdict=verdict,
        predicted=predictions(slow_ratio=said.slow_ratio, throttled_ratio=said.throttled_ratio),
        setting=setting,
        precondition=None if kernel else "Works only on Linux 5.14 or later.",
        patches=[patches.cpu_burst(snapshot, cpu, quota)],
        caveats=[
            *([WHO[node_manager]] if node_manager in WHO else []),
            "The burst cannot exceed the quota: lower the burst before you lower the quota.",
            "Other cgroups on a busy node can see more CPU contention during a burst.",
        ],
        verify="nr_bursts in the cgroup's cpu.stat rises and nr_throttled does not. " + patches.VERIFY,
        undo=patches.cpu_burst(snapshot, cpu, int(cpu.burst_us or 0)).text,
        references=REFERENCES,
    )


def _higher(before: Facts, after: Facts) -> bool:
    old, new = number(before.get("cpu.burst_us")) or 0.0, number(after.get("cpu.burst_us"))
    return new is not None and new > old


FIXES = (
    FixKind(
        id="cfs_burst",
        title="Allow CFS burst",
        precondition="Linux 5.14 or later, and a tool on the node that sets it: the kubelet does not.",
        landing=Seen("The CFS burst of the cgroup rises.", ("cpu.burst_us", "memory.limit_bytes"), _higher),
        lab="coredns-gc --apply cfs_burst",
    ),
)
