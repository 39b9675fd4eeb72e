"""Memory is bounded, however much there is to compact or to read."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.kit import allowance, memory
from jitterscope.series import codec, landing, layouts, partitions, read_ticks, rollups
from jitterscope.series.codec import decode_segments, encode_segments
from jitterscope.series.landing import LandingBlock
from jitterscope.series.store.driver import driver
from jitterscope.series.window import Grid, Window
from tests.support.batches import TICK_US, now_us
from tests.support.peak import peak_bytes


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


def copied(session: Session, table: str, columns: str, times: int) -> None:
    """Store every row of a table so many times."""
    columns = f"organization_id, start_us, tick_count, {columns}"
    session.execute(
        text(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}, generate_series(2, :n)"),
        {"n": times},
    )


def test_ticks_sent_many_times_are_never_in_memory_together(organization: Any) -> None:
    """Each reader meets 57 MB of them; what stays counted is the result."""
    start_us = now_us() // 3_600_000_000 * 3_600_000_000 - 3_600_000_000
    partitions.ensure(start_us, start_us + 3_600_000_000)
    ids = np.arange(1, 9)
    noise = np.random.default_rng(1).random((8, 36_000))
    ticks, seconds = noise[:, :3000], rollups.roll_ticks(noise, 10)
    with db.organization_session(organization.id) as session:
        block = LandingBlock(start_us, TICK_US, 3000, codec.F64, ids, ticks.tobytes())
        landing.store_blocks(session, organization.id, 1, [block])
        copied(session, "series_blocks", "node_id, layout_id, step_us, encoding, payload", 300)
        payloads = codec.encode_segments(ticks)
        with driver(session).cursor() as cursor:
            for identity, payload in zip(ids.tolist(), payloads, strict=True):
                cursor.execute(
                    "INSERT INTO series_segments (organization_id, step_us, series_id, start_us, tick_count, payload) "
                    "VALUES (%b, %b, %b, %b, 3000, %b)",
                    (organization.id, TICK_US, identity + 10, start_us, payload),
                )
        copied(session, "series_segments", "step_us, series_id, payload", 300)
        rollups.write(session, organization.id, rollups.SECOND, ids, start_us, seconds)
        copied(session, "series_rollups_1s", "series_id, low, high, total, ticks", 70)

    window = Window(start_us, 3000, TICK_US)

    def read_ticks_of(series: list[int]) -> Callable[[Session], Any]:
        return lambda session: read_ticks.read(read_ticks.Scope(session, organization.id, (1,)), series, window)

    def read_rollups(session: Session) -> Any:
        return rollups.read(session, rollups.SECOND, ids.tolist(), start_us, 3600)

    blocks, segments = read_ticks_of(ids.tolist()), read_ticks_of((ids + 10).tolist())
    for read, kept_bytes in ((blocks, 8 * ticks.size), (segments, 8 * ticks.size), (read_rollups, 4 * 8 * 8 * 3600)):
        before = peak_bytes(anew=True)
        with allowance.measured() as taken, db.organization_session(organization.id) as session:
            found = read(session)
        assert peak_bytes() - before < 64_000_000
        assert taken.held == kept_bytes
        if read is read_rollups:
            np.testing.assert_array_equal(found.high, seconds.high)
        else:
            np.testing.assert_array_equal(np.stack(list(found.values())), ticks)
        with (
            pytest.raises(allowance.TooMuch),
            allowance.limited(allowance.Allowance.of(4_000_000, 60)),
            db.organization_session(organization.id) as session,
        ):
            read(session)


def test_a_window_is_the_same_in_one_piece_and_in_many() -> None:
    random = np.random.default_rng(2)
    window = Window(0, 100, TICK_US)
    starts = random.permutation(np.arange(-8, 100, 6)).tolist()
    blocks = [(start * TICK_US, random.random((3, 10))) for start in starts]
    for _, values in blocks:
        values[random.random(values.shape) < 0.3] = np.nan
        values[2] = np.nan
    whole, pieces = Grid(window, [1, 2, 3]), Grid(window, [1, 2, 3])
    whole.put([1, 2, 3], blocks)
    with allowance.measured() as taken:
        for one in blocks:
            pieces.put([1, 2, 3], [one])
    assert taken.held == 3 * 100 * 8, "each row counts once"
    assert list(whole.arrays()) == [1, 2], "a series without a tick is absent"
    for series, values in whole.arrays().items():
        np.testing.assert_array_equal(pieces.arrays()[series], values)
