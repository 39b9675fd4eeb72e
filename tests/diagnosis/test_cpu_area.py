"""What the CPU area declares: its figures are those of the data, and its fixes land as their settings change."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.area import AREA
from jitterscope.diagnosis.areas.cpu.fixes import (
    cfs_burst,
    cpu_limit,
    gogc_off,
    gomaxprocs,
    gomemlimit,
    jvm_cpus,
    other_runtimes,
    scale_out,
)
from jitterscope.diagnosis.core.area import Amounts, Measure
from jitterscope.diagnosis.core.events import runs
from jitterscope.diagnosis.core.landing import Facts, Seen, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from tests.diagnosis.recorded import load, snapshot
from tests.diagnosis.scenarios import built

MEASURES = {one.id: one for one in AREA.measures}
SEEN = {
    kind.id: kind.landing
    for module in (cfs_burst, cpu_limit, gogc_off, gomaxprocs, gomemlimit, jvm_cpus, other_runtimes)
    for kind in module.FIXES
    if isinstance(kind.landing, Seen)
}


def figure(measure: Measure, given: Snapshot) -> float:
    amounts = measure.read(given)
    assert isinstance(amounts, Amounts)
    both = np.isfinite(amounts.part) & np.isfinite(amounts.whole)
    return float(amounts.part[both].sum() / amounts.whole[both].sum())


def test_the_measures_are_what_was_recorded() -> None:
    columns, given = load("fault").columns, snapshot("fault")
    minutes = given.ticks * given.step_us / 60e6
    assert figure(MEASURES["slow_ratio"], given) == pytest.approx(
        columns["dns_slow"].sum() / columns["dns_queries"].sum()
    )
    assert figure(MEASURES["throttled_ms_per_min"], given) == pytest.approx(
        columns["cpu_throttled_us"].sum() / 1000 / minutes
    )
    assert figure(MEASURES["throttled_ratio"], given) == pytest.approx(
        columns["cpu_throttled_periods"].sum() / columns["cpu_periods"].sum()
    )
    assert figure(MEASURES["gc_cycles_per_min"], given) == pytest.approx(len(given.processes[0].events) / minutes)
    p99 = MEASURES["p99_ms"].read(given)
    assert isinstance(p99, float)
    assert p99 == pytest.approx(np.percentile(load("fault").latency_us, 99) / 1000, rel=0.05)


def test_a_stall_is_one_event_and_a_long_one_several() -> None:
    values = np.zeros(400)
    values[[10, 11, 13, 16]] = 1
    values[100:350] = 1
    values[390] = np.nan
    events = runs(values, 100_000)
    assert np.flatnonzero(np.nan_to_num(events) > 0).tolist() == [10, 100, 200, 300]
    assert np.isnan(events[390])


def test_stalls_are_the_events_of_what_decides() -> None:
    given = snapshot("fault")
    for name in ("slow_ratio", "throttled_ms_per_min"):
        amounts = MEASURES[name].read(given)
        assert isinstance(amounts, Amounts)
        assert amounts.events is not None
        assert np.nansum(amounts.events) == 4


@pytest.mark.parametrize("scenario", ["event_loop_blocked/Node.js, long functions", "neighbours/HTTP, moments"])
def test_slow_answers_are_events_where_nothing_is_throttled(scenario: str) -> None:
    """Without events there would never be a verdict: their rate decides how long a fix must be watched."""
    amounts = MEASURES["slow_ratio"].read(built(scenario))
    assert isinstance(amounts, Amounts)
    assert amounts.events is not None
    assert np.nansum(amounts.part) > 0
    assert 0 < np.nansum(amounts.events) <= np.nansum(amounts.part)


def test_what_was_not_measured_has_no_figure() -> None:
    given = built("gc_throttling/case 1")
    nothing = replace(given, subject=replace(given.subject, series={}), processes=(), dns_servers=())
    assert [one.read(nothing) for one in AREA.measures] == [None] * len(AREA.measures)
    assert [one.read(nothing) for one in AREA.load] == [None] * len(AREA.load)


def test_the_load_is_what_is_served_and_else_cpu() -> None:
    given = snapshot("fault")
    queries, requests, cpu = (one.read(given) for one in AREA.load if not one.causes)
    assert queries is not None
    assert requests is not None
    assert [one.unit for one in AREA.load][:2] == ["queries/s", "requests/s"]
    assert np.array_equal(queries, requests, equal_nan=True)
    http = simulate(Workload(serves="http", qps=300, seconds=5)).snapshot
    queries_of_http, requests_of_http, _ = (one.read(http) for one in AREA.load if not one.causes)
    assert queries_of_http is None
    assert requests_of_http is not None
    assert requests_of_http.mean() == pytest.approx(300)
    assert cpu is not None
    assert queries.mean() == pytest.approx(load("fault").columns["dns_queries"].mean() * 10)
    assert cpu.mean() == pytest.approx(load("fault").columns["cpu_usage_us"].mean() / 1e5)


def test_settings_read_as_people_write_them() -> None:
    facts = {"cpu.quota_us": "25000", "cpu.period_us": "50000", "cpu.burst_us": "12500",
             "memory.limit_bytes": "268435456", "go.env.GOGC": "off"}  # fmt: skip
    shown = {one.title: one.text(facts) for one in AREA.facts}
    assert shown["CPU limit"] == "0.5"
    assert shown["CFS period"] == "50 ms"
    assert shown["CFS burst"] == "12.5 ms"
    assert shown["Memory limit"] == "256 MiB"
    assert shown["GOGC"] == "off"
    assert shown["GOMAXPROCS"] is None
    assert {one.title: one.text({"cpu.quota_us": "-1"}) for one in AREA.facts}["CPU limit"] == "no limit"


LIMIT = {"cpu.quota_us": "50000", "cpu.period_us": "100000"}
GIB = {"memory.limit_bytes": str(1 << 30)}


def with_options(*options: str) -> dict[str, str]:
    return {"runtime.options": json.dumps(options)}


@pytest.mark.parametrize(
    ("fix", "before", "after", "lands"),
    [
        ("raise_cpu_limit", LIMIT, LIMIT | {"cpu.quota_us": "200000"}, True),
        ("raise_cpu_limit", LIMIT, LIMIT | {"cpu.quota_us": "-1"}, True),
        ("raise_cpu_limit", LIMIT, LIMIT | {"cpu.quota_us": "20000"}, False),
        ("raise_cpu_limit", {"cpu.quota_us": "-1"}, LIMIT, False),
        ("cfs_burst", LIMIT | {"cpu.burst_us": "0"}, LIMIT | {"cpu.burst_us": "50000"}, True),
        ("cfs_burst", LIMIT | {"cpu.burst_us": "50000"}, LIMIT | {"cpu.burst_us": "0"}, False),
        ("gomaxprocs", {}, {"go.env.GOMAXPROCS": "1"}, True),
        ("gomaxprocs", {"go.env.GOMAXPROCS": "4"}, {}, True),
        ("gomaxprocs", {"go.env.GOMAXPROCS": "4"}, {"go.env.GOMAXPROCS": "4"}, False),
        ("gogc_off_gomemlimit", {}, {"go.env.GOGC": "off", "go.env.GOMEMLIMIT": "1GiB"}, True),
        ("gogc_off_gomemlimit", {"go.env.GOMEMLIMIT": "1GiB"}, {"go.env.GOGC": "off", "go.env.GOMEMLIMIT": "1GiB"},
         True),
        ("gogc_off_gomemlimit", {"go.env.GOMEMLIMIT": "1GiB"}, {"go.env.GOGC": "off"}, False),
        ("gogc_off_gomemlimit", {}, {"go.env.GOGC": "200"}, False),
        ("raise_gomemlimit", {"go.env.GOMEMLIMIT": "48MiB"}, {"go.env.GOMEMLIMIT": "128MiB"}, True),
        ("raise_gomemlimit", {"go.env.GOMEMLIMIT": "1GiB"}, {"go.env.GOMEMLIMIT": "128MiB"}, False),
        ("unset_gomemlimit", {"go.env.GOMEMLIMIT": "48MiB"}, {}, True),
        ("unset_gomemlimit", {"go.env.GOMEMLIMIT": "48MiB", "go.env.GOGC": "off"}, {"go.env.GOGC": "100"}, True),
        ("unset_gomemlimit", {"go.env.GOMEMLIMIT": "48MiB"}, {"go.env.GOGC": "off"}, False),
        ("jvm_active_processors", with_options("-XX:ActiveProcessorCount=4"),
         with_options("-XX:ActiveProcessorCount=4", "-XX:ActiveProcessorCount=1"), True),
        ("jvm_active_processors", with_options(), with_options("-XX:ActiveProcessorCount=1"), True),
        ("jvm_active_processors", with_options("-XX:ActiveProcessorCount=1"), with_options(), False),
        ("jvm_gc_threads", with_options("-XX:ParallelGCThreads=4"), with_options("-XX:ParallelGCThreads=2"), True),
        ("jvm_gc_threads", with_options("-XX:ParallelGCThreads=2"), with_options("-XX:ParallelGCThreads=4"), False),
        ("jvm_larger_heap", with_options("-Xmx420m"), with_options("-Xmx1g"), True),
        ("jvm_larger_heap", with_options("-Xmx1g"), with_options("-Xmx512m"), False),
        ("jvm_larger_heap", with_options() | GIB, with_options("-XX:MaxRAMPercentage=75") | GIB, True),
        ("jvm_larger_heap", with_options("-Xmx420m"), with_options("-Xmx420m", "-XX:+UseG1GC"), False),
        ("jvm_collector", with_options("-XX:+UseParallelGC"), with_options("-XX:+UseG1GC"), True),
        ("jvm_collector", with_options("-XX:+UseG1GC"), with_options("-XX:+UseSerialGC"), False),
        ("node_old_space", with_options(), with_options("--max-old-space-size=512"), True),
        ("node_old_space", with_options("--max-old-space-size=512"), with_options("--max-old-space-size=256"), False),
        ("node_semi_space", with_options("--max-semi-space-size=16"), with_options("--max-semi-space-size=64"), True),
    ],
)  # fmt: skip
def test_a_fix_lands_as_its_settings_change(fix: str, before: Facts, after: Facts, lands: bool) -> None:
    assert SEEN[fix].lands_as(before, after) is lands


def test_what_cannot_be_seen_says_why() -> None:
    landing = scale_out.FIXES[0].landing
    assert isinstance(landing, Unseen)
    assert "replicas" in landing.why
