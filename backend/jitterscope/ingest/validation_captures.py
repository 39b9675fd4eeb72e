"""Checks of captures: every size is bounded, every index is inside its list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from jitterscope.captures import wire
from jitterscope.captures.service import MAX_SPAN_US
from jitterscope.ingest import limits
from jitterscope.ingest.batch import CaptureSpec
from jitterscope.ingest.checks import Clock, at_most, check, column, index, text
from jitterscope.pb import ingest_pb2 as pb


def validate(capture: pb.Capture, resources: int, clock: Clock) -> CaptureSpec:
    """Check one capture and prepare it for storage. Raises Problem."""
    index(capture.resource, resources, "a capture")
    check(limits.REASON.fullmatch(capture.reason) is not None, "a capture has a malformed reason")
    clock.stored(capture.start_us, "the start of a capture")
    span_us = capture.end_us - capture.start_us
    check(0 <= span_us <= MAX_SPAN_US, f"a capture covers {span_us} µs")
    clock.check(capture.end_us, "the end of a capture")
    rate = capture.rate_hz
    check(math.isfinite(rate) and 0 <= rate <= limits.MAX_CAPTURE_RATE_HZ, f"a capture has the rate {rate} Hz")
    check(capture.lost_samples < 2**63, "lost_samples of a capture is larger than 2^63 - 1")
    at_most(len(capture.strings), limits.MAX_CAPTURE_STRINGS, "strings in a capture")
    at_most(len(capture.processes), limits.MAX_CAPTURE_PROCESSES, "processes in a capture")
    at_most(len(capture.stacks), limits.MAX_CAPTURE_STACKS, "stacks in a capture")
    at_most(len(capture.offset_us), limits.MAX_CAPTURE_SAMPLES, "samples in a capture")
    at_most(len(capture.row_offset_us), limits.MAX_CAPTURE_SAMPLES, "process rows in a capture")
    at_most(len(capture.wait_offset_us), limits.MAX_CAPTURE_SAMPLES, "waiting threads in a capture")
    for one in capture.strings:
        text(one, limits.MAX_FRAME_BYTES, "a string of a capture")
    for process in capture.processes:
        index(process.command, len(capture.strings), "a process of a capture")
        text(process.cgroup, limits.MAX_ATTRIBUTE_LENGTH, "the cgroup of a process of a capture")
    _frames(capture)
    cpu = _samples(capture, span_us)
    _waits(capture, span_us)
    return CaptureSpec(
        resource=capture.resource,
        reason=capture.reason,
        start_us=capture.start_us,
        end_us=capture.end_us,
        rate_hz=rate,
        samples=len(capture.offset_us),
        processes=len(capture.processes),
        cpus=cpu,
        lost_samples=capture.lost_samples,
        payload=wire.pack(capture),
    )


def _frames(capture: pb.Capture) -> None:
    total = 0
    for stack in capture.stacks:
        count = len(stack.kernel) + len(stack.user)
        at_most(count, limits.MAX_FRAMES, "frames in a stack")
        total += count
    at_most(total, limits.MAX_CAPTURE_FRAMES, "frames in a capture")
    frames = np.fromiter(chain.from_iterable(chain(one.kernel, one.user) for one in capture.stacks), np.int64)
    if len(frames):
        index(int(frames.max()), len(capture.strings), "a frame of a capture")


def _samples(capture: pb.Capture, span_us: int) -> int:
    """The number of CPUs that the samples come from."""
    what = "of a capture"
    count = len(capture.offset_us)
    offset = column(capture.offset_us, count, f"offset_us {what}", span_us)
    check(bool((np.diff(offset) >= 0).all()), "the samples of a capture are not sorted by time")
    column(capture.stack, count, f"stack {what}", len(capture.stacks) - 1)
    column(capture.process, count, f"process {what}", len(capture.processes) - 1)
    cpu = column(capture.cpu, count, f"cpu {what}", limits.MAX_CPU)
    rows = len(capture.row_offset_us)
    column(capture.row_offset_us, rows, f"row_offset_us {what}", span_us)
    column(capture.row_process, rows, f"row_process {what}", len(capture.processes) - 1)
    column(capture.row_user_us, rows, f"row_user_us {what}")
    column(capture.row_system_us, rows, f"row_system_us {what}")
    column(capture.row_threads, rows, f"row_threads {what}")
    _states(capture.row_state, rows, f"row_state {what}")
    return len(np.unique(cpu))


def _waits(capture: pb.Capture, span_us: int) -> None:
    what = "of a capture"
    count = len(capture.wait_offset_us)
    offset = column(capture.wait_offset_us, count, f"wait_offset_us {what}", span_us)
    check(bool((np.diff(offset) >= 0).all()), "the waiting threads of a capture are not sorted by time")
    column(capture.wait_process, count, f"wait_process {what}", len(capture.processes) - 1)
    column(capture.wait_thread, count, f"wait_thread {what}")
    for name in ("wait_name", "wait_call", "wait_place"):
        column(getattr(capture, name), count, f"{name} {what}", len(capture.strings) - 1)
    column(capture.wait_stack, count, f"wait_stack {what}", len(capture.stacks))
    _states(capture.wait_state, count, f"wait_state {what}")


def _states(values: Sequence[int], count: int, what: str) -> None:
    """Letters of /proc/PID/stat."""
    state = column(values, count, what, ord("z"))
    check(bool((state >= ord("A")).all()), f"{what} has a value that is not a letter")
