"""Memory causes on a real CoreDNS in a memory cgroup: predicted before the kill, accurately, no false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from jitterscope.diagnosis.areas.memory.whatif.load import from_snapshot, load_of
from jitterscope.diagnosis.areas.memory.whatif.query_burst import forecast
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.scenarios.memory.simulate import MIB
from tests.diagnosis.memory_recorded import Run, load, names, snapshot

CAUSES = [cause for name, cause in all_causes().items() if name.startswith("memory/")]
KILLED = [name for name in names() if load(name).killed is not None]
SURVIVED = [name for name in names() if load(name).killed is None]
EXPECTED = {"leak-140": "memory/limit_oom"}


def told(run: Run, until: int) -> Found | None:
    """The incident that would be open at tick `until`."""
    findings = [found for found in diagnose(snapshot(run, until), CAUSES).findings if found.severity is not None]
    return findings[0] if findings else None


def first_told(run: Run) -> tuple[int, Found] | None:
    end = run.ticks if run.killed is None else run.killed
    for until in range(run.burst_tick - 20, end):
        if (found := told(run, until)) is not None:
            return until, found
    return None


def numbers(found: Found, name: str) -> dict[str, float]:
    return next(item.numbers for item in found.evidence if item.id == name)


def test_the_recordings_hold_kills_and_runs_without() -> None:
    assert len(KILLED) >= 4
    assert len(SURVIVED) >= 6


@pytest.mark.parametrize("name", KILLED)
def test_the_kill_is_told_before_it_comes(name: str) -> None:
    run = load(name)
    assert run.killed is not None
    said = first_told(run)
    assert said is not None
    tick, found = said
    assert found.cause == EXPECTED.get(name, "memory/query_burst_oom")
    real_s = (run.killed - tick) / 10
    said_s = numbers(found, "time_to_oom")["seconds"]
    assert real_s >= 0.4
    assert abs(said_s - real_s) <= 0.3 * real_s
    # Reported within a second of the burst, or half way through a leak.
    assert tick - run.burst_tick <= (
        10 if found.cause == "memory/query_burst_oom" else (run.killed - run.burst_tick) * 0.6
    )


@pytest.mark.parametrize("name", SURVIVED)
def test_nothing_is_told_where_no_kill_comes(name: str) -> None:
    said = first_told(load(name))
    assert said is None, said


@pytest.mark.parametrize("name", KILLED)
def test_after_the_kill_the_prediction_is_compared_with_it(name: str) -> None:
    run = load(name)
    found = told(run, run.ticks)
    assert found is not None
    assert found.cause == EXPECTED.get(name, "memory/query_burst_oom")
    assert numbers(found, "oom_kill")["kills"] == 1
    assert abs(numbers(found, "predicted")["error_ratio"]) <= 0.3


@pytest.mark.parametrize("name", [name for name in KILLED if name not in EXPECTED])
def test_bytes_per_query_are_those_of_this_server(name: str) -> None:
    found = told(load(name), load(name).ticks)
    assert found is not None
    # Over five rates and limits, a query held 18 to 19 KiB in this build.
    assert 16 * 1024 <= numbers(found, "bytes_per_query")["bytes"] <= 21 * 1024


@pytest.mark.parametrize(
    ("tried", "cap", "limit_mib"), [("max-concurrent-170", 1000, None), ("more-memory-1024", None, 1024)]
)
def test_the_what_if_of_the_fault_holds_in_the_run_that_tried_it(
    tried: str, cap: int | None, limit_mib: int | None
) -> None:
    found = from_snapshot(snapshot(load("fault-170"), load("fault-170").killed))
    assert not isinstance(found, str), found
    limit = None if limit_mib is None else limit_mib * MIB
    said = forecast(load_of(*found), cap, limit)
    assert said.outcome == "survives"
    assert load(tried).killed is None
    real = float(np.nanmax(load(tried).columns["memory_usage_bytes"]))
    assert said.peak_bytes is not None
    assert said.peak_bytes.low <= real <= said.peak_bytes.high


def test_the_what_if_of_the_fault_as_it_was_is_the_kill_that_came() -> None:
    run = load("fault-250")
    assert run.killed is not None
    found = from_snapshot(snapshot(run, run.killed))
    assert not isinstance(found, str), found
    said = forecast(load_of(*found))
    assert said.outcome != "survives"
    assert said.seconds_to_oom is not None
    # As many as could wait held 235 of 250 MiB after 2.0 s; the garbage that filled the rest took 1.2 s more.
    assert said.seconds_to_oom.low <= (run.killed - run.burst_tick) / 10
