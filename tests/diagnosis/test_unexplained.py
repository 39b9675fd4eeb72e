"""Slow answers without a known cause: what is a stall, where its time went, and which causes take precedence."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from jitterscope.diagnosis.areas.unexplained.readings.stalls import SETTLE_US, stalls
from jitterscope.diagnosis.areas.unexplained.readings.whereabouts import accounts
from jitterscope.diagnosis.core.engine import detect
from jitterscope.diagnosis.core.finding import Confidence, Found, NotEnoughData, NotFound, Result
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.rivals import of_rest
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.views import without
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US
from jitterscope.diagnosis.scenarios.unexplained.simulate import Hold, Kind, Service, simulate
from jitterscope.recordings import file
from jitterscope.recordings.snapshots import snapshot_of
from tests.support.by_turn import part_of

ID = "unexplained/slow_answers"
CAUSE = all_causes()[ID]
RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "recordings").glob("*.jitterscope"))
S = 1_000_000
LEVELS: tuple[Confidence, ...] = ("low", "medium", "high")


def held(kind: Kind, length_s: float = 0.3, **load: object) -> Snapshot:
    return simulate(replace(Service(holds=(Hold(20.03, length_s, kind),), seconds=40.0), **load))  # type: ignore[arg-type]


def told(snapshot: Snapshot) -> Found:
    (found,) = detect(snapshot).findings
    assert found.cause == ID
    return found


def other(onset_s: float, last_s: float, *, hurts: bool = True) -> Found:
    return Found(
        cause="cpu/gc_throttling", score=0.9, confidence="high", severity="warning" if hurts else None,
        harm="measured" if hurts else "not_measured", title="GC cycles use up the limit", summary="s",
        onset_us=EPOCH_US + int(onset_s * S), last_us=EPOCH_US + int(last_s * S), impact={}, evidence=[],
    )  # fmt: skip


def judged(snapshot: Snapshot, *others: Found | NotFound | NotEnoughData) -> Found | NotFound | NotEnoughData:
    assert CAUSE.after_all is not None
    return CAUSE.after_all(snapshot, others)


@pytest.mark.parametrize("protocol", ["tcp", "dns"])
@pytest.mark.parametrize("seconds", [0.06, 0.12, 0.3, 0.5])
@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("stopped", "socket"), ("disk", "socket"), ("loop", "cpu"), ("crowded", "runnable"), ("lock", "blocked"),
        ("peer", "blocked"),
    ],
)  # fmt: skip
def test_where_the_time_went(kind: Kind, where: str, seconds: float, protocol: str) -> None:
    snapshot = held(kind, seconds, protocol=protocol, rate=300.0)
    (account,) = accounts(snapshot)
    assert account.where == where
    assert account.stall.length_us == pytest.approx(seconds * S, rel=0.15, abs=0.03 * S)
    assert account.stall.late > 0.8 * (seconds - 0.02) * 300


@pytest.mark.parametrize("rate", [100.0, 900.0, 1800.0])
def test_a_busy_server_that_is_stopped_works_off_what_waited(rate: float) -> None:
    """0.04 to 0.72 CPU: the CPU time of the queued work does not show that it ran during the stall."""
    (account,) = accounts(held("stopped", 0.25, rate=rate))
    assert account.where == "socket"


def test_threads_that_wait_together_before_a_stop_do_not_wait_for_all_of_it() -> None:
    """25 threads wake up at once on a full node, 10 ms before the process is stopped: 9 ms of run delay each."""
    snapshot = held("stopped", 0.35, rate=300.0)
    (account,) = accounts(snapshot)
    first = (account.stall.start_us - snapshot.start_us) // snapshot.step_us
    assert account.stall.start_us % snapshot.step_us > 0.3 * snapshot.step_us, "the tick has a part before the stall"
    (process,) = snapshot.processes
    delay = process.series["process_run_delay_us"].copy()
    delay[first] += 225_000
    crowded = replace(process, series={**process.series, "process_run_delay_us": delay})
    (account,) = accounts(replace(snapshot, processes=(crowded,)))
    assert account.where == "socket"
    assert account.delay is not None
    assert account.delay <= 70_000 / account.stall.length_us


def test_waits_of_threads_that_wake_up_together_are_not_added_up() -> None:
    """At the end of the wait for another server, 40 threads wake up on a full node, and each waits 8 ms for a CPU."""
    snapshot = held("peer", 0.3, rate=300.0)
    last = (accounts(snapshot)[0].stall.end_us - snapshot.start_us) // snapshot.step_us
    (process,) = snapshot.processes
    delay, pressure = process.series["process_run_delay_us"].copy(), np.full(snapshot.ticks, 200.0)
    delay[last] += 40 * 8_000
    pressure[last] += 15_000
    crowded = replace(process, series={**process.series, "process_run_delay_us": delay})
    subject = replace(snapshot.subject, series={**snapshot.subject.series, "psi_cpu_some_us": pressure})
    (account,) = accounts(replace(snapshot, processes=(crowded,), subject=subject))
    assert account.where == "blocked"


def test_what_was_read_just_before_a_stop_was_not_read_while_it_lasted() -> None:
    """A burst that was received in the last ms before the stop outnumbers what arrived and stayed unread after it."""
    snapshot = held("stopped", 0.35, rate=100.0)
    (server,), (account,) = snapshot.tcp_servers, accounts(snapshot)
    queries, burst = server.queries, 60
    assert queries is not None
    assert queries.queue_wait_us is not None
    end_us = account.stall.end_us
    sent = EPOCH_US + 20_025_000 + 80 * np.arange(burst)
    order = np.argsort(all_sent := np.concatenate([queries.sent_us, sent]), kind="stable")
    more = replace(
        queries,
        sent_us=all_sent[order],
        latency_us=np.concatenate([queries.latency_us, end_us - sent])[order],
        result=np.concatenate([queries.result, np.zeros(burst, np.int64)])[order],
        queue_wait_us=np.concatenate([queries.queue_wait_us, np.full(burst, 30)])[order],
    )
    (account,) = accounts(replace(snapshot, tcp_servers=(replace(server, queries=more),)))
    assert account.stall.late > burst + 20
    assert account.where == "socket"


def test_a_signal_that_is_missing_makes_it_less_certain() -> None:
    snapshot = held("stopped")
    levels = [told(snapshot).confidence]
    for metric in ("request_wait_us", "process_run_delay_us", "psi_cpu_some_us", "process_cpu_us", "cpu_usage_us"):
        snapshot = without(snapshot, metric)
        if metric == "request_wait_us":
            (server,) = snapshot.tcp_servers
            assert server.queries is not None
            blind = replace(server, queries=replace(server.queries, queue_wait_us=None))
            snapshot = replace(snapshot, tcp_servers=(blind,))
        if isinstance(result := judged(snapshot), Found):
            levels.append(result.confidence)
    ranks = [LEVELS.index(level) for level in levels]
    assert levels[0] == "high"
    assert ranks[-1] == 0
    assert all(after <= before for before, after in pairwise(ranks))


def test_what_would_make_it_visible_is_proposed_with_what_it_needs() -> None:
    snapshot = replace(
        without(held("stopped"), "process_run_delay_us"),
        unavailable={"run_delay": "no /proc/PID/schedstat (needs CONFIG_SCHED_INFO)"},
    )
    found = told(snapshot)
    fixes = {fix.id: fix for fix in CAUSE.propose(snapshot, found)}
    assert "run_delay" in fixes["record_where_time_goes"].title
    assert "CONFIG_SCHED_INFO" in (fixes["record_where_time_goes"].precondition or "")
    assert "record_where_time_goes" not in {fix.id for fix in CAUSE.propose(held("stopped"), told(held("stopped")))}


def test_the_program_to_look_at_is_named() -> None:
    snapshot = held("stopped", watched=False)
    (fix,) = CAUSE.propose(snapshot, told(snapshot))
    assert "/proc/4711/task" in fix.patches[0].text


@pytest.mark.parametrize("kind", ["stopped", "disk", "lock", "peer"])
def test_what_was_recorded_need_not_be_read_by_hand(kind: Kind) -> None:
    snapshot = held(kind)
    (fix,) = CAUSE.propose(snapshot, told(snapshot))
    assert "wchan" not in fix.patches[0].text
    assert "PID" not in fix.patches[0].text
    blind = held(kind, watched=False)
    (fix,) = CAUSE.propose(blind, told(blind))
    assert "wchan" in fix.patches[0].text


@pytest.mark.parametrize(
    ("starts_s", "throttled_s", "seen"),
    [
        (1.0, None, True),  # it has been calm for 19 s
        (12.0, None, False),
        (-40.0, (0.0, 40.0), False),  # throttled since its start, a minute ago
        (-40.0, (20.0, 21.0), True),
        (-40.0, (0.0, 9.0), True),  # without throttling, it would be over
        (-200.0, (0.0, 40.0), True),
    ],
)
def test_a_start_is_over_with_its_first_calm_stretch(
    starts_s: float, throttled_s: tuple[float, float] | None, *, seen: bool
) -> None:
    snapshot = held("stopped", starts_s=starts_s)
    if throttled_s is not None:
        throttled = np.zeros(snapshot.ticks)
        throttled[slice(*(int(10 * at) for at in throttled_s))] = 1.0
        columns = {**snapshot.subject.series, "cpu_throttled_periods": throttled}
        snapshot = replace(snapshot, subject=replace(snapshot.subject, series=columns))
    assert bool(stalls(snapshot).clear) == seen


@pytest.mark.parametrize(("onset_s", "last_s"), [(20.0, 20.4), (10.0, 30.0), (20.9, 22.0), (17.0, 19.5)])
def test_what_a_harmful_finding_covers_is_explained(onset_s: float, last_s: float) -> None:
    result = judged(held("stopped"), other(onset_s, last_s))
    assert isinstance(result, NotFound)
    assert "GC cycles use up the limit" in result.reason
    assert result.numbers["explained"] == result.numbers["late_in_stalls"] > 50


@pytest.mark.parametrize("finding", [other(10.0, 15.0), other(25.0, 30.0), other(10.0, 30.0, hurts=False)])
def test_what_nothing_harmful_covers_is_not(finding: Found) -> None:
    assert isinstance(judged(held("stopped"), finding), Found)


def test_of_two_stalls_only_the_one_without_a_cause_is_told() -> None:
    snapshot = simulate(Service(holds=(Hold(20.03, 0.3, "stopped"), Hold(30.03, 0.3, "stopped"))))
    result = judged(snapshot, other(19.0, 22.0))
    assert isinstance(result, Found)
    assert result.onset_us > EPOCH_US + 29 * S
    assert len(stalls(snapshot).clear) == 2


def test_a_young_stall_is_left_to_other_causes() -> None:
    """It is judged once `SETTLE_US` of newer data exist, wherever the window ends."""
    seen = []
    for tenths in range(204, 300, 4):
        result = judged(held("stopped", seconds=tenths / 10))
        seen.append(isinstance(result, Found))
        if seen[-1]:
            assert tenths * 100_000 >= 20_330_000 + SETTLE_US
    assert not seen[0]
    assert seen[-1]
    assert seen == sorted(seen)


def test_a_cause_about_no_server_of_the_subject_is_no_rival() -> None:
    """A Redis is not checked for its Corefile; a rival whose source is missing stays on the list."""
    found = told(held("stopped"))
    unjudged = [rival.cause for rival in found.rivals if rival.status == "not_enough_data"]
    assert not [cause for cause in unjudged if cause.startswith("dns/")]
    assert [rival for rival in found.rivals if rival.status == "ruled_out"]
    assert [one.cause for one in told(held("stopped", protocol="dns")).rivals if one.cause.startswith("dns/")]


def test_how_other_findings_read_as_rivals() -> None:
    causes = all_causes()
    results: dict[str, Result] = {
        "a": other(1.0, 2.0), "b": other(1.0, 2.0, hurts=False), "c": NotFound(cause="c", reason="3 of 4"),
        "d": NotEnoughData(cause="d", missing=["cpu_throttled_periods"], reason="Needs it."),
    }  # fmt: skip
    known = dict.fromkeys(results, causes["cpu/gc_throttling"])
    listed = [rival.status for rival in of_rest(held("stopped"), known, results)]
    assert listed == ["ruled_out", "not_ruled_out", "ruled_out", "not_enough_data"]


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_no_window_of_a_recording_has_anything_unexplained(path: Path) -> None:
    """Faults have their cause, however the window cuts them, and look-alikes have no prominent stall."""
    recording = file.load(path)
    begin_us = recording.start_us
    windows = [
        (start_us, end_us)
        for end_us in range(begin_us + 8 * S, recording.end_us + 1, 2 * S)
        for start_us in sorted({begin_us, max(begin_us, end_us - 12 * S), max(begin_us, end_us - 20 * S)})
    ]
    for start_us, end_us in part_of(windows):
        findings = detect(snapshot_of(recording, start_us, end_us)).findings
        assert ID not in [found.cause for found in findings]
