"""Figures of each process and each second, from a capture's process table and samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from jitterscope.captures.flame import Selection
from jitterscope.captures.model import Capture, CapturedProcess, IntArray

MAX_PROCESSES = 300
SLICE_US = 1_000_000


@dataclass(frozen=True, slots=True)
class ProcessLine:
    """One process in the selection. `states` counts how often each letter of /proc/PID/stat was seen."""

    pid: int
    command: str
    cgroup: str
    user_us: int
    system_us: int
    threads: int
    states: dict[str, int]
    samples: int
    kernel_samples: int


@dataclass(frozen=True, slots=True)
class Slices:
    """Each second from the capture's start: samples in user mode and in the kernel, CPU time of the process table."""

    start_us: int
    user_samples: IntArray
    kernel_samples: IntArray
    user_us: IntArray
    system_us: IntArray


def lines(capture: Capture, selection: Selection) -> tuple[list[ProcessLine], int]:
    """Processes with any activity, busiest first, and how many more there are."""
    size = len(capture.processes)
    rows, samples = capture.rows, capture.samples
    chosen = selection.of(capture, rows.offset_us, rows.process)
    who = rows.process[chosen]
    user = np.bincount(who, rows.user_us[chosen], size).astype(np.int64)
    system = np.bincount(who, rows.system_us[chosen], size).astype(np.int64)
    threads = np.zeros(size, np.int64)
    np.maximum.at(threads, who, rows.threads[chosen])
    states: dict[int, Counter[str]] = {}
    for process, state in zip(who.tolist(), rows.state[chosen].tolist(), strict=True):
        states.setdefault(process, Counter())[chr(state)] += 1
    seen = selection.of(capture, samples.offset_us, samples.process)
    taken = np.bincount(samples.process[seen], minlength=size)
    deep = np.bincount(samples.process[seen & _in_kernel(capture)], minlength=size)
    present = [i for i in range(size) if taken[i] or i in states]
    present.sort(key=lambda i: (-int(user[i] + system[i]), -int(taken[i]), capture.processes[i].pid))
    return [
        _line(capture, capture.processes[i], int(user[i]), int(system[i]), int(threads[i]), dict(states.get(i, {})),
              int(taken[i]), int(deep[i]))
        for i in present[:MAX_PROCESSES]
    ], max(0, len(present) - MAX_PROCESSES)  # fmt: skip


def _line(
    capture: Capture, process: CapturedProcess, user_us: int, system_us: int, threads: int, states: dict[str, int],
    samples: int, kernel_samples: int,
) -> ProcessLine:  # fmt: skip
    command = capture.strings[process.command]
    return ProcessLine(
        process.pid, command, process.cgroup, user_us, system_us, threads, states, samples, kernel_samples
    )


def slices(capture: Capture, selection: Selection) -> Slices:
    """The whole capture, whatever time is selected: for choosing a time."""
    everything = Selection(capture.start_us, capture.end_us + 1, selection.processes)
    size = max(1, -(-(capture.end_us - capture.start_us) // SLICE_US))
    samples, rows = capture.samples, capture.rows
    seen = everything.of(capture, samples.offset_us, samples.process)
    deep = _in_kernel(capture)
    told = everything.of(capture, rows.offset_us, rows.process)

    def second(offset_us: IntArray) -> IntArray:
        return np.minimum(offset_us // SLICE_US, size - 1)

    def sums(values: IntArray) -> IntArray:
        return np.bincount(second(rows.offset_us[told]), values[told], size).astype(np.int64)

    return Slices(
        start_us=capture.start_us,
        user_samples=np.bincount(second(samples.offset_us[seen & ~deep]), minlength=size),
        kernel_samples=np.bincount(second(samples.offset_us[seen & deep]), minlength=size),
        user_us=sums(rows.user_us),
        system_us=sums(rows.system_us),
    )


def _in_kernel(capture: Capture) -> np.typing.NDArray[np.bool_]:
    """Which samples were taken in the kernel."""
    kernel = np.array([bool(one[0]) for one in capture.stacks], np.bool_)
    return kernel[capture.samples.stack] if len(kernel) else np.zeros(len(capture.samples.stack), np.bool_)
