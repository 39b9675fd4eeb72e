"""What case 1 quotes, as files in tests/fixtures/evidence: `top -b -d 0.1`, both metric dumps, cpu.stat."""

from __future__ import annotations

from pathlib import Path

import pytest

from jitterscope.analyses.engine import read_text
from jitterscope.analyses.report import Fact, Report
from jitterscope.diagnosis.core.registry import all_causes

EVIDENCE = Path(__file__).resolve().parents[2] / "fixtures" / "evidence"


def read(name: str) -> Report:
    return read_text((EVIDENCE / name).read_text())


def fact(report: Report, id: str) -> Fact:
    found = [one for one in report.facts if one.id == id]
    assert len(found) == 1, [one.id for one in report.facts]
    return found[0]


def test_top_shows_the_burst_that_a_second_hides() -> None:
    report = read("top-0.1s.txt")
    assert report.kind == "top_batch"
    process = fact(report, "process")
    assert process.value == "coredns, PID 99065"
    assert process.numbers == {"pid": 99065, "resident_bytes": 581_856 * 1024}
    peak = fact(report, "cpu_peak")
    assert peak.level == "attention"
    assert peak.numbers["peak_percent"] == 3280
    assert (peak.numbers["bursts"], peak.numbers["samples"]) == (1, 6)
    usual = fact(report, "cpu_usual")
    # The other five are 60 to 80 %: 10 ms steps of CPU time in a tenth of a second.
    assert usual.numbers == pytest.approx(
        {"median_percent": 70, "mean_percent": 603.333, "samples": 6, "interval_s": 0.1}
    )
    # 32.8 CPUs for 0.1 s and 0.7 for the other 0.9 s of a second.
    assert fact(report, "cpu_second").numbers["second_percent"] == pytest.approx((3280 + 9 * 70) / 10)
    assert fact(report, "node").numbers == pytest.approx({"median_ratio": 0.252, "at_peak_ratio": 0.455})
    assert report.charts[0].lines[0].values == [0.6, 0.7, 32.8, 0.7, 0.8, 0.6]
    assert [b - a for a, b in zip(report.charts[0].x, report.charts[0].x[1:], strict=False)] == [1e5] * 5
    # The fifth screen is the first of another second: 02:26:12.6 to 02:26:13.
    assert report.charts[0].x[4] == (2 * 3600 + 26 * 60 + 13) * 1e6
    assert report.findings == []
    assert {one.cause for one in report.not_enough_data} >= {"cpu/gc_throttling", "cpu/limit_too_low"}


def test_cpu_stat_after_the_fix_says_that_nothing_was_throttled() -> None:
    report = read("cpu.stat.txt")
    assert report.kind == "cpu_stat"
    assert fact(report, "throttled_periods").numbers == {"nr_periods": 97605, "nr_throttled": 0}
    assert fact(report, "throttled_periods").level == "info"
    assert fact(report, "throttled_time").value == "none"
    assert fact(report, "pod").value == "9118fc9a-5622-43c2-a6a9-ea0a582ea247"
    assert {one.cause for one in report.not_enough_data} == {id for id in all_causes() if id.startswith("cpu/")}


@pytest.mark.parametrize(
    ("name", "cycles", "p50_us", "max_us", "mean_us", "next_gc", "heap", "pid"),
    [
        ("metrics-gomaxprocs-9.txt", 860, 153.445, 1312.075, 261_237.248 / 860, 4.16897848e8, 2.08494536e8, "165650"),
        ("metrics-before.txt", 94355, 361.129, 1587.149, 40_283_932.797 / 94355, 4.4114172e8, 2.2199e8, "139471"),
    ],
)
def test_metric_dumps(
    name: str, cycles: int, p50_us: float, max_us: float, mean_us: float, next_gc: float, heap: float, pid: str
) -> None:
    report = read(name)
    assert report.kind == "prometheus_text"
    expected = {"gc_cycles": cycles, "pause_p50_us": p50_us, "pause_max_us": max_us, "pause_mean_us": mean_us}
    assert fact(report, "gc_cycles").numbers == pytest.approx(expected)
    # GOGC at its default: the goal is twice the live heap.
    heaps = {"next_gc_bytes": next_gc, "heap_alloc_bytes": heap, "heap_live_bytes": next_gc / 2}
    assert fact(report, "heap").numbers == pytest.approx(heaps)
    assert report.tables[0].rows[0][1] == pid
    assert any("needs process_start_time_seconds" in note for note in report.notes)
    assert report.not_enough_data
    assert report.findings == []


def test_both_dumps_in_one_file_are_two_processes() -> None:
    text = (EVIDENCE / "metrics-before.txt").read_text() + (EVIDENCE / "metrics-gomaxprocs-9.txt").read_text()
    report = read_text(text)
    assert fact(report, "gc_cycles_1").numbers["gc_cycles"] == 94355
    assert fact(report, "gc_cycles_2").numbers["gc_cycles"] == 860
    assert [row[1] for row in report.tables[0].rows] == ["139471", "165650"]
    assert not any(one.id == "gc_growth" for one in report.facts)
    assert "The pages belong to different processes." in report.notes


def test_two_dumps_of_one_process_tell_how_far_cycles_are_apart() -> None:
    first = (EVIDENCE / "metrics-before.txt").read_text()
    second = first.replace("94355", "94365").replace("1.730204964758413e+09", "1.730205064758413e+09")
    growth = fact(read_text(first + second), "gc_growth")
    assert growth.numbers == pytest.approx({"gc_cycles": 10, "interval_us": 10e6})


def test_the_single_count() -> None:
    report = read("metrics-gc-count.txt")
    assert report.kind == "prometheus_text"
    assert fact(report, "gc_cycles").numbers == {"gc_cycles": 140936}
