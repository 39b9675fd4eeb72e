"""Converts between row payloads and arrays: the wire's encodings in landing blocks, the packed one everywhere else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jitterscope.series.packed_decode import decode_many as decode_packed
from jitterscope.series.packed_encode import encode_rows
from jitterscope.series.packed_format import RAW
from jitterscope.series.types import FloatArray

# Encoding numbers from ingest.proto.
F64, I32, I16 = 1, 2, 3
WIDTHS = {F64: 8, I32: 4, I16: 2}
_MISSING = {I32: np.iinfo(np.int32).min, I16: np.iinfo(np.int16).min}
_RAW_FLAG = bytes([RAW])


def decode_wire(encoding: int, payload: bytes, ticks: int) -> FloatArray:
    """Series-major values as (series, ticks) float64; NaN where missing."""
    if encoding == F64:
        return np.frombuffer(payload, "<f8").reshape(-1, ticks).astype(np.float64)
    integers: NDArray[np.int32] | NDArray[np.int16]
    integers = np.frombuffer(payload, "<i4" if encoding == I32 else "<i2").reshape(-1, ticks)
    values = integers.astype(np.float64)
    values[integers == _MISSING[encoding]] = np.nan
    return values


def encode_segments(values: FloatArray) -> list[bytes | None]:
    """The payload of each row of (rows, ticks); None where every tick is missing. Decodes to the same doubles."""
    payloads = encode_rows(values)
    for row in np.flatnonzero(~np.isnan(values).all(axis=1)).tolist():
        if payloads[row] is None:
            payloads[row] = _RAW_FLAG + values[row].astype("<f8").tobytes()
    return payloads


def decode_segments(payloads: Sequence[bytes], tick_counts: Sequence[int]) -> list[FloatArray]:
    """Values of each payload of `encode_segments`; NaN where missing."""
    packed = [index for index, payload in enumerate(payloads) if payload[0] != RAW]
    results: list[FloatArray] = [
        np.frombuffer(payload, "<f8", offset=1).astype(np.float64) if payload[0] == RAW else _NOTHING
        for payload in payloads
    ]
    decoded = decode_packed([payloads[index] for index in packed], [tick_counts[index] for index in packed])
    for index, values in zip(packed, decoded, strict=True):
        results[index] = values
    return results


_NOTHING: FloatArray = np.empty(0)
