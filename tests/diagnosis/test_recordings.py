"""The reality check: five real recordings of case 1 (2 cores, CoreDNS 1.12.0), cut at many places."""

from __future__ import annotations

import numpy as np
import pytest

from jitterscope.diagnosis.core.engine import diagnose
from tests.diagnosis.recorded import STEP_US, load, snapshot
from tests.support.by_turn import part_of

GC = "cpu/gc_throttling"
STALLED = ["fault", "gomaxprocs", "burst"]


def stalls(variant: str) -> list[tuple[int, int]]:
    """(first throttled tick, last) of each stall, separated by gaps of over 2 s between throttled ticks."""
    hot = np.flatnonzero(load(variant).columns["cpu_throttled_periods"] > 0)
    groups = np.split(hot, np.flatnonzero(np.diff(hot) > 20) + 1)
    return [(int(group[0]), int(group[-1])) for group in groups]


@pytest.mark.parametrize("variant", STALLED)
def test_the_whole_recording(variant: str) -> None:
    diagnosis = diagnose(snapshot(variant))
    assert [found.cause for found in diagnosis.findings] == [GC]
    found = diagnosis.findings[0]
    assert found.confidence == "high"
    assert found.severity in ("critical", "warning")
    assert all(rival.status == "ruled_out" for rival in found.rivals)
    slow = next(item for item in found.evidence if item.id == "slow_in_stalls")
    assert slow.numbers["hits"] == slow.numbers["of"] > 900
    inside = next(item for item in found.evidence if item.id == "throttled_in_gc")
    assert inside.numbers["hits"] == inside.numbers["of"] >= 19
    assert inside.numbers["p_value"] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("length", [30, 100, 300, 424])
@pytest.mark.parametrize("variant", ["limit", "gogc"])
def test_no_finding_where_nobody_suffers(variant: str, length: int) -> None:
    for end in range(20, 424, 5):
        first = max(0, end - length)
        assert diagnose(snapshot(variant, first, end - first)).findings == []


@pytest.mark.slow
@pytest.mark.parametrize("length", [30, 100, 300])
@pytest.mark.parametrize("variant", STALLED)
def test_any_window_says_gc_or_nothing(variant: str, length: int) -> None:
    """Wherever the window begins and ends, even in the middle of a cycle, no other cause is ever named."""
    for end in part_of(range(10, 424, 3)):
        first = max(0, end - length)
        found = diagnose(snapshot(variant, first, end - first)).findings
        assert [item.cause for item in found] in ([], [GC])


@pytest.mark.parametrize("variant", STALLED)
def test_one_cycle_is_enough(variant: str) -> None:
    """As soon as the first cycle has ended and its last throttled period was counted, the incident exists."""
    first, last = stalls(variant)[0]
    for start in (0, max(0, first - 30), max(0, first - 15)):
        diagnosis = diagnose(snapshot(variant, start, last + 2 - start))
        assert [found.cause for found in diagnosis.findings] == [GC]
        assert diagnosis.findings[0].severity is not None
        assert diagnosis.findings[0].confidence in ("high", "medium")


@pytest.mark.parametrize("variant", STALLED)
def test_each_single_stall(variant: str) -> None:
    for first, last in stalls(variant):
        start = max(0, first - 30)
        diagnosis = diagnose(snapshot(variant, start, last + 20 - start))
        assert [found.cause for found in diagnosis.findings] == [GC]


def test_onset_is_the_first_late_query() -> None:
    recording = load("fault")
    late = recording.sent_us[recording.latency_us > 20_000][0]
    found = diagnose(snapshot("fault")).findings[0]
    assert abs(found.onset_us - int(late)) <= STEP_US


@pytest.mark.parametrize("variant", STALLED)
def test_without_gc_data_the_finding_is_withheld(variant: str) -> None:
    """The process is known to be Go: nothing may be blamed for what its unseen GC did, and it is not ignored."""
    diagnosis = diagnose(snapshot(variant, cycles=False))
    assert [found.cause for found in diagnosis.findings] == ["unexplained/slow_answers"]
    assert GC in [entry.cause for entry in diagnosis.not_enough_data]


def test_the_same_load_under_half_the_limit_is_not_gc() -> None:
    """20 ms per period: the recorded queries (21 ms) need more than that; replayed, they are throttled without GC."""
    found = diagnose(snapshot("fault", quota_us=20_000)).findings
    assert GC not in [item.cause for item in found]


def test_fixes_agree_with_what_the_variants_measured() -> None:
    """limit removed it; GOMAXPROCS=1 and burst did not help below half a CPU; gogc made cycles rare."""
    fixes = {fix.id: fix for fix in diagnose(snapshot("fault")).findings[0].fixes}
    assert fixes["raise_cpu_limit"].verdict == "removes"
    peak = load("limit").columns["cpu_usage_us"].max() / STEP_US
    assert peak <= float(fixes["raise_cpu_limit"].title.rsplit(" ", 1)[1]) <= 2.0
    assert fixes["gomaxprocs"].verdict == "cannot_help"
    burst = fixes["cfs_burst"].predicted.get("slow_ratio")
    slow = load("burst").latency_us > 20_000
    assert burst is not None
    assert burst.low <= slow.mean() <= burst.high * 1.2
    # What is already set is not proposed again.
    assert "gomaxprocs" not in {fix.id for fix in diagnose(snapshot("gomaxprocs")).findings[0].fixes}
    assert "cfs_burst" not in {fix.id for fix in diagnose(snapshot("burst")).findings[0].fixes}
