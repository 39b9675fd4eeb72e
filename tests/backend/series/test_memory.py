"""A worker's memory is bounded, however much there is to compact."""

from __future__ import annotations

import tracemalloc

import numpy as np

from jitterscope.kit import memory
from jitterscope.series import layouts
from jitterscope.series.codec import decode_segments, encode_segments


def test_encoding_many_rows_takes_little_more_than_the_rows() -> None:
    random = np.random.default_rng(3)
    values = random.integers(0, 100_000, (400, 6000)).astype(np.float64)
    values[random.random(values.shape) < 0.01] = np.nan
    tracemalloc.start()
    try:
        payloads = encode_segments(values)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    held = sum(len(payload) for payload in payloads if payload is not None)
    assert peak - held < 4 * values.nbytes
    assert all(payload is not None for payload in payloads)
    decoded = decode_segments([payload for payload in payloads if payload is not None], [6000] * len(values))
    np.testing.assert_array_equal(np.stack(decoded), values)


def test_cached_layouts_are_bounded_by_bytes_and_the_newest_stay() -> None:
    row = np.arange(10_000, dtype=np.int64)
    kept = layouts._bounded({(1, number): row for number in range(500)})
    assert 0 < sum(one.nbytes for one in kept.values()) <= layouts._MAX_CONTENT_BYTES
    assert (1, 499) in kept
    assert (1, 0) not in kept


def test_freed_memory_goes_back_to_the_system() -> None:
    def resident_bytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    before = resident_bytes()
    pieces = [bytes(60_000) + bytes([number % 256]) for number in range(2000)]
    last = pieces.pop()
    pieces.clear()
    memory.give_back()
    assert len(last) == 60_001
    assert resident_bytes() - before < 60_000_000
