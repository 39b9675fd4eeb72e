"""Compaction, rollups, and the SQL view return the doubles that came in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sqlalchemy import text

from jitterscope import db
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series import compaction, rollups, tasks
from jitterscope.series import service as series
from jitterscope.series.codec import decode_segments, encode_segments
from tests.support.batches import CGROUP, TICK_US, BatchBuilder, now_us

pytestmark = pytest.mark.slow

GRID = st.one_of(
    st.integers(-(2**40), 2**40).map(float),
    st.integers(0, 3).map(float),
    st.integers(-1000, 1000).map(lambda number: number / 100),
    st.floats(allow_nan=False, allow_infinity=False),
    st.just(float("nan")),
)


@pytest.mark.slow
@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 200)), elements=GRID))
def test_any_values_survive_the_packed_encoding(values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    payloads = encode_segments(values)
    kept = [row for row, payload in enumerate(payloads) if payload is not None]
    assert kept == np.flatnonzero(~np.isnan(values).all(axis=1)).tolist()
    decoded = decode_segments([payload for payload in payloads if payload is not None], [values.shape[1]] * len(kept))
    for row, result in zip(kept, decoded, strict=True):
        np.testing.assert_array_equal(result, values[row])


def samples(ticks: int) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    random = np.random.default_rng(7)
    usage = random.normal(8000, 2000, ticks).round().clip(0)
    usage[random.integers(0, ticks, ticks // 100)] *= 9
    usage[10:25] = np.nan
    usage[0] = np.nan
    memory = np.cumsum(random.normal(0, 3, ticks).round()) * 4096 + 1e9
    return {
        "cpu_usage_us": usage,
        "cpu_throttled_us": np.where(random.random(ticks) < 0.01, 90_000.0, 0.0),
        "cpu_periods": np.ones(ticks),
        "memory_usage_bytes": memory,
        "memory_anon_bytes": random.normal(1, 1, ticks),
        "memory_file_bytes": (random.normal(1, 1, ticks)).round(3),
        "pids_current": np.full(ticks, np.nan),
    }


def send(
    client: TestClient, organization: Any, start_us: int, values: dict[str, Any], per_batch: int, step_us: int = TICK_US
) -> None:
    ticks = len(next(iter(values.values())))
    builder = None
    for number, first in enumerate(range(0, ticks, per_batch), 1):
        builder = BatchBuilder(spool=builder.batch.spool_id if builder else None, sequence=number)
        cgroup = builder.resource(CGROUP, "/a", 0)
        rows = {(cgroup, metric): column[first : first + per_batch] for metric, column in values.items()}
        builder.block(rows, start_us + first * step_us, step_us, pb.ENCODING_F64)
        response = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
        assert response.status_code == 200, response.text


def cgroup_of(organization: Any) -> int:
    with db.organization_session(organization.id) as session:
        return int(session.execute(text("SELECT id FROM resources WHERE kind = 'cgroup'")).scalar_one())


def read_back(organization: Any, start_us: int, values: dict[str, Any]) -> None:
    cgroup = cgroup_of(organization)
    ticks = len(next(iter(values.values())))
    with db.organization_session(organization.id) as session:
        found = series.read_series(session, [cgroup], list(values), start_us, start_us + ticks * TICK_US)
    for metric, column in values.items():
        if np.isnan(column).all():
            assert (cgroup, metric) not in found
        else:
            np.testing.assert_array_equal(found[cgroup, metric], column, err_msg=metric)


def view_rows(organization: Any, metric: str) -> list[tuple[int, float]]:
    with db.organization_session(organization.id) as session:
        rows = session.execute(
            text("SELECT epoch_us(time) AS at, value FROM series_samples WHERE metric = :metric ORDER BY time"),
            {"metric": metric},
        )
        return [(row.at, row.value) for row in rows]


@pytest.fixture
def stored(client: TestClient, organization: Any) -> tuple[int, dict[str, Any]]:
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 2 * compaction.WINDOW_US + 300_000_000
    values = samples(6100)  # from the middle of a window into the next one
    send(client, organization, start_us, values, 50)
    return start_us, values


def test_compaction_changes_no_value(organization: Any, stored: tuple[int, dict[str, Any]]) -> None:
    start_us, values = stored
    read_back(organization, start_us, values)
    assert compaction.compact(organization.id, start_us + 3 * compaction.WINDOW_US) == 2
    with db.organization_session(organization.id) as session:
        assert session.execute(text("SELECT count(*) FROM series_blocks")).scalar_one() == 0
        assert session.execute(text("SELECT count(*) FROM series_segments")).scalar_one() == 12
    read_back(organization, start_us, values)
    assert compaction.compact(organization.id, start_us + 3 * compaction.WINDOW_US) == 0


def test_late_ticks_join_what_was_compacted(client: TestClient, organization: Any) -> None:
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 2 * compaction.WINDOW_US
    values = samples(1000)
    holed = {metric: column.copy() for metric, column in values.items()}
    late = {metric: column.copy() for metric, column in values.items()}
    for metric in values:
        holed[metric][305:415] = np.nan
        late[metric][:305] = np.nan
        late[metric][415:] = np.nan
    send(client, organization, start_us, holed, 100)
    compaction.compact(organization.id, start_us + 3 * compaction.WINDOW_US)
    send(client, organization, start_us, late, 100)
    read_back(organization, start_us, values)
    compaction.compact(organization.id, start_us + 3 * compaction.WINDOW_US)
    read_back(organization, start_us, values)
    check_rollups(organization, start_us, values)
    with db.organization_session(organization.id) as session:
        assert (
            rollups.merge_rows(
                session, organization.id, rollups.SECOND, start_us // rollups.SECOND.row_us * rollups.SECOND.row_us
            )
            == 6
        )
    check_rollups(organization, start_us, values)


def check_rollups(organization: Any, start_us: int, values: dict[str, Any]) -> None:
    cgroup = cgroup_of(organization)
    identity = (cgroup << 12) | 1
    usage = np.pad(values["cpu_usage_us"], (0, -len(values["cpu_usage_us"]) % 600), constant_values=np.nan)
    with db.organization_session(organization.id) as session:
        for level in rollups.LEVELS:
            steps = usage.reshape(-1, level.step_us // TICK_US)
            rollup = rollups.read(session, level, [identity], start_us, len(steps))
            present = (~np.isnan(steps)).sum(axis=1)
            np.testing.assert_array_equal(rollup.ticks[0], present)
            np.testing.assert_array_equal(rollup.low[0], np.fmin.reduce(steps, axis=1))
            np.testing.assert_array_equal(rollup.high[0], np.fmax.reduce(steps, axis=1))
            np.testing.assert_allclose(rollup.total[0][present > 0], np.nansum(steps, axis=1)[present > 0])


def test_rollups_are_those_of_the_ticks(organization: Any, stored: tuple[int, dict[str, Any]]) -> None:
    start_us, values = stored
    compaction.compact(organization.id, start_us + 3 * compaction.WINDOW_US)
    check_rollups(organization, start_us, values)
    with db.organization_session(organization.id) as session:
        for level in rollups.LEVELS:
            for row_start in {
                start_us // level.row_us * level.row_us,
                (start_us + 610_000_000) // level.row_us * level.row_us,
            }:
                rollups.merge_rows(session, organization.id, level, row_start)
    check_rollups(organization, start_us, values)


def test_the_sql_view_decodes_what_python_encodes(organization: Any, client: TestClient) -> None:
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 2 * compaction.WINDOW_US
    values = samples(330)
    send(client, organization, start_us, values, 110)
    expected = {
        metric: [(start_us + tick * TICK_US, value) for tick, value in enumerate(column.tolist()) if value == value]
        for metric, column in values.items()
    }
    for _ in range(2):  # from landing blocks, then from segments
        for metric, rows in expected.items():
            assert view_rows(organization, metric) == rows, metric
        compaction.compact(organization.id, start_us + 3 * compaction.WINDOW_US)
    with db.organization_session(organization.id) as session:
        between = session.execute(
            text(
                "SELECT epoch_us(time) AS at, value FROM series_between(:id, 'cpu_usage_us', "
                "to_timestamp(:from_s), to_timestamp(:to_s))"
            ),
            {"id": cgroup_of(organization), "from_s": start_us / 1e6 + 5, "to_s": start_us / 1e6 + 15},
        ).all()
    assert [tuple(row) for row in between] == [
        row for row in expected["cpu_usage_us"] if start_us + 5_000_000 <= row[0] < start_us + 15_000_000
    ]


def test_rows_that_cannot_be_compacted_keep_nobody_waiting(
    client: TestClient, organization: Any, other_organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not all that earlier tests left.
    monkeypatch.setattr(db, "organization_ids", lambda: [organization.id, other_organization.id])
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 4 * compaction.WINDOW_US
    values = {"cpu_usage_us": np.arange(20.0)}
    for tenant in (organization, other_organization):
        for window in (0, 1):
            send(client, tenant, start_us + window * compaction.WINDOW_US, values, 20)
    with db.organization_session(organization.id) as session:
        broken = "UPDATE series_blocks SET payload = '\\x00' WHERE start_us < :before"
        assert session.execute(text(broken), {"before": start_us + compaction.WINDOW_US}).rowcount == 1  # type: ignore[attr-defined]
    tasks.compact()
    for tenant, left in ((organization, 1), (other_organization, 0)):
        with db.organization_session(tenant.id) as session:
            assert session.execute(text("SELECT count(*) FROM series_blocks")).scalar_one() == left
            assert session.execute(text("SELECT count(*) FROM series_segments")).scalar_one() == 2 - left
