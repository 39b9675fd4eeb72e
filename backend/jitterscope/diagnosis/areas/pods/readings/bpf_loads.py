"""Which programs loaded which eBPF programs into the kernel, how long that took, and how often the same set."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import Event, FloatArray, Snapshot

KIND = "bpf.load"
# The kernel keeps this many characters of a program's name (BPF_OBJ_NAME_LEN - 1).
NAME_LENGTH = 15
UNNAMED = "(unnamed)"
# If named programs took less than this share of the time, they do not represent the rest.
LEAST_NAMED = 0.3
PAUSE_US = 300_000


@dataclass(frozen=True, slots=True)
class Program:
    """One program of an owner, with all its loads. Two with one name and different sizes are two programs."""

    name: str
    instructions: int | None
    verified_instructions: int | None  # the maximum of one load
    durations_us: FloatArray  # one per load, in time order
    failed: int

    @property
    def loads(self) -> int:
        return len(self.durations_us)

    @property
    def total_us(self) -> float:
        return float(self.durations_us.sum())


@dataclass(frozen=True, slots=True)
class Owner:
    """Everything that processes of one command loaded."""

    command: str
    processes: int
    bursts: int  # spans of loads separated by pauses
    programs: tuple[Program, ...]  # most time first

    @property
    def loads(self) -> int:
        return sum(program.loads for program in self.programs)

    @property
    def total_us(self) -> float:
        return sum(program.total_us for program in self.programs)

    @property
    def sets(self) -> int:
        """How often the same programs were loaded, once for each endpoint: the count of those with most of the time.

        Programs closed before their names could be read do not count; then the processes do, or the pauses.
        """
        named = [program for program in self.programs if program.name != UNNAMED]
        if sum(program.total_us for program in named) < LEAST_NAMED * self.total_us or not named:
            return self.processes if self.processes > 1 else self.bursts
        counts = np.array([program.loads for program in named])
        order = np.argsort(counts, kind="stable")
        time = np.cumsum(np.array([named[i].total_us for i in order]))
        return int(counts[order][int(np.searchsorted(time, time[-1] / 2))])

    @property
    def per_set_us(self) -> float:
        return self.total_us / self.sets

    def sets_us(self, without: Iterable[str] = ()) -> FloatArray:
        """Time of each set without the named programs; the n-th load of a program belongs to the n-th set."""
        left, sets = set(without), self.sets
        out = np.zeros(sets)
        for program in self.programs:
            if program.name not in left:
                belongs = np.arange(program.loads) * sets // max(sets, program.loads)
                np.add.at(out, belongs, program.durations_us)
        return out

    def named(self, names: Iterable[str]) -> float:
        """Time (µs) that programs of these names take in one set."""
        wanted = set(names)
        return sum(program.total_us for program in self.programs if program.name in wanted) / self.sets


@reading
def events_of(snapshot: Snapshot) -> tuple[Event, ...]:
    """Every load of the window once: at the node, or at the cgroup that made it."""
    found: dict[tuple[int, int, str | None, str | None], Event] = {}
    for view in (snapshot.node, *snapshot.cgroups):
        for event in view.events:
            if event.kind == KIND:
                name, pid = event.attributes.get("name"), event.attributes.get("pid")
                found.setdefault((event.start_us, event.duration_us, pid, name), event)
    return tuple(sorted(found.values(), key=lambda event: (event.start_us, event.attributes.get("name", ""))))


@reading
def place_of(snapshot: Snapshot, command: str) -> str | None:
    """The container in which most loads of a command were made, by its display name; None if none is known."""
    loads = {
        view.name: sum(event.kind == KIND and event.attributes.get("command") == command for event in view.events)
        for view in snapshot.cgroups
        if view.fact("workload.container")
    }
    most = max(loads, key=lambda name: loads[name], default=None)
    return most if most is not None and loads[most] else None


@reading
def loaders(snapshot: Snapshot) -> tuple[Owner, ...]:
    """The owners that loaded programs in the window, most time first."""
    return owners(events_of(snapshot))


def owners(events: Iterable[Event]) -> tuple[Owner, ...]:
    """The owners of these loads, most time first."""
    by_command: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_command[event.attributes.get("command", "unknown")].append(event)
    found = [_owner(command, loads) for command, loads in by_command.items()]
    return tuple(sorted(found, key=lambda owner: (-owner.total_us, owner.command)))


def _owner(command: str, events: list[Event]) -> Owner:
    by_program: dict[tuple[str, int | None], list[Event]] = defaultdict(list)
    for event in events:
        name = event.attributes.get("name") or UNNAMED
        by_program[name, _number(event.attributes.get("instructions"))].append(event)
    programs = [
        Program(
            name=name,
            instructions=instructions,
            verified_instructions=max(
                (n for e in loads if (n := _number(e.attributes.get("verified_instructions"))) is not None),
                default=None,
            ),
            durations_us=np.array([float(event.duration_us) for event in loads]),
            failed=sum(event.attributes.get("error") not in (None, "", "0") for event in loads),
        )
        for (name, instructions), loads in by_program.items()
    ]
    programs.sort(key=lambda program: (-program.total_us, program.name, program.instructions or 0))
    processes = len({event.attributes.get("pid") for event in events})
    return Owner(command, processes, _bursts(events), tuple(programs))


def _bursts(events: list[Event]) -> int:
    """Spans of loads with at least PAUSE_US between one's end and the next one's start."""
    count, end_us = 0, -PAUSE_US
    for event in sorted(events, key=lambda one: one.start_us):
        count += not count or event.start_us - end_us >= PAUSE_US
        end_us = max(end_us, event.end_us)
    return count


def _number(text: str | None) -> int | None:
    try:
        value = float(text) if text else math.nan
    except ValueError:
        return None
    return int(value) if math.isfinite(value) else None
