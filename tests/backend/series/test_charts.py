"""Charts of long windows keep every extreme, whichever rollups they are made of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db
from jitterscope.series import charts, compaction, rollups
from jitterscope.series.catalogue import METRICS
from jitterscope.series.ids import series_id
from jitterscope.series.tasks import merge_closed
from tests.backend.series.test_compaction import cgroup_of, samples, send
from tests.support.batches import CGROUP, DNS_SERVER, TICK_US, BatchBuilder, now_us
from tests.support.work import calls_of

TICKS = 36_000


def chart(api: TestClient, organization: Any, start_us: int, points: int) -> dict[str, Any]:
    window: dict[str, str | int] = {"from": _iso(start_us), "to": _iso(start_us + TICKS * TICK_US)}
    what: dict[str, str | int] = {"resource": cgroup_of(organization), "metric": "cpu_usage_us", "points": points}
    answer = api.get("/api/v1/series/query", params=what | window)
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["series"]
    return dict(found)


def _iso(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).isoformat()


def expected(values: np.ndarray[Any, np.dtype[np.float64]], ticks: int) -> tuple[list[Any], list[Any], Any]:
    steps = values.reshape(-1, ticks)
    return np.fmin.reduce(steps, axis=1).tolist(), np.fmax.reduce(steps, axis=1).tolist(), np.nanmean(steps, axis=1)


def fed(api: TestClient, organization: Any) -> tuple[int, np.ndarray[Any, np.dtype[np.float64]]]:
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 8 * compaction.WINDOW_US
    values = samples(TICKS)["cpu_usage_us"]
    send(api, organization, start_us, {"cpu_usage_us": values}, 600)
    return start_us, values


def check(found: dict[str, Any], values: np.ndarray[Any, np.dtype[np.float64]], ticks: int, resolution: str) -> None:
    low, high, mean = expected(values, ticks)
    assert (found["resolution"], found["step_us"]) == (resolution, ticks * TICK_US)
    assert found["low"] == low
    assert found["high"] == high
    np.testing.assert_allclose(found["mean"], mean)


def test_a_long_window_is_made_of_five_seconds(api: TestClient, organization: Any) -> None:
    start_us, values = fed(api, organization)
    for _ in range(2):  # landed, then half of it compacted
        check(chart(api, organization, start_us, 180), values, 200, "five_seconds")
        compaction.compact(organization.id, start_us + 3 * compaction.WINDOW_US + 40_000_000)
    compaction.compact(organization.id, now_us())
    merge_closed(organization.id, now_us())
    check(chart(api, organization, start_us, 180), values, 200, "five_seconds")
    check(chart(api, organization, start_us, 60), values, 600, "minute")
    check(chart(api, organization, start_us, 1800), values, 20, "second")


def test_what_was_compacted_before_a_level_existed_is_read_from_the_finer_one(
    api: TestClient, organization: Any
) -> None:
    start_us, values = fed(api, organization)
    compaction.compact(organization.id, now_us())
    with db.organization_session(organization.id) as session:
        early = {"before": start_us + 2 * compaction.WINDOW_US}
        session.execute(text(f"DELETE FROM {rollups.FIVE_SECONDS.table} WHERE start_us < :before"), early)
    check(chart(api, organization, start_us, 180), values, 200, "second")


def test_a_wide_window_of_histograms_costs_no_more_than_what_is_in_it(api: TestClient, organization: Any) -> None:
    start_us = now_us() - 600_000_000
    builder = BatchBuilder()
    cgroup = builder.resource(CGROUP, "/c", 0)
    server = builder.resource(DNS_SERVER, "192.0.2.53:53", cgroup)
    builder.distribution(server, "dns_latency_us", start_us, [{40: 3}, {}, {41: 2}])
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    with db.organization_session(organization.id) as session:
        identity = session.execute(text("SELECT id FROM resources WHERE kind = 'dns_server'")).scalar_one()
        distribution = series_id(identity, METRICS["dns_latency_us"].id)
        day_us = 86_400_000_000
        found: list[charts.QuantileChart] = []

        def read(days: int) -> int:
            back_us = days * day_us
            return calls_of(
                lambda: found.append(
                    charts.quantile_chart(session, distribution, start_us - back_us, start_us + 1_000_000, 100)
                )
            )

        read(1)
        assert read(1000) < 3 * read(1)  # with a statement per half hour it was 200 times as much
    assert [int(one.count.sum()) for one in found] == [5, 5, 5]
