"""What else runs on the machine during a lab: labs time real faults, so they need CPUs for themselves.

A lab says how many it needs. Before it runs, the others are given time to end. A failed run is repeated only if they
took more than the lab could spare, or if the whole machine stood still meanwhile, as when a hypervisor pauses it: then
a socket overflows, and whoever says so is right.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from labs.repeating import Repeating
from tests.support.said import say

TRIES = 3
_LOOK_EVERY_S = 1.0
_LOOKS = 3  # over which others may use more than their share
_PATIENCE_S = 30.0
_STOOD_STILL_US = 300_000  # a thread that sleeps wakes this late only if the machine did not run
_KERNEL_THREAD = 0x00200000
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_INIT = 1
_GIVES_WAY = "/jitterscope-gives-way-"  # the cgroup of scripts/give_way.sh: its processes get only what labs leave


class Disturbed(AssertionError):
    """The lab itself notices that its run was not the one that it wanted to make."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process from /proc. `ticks`: CPU time, including that of its ended children."""

    parent: int
    ticks: int
    guards: int | None  # whose product ends with that process


class Neighbours(Repeating):
    """Samples, within the context, the usage of processes that do not belong to this one."""

    def __init__(self) -> None:
        super().__init__(_LOOK_EVERY_S)
        self._own: set[int] = set()
        self._before = self._ticks()
        self._at = time.monotonic()
        self._used: list[float] = []
        self._latest_us = 0

    def look(self, late_us: int) -> None:
        self._latest_us = max(self._latest_us, late_us)
        now, at = self._ticks(), time.monotonic()
        if at - self._at < _LOOK_EVERY_S / 2:
            return
        ticks = sum(max(0, used - self._before.get(pid, 0)) for pid, used in now.items())
        self._used.append(ticks / _TICKS_PER_S / (at - self._at))
        self._before, self._at = now, at

    def most_cpus(self, looks: int = _LOOKS) -> float:
        """The most CPUs that they used over this many samples, one per second; 0 before there are as many."""
        spans = [self._used[end - looks : end] for end in range(looks, len(self._used) + 1)]
        return max((sum(span) / looks for span in spans), default=0.0)

    def stood_still(self) -> bool:
        """Whether the machine paused: this thread has nothing to wait for but its clock."""
        return self._latest_us > _STOOD_STILL_US

    def _ticks(self) -> dict[int, int]:
        """CPU time of the others by process, and what the hypervisor gave to other machines."""
        processes = dict(_processes())
        self._own |= _family(processes, os.getpid())
        used = {pid: one.ticks for pid, one in processes.items() if pid not in self._own}
        return {**used, 0: int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])}


def _processes() -> Iterator[tuple[int, Process]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # The name is in parentheses and may contain some itself.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            # An ended process is in no cgroup any more; its parent gets its time.
            if int(fields[6]) & _KERNEL_THREAD or fields[0] in "ZX" or _GIVES_WAY in (folder / "cgroup").read_text():
                continue
            pid, words = int(folder.name), (folder / "cmdline").read_text().rstrip("\0").split("\0")
            guards = int(words[-1]) if "jitterscope.devstack.guardian" in words and words[-1].isdecimal() else None
            # Orphans of ours end at init, with all the CPU time of their lives.
            ticks = sum(map(int, fields[11:13] if pid == _INIT else fields[11:15]))
            yield pid, Process(int(fields[1]), ticks, guards)


def _family(processes: dict[int, Process], head: int) -> set[int]:
    """A process, its descendants, and the products that end with it: their supervisors have no parent."""
    found = {head} | {one.parent for one in processes.values() if one.guards == head}
    grown = True
    while grown:
        children = {pid for pid, one in processes.items() if one.parent in found} - found
        grown = bool(children)
        found |= children
    return found


def until_undisturbed(run: Callable[[], None], needs_cpus: float) -> None:
    """Make a run that has `needs_cpus` CPUs. One that fails undisturbed has failed; others are repeated."""
    spare = (os.cpu_count() or 1) - needs_cpus
    for further in reversed(range(TRIES)):
        _wait_for_quiet(spare)
        with Neighbours() as others:
            try:
                run()
            except Exception as failure:
                used, still = others.most_cpus(), others.stood_still()
                if not further or not (isinstance(failure, Disturbed) or used > spare or still):
                    raise
                why = (
                    "The machine stood still." if still else f"Others used {used:.2f} CPUs; it could spare {spare:.2f}."
                )
                say(f"{failure}\nThat run is made again. {why}")
            else:
                return


def _wait_for_quiet(spare: float) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with Neighbours() as others:
            time.sleep(1.2 * _LOOK_EVERY_S)
        used = others.most_cpus(1)
        if used <= spare:
            return
        say(f"Others use {used:.2f} CPUs, this lab can spare {spare:.2f}: waiting for them to end")
