"""Patches as text to copy, written for whatever manages the workload: Kubernetes, Docker, systemd, or nothing."""

from __future__ import annotations

import math
import shlex
from typing import Any

from jitterscope.diagnosis.core import owner_commands, owners, qos
from jitterscope.diagnosis.core.finding import Patch
from jitterscope.diagnosis.core.signals import Cpu, number
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

_IN_PLACE = (
    "Changing the limit of a running pod needs Kubernetes 1.33 (beta; stable in 1.35); otherwise the pods are replaced."
)


def manager(snapshot: Snapshot) -> str:
    return snapshot.subject.fact("workload.manager") or "none"


def _container(snapshot: Snapshot) -> str:
    """Its name, or that of a unit; in capitals where unknown."""
    return snapshot.subject.fact("workload.container") or "CONTAINER"


def cgroup_directory(snapshot: Snapshot, view: ResourceView) -> str:
    root = "/sys/fs/cgroup" if snapshot.node.fact("node.cgroup_version") == "2" else "/sys/fs/cgroup/cpu"
    return shlex.quote(root + view.key)


def in_place(snapshot: Snapshot) -> str:
    """What a new limit of a pod in Kubernetes takes, as a caveat."""
    return f"{_IN_PLACE} {qos.REPLACED_TOO}" if qos.of(snapshot) == "Guaranteed" else _IN_PLACE


def millicpus(limit: float) -> str:
    return f"{math.ceil(round(limit * 1000, 3))}m"


def cpu_limit(snapshot: Snapshot, cpu: Cpu, limit: float) -> tuple[list[Patch], str]:
    """Patches that set the CPU limit, and how to undo them."""
    kind, old = manager(snapshot), cpu.limit
    if cpu.owner.id != snapshot.subject.id:
        # The limit of a pod or slice: the container's own may be higher, or none.
        label = f"The cgroup above it that is limited ({cpu.owner.key}), until it is created again"
        return [_cgroup_patch(snapshot, cpu, limit, label)], _cgroup_patch(snapshot, cpu, old, "").text
    if kind == "kubernetes":
        new, before = _limits(limit), _limits(old)
        lasting = owner_commands.container_patch(snapshot, new, before)
        return [lasting, *owner_commands.resize(snapshot, new)], owner_commands.container_undo(snapshot, before)
    if kind == "docker":
        container = _container(snapshot)
        text = "docker update --cpus {:g} " + shlex.quote(container)
        return [Patch(label="Running container", language="shell", text=text.format(limit))], text.format(old)
    if kind == "systemd":
        unit = _container(snapshot)
        text = "systemctl set-property " + shlex.quote(unit) + " CPUQuota={:g}%"
        return [
            Patch(label="systemd unit, immediate and permanent", language="shell", text=text.format(100 * limit))
        ], text.format(100 * old)
    return [_cgroup_patch(snapshot, cpu, limit, "cgroup, until it is created again")], _cgroup_patch(
        snapshot, cpu, old, ""
    ).text


def _limits(cpus: float) -> dict[str, Any]:
    return {"resources": {"limits": {"cpu": millicpus(cpus)}}}


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
    container = _container(snapshot)
    if kind == "kubernetes":
        wanted = {"resources": {"requests": {"cpu": millicpus(cpus)}}}
        made = [owner_commands.container_patch(snapshot, wanted), *owner_commands.resize(snapshot, wanted)]
        return made, _request_undo(snapshot)
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


def _request_undo(snapshot: Snapshot) -> str:
    was = number(snapshot.subject.fact("workload.requested_cpus"))
    if was is None:
        return "Set resources.requests.cpu back to what it was."
    return f"Set resources.requests.cpu back to {millicpus(was)}." if was > 0 else "Remove resources.requests.cpu."


def environment(snapshot: Snapshot, values: dict[str, str | None]) -> tuple[list[Patch], str]:
    """Patches that set environment variables (None removes one) and how to undo them; all need a restart."""
    kind = manager(snapshot)
    old = {name: _current(snapshot, name) for name in values}
    if kind == "kubernetes":
        return _kubernetes_environment(snapshot, values, old)
    if kind == "docker":
        return [
            Patch(
                label="Compose service",
                language="yaml",
                text="environment:\n" + "\n".join(f'  {k}: "{_neutral(k, v)}"' for k, v in values.items()),
            ),
        ], "Restore these lines and recreate the container."
    if kind == "systemd":
        unit = _container(snapshot)
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


def _kubernetes_environment(
    snapshot: Snapshot, values: dict[str, str | None], old: dict[str, str | None]
) -> tuple[list[Patch], str]:
    namespace = shlex.quote(snapshot.subject.fact("workload.namespace") or "NAMESPACE")
    container, owner = _container(snapshot), owners.of(snapshot)
    entries = [{"name": k, "$patch": "delete"} if v is None else {"name": k, "value": v} for k, v in values.items()]
    changes = owners.container_change(snapshot, {"env": entries})
    if not owner.is_built_in:
        removed = [name for name, value in values.items() if value is None or old[name] is not None]
        lines = [" env:", *(line for name in removed for line in _entry("-", name, old[name]))]
        lines += [line for name, value in values.items() if value is not None for line in _entry("+", name, value)]
        label, text = owner_commands.in_manifest(snapshot), "\n".join(lines)
        return [Patch(label=label, language="diff", text=text, changes=changes)], "Restore the lines in the manifest."

    def command(env: dict[str, str | None]) -> str:
        words = " ".join(f"{k}={shlex.quote(v)}" if v is not None else f"{k}-" for k, v in env.items())
        return f"kubectl -n {namespace} set env {shlex.quote(str(owner))} -c {shlex.quote(container)} {words}"

    manifest = "env:\n" + "\n".join(f'- name: {k}\n  value: "{v}"' for k, v in values.items() if v is not None)
    patches = [Patch(label=f"kubectl ({owner.effect})", language="shell", text=command(values), changes=changes)]
    if any(v is not None for v in values.values()):
        patches.append(Patch(label="In the manifest of the container", language="yaml", text=manifest))
    return patches, command(old)


def _entry(sign: str, name: str, value: str | None) -> list[str]:
    """An entry of `env` in a diff; None: its value is not known."""
    return [f"{sign}- name: {name}", *([] if value is None else [f'{sign}  value: "{value}"'])]


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
