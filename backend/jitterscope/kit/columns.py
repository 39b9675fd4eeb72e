"""Documents whose integer columns are bytes, so that a hundred thousand numbers are light and quickly read.

Layout: the length of the head (uint32, little-endian), the head, the columns in the order in which the head names them.
The head is the document as JSON, where a column is {"column": [count, width, base, running]}. A column is `width`
planes of `count` bytes, the lowest byte of all numbers first: alike bytes beside each other are what gzip packs best. A
number is `base` plus what its bytes say; where `running`, its bytes are the zigzag-coded step from the number before
(for the first: from `base`).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

MEDIA_TYPE = "application/vnd.jitterscope.columns"


def pack(document: Mapping[str, Any]) -> bytes:
    """Each array of integers in the document becomes a column; whatever else it holds stays JSON (NaN is null)."""
    planes: list[bytes] = []
    head = orjson.dumps(_without(document, planes), option=orjson.OPT_SERIALIZE_NUMPY)
    return b"".join([struct.pack("<I", len(head)), head, *planes])


def _without(part: object, planes: list[bytes]) -> object:
    if isinstance(part, Mapping):
        return {name: _without(value, planes) for name, value in part.items()}
    if isinstance(part, list) and part and isinstance(part[0], Mapping):
        return [_without(one, planes) for one in part]
    if isinstance(part, np.ndarray) and part.dtype.kind in "iu":
        described, content = _column(part.astype(np.int64))
        planes.append(content)
        return {"column": described}
    return part


def _column(values: NDArray[np.int64]) -> tuple[list[Any], bytes]:
    if not len(values):
        return [0, 0, 0, False], b""
    above = values - values.min()
    steps = np.diff(values, prepend=values[:1])
    # Times are near the one before, latencies are not: told by which numbers are smaller.
    running = bool(np.abs(steps).sum() < above.sum())
    coded = (steps << 1) ^ (steps >> 63) if running else above
    base = values[0] if running else values.min()
    width = (int(coded.max()).bit_length() + 7) // 8
    planes = coded.astype("<u8").view(np.uint8).reshape(len(values), 8)[:, :width].T
    return [len(values), width, int(base), running], planes.tobytes()
