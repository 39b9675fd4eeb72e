"""What-if on the production numbers of case 1 (CoreDNS, GC throttling) says what its authors found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jitterscope.diagnosis.areas.cpu.whatif import search
from jitterscope.diagnosis.areas.cpu.whatif.predict import Prepared, predict, prepare
from jitterscope.diagnosis.areas.cpu.whatif.rank import rank
from jitterscope.diagnosis.areas.cpu.whatif.types import Goal, Setting
from tests.diagnosis.whatif_traces import production

NONE = Goal("throttled_ms_per_min", 0.0)


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare(production())


def fixes(now: Setting) -> dict[str, Setting]:
    return {
        "limit": replace(now, cpu_limit=40.0),
        "gogc": replace(now, gogc=None, gomemlimit_bytes=3 << 30),
        "gomaxprocs": replace(now, gomaxprocs=9),
        "burst": replace(now, burst_us=900_000),
    }


def test_the_trace_is_that_of_the_case(prepared: Prepared) -> None:
    usage = prepared.trace.usage_us
    assert usage.mean() / 100_000 == pytest.approx(0.8, abs=0.02)
    assert usage.max() <= 900_000 + 1
    # Without the limit a cycle would show as over 3,200 % in one period of 100 ms.
    for one in prepared.demand.bursts:
        assert one.cost_us + prepared.demand.base_us.mean() > 32 * 100_000
        assert one.throttled
    assert len(prepared.demand.bursts) == 60


def test_as_it_was_it_is_throttled(prepared: Prepared) -> None:
    said = predict(prepared, prepared.trace.setting)
    assert said.throttled_ratio is not None
    recorded = prepared.trace.throttled_periods.sum() / prepared.trace.periods.sum()
    assert said.throttled_ratio.low <= recorded <= said.throttled_ratio.high
    assert said.throttled_ratio.expected == pytest.approx(recorded, rel=0.25)


@pytest.mark.parametrize("fix", ["limit", "gomaxprocs"])
def test_a_limit_of_40_and_gomaxprocs_of_9_leave_no_throttling(prepared: Prepared, fix: str) -> None:
    said = predict(prepared, fixes(prepared.trace.setting)[fix])
    assert said.throttled_ms_per_min is not None
    assert said.throttled_ratio is not None
    assert said.throttled_ms_per_min.expected == 0
    assert said.throttled_ratio.expected == 0


def test_gogc_off_gives_the_same_stall_once_in_150_s(prepared: Prepared) -> None:
    now = prepared.trace.setting
    said, before = predict(prepared, fixes(now)["gogc"]), predict(prepared, now)
    assert said.gc_cycles_per_min is not None
    assert before.gc_cycles_per_min is not None
    assert before.gc_cycles_per_min.expected == pytest.approx(6.0, rel=0.05)
    assert 60 / said.gc_cycles_per_min.expected == pytest.approx(150, rel=0.15)
    assert said.gc_cycles_per_min.low <= 60 / 150 <= said.gc_cycles_per_min.high
    # Stalls decrease as cycles do: each is as long as before.
    assert said.throttled_ratio is not None
    assert before.throttled_ratio is not None
    per_cycle = said.throttled_ratio.expected / said.gc_cycles_per_min.expected
    per_cycle_before = before.throttled_ratio.expected / before.gc_cycles_per_min.expected
    assert per_cycle == pytest.approx(per_cycle_before, rel=0.35)


def test_burst_as_large_as_the_quota_still_throttles(prepared: Prepared) -> None:
    now = prepared.trace.setting
    said, before = predict(prepared, fixes(now)["burst"]), predict(prepared, now)
    assert said.throttled_ratio is not None
    assert before.throttled_ratio is not None
    assert 0.25 * before.throttled_ratio.expected < said.throttled_ratio.expected < before.throttled_ratio.expected
    assert said.throttled_ratio.low > 0
    assert "Burst cannot help enough: one cycle needs 3.6 quotas, burst adds one." in said.notes


def test_the_order_of_the_fixes(prepared: Prepared) -> None:
    ranked = rank(prepared, fixes(prepared.trace.setting))
    assert [one.fix_id for one in ranked] == ["gomaxprocs", "limit", "gogc", "burst"]
    by_id = {one.fix_id: one for one in ranked}
    assert by_id["gomaxprocs"].sentence.startswith("Ends the throttling")
    assert "ends the throttling" in by_id["limit"].sentence.lower()
    assert "burst adds one" in by_id["burst"].sentence
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


def test_the_least_that_ends_the_throttling(prepared: Prepared) -> None:
    limit = search.smallest_limit(prepared, NONE)
    # A cycle takes 3.2 s of CPU at once: the authors set 40.
    assert limit.value is not None
    assert 28 <= limit.value <= 45
    assert search.gomaxprocs_for(prepared, NONE).value == 9
    burst = search.smallest_burst(prepared, NONE)
    assert burst.value is None
    assert "burst adds one" in burst.reason


def test_after_a_restart_the_first_cycle_comes_after_a_whole_interval() -> None:
    trace = production()
    # Two thirds of the time from one cycle to the next with GOGC=off.
    ticks = round(100e6 / trace.step_us)
    parts = {name: getattr(trace, name)[:ticks] for name in
             ("usage_us", "throttled_us", "periods", "throttled_periods", "arrivals")}  # fmt: skip
    kept = tuple(one for one in trace.gc if one.end_us < trace.start_us + 100_000_000)
    short = prepare(replace(trace, gc=kept, sent_us=None, latency_us=None, complete=(), **parts))
    setting = fixes(trace.setting)["gogc"]
    anytime, fresh = predict(short, setting), predict(short, setting, fresh_heap=True)
    assert anytime.throttled_ms_per_min is not None
    assert fresh.throttled_ms_per_min is not None
    assert fresh.throttled_ms_per_min.expected == 0
    assert anytime.throttled_ms_per_min.high > 0
