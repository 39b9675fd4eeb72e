"""Writer of the compact encoding that `packed_format` describes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jitterscope.series.bitpack import pack_rows
from jitterscope.series.packed_format import BLOCK, CONSTANT, DIFFERENCES, EXCEPTIONS, FIRST, HEADER, POWERS, PRESENCE
from jitterscope.series.types import FloatArray

_LARGEST = float(2**53)
_SCALES = (0, 1, 2, 3, 4, 6, 9)
# Values encoded in one step: each takes about 100 bytes, and what fits the CPU cache is faster.
_AT_ONCE = 1 << 18

I64Array = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
ByteArray = NDArray[np.uint8]


def encode_rows(values: FloatArray) -> list[bytes | None]:
    """Encode each row of (rows, ticks), NaN where missing. None for a row that is all missing or not short decimals."""
    step = max(1, _AT_ONCE // max(1, values.shape[1]))
    result: list[bytes | None] = []
    for first in range(0, len(values), step):
        result += _encode(values[first : first + step])
    return result


def _encode(values: FloatArray) -> list[bytes | None]:
    result: list[bytes | None] = [None] * len(values)
    present = ~np.isnan(values)
    candidates = np.flatnonzero(present.any(axis=1))
    if len(candidates) == 0:
        return result
    filled = _filled(values[candidates], present[candidates])
    integers, scale = _as_integers(filled)
    packable = scale >= 0
    rows = candidates[packable]
    if len(rows) == 0:
        return result
    payloads = _Segments(integers[packable], scale[packable], present[rows]).payloads()
    for index, payload in zip(rows.tolist(), payloads, strict=True):
        result[index] = payload
    return result


def _filled(values: FloatArray, present: BoolArray) -> FloatArray:
    """Missing ticks take the previous value, leading ones the first value."""
    if present.all():
        return values
    index = np.where(present, np.arange(values.shape[1]), 0)
    index = np.maximum(np.maximum.accumulate(index, axis=1), present.argmax(axis=1)[:, None])
    return np.take_along_axis(values, index, axis=1)


def _as_integers(values: FloatArray) -> tuple[I64Array, I64Array]:
    """Rows as integers over a power of ten that gives back the same doubles; scale -1 if there is no such power."""
    integers = np.zeros(values.shape, np.int64)
    scale = np.full(len(values), -1, np.int64)
    pending = np.arange(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for digits in _SCALES:
            rounded = np.rint(values[pending] * POWERS[digits])
            exact = (rounded / POWERS[digits] == values[pending]) & (np.abs(rounded) < _LARGEST)
            fits = exact.all(axis=1)
            integers[pending[fits]] = rounded[fits].astype(np.int64)
            scale[pending[fits]] = digits
            pending = pending[~fits]
            if len(pending) == 0:
                break
    return integers, scale


def _bit_length(values: I64Array) -> I64Array:
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)


def _blocks(values: I64Array) -> I64Array:
    pad = -values.shape[1] % BLOCK
    padded = np.pad(values, ((0, 0), (0, pad)), mode="edge") if pad else values
    return padded.reshape(len(values), -1, BLOCK)


class _Plan:
    """Bases, codes and widths of all blocks (rows, blocks[, 64]), and what they cost in bits per row."""

    def __init__(self, blocks: I64Array) -> None:
        self.bases = blocks.min(axis=2)
        self.codes = blocks - self.bases[:, :, None]
        lengths = _bit_length(self.codes)
        # Width if the e longest values are exceptions: the (e + 1)-th longest.
        longest = np.sort(lengths, axis=2)[:, :, ::-1]
        kept = np.arange(BLOCK)
        cost = longest * BLOCK + kept * (8 + longest[:, :, :1])
        best = cost.argmin(axis=2)
        self.widths = np.take_along_axis(longest, best[:, :, None], axis=2)[:, :, 0]
        self.exception = lengths > self.widths[:, :, None]
        self.base_width = _bit_length(self.bases.max(axis=1) - self.bases.min(axis=1))
        self.cost = cost.min(axis=2).sum(axis=1) + self.base_width * blocks.shape[1]


class _Segments:
    """Integer rows on their way to becoming payloads."""

    def __init__(self, integers: I64Array, scale: I64Array, present: BoolArray) -> None:
        joined = np.bitwise_or.reduce(integers, axis=1)
        self.shift = np.where(joined == 0, 0, _bit_length(joined & -joined) - 1)
        self.integers = integers >> self.shift[:, None]
        self.scale, self.present = scale, present
        plain = _Plan(_blocks(self.integers))
        differences = _Plan(_blocks(np.diff(self.integers, axis=1, prepend=self.integers[:, :1])))
        # 64: the first value that differences need.
        self.differences = differences.cost + 64 < plain.cost
        chosen = self.differences[:, None]
        self.bases = np.where(chosen, differences.bases, plain.bases)
        self.widths = np.where(chosen, differences.widths, plain.widths)
        self.codes = np.where(chosen[:, :, None], differences.codes, plain.codes)
        self.exception = np.where(chosen[:, :, None], differences.exception, plain.exception)
        self.base_width = np.where(self.differences, differences.base_width, plain.base_width)

    def payloads(self) -> list[bytes]:
        data, ends = self._pack_blocks()
        lowest = self.bases.min(axis=1)
        has_exceptions = self.exception.any(axis=(1, 2))
        constant = (self.base_width == 0) & (self.widths.max(axis=1) == 0) & ~self.differences & ~has_exceptions
        complete = self.present.all(axis=1)
        flags = (
            DIFFERENCES * self.differences + PRESENCE * ~complete + CONSTANT * constant + EXCEPTIONS * has_exceptions
        ).tolist()
        bitmaps = np.packbits(self.present, axis=1)
        widths = self.widths.astype(np.uint8)
        payloads: list[bytes] = []
        start = 0
        for row, end in enumerate(ends.tolist()):
            parts = [
                HEADER.pack(flags[row], self.scale[row], self.shift[row], self.base_width[row], lowest[row]),
            ]
            if flags[row] & DIFFERENCES:
                parts.append(FIRST.pack(self.integers[row, 0]))
            if flags[row] & PRESENCE:
                parts.append(bitmaps[row].tobytes())
            if not flags[row] & CONSTANT:
                parts += (widths[row].tobytes(), self._packed_bases(row, lowest[row]))
                if flags[row] & EXCEPTIONS:
                    parts.append(self._packed_exceptions(row))
                parts.append(data[start:end].tobytes())
            payloads.append(b"".join(parts))
            start = end
        return payloads

    def _packed_bases(self, row: int, lowest: np.int64) -> bytes:
        relative = (self.bases[row] - lowest).astype(np.uint64)
        return pack_rows(relative[None, :], int(self.base_width[row])).tobytes()

    def _packed_exceptions(self, row: int) -> bytes:
        exception = self.exception[row]
        codes = self.codes[row][exception]
        width = int(_bit_length(codes).max())
        return b"".join(
            (
                exception.sum(axis=1).astype(np.uint8).tobytes(),
                bytes([width]),
                np.nonzero(exception)[1].astype(np.uint8).tobytes(),
                pack_rows(codes.astype(np.uint64)[None, :], width).tobytes(),
            )
        )

    def _pack_blocks(self) -> tuple[ByteArray, I64Array]:
        """All blocks of all rows back to back without their exceptions, and where each row ends."""
        flat = np.where(self.exception, 0, self.codes).reshape(-1, BLOCK).astype(np.uint64)
        width = self.widths.reshape(-1)
        sizes = width * (BLOCK // 8)
        starts = np.cumsum(sizes) - sizes
        data = np.empty(int(sizes.sum()), np.uint8)
        for bits in np.unique(width[width > 0]).tolist():
            members = np.flatnonzero(width == bits)
            packed = pack_rows(flat[members], bits)
            data[starts[members][:, None] + np.arange(packed.shape[1])] = packed
        return data, np.cumsum(sizes.reshape(self.widths.shape).sum(axis=1))
