"""Fixed-width big-endian bit packing of unsigned integers, many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64Array = NDArray[np.uint64]
I64Array = NDArray[np.int64]
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


class BitReader:
    """Reads values anywhere in `data`, which must continue for 8 bytes beyond the last value."""

    def __init__(self, data: bytes) -> None:
        # A 64-bit word at every byte: a view with a stride of one byte.
        self._words = np.ndarray((max(0, len(data) - 7),), ">u8", data, strides=(1,))

    def read(self, bit: I64Array, width: I64Array) -> I64Array:
        """The values of `width` bits (0 to 56) that begin at `bit`; parallel arrays."""
        words = self._words[bit >> 3].astype(np.uint64)
        # Width 0 would shift by 64, which is undefined: it is masked out below.
        words >>= ((64 - width - (bit & 7)) & 63).view(np.uint64)
        words &= (np.uint64(1) << width.view(np.uint64)) - np.uint64(1)
        values: I64Array = words.view(np.int64)
        return values

    def read_rows(self, offset: I64Array, count: int, width: int) -> I64Array:
        """`count` values of one width (1 to 56) from each byte offset; gives (len(offset), count)."""
        bit = np.arange(count, dtype=np.int64) * width
        words = self._words[offset[:, None] + (bit >> 3)].astype(np.uint64)
        words >>= (64 - width - (bit & 7)).astype(np.uint64)
        words &= np.uint64((1 << width) - 1)
        values: I64Array = words.view(np.int64)
        return values
