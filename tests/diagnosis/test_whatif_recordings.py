"""From the recorded fault alone: what each of the four fixes gives, compared with the run that was really made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.whatif.predict import Prepared, predict, prepare
from jitterscope.diagnosis.areas.cpu.whatif.rank import rank
from jitterscope.diagnosis.areas.cpu.whatif.search import smallest_limit
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.areas.cpu.whatif.types import Goal, Prediction, Setting, Trace
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.recordings import file
from jitterscope.recordings.snapshots import snapshot_of
from tests.diagnosis.whatif_traces import outcome, recorded_trace

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"
METRICS = ("throttled_ms_per_min", "throttled_ratio", "slow_ratio", "p99_ms")
FIXES = ("limit", "gogc", "gomaxprocs", "burst")


def settings(now: Setting) -> dict[str, Setting]:
    return {
        "limit": replace(now, cpu_limit=None),
        "gogc": replace(now, gogc=None, gomemlimit_bytes=3 << 30),
        "gomaxprocs": replace(now, gomaxprocs=1),
        "burst": replace(now, burst_us=50_000),
    }


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare(recorded_trace("fault"))


@pytest.fixture(scope="module")
def predictions(prepared: Prepared) -> dict[str, Prediction]:
    return {fix: predict(prepared, setting) for fix, setting in settings(prepared.trace.setting).items()}


def value(said: Prediction, metric: str) -> Interval:
    found: Interval | None = getattr(said, metric)
    assert found is not None, (metric, said.cannot_tell)
    return found


def test_the_settings_are_those_of_the_runs(prepared: Prepared) -> None:
    for fix, setting in settings(prepared.trace.setting).items():
        assert recorded_trace(fix).setting == setting


def test_outcomes_lie_within_the_intervals(predictions: dict[str, Prediction]) -> None:
    inside, outside = 0, []
    for fix in FIXES:
        real = outcome(fix)
        for metric in METRICS:
            said = value(predictions[fix], metric)
            if said.low <= real[metric] <= said.high:
                inside += 1
            else:
                outside.append((fix, metric, said, real[metric]))
    assert inside >= 0.8 * len(FIXES) * len(METRICS), outside


@pytest.mark.parametrize("metric", ["throttled_ms_per_min", "slow_ratio"])
def test_the_median_error_is_at_most_a_quarter(predictions: dict[str, Prediction], metric: str) -> None:
    # Relative to the outcome or, if hardly anything remains, to a tenth of the fault.
    fault = outcome("fault")[metric]
    errors = [
        abs(value(predictions[fix], metric).expected - outcome(fix)[metric]) / max(outcome(fix)[metric], 0.1 * fault)
        for fix in FIXES
    ]
    assert median(errors) <= 0.25, dict(zip(FIXES, errors, strict=True))


def test_intervals_say_something(predictions: dict[str, Prediction], prepared: Prepared) -> None:
    # An interval from nothing to everything would contain any outcome.
    now = predict(prepared, prepared.trace.setting)
    for metric in ("throttled_ms_per_min", "slow_ratio"):
        before = value(now, metric)
        assert before.high / before.low < 6
        assert value(predictions["limit"], metric).high <= 0.05 * before.expected
        assert value(predictions["gogc"], metric).high < 0.6 * before.expected
        assert value(predictions["burst"], metric).high < 2 * before.expected


def test_good_fixes_come_before_those_that_cannot_help(prepared: Prepared) -> None:
    order = [one.fix_id for one in rank(prepared, settings(prepared.trace.setting))]
    assert set(order[:2]) == {"limit", "gogc"}
    sentences = {one.fix_id: one.sentence for one in rank(prepared, settings(prepared.trace.setting))}
    assert "GOMAXPROCS=1 cannot help enough here: the limit is half a CPU." in sentences["gomaxprocs"]
    assert "burst adds one" in sentences["burst"]


@pytest.mark.parametrize("variant", ["fault", "limit", "gomaxprocs", "burst", "gogc"])
def test_each_run_under_its_own_setting_gives_itself(variant: str) -> None:
    trace = recorded_trace(variant)
    said, real = predict(prepare(trace), trace.setting), outcome(variant)
    for metric in METRICS:
        found = value(said, metric)
        assert found.low <= real[metric] <= found.high, metric
    assert value(said, "cpu_mean").expected == pytest.approx(float(np.nanmean(trace.usage_us)) / trace.step_us, rel=0.1)


def test_without_heap_facts_gomemlimit_cannot_be_told(prepared: Prepared) -> None:
    trace = replace(prepared.trace, heap_live_bytes=None)
    said = predict(trace, settings(trace.setting)["gogc"])
    assert said.throttled_ms_per_min is None
    assert said.slow_ratio is None
    assert said.cannot_tell is not None
    assert "live heap" in said.cannot_tell


def test_the_timeline_covers_the_window_and_holds_the_limit(prepared: Prepared) -> None:
    trace = prepared.trace
    line = predict(prepared, trace.setting, timeline=True).timeline
    assert line is not None
    assert len(line.cpu_ratio) == len(line.throttled_us) == len(line.latency_max_us) == len(trace.usage_us)
    assert line.throttled_us.min() >= 0
    assert line.throttled_us.max() <= trace.step_us
    assert line.throttled_us.sum() > 0
    assert len(line.gc) == len(trace.gc)
    free = predict(prepared, replace(trace.setting, cpu_limit=None), timeline=True).timeline
    assert free is not None
    assert free.throttled_us.sum() == 0
    # Without the limit a cycle takes both CPUs; under it, no more than the quota and what the tick grid adds.
    assert free.cpu_ratio.max() > 1.0 > line.cpu_ratio.max()
    assert free.cpu_ratio.sum() == pytest.approx(line.cpu_ratio.sum(), rel=0.02)


def test_no_limit_is_found_where_throttling_hides_the_demand(prepared: Prepared) -> None:
    """Its throttling may stay under a higher limit, and it would be wrong to say that it stays without any."""
    hidden = replace(prepared, demand=replace(prepared.demand, is_hidden=True))
    goal = Goal("throttled_ratio", 0.5 * value(predict(hidden, prepared.trace.setting), "throttled_ratio").expected)
    assert smallest_limit(prepared, goal).value is not None
    found = smallest_limit(hidden, goal)
    assert found.value is None
    assert found.reason.startswith("Throttling hides the demand")
    assert found.prediction is not None
    assert value(found.prediction, "throttled_ratio").high > goal.at_most


def test_a_few_unthrottled_ticks_show_no_demand(prepared: Prepared) -> None:
    """A server that is throttled nearly all the time runs freely when it has hardly anything to do."""
    assert not prepared.demand.is_hidden
    trace = from_snapshot(snapshot_of(file.load(RECORDINGS / "coredns-gc-overload.jitterscope")))
    assert isinstance(trace, Trace)
    overload = prepare(trace)
    assert overload.demand.is_hidden
    doubled = replace(overload.trace.setting, cpu_limit=2 * (overload.trace.setting.cpu_limit or 0.0))
    said = predict(overload, doubled)
    # As much may stay: what a query costs without throttling was not seen.
    assert value(said, "throttled_ratio").high == pytest.approx(1.0, abs=0.05)
    assert value(said, "slow_ratio").high > 0.5


def test_what_a_throttled_server_worked_off_may_cost_more_at_rest() -> None:
    """A replica that is not throttled wakes its threads for each query: the interval reaches up to the usual cost."""
    trace = from_snapshot(snapshot_of(file.load(RECORDINGS / "coredns-gc-request-burst.jitterscope")))
    assert isinstance(trace, Trace)
    burst = prepare(trace)
    demand = burst.demand
    assert not demand.is_hidden
    assert demand.saved_us.sum() > 0.2 * demand.base_us.sum()
    as_used = replace(burst, demand=replace(demand, saved_us=np.zeros_like(demand.saved_us)))
    shared = replace(trace.setting, replicas=1.5)
    said, least = predict(burst, shared), predict(as_used, shared)
    for metric in ("cpu_mean", "throttled_ratio"):
        assert value(said, metric).expected > value(least, metric).expected, metric
    assert value(said, "throttled_ratio").high > value(least, "throttled_ratio").high
