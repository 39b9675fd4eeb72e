"""Fixes for pods that start late for other reasons than the verifier."""

from __future__ import annotations

from jitterscope.diagnosis.areas.pods.readings.phases import Part
from jitterscope.diagnosis.areas.pods.readings.starts import PodStarts
from jitterscope.diagnosis.areas.pods.whatif.pod_start import unchanged
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Patch, predictions
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.versions import parse_version

OBJECTIVE = "https://github.com/kubernetes/community/blob/master/sig-scalability/slos/pod_startup_latency.md"
SPEED_UP = "https://kubernetes.io/blog/2023/05/15/speed-up-pod-startup/"
PREPULL = "Pre-pull images"
# The kubelet's defaults of kubeAPIQPS and kubeAPIBurst rose from 5 and 10 to 50 and 100.
_FASTER_SINCE = (1, 27)
VERIFY = "p99 of pod_start_sli_us falls below 5 s on the Pod start page."

# What to look at where a phase is slow: title, what is known of it, commands, references.
_LOOK = {
    "sandbox": (
        "Look at the network plugin and the container runtime",
        "A sandbox waits for the CNI plugin: for addresses (IPAM), for its agent, and for the API server behind it.",
        "journalctl -u containerd --since -10min | grep -E 'RunPodSandbox|cni'\n"
        "kubectl -n kube-system get pods -o wide --field-selector spec.nodeName=NODE",
        ["https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/"],
    ),
    "container": (
        "Look at the container runtime and the disk below it",
        "Creating a container sets up its snapshot and its mounts: a slow disk shows here first.",
        "iostat -x 1 5\njournalctl -u containerd --since -10min | grep -E 'CreateContainer|StartContainer'",
        ["https://kubernetes.io/docs/setup/production-environment/container-runtimes/"],
    ),
    "cgroup": (
        "Look at the cgroup driver",
        "With the systemd driver a cgroup is a transient unit: a busy systemd (D-Bus) makes pods wait.",
        "systemd-analyze dump | grep -c 'kubepods'\nbusctl status | head",
        ["https://kubernetes.io/docs/setup/production-environment/container-runtimes/#cgroup-drivers"],
    ),
    "rest": (
        "Look at what comes before the sandbox and after the last container",
        "This is the scheduler, volumes, the kubelet's queue, and its updates to the API server.",
        "kubectl get events -A --sort-by=.lastTimestamp | grep -E 'FailedScheduling|FailedMount|FailedAttach'\n"
        "kubectl get --raw /api/v1/nodes/NODE/proxy/metrics | grep -E "
        "'kubelet_pod_worker_start_duration|kubelet_pod_status_sync_duration|storage_operation_duration'",
        [SPEED_UP],
    ),
}  # fmt: skip


def request_limit(snapshot: Snapshot, parts: list[Part]) -> Fix | None:
    """Where the kubelet is older than 1.27 and most is left to the kubelet and the API server."""
    known = parse_version(snapshot.node.fact("node.kubelet"))
    rest = next(part for part in parts if part.id == "rest")
    whole = sum(part.mean_us for part in parts if part.inside is None and part.in_objective)
    if known is None or known >= _FASTER_SINCE or rest.mean_us < 0.3 * whole:
        return None
    return Fix(
        id="request_limit",
        title="Raise the kubelet's API request rate",
        summary=f"{say.seconds(rest.mean_us)} of a start is spent in the kubelet, the API server, and before them. "
        "Before 1.27 the kubelet sends 5 requests/s (bursts of 10) by default: when many pods start together, their "
        "Secrets, ConfigMaps, and status updates wait in its own queue.",
        verdict="unknown",
        precondition="Works only if kubeAPIQPS and kubeAPIBurst are not set (kubectl get --raw "
        "/api/v1/nodes/NODE/proxy/configz).",
        patches=[
            Patch(
                label="KubeletConfiguration (then restart the kubelet)",
                language="yaml",
                text="kubeAPIQPS: 50\nkubeAPIBurst: 100",
            )
        ],
        caveats=["All nodes together can send more requests to the API server: watch its latency."],
        verify=VERIFY,
        undo="Set kubeAPIQPS: 5 and kubeAPIBurst: 10, or remove them.",
        references=[SPEED_UP],
    )


def look_at(snapshot: Snapshot, part: Part) -> Fix:
    """Where to look for the phase that takes most."""
    title, what, commands, references = _LOOK[part.id]
    node = snapshot.node.fact("node.name") or snapshot.node.fact("node.hostname") or snapshot.node.name
    return Fix(
        id=f"look_at_{part.id}",
        title=title,
        summary=f"{part.title} take{'' if part.id == 'container' else 's'} {say.seconds(part.mean_us)} of a mean start "
        f"(p99 {say.seconds(part.at_us[-1])}). {what}",
        verdict="unknown",
        precondition="Shows where the time goes, not what to change.",
        patches=[Patch(label="On the node", language="shell", text=commands.replace("NODE", node))],
        verify=VERIFY,
        undo="Nothing to undo.",
        references=references,
    )


def images_first(starts: PodStarts) -> Fix:
    pulls = starts.phase("pod_image_pull_us")
    took = f"{say.seconds(pulls.total_us / starts.starts.n)} per pod" if pulls is not None else "no measured time"
    return Fix(
        id="images_first",
        title=PREPULL,
        summary=f"Cannot help: the objective leaves image pulls out. They take {took}, in addition.",
        verdict="cannot_help",
        predicted=predictions(late_start_ratio=unchanged(starts.starts)),
        verify="pod_start_sli_us stays as it is; pod_start_total_us falls.",
        undo="Nothing to undo.",
        references=[OBJECTIVE],
    )


_MEASURES = ("late_start_ratio", "start_ms")
_LABS = {"rest": "bpf-startup --variant slow-start --apply look_at_rest"}
FIXES = (
    FixKind(
        id="request_limit",
        title="Raise the kubelet's API request rate",
        precondition="A kubelet older than 1.27 whose kubeAPIQPS and kubeAPIBurst are not set.",
        landing=Unseen("No collector source reads the configuration of the kubelet."),
        measures=_MEASURES,
    ),
    FixKind(
        id="images_first",
        title=PREPULL,
        precondition="Cannot help: the objective leaves image pulls out.",
        landing=Unseen("No collector source reads which images a node has."),
        measures=_MEASURES,
        lab="bpf-startup --apply images_first",
    ),
    *(
        FixKind(
            id=f"look_at_{phase}",
            title=title,
            precondition="Shows where the time goes, not what to change.",
            landing=Unseen("Looking changes nothing; declare the fix when you change something."),
            measures=_MEASURES,
            lab=_LABS.get(phase),
        )
        for phase, (title, *_) in _LOOK.items()
    ),
)
