"""Patches for memory limits as text to copy, written for whoever manages the workload."""

from __future__ import annotations

import math
import shlex
from typing import Any

from jitterscope.diagnosis.core import namespace_limits, owner_commands, patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

MIB = 1 << 20
# The share of a node's memory that one container may have, and the smallest rise that is worth a change.
NODE_SHARE, LEAST_GAIN = 0.9, 1.1


def mebibytes(value: float) -> int:
    """Rounded up to 16 MiB: a limit that people would write."""
    return math.ceil(value / (16 * MIB)) * 16


def within_node(snapshot: Snapshot, wanted: float, limit: float) -> float | None:
    """The wanted limit (bytes), at most what the node can give one container; None if that is hardly more than `limit`.

    A limit near the memory of the node ends in an OOM kill of the node instead of the container's own.
    """
    most = _most(snapshot)
    if most is None or wanted <= most:
        return wanted
    allowed = math.floor(most / (16 * MIB)) * 16.0 * MIB
    return allowed if allowed >= LEAST_GAIN * limit else None


def beyond_node(snapshot: Snapshot, id_: str, limit: float, verify: str, references: list[str]) -> Fix:
    """The same fix where `within_node` leaves nothing to raise."""
    return Fix(
        id=id_,
        title=f"Raise the memory limit above {say.mebibytes(limit)}",
        summary=f"Cannot help on this node: {capped(snapshot)} Use a node with more memory.",
        verdict="cannot_help",
        verify=verify,
        undo="Nothing to undo.",
        references=references,
    )


def capped(snapshot: Snapshot) -> str:
    """Why a limit is no higher, as a sentence."""
    node = number(snapshot.node.fact("node.memory_bytes"))
    return f"The node has {say.mebibytes(node or 0.0)}, and a tenth of it is left to everything else."


def _most(snapshot: Snapshot) -> float | None:
    node = number(snapshot.node.fact("node.memory_bytes"))
    return None if node is None else NODE_SHARE * node


def caveats(snapshot: Snapshot, wanted: float, limit: float) -> list[str]:
    """What to check before a limit is raised to `wanted` bytes."""
    found = namespace_limits.raised_bytes(snapshot, limit, float(mebibytes(wanted) * MIB))
    node = number(snapshot.node.fact("node.memory_bytes"))
    if node is not None and wanted > 0.5 * node:
        found.append(f"The node has {say.mebibytes(node)}: check that it can spare the memory.")
    if patches.manager(snapshot) == "kubernetes":
        found.append(patches.in_place(snapshot))
    return found


def memory_limit(
    snapshot: Snapshot, owner: ResourceView, limit_bytes: float, old_bytes: float
) -> tuple[list[Patch], str]:
    """Patches that set the memory limit, and how to undo them."""
    kind, subject = patches.manager(snapshot), snapshot.subject
    new, old = mebibytes(limit_bytes), math.ceil(old_bytes / MIB)
    container = subject.fact("workload.container") or "CONTAINER"
    if kind == "kubernetes":

        def limits(value: int) -> dict[str, Any]:
            return {"resources": {"limits": {"memory": f"{value}Mi"}}}

        lasting = owner_commands.container_patch(snapshot, limits(new), limits(old))
        now = owner_commands.resize(snapshot, limits(new))
        return [lasting, *now], owner_commands.container_undo(snapshot, limits(old))
    if kind == "docker":
        text = "docker update --memory {0}m --memory-swap {0}m " + shlex.quote(container)
        return [Patch(label="Running container", language="shell", text=text.format(new))], text.format(old)
    if kind == "systemd":
        text = "systemctl set-property " + shlex.quote(container) + " MemoryMax={}M"
        label = "systemd unit, immediate and permanent"
        return [Patch(label=label, language="shell", text=text.format(new))], text.format(old)
    text = "echo {} > " + _file(snapshot, owner, "memory.max", "memory.limit_in_bytes")
    label = "cgroup, until it is created again"
    return [Patch(label=label, language="shell", text=text.format(new * MIB))], text.format(int(old_bytes))


def memory_high(snapshot: Snapshot, owner: ResourceView, bytes_: float) -> tuple[list[Patch], str] | None:
    """memory.high of a cgroup; None where the kernel's cgroups have none (v1)."""
    if snapshot.node.fact("node.cgroup_version") != "2":
        return None
    if patches.manager(snapshot) == "systemd":
        text = "systemctl set-property " + shlex.quote(snapshot.subject.fact("workload.container") or "UNIT")
        value = f"{math.floor(bytes_ / MIB)}M"
        return [
            Patch(label="systemd unit, immediate and permanent", language="shell", text=f"{text} MemoryHigh={value}")
        ], (f"{text} MemoryHigh=infinity")
    file = _file(snapshot, owner, "memory.high", "")
    label = "On the node, as root, until the cgroup is created again"
    return [Patch(label=label, language="shell", text=f"echo {int(bytes_)} > {file}")], f"echo max > {file}"


def _file(snapshot: Snapshot, owner: ResourceView, v2: str, v1: str) -> str:
    """The path of a control file, by the version of the node's cgroups."""
    second = snapshot.node.fact("node.cgroup_version") == "2"
    root = "/sys/fs/cgroup" if second else "/sys/fs/cgroup/memory"
    return shlex.quote(f"{root}{owner.key}/{v2 if second else v1}")
