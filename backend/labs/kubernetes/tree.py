"""The cluster's cgroup in every hierarchy of this machine, cgroup v1 and v2."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from labs.cgroups import remove_tree
from labs.kubernetes.layout import CGROUP, SYSTEM


def roots(mounts: str | None = None) -> list[Path]:
    """Every hierarchy that is mounted, named ones too: the kubelet wants its root in all of them."""
    text = Path("/proc/mounts").read_text() if mounts is None else mounts
    rows = [line.split() for line in text.splitlines()]
    return list(dict.fromkeys(Path(row[1]) for row in rows if row[2] in ("cgroup", "cgroup2")))


def create() -> None:
    """Make it, with the controllers that pods need."""
    for root in roots():
        for folder in (root, root / CGROUP):
            folder.mkdir(exist_ok=True)
            control = folder / "cgroup.subtree_control"
            for controller in ("cpu", "cpuset", "memory", "pids", "io") if control.exists() else ():
                with suppress(OSError):  # not on this kernel, or bound to a v1 hierarchy
                    control.write_text(f"+{controller}")
        (root / SYSTEM).mkdir(exist_ok=True)
        # As the cgroups of other labs: what else runs on this machine must not be what a case finds.
        for name, weight in (("cpu.weight", 400), ("cpu.shares", 4 * 1024)):
            if (root / CGROUP / name).exists():
                (root / CGROUP / name).write_text(str(weight))
        for name in ("cpuset.cpus", "cpuset.mems"):  # v1: empty in a new cgroup, which then takes no process
            if (root / name).exists():
                for folder in (root / CGROUP, root / SYSTEM):
                    (folder / name).write_text((root / name).read_text())


def procs_files() -> list[Path]:
    """Writing "0" to each moves the writer to where the cluster's programs run."""
    return [root / SYSTEM / "cgroup.procs" for root in roots()]


def remove() -> None:
    """Kill everything in it and remove it."""
    for root in roots():
        remove_tree(root / CGROUP)
