"""Captures as protobuf: how collectors send them, recordings carry them, and the database keeps them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import zstandard

from jitterscope.captures.model import Capture, CapturedProcess, IntArray, Rows, Samples, Waits
from jitterscope.kit.allowance import hold
from jitterscope.pb import ingest_pb2 as pb

_LEVEL = 3
# Memory per byte of the message: a byte of a list of numbers is 4 in the parsed message and 8 in an array.
_UNPACKED = 12


def capture_of(message: pb.Capture) -> Capture:
    """The arrays of a validated message."""
    # One object per string that frames refer to: there can be millions of frames.
    numbers = tuple(range(len(message.strings)))
    return Capture(
        reason=message.reason,
        start_us=message.start_us,
        end_us=message.end_us,
        rate_hz=message.rate_hz,
        lost_samples=message.lost_samples,
        strings=tuple(message.strings),
        processes=tuple(CapturedProcess(one.pid, one.command, one.cgroup) for one in message.processes),
        stacks=tuple(
            (tuple(map(numbers.__getitem__, one.kernel)), tuple(map(numbers.__getitem__, one.user)))
            for one in message.stacks
        ),
        samples=Samples(*map(_array, (message.offset_us, message.stack, message.process, message.cpu))),
        rows=Rows(
            *map(
                _array,
                (
                    message.row_offset_us, message.row_process, message.row_user_us, message.row_system_us,
                    message.row_threads, message.row_state,
                ),
            )
        ),
        waits=Waits(
            *map(
                _array,
                (
                    message.wait_offset_us, message.wait_process, message.wait_thread, message.wait_name,
                    message.wait_state, message.wait_call, message.wait_place, message.wait_stack,
                ),
            )
        ),
    )  # fmt: skip


def message_of(capture: Capture, resource: int = 0, shift_us: int = 0) -> pb.Capture:
    """The message, for a resource of its batch, shifted by `shift_us`."""
    samples, rows, waits = capture.samples, capture.rows, capture.waits
    return pb.Capture(
        resource=resource,
        reason=capture.reason,
        start_us=capture.start_us + shift_us,
        end_us=capture.end_us + shift_us,
        rate_hz=capture.rate_hz,
        lost_samples=capture.lost_samples,
        strings=capture.strings,
        processes=[
            pb.CapturedProcess(pid=one.pid, command=one.command, cgroup=one.cgroup) for one in capture.processes
        ],
        stacks=[pb.CapturedStack(kernel=kernel, user=user) for kernel, user in capture.stacks],
        offset_us=samples.offset_us.tolist(),
        stack=samples.stack.tolist(),
        process=samples.process.tolist(),
        cpu=samples.cpu.tolist(),
        row_offset_us=rows.offset_us.tolist(),
        row_process=rows.process.tolist(),
        row_user_us=rows.user_us.tolist(),
        row_system_us=rows.system_us.tolist(),
        row_threads=rows.threads.tolist(),
        row_state=rows.state.tolist(),
        wait_offset_us=waits.offset_us.tolist(),
        wait_process=waits.process.tolist(),
        wait_thread=waits.thread.tolist(),
        wait_name=waits.name.tolist(),
        wait_state=waits.state.tolist(),
        wait_call=waits.call.tolist(),
        wait_place=waits.place.tolist(),
        wait_stack=waits.stack.tolist(),
    )


def pack(message: pb.Capture) -> bytes:
    """Pack for the database: without fields unknown to this version, and without the batch's numbering of resources."""
    kept = pb.Capture()
    kept.CopyFrom(message)
    kept.DiscardUnknownFields()
    kept.resource = 0
    return zstandard.ZstdCompressor(level=_LEVEL).compress(kept.SerializeToString())


def unpack(payload: bytes) -> Capture:
    """Unpack the output of `pack`. Counts what it takes; raises TooMuch."""
    hold(_UNPACKED * zstandard.frame_content_size(payload))
    return capture_of(pb.Capture.FromString(zstandard.ZstdDecompressor().decompress(payload)))


def _array(values: Iterable[int]) -> IntArray:
    return np.fromiter(values, np.int64)
