"""Threads on a busy node always wait for a CPU: that is no reason for a stall that something else makes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.causes import _waiting
from jitterscope.diagnosis.areas.cpu.fixes import move_apart
from jitterscope.diagnosis.areas.cpu.readings import run_waits
from jitterscope.diagnosis.core.engine import detect, diagnose
from jitterscope.diagnosis.core.held_up import _stall_of
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.recordings import file
from jitterscope.recordings.snapshots import snapshot_of
from jitterscope.series.types import TICK_US

FOLDER = Path(__file__).parents[1] / "fixtures" / "recordings"
WAITS = "process_run_delay_us"


def on_a_busy_node(snapshot: Snapshot, waits_us: float) -> Snapshot:
    """Others use all CPUs, and the threads of the server wait for so long on average in each tick, whatever it does."""
    more = np.random.default_rng(1).gamma(2.0, waits_us / 2, snapshot.ticks)
    node = replace(snapshot.node, series={**snapshot.node.series, "host_idle_us": np.full(snapshot.ticks, 2_000.0)})
    processes = tuple(
        replace(one, series={**one.series, WAITS: one.series[WAITS] + more}) if WAITS in one.series else one
        for one in snapshot.processes
    )
    return replace(snapshot, node=node, processes=processes)


def harmful(snapshot: Snapshot) -> list[str]:
    return [one.cause for one in detect(snapshot).findings if one.severity is not None]


def test_the_cause_is_the_same_on_a_busy_node() -> None:
    """Of every recording in which the collector recorded how long threads waited."""
    recorded = 0
    for path in sorted(FOLDER.glob("*.jitterscope")):
        snapshot = snapshot_of(file.load(path))
        if not any(WAITS in one.series for one in snapshot.processes):
            continue
        recorded += 1
        causes = [
            harmful(it) for it in (snapshot, on_a_busy_node(snapshot, 5_000.0), on_a_busy_node(snapshot, 20_000.0))
        ]
        assert causes[1] == causes[2] == causes[0], path.stem
    assert recorded >= 15


@pytest.mark.parametrize("seconds", [5, 10, 30])
def test_a_locked_table_on_a_busy_node_is_not_its_neighbours(seconds: int) -> None:
    """In every window, as a look at it has them: seconds after the onset and later."""
    recording = file.load(FOLDER / "slow-dependency-fault-busy-node.jitterscope")
    whole = snapshot_of(recording)
    length = seconds * 1_000_000
    named: Counter[str] = Counter()
    for end_us in range(whole.start_us + max(length, 60 * TICK_US), whole.end_us + 1, 1_000_000):
        named.update(harmful(snapshot_of(recording, end_us - length, end_us)))
    assert set(named) == {"app/lock_or_dependency"}
    assert named.total() > 10


def test_answers_in_flight_at_once_belong_to_the_first() -> None:
    begun = np.array([300, 0, 100, 390, 400, 350], np.int64)
    took = np.array([100, 150, 290, 30, 60, 45], np.int64)
    # 0-150 and 100-390 overlap; 300-400 began within the second; 390-420 within 300-400; 400-460 after it.
    assert _stall_of(begun, took).tolist() == [2, 1, 1, 0, 3, 2]


def test_apart_only_the_answers_that_waited_for_a_cpu_are_quick() -> None:
    """With the condition on which that holds; what was late for another reason stays late."""
    snapshot = snapshot_of(file.load(FOLDER / "noisy-neighbour-fault.jitterscope"))
    found = next(one for one in diagnose(snapshot).findings if one.cause == "cpu/neighbours")
    apart = next(fix for fix in found.fixes if fix.id == "move_apart")
    said, now = apart.predicted["slow_ratio"], found.impact["slow_ratio"]
    assert now is not None
    assert now > 0.7
    assert said.low == said.expected == 0.0, "all late answers waited"
    assert 0.05 * now < said.high < 0.15 * now
    assert any("finds an idle CPU whenever it wants one" in caveat for caveat in apart.caveats)
    waits = run_waits.read_waits(snapshot)
    assert waits is not None
    judged = _waiting.judge(snapshot, waits)
    half = replace(judged, held=replace(judged.held, hits=judged.held.of // 2))
    stays = move_apart.propose(snapshot, found, [], _waiting.delayed(half)).predicted["slow_ratio"]
    assert stays.expected == pytest.approx(now / 2, rel=0.02)
    assert move_apart.propose(snapshot, found, [], None).predicted == {}
