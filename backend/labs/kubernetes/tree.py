"""A cgroup in every hierarchy of this machine, cgroup v1 and v2: the cluster's, with one below it for each node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from labs.cgroups import remove_tree
from labs.kubernetes.layout import CGROUP, Node


def roots(mounts: str | None = None) -> list[Path]:
    """Every mounted hierarchy, including named ones: the kubelet wants its root in all of them."""
    text = Path("/proc/mounts").read_text() if mounts is None else mounts
    rows = [line.split() for line in text.splitlines()]
    return list(dict.fromkeys(Path(row[1]) for row in rows if row[2] in ("cgroup", "cgroup2")))


def create(nodes: Iterable[Node]) -> None:
    """Make it, with the controllers that pods need. Each node does so, before it hides the others."""
    nodes = list(nodes)
    make([CGROUP, *(node.cgroup for node in nodes)], [node.system for node in nodes])


def make(inner: Sequence[str], leaves: Sequence[str]) -> None:
    """Make cgroups in every hierarchy: `inner` ones with the controllers of containers, `leaves` for programs."""
    for root in roots():
        for folder in (root, *(root / name for name in inner)):
            folder.mkdir(exist_ok=True)
            control = folder / "cgroup.subtree_control"
            for controller in ("cpu", "cpuset", "memory", "pids", "io") if control.exists() else ():
                with suppress(OSError):  # not in this kernel, or bound to a v1 hierarchy
                    control.write_text(f"+{controller}")
        for name in leaves:
            (root / name).mkdir(exist_ok=True)
        # As for other labs' cgroups: a case must not find other programs on this machine.
        for name, weight in (("cpu.weight", 400), ("cpu.shares", 4 * 1024)):
            if (root / inner[0] / name).exists():
                (root / inner[0] / name).write_text(str(weight))
        for name in ("cpuset.cpus", "cpuset.mems"):  # v1: empty in a new cgroup, which then accepts no process
            if (root / name).exists():
                for cgroup in (*inner, *leaves):
                    (root / cgroup / name).write_text((root / name).read_text())


def procs_files(node: Node) -> list[Path]:
    """Writing "0" to each moves the writer into the cgroup of the node's programs."""
    return [root / node.system / "cgroup.procs" for root in roots()]


def remove_node(node: Node) -> None:
    """Kill everything in a node's cgroup and remove it; the last node also removes the cluster's."""
    for root in roots():
        remove_tree(root / node.cgroup)
        with suppress(OSError):  # another node is left
            (root / CGROUP).rmdir()


def remove(name: str = CGROUP) -> None:
    """Kill everything in it and remove it."""
    for root in roots():
        remove_tree(root / name)
