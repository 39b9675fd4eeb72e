"""Reader of the compact encoding that `packed_format` describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jitterscope.series.bitpack import packed_size, unpack_at
from jitterscope.series.packed_format import BLOCK, CONSTANT, DIFFERENCES, EXCEPTIONS, FIRST, HEADER, POWERS, PRESENCE
from jitterscope.series.types import FloatArray

I64Array = NDArray[np.int64]
ByteArray = NDArray[np.uint8]


@dataclass(slots=True)
class _Segment:
    flags: int
    scale: int
    shift: int
    base: int
    first: int
    ticks: int
    bitmap_at: int
    blocks: int


@dataclass(slots=True)
class _Gathered:
    """Blocks of all segments, so that blocks of one width are unpacked together, whatever segment they are of."""

    offsets: list[I64Array]
    widths: list[I64Array]
    bases: list[I64Array]
    exception_at: list[I64Array]
    exception_codes: list[I64Array]
    blocks: int = 0


def decode_many(payloads: Sequence[bytes], tick_counts: Sequence[int]) -> list[FloatArray]:
    """The values of each payload of `packed_encode.encode_rows`; NaN where missing."""
    # The tail makes the last value's 64-bit window readable.
    data = np.frombuffer(b"".join((*payloads, b"\0" * 8)), np.uint8)
    gathered = _Gathered([], [], [], [], [])
    segments: list[_Segment] = []
    start = 0
    for payload, ticks in zip(payloads, tick_counts, strict=True):
        segments.append(_read_head(data, start, payload, ticks, gathered))
        start += len(payload)
    return _finish(data, segments, _unpack(data, gathered))


def _read_head(data: ByteArray, start: int, payload: bytes, ticks: int, gathered: _Gathered) -> _Segment:
    flags, scale, shift, base_width, base = HEADER.unpack_from(payload)
    at = start + HEADER.size
    first = 0
    if flags & DIFFERENCES:
        first = FIRST.unpack_from(payload, HEADER.size)[0]
        at += FIRST.size
    segment = _Segment(flags, scale, shift, base, first, ticks, at, 0)
    if flags & PRESENCE:
        at += (ticks + 7) // 8
    if flags & CONSTANT:
        return segment
    segment.blocks = blocks = -(-ticks // BLOCK)
    widths = data[at : at + blocks].astype(np.int64)
    at += blocks
    bases = unpack_at(data, np.array([at]), blocks, base_width)[0].astype(np.int64) + base
    at += packed_size(blocks, base_width)
    if flags & EXCEPTIONS:
        at = _read_exceptions(data, at, blocks, gathered)
    sizes = widths * (BLOCK // 8)
    gathered.offsets.append(at + np.cumsum(sizes) - sizes)
    gathered.widths.append(widths)
    gathered.bases.append(bases)
    gathered.blocks += blocks
    return segment


def _read_exceptions(data: ByteArray, at: int, blocks: int, gathered: _Gathered) -> int:
    counts = data[at : at + blocks].astype(np.int64)
    width = int(data[at + blocks])
    at += blocks + 1
    total = int(counts.sum())
    block = np.repeat(np.arange(blocks), counts) + gathered.blocks
    gathered.exception_at.append(block * BLOCK + data[at : at + total])
    at += total
    gathered.exception_codes.append(unpack_at(data, np.array([at]), total, width)[0].astype(np.int64))
    return at + packed_size(total, width)


def _unpack(data: ByteArray, gathered: _Gathered) -> I64Array:
    """Integers of all gathered blocks, one after the other."""
    if not gathered.offsets:
        return np.empty(0, np.int64)
    offset, width = np.concatenate(gathered.offsets), np.concatenate(gathered.widths)
    integers = np.repeat(np.concatenate(gathered.bases)[:, None], BLOCK, axis=1)
    for bits in np.unique(width[width > 0]).tolist():
        members = np.flatnonzero(width == bits)
        integers[members] += unpack_at(data, offset[members], BLOCK, bits).astype(np.int64)
    flat = integers.reshape(-1)
    if gathered.exception_at:
        flat[np.concatenate(gathered.exception_at)] += np.concatenate(gathered.exception_codes)
    return flat


def _finish(data: ByteArray, segments: list[_Segment], integers: I64Array) -> list[FloatArray]:
    results: list[FloatArray] = []
    at = 0
    for segment in segments:
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
