"""Twelve consecutive commits run every live lab, in parts that take about equally long."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.lab_plan import PARTS, Run, Turn, held_by_nothing_else, parts, seconds, selected, turn

RUNS = [Run(f"run {number}", 30.0 + 7 * (number % 5), f"cause {number % 9}") for number in range(40)] + [
    Run("what-if", 150.0)
]


def test_every_run_is_in_one_part_and_parts_are_alike() -> None:
    shared = parts(RUNS)
    assert len(shared) == PARTS
    assert sorted(run.name for part in shared for run in part) == sorted(run.name for run in RUNS)
    assert parts(reversed(RUNS)) == shared
    assert max(map(seconds, shared)) - min(map(seconds, shared)) <= 58, "no more than the longest of the short ones"


def test_a_cause_without_a_recording_runs_each_time() -> None:
    recorded = [f"cause {number}" for number in range(8)]
    (only,) = held_by_nothing_else(RUNS, recorded)
    assert (only.cause, only.seconds) == ("cause 8", 30.0)
    assert all(only in selected(RUNS, Turn(part, ""), recorded) for part in range(1, PARTS + 1))


def test_a_long_run_takes_no_turn() -> None:
    long = Run("another fix", 200.0, "cause 9", by_turn=False)
    assert all(long not in selected([*RUNS, long], Turn(part, ""), []) for part in range(1, PARTS + 1))


def test_commits_in_a_row_have_each_part_once(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)

    git("init", "-q")
    chosen = []
    for number in range(PARTS):
        git("commit", "-q", "--allow-empty", "-m", str(number))
        now = turn("turn", tmp_path)
        assert now is not None
        chosen.append(now.part)
    assert sorted(chosen) == list(range(1, PARTS + 1))
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth", "1", f"file://{tmp_path}", str(shallow))
    assert "the day" in told(turn("turn", shallow))


def test_without_git_the_day_chooses(tmp_path: Path) -> None:
    assert "the day" in told(turn("turn", tmp_path))


def told(now: Turn | None) -> str:
    assert now is not None
    assert 1 <= now.part <= PARTS
    return now.why


def test_what_can_be_asked_for(tmp_path: Path) -> None:
    assert turn("", tmp_path) is turn("all", tmp_path) is None
    assert turn("3", tmp_path) == Turn(3, "JITTERSCOPE_LABS=3")
    for wrong in ("0", str(PARTS + 1), "some"):
        with pytest.raises(ValueError, match="want all, turn"):
            turn(wrong, tmp_path)
