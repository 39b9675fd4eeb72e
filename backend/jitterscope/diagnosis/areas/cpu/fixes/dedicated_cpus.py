"""Fix: CPUs that no other cgroup may use."""

from __future__ import annotations

import math
import shlex

from jitterscope.diagnosis.areas.cpu.fixes.cpu_weight import MEASURES, VERIFY
from jitterscope.diagnosis.core import patches, qos
from jitterscope.diagnosis.core.finding import Fix, Found, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot

REFERENCES = [
    "https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/",
    "https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset",
]


def propose(snapshot: Snapshot, found: Found, need: float) -> Fix | None:
    """Only where the node has CPUs left for others."""
    cpus, whole = number(snapshot.node.fact("node.cpus")), math.ceil(need)
    if cpus is None or whole >= cpus:
        return None
    kind = patches.manager(snapshot)
    container = snapshot.subject.fact("workload.container") or "CONTAINER"
    own, rest = f"0-{whole - 1}" if whole > 1 else "0", f"{whole}-{cpus - 1:g}" if cpus - whole > 1 else f"{whole}"
    directory = patches.cgroup_directory(snapshot, snapshot.subject)
    if kind == "kubernetes":
        text = Patch(
            label="In the manifest of each container of the pod (Guaranteed QoS)",
            language="yaml",
            text=f'resources:\n  requests: {{cpu: "{whole}", memory: MEMORY}}\n'
            f'  limits: {{cpu: "{whole}", memory: MEMORY}}',
        )
    elif kind == "docker":
        text = Patch(
            label="Running container",
            language="shell",
            text=f"docker update --cpuset-cpus {own} {shlex.quote(container)}",
        )
    elif kind == "systemd":
        text = Patch(
            label="systemd unit, immediate and permanent",
            language="shell",
            text=f"systemctl set-property {shlex.quote(container)} AllowedCPUs={own}",
        )
    elif snapshot.node.fact("node.cgroup_version") == "2":
        text = Patch(label="Now, as root", language="shell", text=f"echo {own} > {directory}/cpuset.cpus")
    else:
        text = Patch(
            label="Now, as root",
            language="shell",
            text=f"for pid in $(cat {directory}/cgroup.procs); do taskset -acp {own} $pid; done",
        )
    precondition = (
        "Works only if the kubelet runs with cpuManagerPolicy: static and each container of the pod has whole CPUs "
        "as request and limit."
        if kind == "kubernetes"
        else f"Works only if all other cgroups of the node are kept off these CPUs (they get {rest})."
    )
    return Fix(
        id="dedicated_cpus",
        title=f"Give the server {whole} CPU{'s' if whole > 1 else ''} of its own",
        summary="On CPUs that no other cgroup may use, the weights and the load of neighbors no longer matter.",
        verdict="removes",
        precondition=precondition,
        patches=[text],
        caveats=[
            *_replaced(snapshot),
            f"The server cannot use more than {whole} CPU{'s' if whole > 1 else ''}, even on an idle node.",
            "Kernel threads and interrupts still run on these CPUs.",
        ],
        verify=VERIFY,
        undo="Allow all CPUs of the node again.",
        references=REFERENCES,
    )


def _replaced(snapshot: Snapshot) -> list[str]:
    now = qos.of(snapshot)
    if now in (None, "Guaranteed"):
        return []
    return [f"The QoS class is {now} now. A running pod keeps its class: the pods are replaced."]


def _pinned(before: Facts, after: Facts) -> bool:
    old, new = (number(facts.get("process.affinity_cpus")) for facts in (before, after))
    return old is not None and new is not None and new < old


FIXES = (
    FixKind(
        id="dedicated_cpus",
        title="Give the server CPUs of its own",
        precondition="A node with more CPUs than the server needs, from which others can be kept away.",
        landing=Seen(
            "Its processes may run on fewer CPUs.", ("process.affinity_cpus", "cpu.quota_us", "cpu.weight"), _pinned
        ),
        measures=MEASURES,
    ),
)
