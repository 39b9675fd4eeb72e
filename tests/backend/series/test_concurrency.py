"""Compaction beside ingest, by two concurrent workers, and by one that dies halfway: every tick stays, once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db
from jitterscope.series import compaction, rollups
from jitterscope.series import service as series
from tests.support.batches import CGROUP, TICK_US, BatchBuilder, now_us

TICKS, PER_BATCH = 2000, 20


def bodies(start_us: int) -> list[bytes]:
    result = []
    spool = None
    for number, first in enumerate(range(0, TICKS, PER_BATCH), 1):
        builder = BatchBuilder(spool=spool, sequence=number)
        spool = builder.batch.spool_id
        cgroup = builder.resource(CGROUP, "/a", 0)
        values = np.arange(first, first + PER_BATCH, dtype=np.float64)
        builder.block({(cgroup, "cpu_usage_us"): values}, start_us + first * TICK_US)
        result.append(builder.body())
    return result


def stored_once(organization: Any, start_us: int) -> None:
    """Reads show which ticks exist, rows how often each is stored."""
    with db.organization_session(organization.id) as session:
        cgroup = session.execute(text("SELECT id FROM resources WHERE kind = 'cgroup'")).scalar_one()
        found = series.read_series(session, [cgroup], ["cpu_usage_us"], start_us, start_us + TICKS * TICK_US)
        np.testing.assert_array_equal(found[cgroup, "cpu_usage_us"], np.arange(TICKS, dtype=np.float64))
        times = session.execute(text("SELECT time FROM series_samples")).scalars().all()
    assert len(times) == len(set(times)) == TICKS


def test_two_compactions_beside_ingest_lose_and_repeat_nothing(client: TestClient, organization: Any) -> None:
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 2 * compaction.WINDOW_US

    def post(body: bytes) -> int:
        return int(client.post("/api/v1/ingest", content=body, headers=organization.ingest_headers).status_code)

    def compact(_: int) -> None:
        for _ in range(10):
            compaction.compact(organization.id, now_us())

    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(post, bodies(start_us))
        list(pool.map(compact, range(2)))
        assert set(answers) == {200}
    stored_once(organization, start_us)
    compaction.compact(organization.id, now_us())
    stored_once(organization, start_us)


def test_a_compaction_that_dies_changes_nothing(
    client: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 2 * compaction.WINDOW_US
    for body in bodies(start_us):
        client.post("/api/v1/ingest", content=body, headers=organization.ingest_headers).raise_for_status()

    def die(*_: object, **__: object) -> None:
        raise RuntimeError("killed here")

    with monkeypatch.context() as patched:
        # After the segments have been written, before the blocks are removed.
        patched.setattr(rollups, "write", die)
        assert compaction.compact(organization.id, now_us()) == 0
    stored_once(organization, start_us)
    assert compaction.compact(organization.id, now_us()) == 1
    stored_once(organization, start_us)
