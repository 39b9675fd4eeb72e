"""Fixes for pods that start late for other reasons than the verifier."""

from __future__ import annotations

from jitterscope.diagnosis import wording as say
from jitterscope.diagnosis.finding import Fix, Patch
from jitterscope.diagnosis.pod_phases import Part
from jitterscope.diagnosis.pod_starts import PodStarts, parse_version
from jitterscope.diagnosis.snapshot import Snapshot

OBJECTIVE = "https://github.com/kubernetes/community/blob/master/sig-scalability/slos/pod_startup_latency.md"
SPEED_UP = "https://kubernetes.io/blog/2023/05/15/speed-up-pod-startup/"
PREPULL = "Pull images beforehand"
# The kubelet's defaults of kubeAPIQPS and kubeAPIBurst rose from 5 and 10 to 50 and 100.
_FASTER_SINCE = (1, 27)
VERIFY = "P99 of pod_start_sli_us falls below 5 s on the page Pod start."

# What to look at where a phase is slow: title, what is known of it, commands, references.
_LOOK = {
    "sandbox": (
        "Look at the network plugin and the container runtime",
        "A sandbox waits for the CNI plugin: for addresses (IPAM), for its agent, for the API server behind it.",
        "journalctl -u containerd --since -10min | grep -E 'RunPodSandbox|cni'\n"
        "kubectl -n kube-system get pods -o wide --field-selector spec.nodeName=NODE",
        ["https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/"],
    ),
    "container": (
        "Look at the container runtime and the disk below it",
        "Creating a container makes its snapshot and its mounts: a slow disk shows here first.",
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
        "Left are the scheduler, volumes, the kubelet's queue and its updates to the API server.",
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
        title="Let the kubelet send more requests to the API server",
        summary=f"{say.seconds(rest.mean_us)} of a start are left for the kubelet, the API server and what is before. "
        "Before 1.27 the kubelet sends 5 requests a second (bursts of 10) unless it is set otherwise: when many pods "
        "start at once, their Secrets, ConfigMaps and status updates wait in its own queue.",
        verdict="unknown",
        precondition="kubeAPIQPS and kubeAPIBurst are not set (kubectl get --raw /api/v1/nodes/NODE/proxy/configz)",
        patches=[
            Patch(
                label="KubeletConfiguration (then restart the kubelet)",
                language="yaml",
                text="kubeAPIQPS: 50\nkubeAPIBurst: 100",
            )
        ],
        caveats=["All nodes together may ask more of the API server: watch its own latency."],
        verify=VERIFY,
        undo="kubeAPIQPS: 5 and kubeAPIBurst: 10, or leave them out.",
        references=[SPEED_UP],
    )


def look_at(snapshot: Snapshot, part: Part) -> Fix:
    """Where to look for the phase that takes most."""
    title, what, commands, references = _LOOK[part.id]
    node = snapshot.node.fact("node.hostname") or snapshot.node.name
    return Fix(
        id=f"look_at_{part.id}",
        title=title,
        summary=f"{part.title} take{'' if part.id == 'container' else 's'} {say.seconds(part.mean_us)} of a mean start "
        f"(P99 {say.seconds(part.at_us[-1])}). {what}",
        verdict="unknown",
        precondition="It names where the time goes, not yet what to change",
        patches=[Patch(label="On the node", language="shell", text=commands.replace("NODE", node))],
        verify=VERIFY,
        undo="Nothing is changed by looking.",
        references=references,
    )


def images_first(starts: PodStarts) -> Fix:
    pulls = starts.phase("pod_image_pull_us")
    took = (
        f"{say.seconds(pulls.total_us / starts.starts.n)} a pod" if pulls is not None else "no time that was measured"
    )
    return Fix(
        id="images_first",
        title=PREPULL,
        summary=f"Cannot help: the objective leaves image pulls out. They take {took}, besides what is late here.",
        verdict="cannot_help",
        verify="pod_start_sli_us stays as it is; pod_start_total_us falls.",
        undo="Nothing to undo.",
        references=[OBJECTIVE],
    )
