"""Patches as text to copy, written for whatever manages the workload: Kubernetes, Docker, systemd, or nothing."""

from __future__ import annotations

import math
import shlex
from typing import Any

from jitterscope.diagnosis.core.finding import Change, Patch, WorkloadChange
from jitterscope.diagnosis.core.signals import Cpu, number
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

IN_PLACE = (
    "Changing the limit of a running pod needs Kubernetes 1.33 (beta; stable in 1.35); otherwise the pods are replaced."
)


def manager(snapshot: Snapshot) -> str:
    return snapshot.subject.fact("workload.manager") or "none"


def owner_of(snapshot: Snapshot) -> str:
    """ "deployment/coredns"; a ReplicaSet is named by its Deployment, which is what must be patched."""
    owner = snapshot.subject.fact("workload.owner") or ""
    kind, _, name = owner.partition("/")
    if kind.lower() == "replicaset" and "-" in name:
        return f"deployment/{name.rsplit('-', 1)[0]}"
    return f"{kind.lower()}/{name}" if name else "deployment/NAME"


def _target(snapshot: Snapshot) -> tuple[str, str, str]:
    """(namespace, pod, container), shell-quoted, in capitals where unknown."""
    subject = snapshot.subject
    return (
        shlex.quote(subject.fact("workload.namespace") or "NAMESPACE"),
        shlex.quote(subject.fact("workload.pod") or "POD"),
        subject.fact("workload.container") or "CONTAINER",
    )


def cgroup_directory(snapshot: Snapshot, view: ResourceView) -> str:
    root = "/sys/fs/cgroup" if snapshot.node.fact("node.cgroup_version") == "2" else "/sys/fs/cgroup/cpu"
    return shlex.quote(root + view.key)


def millicpus(limit: float) -> str:
    return f"{math.ceil(round(limit * 1000, 3))}m"


def owner_change(snapshot: Snapshot, patch: dict[str, Any], now: dict[str, Any] | None = None) -> list[Change]:
    """A strategic merge patch of the subject's workload, for files in a repository; none if it has no name."""
    namespace = snapshot.subject.fact("workload.namespace")
    if manager(snapshot) != "kubernetes" or not namespace or not snapshot.subject.fact("workload.owner"):
        return []
    return [WorkloadChange(namespace=namespace, owner=owner_of(snapshot), patch=patch, now=now or {})]


def container_change(snapshot: Snapshot, container: dict[str, Any], now: dict[str, Any] | None = None) -> list[Change]:
    """The same for the subject's container; `now`: the part that is in force."""
    name = snapshot.subject.fact("workload.container")
    if not name:
        return []

    def whole(content: dict[str, Any]) -> dict[str, Any]:
        return {"spec": {"template": {"spec": {"containers": [{"name": name, **content}]}}}}

    return owner_change(snapshot, whole(container), None if now is None else whole(now))


def cpu_limit(snapshot: Snapshot, cpu: Cpu, limit: float) -> tuple[list[Patch], str]:
    """Patches that set the CPU limit, and how to undo them."""
    kind, old = manager(snapshot), cpu.limit
    if cpu.owner.id != snapshot.subject.id:
        # The limit of a pod or slice: the container's own may be higher, or none.
        label = f"The cgroup above it that is limited ({cpu.owner.key}), until it is created again"
        return [_cgroup_patch(snapshot, cpu, limit, label)], _cgroup_patch(snapshot, cpu, old, "").text
    if kind == "kubernetes":
        namespace, pod, container = _target(snapshot)

        def body(value: float) -> str:
            return (
                f'{{"containers":[{{"name":"{container}","resources":{{"limits":{{"cpu":"{millicpus(value)}"}}}}}}]}}'
            )

        def template(value: float) -> str:
            return (
                f"kubectl -n {namespace} patch {owner_of(snapshot)} --type strategic -p "
                f'\'{{"spec":{{"template":{{"spec":{body(value)}}}}}}}\''
            )

        return [
            Patch(
                label="Permanently (replaces the pods)",
                language="shell",
                text=template(limit),
                changes=container_change(
                    snapshot,
                    {"resources": {"limits": {"cpu": millicpus(limit)}}},
                    {"resources": {"limits": {"cpu": millicpus(old)}}},
                ),
            ),
            Patch(
                label="This pod now, without a restart",
                language="shell",
                text=f"kubectl -n {namespace} patch pod {pod} --subresource resize --type strategic -p "
                f"'{{\"spec\":{body(limit)}}}'",
            ),
        ], template(old)
    if kind == "docker":
        _, _, container = _target(snapshot)
        text = "docker update --cpus {:g} " + shlex.quote(container)
        return [Patch(label="Running container", language="shell", text=text.format(limit))], text.format(old)
    if kind == "systemd":
        _, _, unit = _target(snapshot)
        text = "systemctl set-property " + shlex.quote(unit) + " CPUQuota={:g}%"
        return [
            Patch(label="systemd unit, immediate and permanent", language="shell", text=text.format(100 * limit))
        ], text.format(100 * old)
    return [_cgroup_patch(snapshot, cpu, limit, "cgroup, until it is created again")], _cgroup_patch(
        snapshot, cpu, old, ""
    ).text


def _cgroup_patch(snapshot: Snapshot, cpu: Cpu, limit: float, label: str) -> Patch:
    directory, quota = cgroup_directory(snapshot, cpu.owner), round(limit * cpu.period_us)
    if snapshot.node.fact("node.cgroup_version") == "2":
        text = f'echo "{quota} {cpu.period_us}" > {directory}/cpu.max'
    else:
        text = f"echo {quota} > {directory}/cpu.cfs_quota_us"
    return Patch(label=label, language="shell", text=text)


def cpu_burst(snapshot: Snapshot, cpu: Cpu, burst_us: int) -> Patch:
    directory = cgroup_directory(snapshot, cpu.owner)
    name = "cpu.max.burst" if snapshot.node.fact("node.cgroup_version") == "2" else "cpu.cfs_burst_us"
    return Patch(
        label="On the node, as root, until the cgroup is created again",
        language="shell",
        text=f"echo {burst_us} > {directory}/{name}",
    )


def cpu_weight(snapshot: Snapshot, cpus: float, weight: float) -> tuple[list[Patch], str]:
    """Patches that give the subject this many CPUs when the node is full, and how to undo them.

    `weight` is that share as a cgroup v2 weight (100 is the default); Kubernetes derives one from `cpus`.
    """
    kind, old = manager(snapshot), number(snapshot.subject.fact("cpu.weight"))
    namespace, pod, container = _target(snapshot)
    if kind == "kubernetes":
        body = f'{{"containers":[{{"name":"{container}","resources":{{"requests":{{"cpu":"{millicpus(cpus)}"}}}}}}]}}'
        target = f"kubectl -n {namespace} patch"
        return [
            Patch(
                label="Permanently (replaces the pods)",
                language="shell",
                text=f"{target} {owner_of(snapshot)} --type strategic -p "
                f'\'{{"spec":{{"template":{{"spec":{body}}}}}}}\'',
                changes=container_change(snapshot, {"resources": {"requests": {"cpu": millicpus(cpus)}}}),
            ),
            Patch(
                label="This pod now, without a restart",
                language="shell",
                text=f"{target} pod {pod} --subresource resize --type strategic -p '{{\"spec\":{body}}}'",
            ),
        ], "Set resources.requests.cpu back to what it was."
    if kind == "docker":
        text = "docker update --cpu-shares {:.0f} " + shlex.quote(container)
    elif kind == "systemd":
        text = "systemctl set-property " + shlex.quote(container) + " CPUWeight={:.0f}"
    elif snapshot.node.fact("node.cgroup_version") == "2":
        text = "echo {:.0f} > " + f"{cgroup_directory(snapshot, snapshot.subject)}/cpu.weight"
    else:
        text = "echo {:.0f} > " + f"{cgroup_directory(snapshot, snapshot.subject)}/cpu.shares"
    # Docker and cgroup v1 use shares: 1024 equals a weight of 100.
    shares = "shares" in text

    def written(value: float) -> str:
        return text.format(max(2.0, value * 10.24) if shares else max(1.0, value))

    undo = written(old) if old is not None else "Set the weight back to what it was."
    return [Patch(label="Now, without a restart", language="shell", text=written(weight))], undo


def environment(snapshot: Snapshot, values: dict[str, str | None]) -> tuple[list[Patch], str]:
    """Patches that set environment variables (None removes one) and how to undo them; all need a restart."""
    kind = manager(snapshot)
    old = {name: _current(snapshot, name) for name in values}
    if kind == "kubernetes":
        namespace, _, container = _target(snapshot)

        def command(env: dict[str, str | None]) -> str:
            words = " ".join(f"{k}={shlex.quote(v)}" if v is not None else f"{k}-" for k, v in env.items())
            return f"kubectl -n {namespace} set env {owner_of(snapshot)} -c {shlex.quote(container)} {words}"

        manifest = "env:\n" + "\n".join(f'- name: {k}\n  value: "{v}"' for k, v in values.items() if v is not None)
        entries = [{"name": k, "$patch": "delete"} if v is None else {"name": k, "value": v} for k, v in values.items()]
        patches = [
            Patch(
                label="kubectl (replaces the pods)",
                language="shell",
                text=command(values),
                changes=container_change(snapshot, {"env": entries}),
            )
        ]
        if any(v is not None for v in values.values()):
            patches.append(Patch(label="In the manifest of the container", language="yaml", text=manifest))
        return patches, command(old)
    if kind == "docker":
        return [
            Patch(
                label="Compose service",
                language="yaml",
                text="environment:\n" + "\n".join(f'  {k}: "{_neutral(k, v)}"' for k, v in values.items()),
            ),
        ], "Restore these lines and recreate the container."
    if kind == "systemd":
        _, _, unit = _target(snapshot)
        lines = "\n".join(
            f'Environment="{k}={v}"' if v is not None else f"UnsetEnvironment={k}" for k, v in values.items()
        )
        text = (
            f"mkdir -p /etc/systemd/system/{unit}.d\ncat > /etc/systemd/system/{unit}.d/jitterscope.conf "
            f"<<'EOF'\n[Service]\n{lines}\nEOF\nsystemctl daemon-reload && systemctl restart {unit}"
        )
        return [Patch(label="systemd drop-in (restarts the unit)", language="shell", text=text)], (
            f"rm /etc/systemd/system/{unit}.d/jitterscope.conf && systemctl daemon-reload && systemctl restart {unit}"
        )
    lines = "\n".join(f"export {k}={shlex.quote(v)}" if v is not None else f"unset {k}" for k, v in values.items())
    undo = "\n".join(f"export {k}={shlex.quote(v)}" if v is not None else f"unset {k}" for k, v in old.items())
    return [Patch(label="Before starting the program again", language="shell", text=lines)], undo


def _neutral(name: str, value: str | None) -> str:
    """A value for Compose, which cannot remove a variable of the image: what has the effect of none for None."""
    return ("off" if name == "GOMEMLIMIT" else "") if value is None else value


def _current(snapshot: Snapshot, name: str) -> str | None:
    for process in snapshot.processes:
        if (value := process.fact(f"go.env.{name}")) is not None:
            return value
    return None


VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once the throttling is gone. "
    "By hand: nr_throttled in the cgroup's cpu.stat stops rising."
)
