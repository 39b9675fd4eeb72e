"""The data behind the incident picture: correct numbers, within its budgets, fast."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import numpy as np
import pytest

from jitterscope.incidents.api.schemas import Timeline
from jitterscope.incidents.timeline.answers import everywhere, most_telling
from jitterscope.incidents.timeline.cpu import limits
from jitterscope.incidents.timeline.downsample import fold_max, fold_sum, median_per_tick, pick, runs
from jitterscope.incidents.timeline.wire import fitting
from jitterscope.inventory.types import FactRow
from jitterscope.kit.columns import MEDIA_TYPE
from jitterscope.kit.instant import BadInstant, parse_us
from jitterscope.recordings.model import Recording
from tests.support.columns import unpack

NAN = float("nan")


@pytest.fixture
def subject(service: Any, gc_fault: Recording) -> tuple[int, int]:
    """Subject ID, and where the recording's first tick landed (µs)."""
    now_us = time.time_ns() // 1000
    ends_us = now_us - now_us % 100_000
    subject_id = service.feed(gc_fault, ends_us=ends_us)
    return subject_id, ends_us - gc_fault.ticks * 100_000


def test_it_shows_what_was_recorded(service: Any, gc_fault: Recording, subject: tuple[int, int]) -> None:
    subject_id, start_us = subject
    got = service.get(f"/resources/{subject_id}/timeline", **{"from": start_us, "to": start_us + 60_000_000})
    shown = Timeline.model_validate(got)
    cgroup = gc_fault.resources[gc_fault.subject]
    assert (shown.from_us, shown.to_us, shown.cpu.step_us) == (start_us, start_us + 60_000_000, 100_000)
    assert shown.cpu.t_us == list(range(start_us, start_us + 60_000_000, 100_000))
    assert shown.cpu.cpu_ratio == [None if np.isnan(v) else v / 100_000 for v in cgroup.series["cpu_usage_us"]]
    assert [(limit.from_us, limit.cpu_limit) for limit in shown.limits] == [(start_us, 0.5)]
    cycles = [event for one in gc_fault.resources for event in one.events if event.kind == "go.gc_cycle"]
    assert [span.to_us - span.from_us for span in shown.gc] == [event.duration_us for event in cycles]
    counted = np.flatnonzero(np.nan_to_num(cgroup.series["cpu_throttled_us"]) > 0)
    # A stall is counted when it ends: it ends in the tick that counts it, and began before that.
    for span in shown.throttled:
        assert (span.to_us - start_us) // 100_000 in counted
    lost_ms = sum(float(span.attributes["throttled_ms"]) for span in shown.throttled)
    assert lost_ms == pytest.approx(np.nansum(cgroup.series["cpu_throttled_us"]) / 1000, rel=0.01)
    assert shown.coarse is None
    server = next(one for one in gc_fault.resources if one.kind == "dns_server")
    assert server.queries is not None
    slow = int((server.queries.latency_us > 20_000).sum())
    assert sum(latency > 20_000 for latency in shown.queries.latency_us) == pytest.approx(slow, abs=3)
    assert len(shown.queries.t_us) == 20_000
    assert shown.queries.truncated > 39_000
    assert shown.queries.t_us == sorted(shown.queries.t_us)
    assert shown.queries.complete == [(start_us, start_us + 60_000_000)]
    assert np.nansum(np.array(shown.rate.queries, float)) == np.nansum(server.series["dns_queries"])


def test_an_incident_has_its_window(service: Any, subject: tuple[int, int]) -> None:
    service.diagnose(subject[0])
    incident = service.get("/incidents")["items"][0]
    shown = Timeline.model_validate(service.get(f"/incidents/{incident['id']}/timeline", queries=100, points=50))
    assert shown.subject.resource_id == subject[0]
    assert len(shown.cpu.t_us) <= 50
    assert len(shown.queries.t_us) == 100
    assert max(value for value in shown.cpu.cpu_ratio if value is not None) > 0.5, "peaks survive downsampling"


def test_pages_are_sent_it_in_columns_and_compressed(service: Any, subject: tuple[int, int]) -> None:
    path, params = f"/api/v1/resources/{subject[0]}/timeline", {"queries": 100_000}
    headers = {**service.organization.headers, "Accept": MEDIA_TYPE, "Accept-Encoding": "gzip"}
    with service.client.stream("GET", path, params=params, headers=headers) as response:
        raw = b"".join(response.iter_raw())
    assert (response.headers["content-type"], response.headers["content-encoding"]) == (MEDIA_TYPE, "gzip")
    plain = json.dumps(service.get(f"/resources/{subject[0]}/timeline", queries=100_000))
    assert unpack(gzip.decompress(raw)) == json.loads(plain)
    assert len(json.loads(plain)["queries"]["t_us"]) > 50_000
    assert len(raw) < len(plain) / 8


def test_columns_that_would_be_too_many_bytes_leave_out_quick_answers() -> None:
    chance = np.random.default_rng(1)
    count = 20_000
    latency_us = np.where(np.arange(count) % 100 == 0, 50_000, chance.integers(100, 2_000, count))
    queries: dict[str, Any] = {
        "t_us": np.arange(count) * 3_000,
        "latency_us": latency_us,
        "result": np.zeros(count, np.int64),
        "queue_wait_us": None,
        "name": np.arange(count),
        "names": [chance.bytes(8).hex() for _ in range(count)],
        "complete": [(0, 60_000_000)],
        "truncated": 5,
    }
    content = {"queries": queries, "slow_threshold_us": 20_000}
    body, small = fitting(content, most_bytes=100_000)
    assert len(small) <= 100_000
    assert gzip.decompress(small) == body
    shown = unpack(body)["queries"]
    assert shown["truncated"] == 5 + count - len(shown["t_us"])
    assert sum(us > 20_000 for us in shown["latency_us"]) == 200, "no slow answer is left out"
    # Each keeps its name: only the names of those left out are gone.
    name_of = dict(zip(queries["t_us"].tolist(), queries["names"], strict=True))
    assert [shown["names"][name] for name in shown["name"]] == [name_of[at_us] for at_us in shown["t_us"]]
    assert len(shown["names"]) == len(shown["t_us"])
    assert len(fitting(content)[1]) > 100_000, "nothing is left out that fits"


@pytest.mark.slow
def test_ten_minutes(service: Any, gc_fault: Recording) -> None:
    now_us = time.time_ns() // 1000
    for minute in range(10):
        subject_id = service.feed(gc_fault, ends_us=now_us - minute * 60_000_000)
    path = f"/resources/{subject_id}/timeline"
    got = service.get(path)
    assert len(got["cpu"]["t_us"]) == 6000
    assert got["queries"]["truncated"] > 500_000


def test_ten_ms_ticks_when_zoomed(service: Any, subject: tuple[int, int], organization: Any) -> None:
    from tests.support.batches import BatchBuilder

    subject_id, start_us = subject
    builder = BatchBuilder(node="node-1")
    builder.resource(2, "/lab/server")
    builder.block({(1, "cpu_usage_us"): [9_000.0] * 100, (1, "cpu_throttled_us"): [0.0] * 100}, start_us, 10_000)
    response = service.client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert response.status_code < 300, response.text
    path = f"/resources/{subject_id}/timeline"
    zoomed = service.get(path, **{"from": start_us, "to": start_us + 1_000_000})
    assert zoomed["cpu"]["step_us"] == 10_000
    assert zoomed["cpu"]["cpu_ratio"] == [0.9] * 100
    assert zoomed["coarse"]["step_us"] == 100_000
    assert len(zoomed["coarse"]["t_us"]) == 10
    wide = service.get(path, **{"from": start_us, "to": start_us + 60_000_000})
    assert wide["cpu"]["step_us"] == 100_000
    assert wide["coarse"] is None


def test_points_of_several_ticks_say_which_tick_is_highest_and_what_the_mean_is(
    service: Any, gc_fault: Recording, subject: tuple[int, int]
) -> None:
    subject_id, start_us = subject
    path = f"/resources/{subject_id}/timeline"
    cpu = service.get(path, points=20, **{"from": start_us, "to": start_us + 6_000_000})["cpu"]
    used = gc_fault.resources[gc_fault.subject].series["cpu_usage_us"][:60].reshape(20, 3) / 100_000
    assert (cpu["step_us"], cpu["tick_us"]) == (300_000, 100_000)
    assert cpu["cpu_ratio"] == pytest.approx(np.nanmax(used, axis=1))
    assert cpu["cpu_mean_ratio"] == pytest.approx(np.nanmean(used, axis=1))


def test_an_answer_is_kept_of_all_servers_or_not_at_all() -> None:
    assert everywhere([]) == []
    assert everywhere([[(0, 10), (20, 30)]]) == [(0, 10), (20, 30)]
    assert everywhere([[(0, 10), (20, 30)], [(5, 25)]]) == [(5, 10), (20, 25)]
    assert everywhere([[(0, 10)], [(10, 20)]]) == []
    assert everywhere([[(0, 10)], []]) == []


def test_windows_that_make_no_sense(service: Any, subject: tuple[int, int]) -> None:
    path = f"/resources/{subject[0]}/timeline"
    service.get(path, status=422, **{"from": "yesterday"})
    service.get(path, status=422, **{"from": "2026-11-21T10:00:00"})
    service.get(path, status=422, **{"from": 2_000_000, "to": 1_000_000})
    service.get(path, status=422, **{"from": 0, "to": 86_400_000_001})
    service.get(path, status=422, points=1)
    service.get("/resources/999999999/timeline", status=404)


def test_points_in_time() -> None:
    assert parse_us("2026-11-21T10:00:00Z") == parse_us("2026-11-21T11:00:00+01:00") == 1_795_255_200_000_000
    assert parse_us("2026-11-21T11:00:00 01:00") == 1_795_255_200_000_000
    assert parse_us("1795255200000000") == 1_795_255_200_000_000
    for text in ("", "now", "2026-11-21", "2026-11-21T10:00:00", "9" * 30, "-5", "9999-01-01T00:00:00Z"):
        with pytest.raises(BadInstant):
            parse_us(text)


def test_folding_keeps_peaks_sums_and_gaps() -> None:
    values = np.array([1.0, 5.0, NAN, NAN, 2.0, NAN, 7.0])
    assert np.array_equal(fold_max(values, 2), [5.0, NAN, 2.0, 7.0], equal_nan=True)
    assert np.array_equal(fold_sum(values, 2), [6.0, NAN, 2.0, 7.0], equal_nan=True)
    assert fold_max(values, 1) is values


def test_runs_and_picks() -> None:
    first, end = runs(np.array([True, True, False, True]))
    assert (first.tolist(), end.tolist()) == ([0, 3], [2, 4])
    assert pick(np.array([1.0, 9.0, 3.0, 7.0]), 2).tolist() == [1, 3]
    assert pick(np.array([1.0]), 2).tolist() == [0]


def test_the_median_is_the_sketchs_own() -> None:
    from jitterscope.diagnosis.core.sketch import quantile_us

    generator = np.random.default_rng(1)
    tick, bucket = generator.integers(0, 20, 300), generator.integers(0, 200, 300)
    count = generator.integers(1, 50, 300)
    medians = median_per_tick(tick, bucket, count, 21)
    assert np.isnan(medians[20])
    for number in range(20):
        mine = tick == number
        assert medians[number] == quantile_us(bucket[mine], count[mine], 0.5)


def test_slow_answers_are_kept_first() -> None:
    latency = np.full(1000, 300)
    latency[[5, 500, 999]] = 50_000
    kept = most_telling(latency, 10)
    assert len(kept) == 10
    assert {5, 500, 999} <= set(kept.tolist())
    assert len(most_telling(np.full(1000, 50_000), 10)) == 10
    assert len(most_telling(latency, 0)) == 0


def test_limit_steps_follow_the_facts() -> None:
    facts = tuple(
        FactRow(name, value, since_us)
        for name, value, since_us in (
            ("cpu.period_us", "100000", 0),
            ("cpu.quota_us", "50000", 0),
            ("cpu.quota_us", "oops", 50),
            ("cpu.quota_us", "-1", 200),
            ("cpu.quota_us", "90000", 300),
            ("cpu.period_us", "50000", 300),
        )
    )
    assert limits(facts, 100) == [
        {"from_us": 100, "cpu_limit": 0.5}, {"from_us": 200, "cpu_limit": None}, {"from_us": 300, "cpu_limit": 1.8},
    ]  # fmt: skip
