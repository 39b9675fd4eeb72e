"""Documents with binary integer columns, so that a hundred thousand numbers are small and quick to read.

Layout: the length of the head (uint32, little-endian), the head, then the columns in the order in which the head names
them. The head is the document as JSON, where a column is {"column": [count, width, base, running]}. A column is `width`
planes of `count` bytes, the lowest byte of all numbers first: similar bytes next to each other compress best with gzip.
A number is `base` plus the value of its bytes; with `running`, its bytes are the zigzag-coded difference from the
previous number (for the first: from `base`).
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
    """Turn each array of integers in the document into a column; everything else stays JSON (NaN is null)."""
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
    # Times are close to the previous one, latencies are not: the encoding with the smaller numbers wins.
    running = bool(np.abs(steps).sum() < above.sum())
    coded = (steps << 1) ^ (steps >> 63) if running else above
    base = values[0] if running else values.min()
    width = (int(coded.max()).bit_length() + 7) // 8
    planes = coded.astype("<u8").view(np.uint8).reshape(len(values), 8)[:, :width].T
    return [len(values), width, int(base), running], planes.tobytes()
