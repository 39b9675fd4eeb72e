"""What takes CPUs from a lab, and what is done about it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.support import neighbours
from tests.support.neighbours import Disturbed, Neighbours, Process, until_undisturbed

BURN = "import os, time\nif os.fork() == 0:\n    end = time.time() + 6\n    while time.time() < end: pass\n"
NEEDED = (os.cpu_count() or 1) - 0.5


def test_what_others_use_is_seen() -> None:
    subprocess.run([sys.executable, "-c", BURN], check=True)
    with Neighbours() as others:
        time.sleep(4.5)
    assert others.most_cpus() > 0.3, "an orphan burns a CPU; where it gets none, others have them all"


def test_a_lab_its_children_and_its_product_are_no_neighbours() -> None:
    lab, child, supervisor, guardian, worker, other = 10, 11, 20, 21, 22, 30
    processes = {
        lab: Process(1, 0, None),
        child: Process(lab, 0, None),
        supervisor: Process(1, 0, None),
        guardian: Process(supervisor, 0, guards=lab),
        worker: Process(supervisor, 0, None),
        other: Process(1, 0, guards=99),
    }
    assert neighbours._family(processes, lab) == {lab, child, supervisor, guardian, worker}


class Runs:
    """Runs that end as scripted, while others use as much as scripted."""

    def __init__(self, *ends: tuple[Exception | None, float]) -> None:
        self.ends = list(ends)
        self.used = 0.0

    def __call__(self) -> None:
        failure, self.used = self.ends.pop(0)
        if failure is not None:
            raise failure


def made(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "_wait_for_quiet", lambda spare: None)
    monkeypatch.setattr(Neighbours, "most_cpus", lambda self: runs.used)
    until_undisturbed(runs, NEEDED)


def test_a_disturbed_run_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs((AssertionError("disturbed"), 1.2), (Disturbed("by the lab's own account"), 0.0), (None, 0.0))
    made(runs, monkeypatch)
    assert runs.ends == []


def test_a_run_during_which_the_machine_stood_still_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def enter(others: Neighbours) -> Neighbours:
        others.look(700_000)
        return others

    monkeypatch.setattr(Neighbours, "__enter__", enter)
    monkeypatch.setattr(Neighbours, "__exit__", lambda *_: None)
    runs = Runs((AssertionError("a socket overflowed"), 0.0), (None, 0.0))
    made(runs, monkeypatch)
    assert runs.ends == []


def test_an_undisturbed_run_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="wrong"):
        made(Runs((AssertionError("wrong"), 0.4)), monkeypatch)


def test_the_third_run_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="the third"):
        made(Runs(*((AssertionError(f"the {number}"), 2.0) for number in ("first", "second", "third"))), monkeypatch)
