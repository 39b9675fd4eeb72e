"""REST shapes of captures of the flight recorder."""

from __future__ import annotations

from typing import Literal

from jitterscope.kit.schema import Schema

FrameKind = Literal["root", "command", "user", "kernel"]


class CaptureSummary(Schema):
    """A capture without its content. Times are µs since the epoch, UTC; `rate_hz`: samples per second and CPU.

    `of`: what it was taken of, the incident's subject or its node.
    """

    id: int
    resource_id: int
    of: Literal["subject", "node"]
    reason: str
    start_us: int
    end_us: int
    rate_hz: float
    samples: int
    processes: int
    cpus: int
    lost_samples: int


class CaptureList(Schema):
    items: list[CaptureSummary]


class FlameGraph(Schema):
    """Merged stacks as a tree in parallel arrays, parents first; node 0 is the root and its own parent.

    `name` indexes `names`, `kind` indexes `kinds`; `samples` of a node include what it called.
    `total_samples` were selected; the stacks of `hidden_samples` are cut where they were too rare to be shown.
    """

    names: list[str]
    kinds: list[FrameKind]
    parent: list[int]
    name: list[int]
    kind: list[int]
    samples: list[int]
    total_samples: int
    hidden_samples: int


class CaptureProcess(Schema):
    """A process in the selected time. `states` counts how often each letter of /proc/PID/stat was seen."""

    pid: int
    command: str
    cgroup: str
    of_subject: bool
    user_ms: float
    system_ms: float
    threads: int
    states: dict[str, int]
    samples: int
    kernel_samples: int


class CaptureWait(Schema):
    """Threads of one program that waited in the same way while it owed answers and gave none, in the selected time.

    `state`: letter of /proc/PID/stat; `call`: system call ("" none, "?" not known); `place`: the kernel function in
    which they slept ("" none or not known); `threads`: different ones, seen `times` in `looks` at the program's
    threads; `names`: of threads; `stack`: kernel frames, leaf first, empty if not read.
    """

    command: str
    of_subject: bool
    state: str
    call: str
    place: str
    threads: int
    times: int
    looks: int
    names: list[str]
    stack: list[str]


class CaptureSeconds(Schema):
    """Samples and CPU time of the selected processes for each second of the whole capture."""

    start_us: int
    step_us: int
    user_samples: list[int]
    kernel_samples: list[int]
    user_ms: list[float]
    system_ms: list[float]


class CaptureDetail(Schema):
    """One capture: merged stacks, processes, and waiting threads of [from_us, to_us).

    `more_processes` and `more_waiting`: how many are not listed.
    """

    capture: CaptureSummary
    from_us: int
    to_us: int
    scope: Literal["node", "subject"]
    pid: int | None
    flame: FlameGraph
    processes: list[CaptureProcess]
    more_processes: int
    waiting: list[CaptureWait]
    more_waiting: int
    seconds: CaptureSeconds
