"""The file format written by the DNS load driver (collector/cmd/jitterscope-load)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class WrongFormat(Exception):
    """The file was written by another version of the driver."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The driver's measurements: parallel arrays of queries (µs) and of counter samples, both by time.

    `counters` has one row per sample: time, periods, throttled periods, throttled µs, usage µs, bursts.
    """

    sent_us: NDArray[np.int64]
    latency_us: NDArray[np.int32]
    result: NDArray[np.uint8]
    counters: NDArray[np.int64]
    summary: dict[str, float] = field(default_factory=dict)


def read(path: Path, summary: dict[str, float] | None = None) -> LoadResult:
    """Read a driver's file; WrongFormat if it is from another version."""
    content = path.read_bytes()
    end = content.index(b"\n") + 1
    header = json.loads(content[:end])
    if header["format"] != "jitterscope-load/1":
        raise WrongFormat(f"{path} has format {header['format']}, want jitterscope-load/1: run `make build`.")
    n, samples = header["queries"], header["samples"]
    sent = np.frombuffer(content, np.dtype("<i8"), n, end)
    latency = np.frombuffer(content, np.dtype("<i4"), n, end + 8 * n)
    result = np.frombuffer(content, np.uint8, n, end + 12 * n)
    counters = np.frombuffer(content, np.dtype("<i8"), 6 * samples, end + 13 * n).reshape(samples, 6)
    return LoadResult(sent, latency, result, counters, summary or {})
