"""The labs' own cgroups, `jitterscope-lab-<pid>/…`, in every hierarchy they need; cgroup v1 and v2.

Some stand alone at the top, as `jitterscope-lab-<pid>-…`: what competes with the whole machine must have no parent in
common with others. A preferred cgroup makes its parent preferred, too. And where the loops of one cgroup fill all CPUs
and others below the same parent keep waking up, Linux 6.18 leaves whatever is beside that parent without a CPU for
up to ten seconds, whatever its weight.

They are removed when the lab ends. A later lab removes those of killed labs.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

import psutil

from labs.console import Say
from labs.errors import LabError

PREFIX = "jitterscope-lab-"
CONTROLLERS = ("cpu", "cpuacct", "memory", "pids", "blkio")
PRESSURE = "pressure"


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where cgroups are made.

    `roots` has one entry per controller on v1, and the single root as "" on v2. If v1 has the unified hierarchy beside
    it, that comes first: cgroups are created there too, as systemd does, since the kernel counts pressure only there.
    """

    version: int
    roots: dict[str, Path]

    @classmethod
    def of_this_machine(cls, mounts: str | None = None) -> Hierarchies:
        """Read from /proc/mounts (passed as text in tests). Raises LabError if no CPU controller is mounted."""
        text = Path("/proc/mounts").read_text() if mounts is None else mounts
        version1: dict[str, Path] = {}
        unified: Path | None = None
        for line in text.splitlines():
            _, folder, kind, options = line.split()[:4]
            if kind == "cgroup":
                for option in options.split(","):
                    if option in CONTROLLERS:
                        version1.setdefault(option, Path(folder))
            elif kind == "cgroup2":
                unified = unified or Path(folder)
        if "cpu" in version1:
            return cls(1, version1 if unified is None else {PRESSURE: unified, **version1})
        if unified is not None:
            return cls(2, {"": unified})
        raise LabError("No cgroup hierarchy with a CPU controller is mounted: /proc/mounts names none.")

    def folders(self, name: str) -> list[Path]:
        """The folders of a cgroup, deduplicated (cpu and cpuacct are often one hierarchy)."""
        return list(dict.fromkeys(root / name for root in self.roots.values()))


_runs = count(1)


class LabRun:
    """Names for one run's cgroups: each run of this process must look like a different workload to the product."""

    def __init__(self, hierarchies: Hierarchies) -> None:
        self._hierarchies, self._number = hierarchies, next(_runs)

    @classmethod
    def begin(cls, say: Say) -> LabRun:
        """A run on this machine, after removing cgroups of killed labs. Raises LabError without hierarchies."""
        hierarchies = Hierarchies.of_this_machine()
        for name in remove_stale(hierarchies):
            say(f"Removed the cgroup {name} of a killed lab")
        return cls(hierarchies)

    def cgroup(self, name: str, *, alone: bool = False) -> LabCgroup:
        """`alone`: at the top, without a parent that it would share with the lab's other cgroups."""
        return LabCgroup(self._hierarchies, f"{name}-{self._number}", alone=alone)


class LabCgroup:
    """One of the lab's cgroups. `key`: its path below the hierarchy root, as the collector names it."""

    def __init__(self, hierarchies: Hierarchies, name: str, *, alone: bool = False) -> None:
        self._hierarchies = hierarchies
        own = f"{PREFIX}{os.getpid()}"
        self._name = f"{own}-{name}" if alone else f"{own}/{name}"
        self._top = self._name.partition("/")[0]
        self.key = f"/{self._name}"

    def create(self, *, preferred: bool = True) -> None:
        """Make it in every hierarchy; `preferred`: it gets the CPU first. Raises LabError if that is not permitted."""
        try:
            for root in self._hierarchies.roots.values():
                for parent, folder in pairwise([root, *self._below(root)]):
                    self._delegate(parent)
                    folder.mkdir(exist_ok=True)
                    if preferred:
                        self._prefer(folder)
        except OSError as error:
            raise LabError(f"Cannot make cgroups ({error}): run the lab as root, with cgroups writable.") from error

    def _below(self, root: Path) -> list[Path]:
        """The cgroup's folders in one hierarchy, from the top: it may have a parent."""
        return list(dict.fromkeys((root / self._top, root / self._name)))

    def _delegate(self, folder: Path) -> None:
        if self._hierarchies.version == 2:
            (folder / "cgroup.subtree_control").write_text("+cpu +memory +pids")
            with suppress(OSError):  # the kernel does not have it
                (folder / "cgroup.subtree_control").write_text("+io")

    def _prefer(self, folder: Path) -> None:
        """Everything else on the machine yields to it, so that only its own limit can hold it up."""
        for name, weight in (("cpu.weight", 10_000), ("cpu.shares", 100 * 1024)):
            if (folder / name).exists():
                (folder / name).write_text(str(weight))

    def weigh(self, shares: int) -> None:
        """Set its CPU weight among sibling cgroups, in v1 shares (2 to 262144; 1024 is the default).

        On v2, use the weight that container runtimes convert it to (KEP-2254).
        """
        self.weight_file.write_text(str(shares if self.version == 1 else 1 + (shares - 2) * 9_999 // 262_142))

    @property
    def weight_file(self) -> Path:
        return self._cpu / ("cpu.weight" if self.version == 2 else "cpu.shares")

    def procs_files(self) -> list[Path]:
        """Writing "0" to each moves the writer into the cgroup."""
        return [folder / "cgroup.procs" for folder in self._hierarchies.folders(self._name)]

    @property
    def cpu_stat(self) -> Path:
        return self._cpu / "cpu.stat"

    @property
    def cpuacct_usage(self) -> Path | None:
        """v1 only: on v2, cpu.stat has the usage."""
        if self._hierarchies.version == 2:
            return None
        return self._hierarchies.roots.get("cpuacct", self._hierarchies.roots["cpu"]) / self._name / "cpuacct.usage"

    @property
    def _cpu_root(self) -> Path:
        return self._hierarchies.roots["" if self._hierarchies.version == 2 else "cpu"]

    @property
    def _cpu(self) -> Path:
        return self._cpu_root / self._name

    def limit_cpu(self, quota_us: int, period_us: int, burst_us: int) -> None:
        """Set the CFS limit; quota -1: none. Raises LabError if the kernel rejects the values."""
        try:
            if self._hierarchies.version == 2:
                quota = "max" if quota_us < 0 else str(quota_us)
                (self._cpu / "cpu.max").write_text(f"{quota} {period_us}")
                (self._cpu / "cpu.max.burst").write_text(str(burst_us))
            else:
                (self._cpu / "cpu.cfs_period_us").write_text(str(period_us))
                (self._cpu / "cpu.cfs_quota_us").write_text(str(quota_us))
                if burst_us or (self._cpu / "cpu.cfs_burst_us").exists():
                    (self._cpu / "cpu.cfs_burst_us").write_text(str(burst_us))
        except OSError as error:
            raise LabError(
                f"The kernel rejects quota {quota_us}, period {period_us}, burst {burst_us} (µs): {error}. "
                "Quota and period must be at least 1000, the period at most 1000000, the burst at most the quota."
            ) from error

    def allow_realtime(self, ratio: float) -> None:
        """Allow its threads real-time priority for that share of each CPU: a v1 cgroup has no such time by default.

        See Linux, Documentation/scheduler/sched-rt-group.rst. Without it, or if no time is left, they run without.
        """
        for folder in self._below(self._cpu_root):
            period, runtime = folder / "cpu.rt_period_us", folder / "cpu.rt_runtime_us"
            with suppress(OSError):
                if runtime.exists():
                    runtime.write_text(str(round(int(period.read_text()) * ratio)))

    @property
    def memory(self) -> Path:
        """The folder that has the memory controller's files."""
        return self._hierarchies.roots["" if self._hierarchies.version == 2 else "memory"] / self._name

    @property
    def io(self) -> Path | None:
        """The folder with the I/O limit files; None if the kernel has no such controller."""
        root = self._hierarchies.roots.get("" if self._hierarchies.version == 2 else "blkio")
        return None if root is None else root / self._name

    @property
    def version(self) -> int:
        return self._hierarchies.version

    def limit_memory(self, limit_bytes: int) -> None:
        """Set the memory limit, without swap if swap is counted. Raises LabError if the kernel rejects it."""
        files = ("memory.max", "memory.swap.max") if self.version == 2 else ("memory.limit_in_bytes",)
        try:
            for name, value in zip(files, (limit_bytes, 0), strict=False):
                if name != "memory.swap.max" or (self.memory / name).exists():
                    (self.memory / name).write_text(str(value))
        except OSError as error:
            raise LabError(f"The kernel rejects a memory limit of {limit_bytes} bytes: {error}") from error

    def remove(self) -> None:
        """Kill whatever still runs in it, then remove it and its parent. Safe to call twice."""
        for folder in self._hierarchies.folders(self._top):
            remove_tree(folder)


def remove_stale(hierarchies: Hierarchies) -> list[str]:
    """Remove cgroups of killed labs; returns their names."""
    removed: set[str] = set()
    for root in hierarchies.folders(""):
        for folder in root.glob(f"{PREFIX}*"):
            match = re.fullmatch(rf"{PREFIX}(\d+)(-.+)?", folder.name)
            if match and not _is_owner(int(match[1]), folder):
                remove_tree(folder)
                removed.add(folder.name)
    return sorted(removed)


def _is_owner(pid: int, folder: Path) -> bool:
    """Whether process `pid` is older than the folder: if not, the PID has been reused.

    The times of /proc/PID itself are no use: they change whenever the kernel frees dentries.
    """
    try:
        return psutil.Process(pid).create_time() <= folder.stat().st_ctime + 1
    except (psutil.Error, OSError):
        return False


def remove_tree(folder: Path) -> None:
    """Kill everything in a cgroup and its descendants, and remove them; does nothing if it does not exist."""
    for child in _leaf_first(folder):
        for _ in range(50):
            for pid in _members(child):
                _kill(pid)
            try:
                child.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)
            else:
                break


def _leaf_first(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for child in folder.iterdir():
            if child.is_dir():
                yield from _leaf_first(child)
        yield folder


def _members(folder: Path) -> list[int]:
    try:
        return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _kill(pid: int) -> None:
    if pid == os.getpid():
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
