"""Reader of the compact encoding that `packed_format` describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jitterscope.series.bitpack import BitReader, I64Array, packed_size
from jitterscope.series.packed_format import BLOCK, CONSTANT, DIFFERENCES, EXCEPTIONS, FIRST, HEADER, POWERS, PRESENCE
from jitterscope.series.types import FloatArray

ByteArray = NDArray[np.uint8]


class _Head(NamedTuple):
    """Where the parts of a payload are, in bytes of all payloads joined."""

    flags: int
    scale: int
    shift: int
    base_width: int
    base: int
    first: int
    ticks: int
    bitmap_at: int
    widths_at: int
    blocks: int
    bases_at: int
    exceptions: int
    exception_width: int
    positions_at: int
    data_at: int


def decode_many(payloads: Sequence[bytes], tick_counts: Sequence[int]) -> list[FloatArray]:
    """The values of each payload of `packed_encode.encode_rows`; NaN where missing.

    Each kind of part (bases, exceptions, blocks) is read for all payloads in one step.
    """
    joined = b"".join((*payloads, b"\0" * 8))  # the tail makes the last value's 64-bit window readable
    data = np.frombuffer(joined, np.uint8)
    heads: list[_Head] = []
    start = 0
    for payload, ticks in zip(payloads, tick_counts, strict=True):
        heads.append(_head(joined, start, ticks))
        start += len(payload)
    return _finish(data, heads, _integers(BitReader(joined), data, [head for head in heads if head.blocks]))


def _head(joined: bytes, start: int, ticks: int) -> _Head:
    flags, scale, shift, base_width, base = HEADER.unpack_from(joined, start)
    at = start + HEADER.size
    first = 0
    if flags & DIFFERENCES:
        first = FIRST.unpack_from(joined, at)[0]
        at += FIRST.size
    bitmap_at = at
    if flags & PRESENCE:
        at += (ticks + 7) // 8
    blocks = 0 if flags & CONSTANT else -(-ticks // BLOCK)
    widths_at, bases_at = at, at + blocks
    at = bases_at + packed_size(blocks, base_width)
    exceptions = exception_width = positions_at = 0
    if flags & EXCEPTIONS:
        exceptions = sum(joined[at : at + blocks])
        exception_width = joined[at + blocks]
        positions_at = at + blocks + 1
        at = positions_at + exceptions + packed_size(exceptions, exception_width)
    return _Head(
        flags, scale, shift, base_width, base, first, ticks, bitmap_at, widths_at, blocks, bases_at, exceptions,
        exception_width, positions_at, at,
    )  # fmt: skip


def _integers(reader: BitReader, data: ByteArray, heads: list[_Head]) -> I64Array:
    """The blocks of all segments, one after another, as integers with base and exceptions added."""
    if not heads:
        return np.empty(0, np.int64)
    columns = _Head._make(np.array(heads, np.int64).T)  # the same fields, as arrays
    blocks = np.asarray(columns.blocks)
    widths = data[_ranges(np.asarray(columns.widths_at), blocks)].astype(np.int64)
    base_widths = np.repeat(columns.base_width, blocks)
    number = _ranges(np.zeros(len(heads), np.int64), blocks)  # of each block in its segment
    bases = reader.read(np.repeat(np.asarray(columns.bases_at) * 8, blocks) + number * base_widths, base_widths)
    bases += np.repeat(columns.base, blocks)
    sizes = widths * (BLOCK // 8)
    first_block = np.cumsum(blocks) - blocks
    offsets = np.cumsum(sizes) - sizes
    offsets += np.repeat(columns.data_at - offsets[first_block], blocks)
    integers = np.repeat(bases, BLOCK).reshape(-1, BLOCK)
    for width in np.flatnonzero(np.bincount(widths)).tolist():
        if width:  # blocks of zero bits consist of their base
            members = np.flatnonzero(widths == width)
            integers[members] += reader.read_rows(offsets[members], BLOCK, width)
    flat = integers.reshape(-1)
    _add_exceptions(reader, data, columns, first_block, flat)
    return flat


def _add_exceptions(reader: BitReader, data: ByteArray, columns: _Head, first_block: I64Array, flat: I64Array) -> None:
    having = np.flatnonzero(columns.exceptions)
    if not len(having):
        return
    chosen = _Head._make(np.asarray(column)[having] for column in columns)
    blocks, exceptions, positions_at = (
        np.asarray(column) for column in (chosen.blocks, chosen.exceptions, chosen.positions_at)
    )
    counts = data[_ranges(positions_at - 1 - blocks, blocks)]
    block = np.repeat(_ranges(first_block[having], blocks), counts)
    position = data[_ranges(positions_at, exceptions)]
    width = np.repeat(chosen.exception_width, exceptions)
    number = _ranges(np.zeros(len(having), np.int64), exceptions)
    codes = reader.read(np.repeat((positions_at + exceptions) * 8, exceptions) + number * width, width)
    flat[block * BLOCK + position] += codes


def _ranges(starts: I64Array, lengths: I64Array) -> I64Array:
    """start, start + 1, … start + length - 1 of each pair, one after another."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]), dtype=np.int64) + np.repeat(starts - ends + lengths, lengths)


def _finish(data: ByteArray, heads: list[_Head], integers: I64Array) -> list[FloatArray]:
    results: list[FloatArray] = []
    at = 0
    for segment in heads:
        if segment.flags & CONSTANT:
            values = np.full(segment.ticks, segment.base, np.int64)
        else:
            values = integers[at : at + segment.ticks]
            at += segment.blocks * BLOCK
            if segment.flags & DIFFERENCES:
                values = np.cumsum(values) + segment.first
        floats = (values << segment.shift).astype(np.float64)
        if segment.scale:
            floats /= POWERS[segment.scale]
        if segment.flags & PRESENCE:
            bitmap = data[segment.bitmap_at : segment.bitmap_at + (segment.ticks + 7) // 8]
            floats[np.unpackbits(bitmap, count=segment.ticks) == 0] = np.nan
        results.append(floats)
    return results
