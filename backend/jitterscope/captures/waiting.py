"""Groups the waiting threads of a capture by what they wait in."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from jitterscope.captures.flame import Selection
from jitterscope.captures.model import Capture

MAX_WAYS = 40
MAX_NAMES = 4


@dataclass(frozen=True, slots=True)
class WaitLine:
    """Threads of one program that waited in the same way.

    `threads` are different ones, seen `times` in all; `looks` is how often the threads of their processes were read in
    the selection. `names` are those of the threads seen most often. `stack` is the most frequent kernel stack, leaf
    first, empty if none was read.
    """

    command: str
    processes: tuple[int, ...]
    state: str
    call: str
    place: str
    threads: int
    times: int
    looks: int
    names: tuple[str, ...]
    stack: tuple[str, ...]


def waiting(capture: Capture, selection: Selection) -> tuple[list[WaitLine], int]:
    """The ways in which threads waited, the most frequent first, and how many more there are."""
    waits, strings = capture.waits, capture.strings
    chosen = np.flatnonzero(selection.of(capture, waits.offset_us, waits.process))
    groups: defaultdict[tuple[int, int, int, int], list[int]] = defaultdict(list)
    looks: defaultdict[int, set[int]] = defaultdict(set)
    for i in chosen.tolist():
        command = capture.processes[waits.process[i]].command
        groups[command, int(waits.state[i]), int(waits.call[i]), int(waits.place[i])].append(i)
        looks[command].add(int(waits.offset_us[i]))
    found = []
    for (command, state, call, place), members in groups.items():
        stacks = Counter(int(waits.stack[i]) for i in members if waits.stack[i])
        names = Counter(strings[waits.name[i]] for i in members)
        frames = capture.stacks[stacks.most_common(1)[0][0] - 1][0] if stacks else ()
        found.append(
            WaitLine(
                command=strings[command],
                processes=tuple(sorted({int(waits.process[i]) for i in members})),
                state=chr(state),
                call=strings[call],
                place=strings[place],
                threads=len({(int(waits.process[i]), int(waits.thread[i])) for i in members}),
                times=len(members),
                looks=len(looks[command]),
                names=tuple(name for name, _ in names.most_common(MAX_NAMES)),
                stack=tuple(strings[frame] for frame in frames),
            )
        )
    found.sort(key=lambda one: (-one.times, one.command, one.call, one.place, one.state))
    return found[:MAX_WAYS], max(0, len(found) - MAX_WAYS)
