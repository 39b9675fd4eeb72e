"""Merges the stacks of a capture into one tree: a flame graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jitterscope.captures.model import Capture, IntArray

# More boxes than a screen has pixels are of no use.
MAX_NODES = 20_000
# Distinct (command, stack) pairs that are merged; beyond that the rarest are left out.
MAX_STACKS = 50_000
ROOT, COMMAND, USER, KERNEL = range(4)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which samples count: [from_us, to_us) (µs since the epoch), and of which processes (all: None)."""

    from_us: int
    to_us: int
    processes: NDArray[np.bool_] | None = None

    def of(self, capture: Capture, offset_us: IntArray, process: IntArray) -> NDArray[np.bool_]:
        """Which entries of parallel arrays are selected."""
        at_us = offset_us + capture.start_us
        chosen = (at_us >= self.from_us) & (at_us < self.to_us)
        return chosen if self.processes is None else chosen & self.processes[process]


@dataclass(frozen=True, slots=True)
class Flame:
    """A tree as parallel arrays, parents first; node 0 is the root, `names` are texts that `name` indexes.

    `samples` of a node include its callees. `kind` is ROOT, COMMAND, USER, or KERNEL. `hidden_samples` are those whose
    end of the stack was too rare to be kept.
    """

    names: list[str]
    parent: list[int]
    name: list[int]
    kind: list[int]
    samples: list[int]
    hidden_samples: int


def flame(capture: Capture, selection: Selection) -> Flame:
    """Merge processes with the same command; user frames are above the command, kernel frames above them."""
    chosen = selection.of(capture, capture.samples.offset_us, capture.samples.process)
    commands = np.array([one.command for one in capture.processes], np.int64)
    command = commands[capture.samples.process[chosen]] if len(commands) else np.empty(0, np.int64)
    width = max(len(capture.stacks), 1)
    pairs, counts = np.unique(command * width + capture.samples.stack[chosen], return_counts=True)
    if len(pairs) > MAX_STACKS:
        kept = np.sort(np.argsort(-counts, kind="stable")[:MAX_STACKS])
        pairs, counts = pairs[kept], counts[kept]
    tree = _Tree()
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        kernel, user = capture.stacks[pair % width]
        tree.add(pair // width, user, kernel, count)
    return tree.result(capture.strings, int(chosen.sum()))


class _Tree:
    """Grows while stacks are added; a node is found by its parent, name and kind."""

    def __init__(self) -> None:
        self.parent, self.name, self.kind, self.samples = [0], [-1], [ROOT], [0]
        self.known: dict[tuple[int, int, int], int] = {}

    def add(self, command: int, user: Sequence[int], kernel: Sequence[int], count: int) -> None:
        at = self.step(0, command, COMMAND, count)
        self.samples[0] += count
        for kind, frames in ((USER, user), (KERNEL, kernel)):
            for frame in reversed(frames):
                at = self.step(at, frame, kind, count)

    def step(self, parent: int, name: int, kind: int, count: int) -> int:
        key = (parent, name, kind)
        at = self.known.get(key)
        if at is None:
            at = self.known[key] = len(self.parent)
            self.parent.append(parent)
            self.name.append(name)
            self.kind.append(kind)
            self.samples.append(0)
        self.samples[at] += count
        return at

    def result(self, strings: Sequence[str], total: int) -> Flame:
        samples = np.array(self.samples, np.int64)
        least = 0
        if len(samples) > MAX_NODES:
            # A node is at least as large as its largest child: cutting by size cuts whole branches.
            least = int(np.sort(samples)[-MAX_NODES])
            least += int((samples >= least).sum() > MAX_NODES)
        kept = np.flatnonzero(samples >= least)
        kept = kept if len(kept) and kept[0] == 0 else np.concatenate([[0], kept]).astype(np.int64)
        place = np.full(len(samples), -1, np.int64)
        place[kept] = np.arange(len(kept))
        hidden = total - int(samples[0])
        for node in np.flatnonzero(place < 0).tolist():
            if place[self.parent[node]] >= 0:
                hidden += int(samples[node])
        names: dict[int, int] = {-1: 0}
        name = [names.setdefault(self.name[node], len(names)) for node in kept.tolist()]
        return Flame(
            names=["all" if one < 0 else strings[one] for one in names],
            parent=[int(place[self.parent[node]]) for node in kept.tolist()],
            name=name,
            kind=[self.kind[node] for node in kept.tolist()],
            samples=samples[kept].tolist(),
            hidden_samples=hidden,
        )
