"""Fixed-width big-endian bit packing of unsigned integers, many rows at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64Array = NDArray[np.uint64]
ByteArray = NDArray[np.uint8]

# A value and its bit offset within a byte must fit one 64-bit window.
MAX_WIDTH = 56


def packed_size(count: int, width: int) -> int:
    """Bytes that `count` values of `width` bits take."""
    return (count * width + 7) // 8


def pack_rows(values: U64Array, width: int) -> ByteArray:
    """Pack each row of (rows, count) into (rows, packed_size) bytes; the first value has the highest bits."""
    rows, count = values.shape
    if width == 0:
        return np.empty((rows, 0), np.uint8)
    used = (width + 7) // 8
    big_endian = values.astype(">u8").view(np.uint8).reshape(rows, count, 8)[:, :, 8 - used :]
    if width == used * 8:
        return np.ascontiguousarray(big_endian).reshape(rows, count * used)
    bits = np.unpackbits(big_endian, axis=2)[:, :, used * 8 - width :]
    return np.packbits(bits.reshape(rows, count * width), axis=1)


def unpack_at(data: ByteArray, offsets: NDArray[np.int64], count: int, width: int) -> U64Array:
    """Read `count` values of `width` bits at each byte offset of `data`; gives (len(offsets), count).

    `data` must be readable for 8 bytes beyond the last packed byte.
    """
    if width == 0:
        return np.zeros((len(offsets), count), np.uint64)
    bit = np.arange(count, dtype=np.int64) * width
    window = np.lib.stride_tricks.sliding_window_view(data, 8)
    raw = window[offsets[:, None] + (bit >> 3)[None, :]].view(">u8")[:, :, 0].astype(np.uint64)
    shift = (64 - width - (bit & 7)).astype(np.uint64)
    return np.asarray((raw >> shift) & np.uint64((1 << width) - 1), np.uint64)
