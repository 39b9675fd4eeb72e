"""Which live labs a commit runs: a sixteenth of them in rotation, and whatever no recording covers.

Runs are marked where they are declared, with `live(seconds, cause)`. JITTERSCOPE_LABS chooses: `all` (or nothing), a
part `1` to `16`, or `turn`, the part whose turn it is by the commit. docs/decisions/0075 says why.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

PARTS = 16
NO_CAUSE = "none"
CPUS = 1.5  # of a server, its clients, and the product, for most labs
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Run:
    """One live run.

    `seconds`: its time on 2 cores, for an even distribution. `cause`: what it must end with, or "none". `by_turn`:
    False for a long one, which only `make test-labs` makes.
    """

    name: str
    seconds: float
    cause: str = NO_CAUSE
    by_turn: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """The part that runs, counted from 1, and how it was chosen."""

    part: int
    why: str


def live(
    seconds: float, cause: str = NO_CAUSE, *, cpus: float = CPUS, together: str = "", by_turn: bool = True
) -> pytest.MarkDecorator:
    """Marks a live run. `cpus`: CPUs it needs exclusively. `together`: a name for a run that tests share."""
    return pytest.mark.live(seconds=seconds, cause=cause, cpus=cpus, together=together, by_turn=by_turn)


def runs_of(items: Iterable[pytest.Item]) -> dict[Run, list[pytest.Item]]:
    """The live runs among collected tests, each with its tests."""
    found: dict[Run, list[pytest.Item]] = {}
    for item in items:
        if (mark := item.get_closest_marker("live")) is not None:
            told = mark.kwargs
            run = Run(told["together"] or item.nodeid, told["seconds"], told["cause"], told["by_turn"])
            found.setdefault(run, []).append(item)
    return found


def parts(runs: Iterable[Run]) -> list[set[Run]]:
    """Each run in one of the parts, all of about equal time: the longest first, into the part with the least so far."""
    shared: list[set[Run]] = [set() for _ in range(PARTS)]
    for run in sorted(runs, key=lambda one: (-one.seconds, one.name)):
        min(shared, key=seconds).add(run)
    return shared


def seconds(runs: Iterable[Run]) -> float:
    return sum(run.seconds for run in runs)


def held_by_nothing_else(runs: Iterable[Run], recorded: Iterable[str]) -> set[Run]:
    """For each cause that no recording shows, the shortest run that makes it."""
    shortest: dict[str, Run] = {}
    for run in sorted(runs, key=lambda one: (one.seconds, one.name)):
        shortest.setdefault(run.cause, run)
    return {run for cause, run in shortest.items() if cause not in {NO_CAUSE, *recorded}}


def turn(chosen: str, root: Path) -> Turn | None:
    """What JITTERSCOPE_LABS selects; None: every run. Raises ValueError if it is not one of its values."""
    if chosen in ("", "all"):
        return None
    if chosen == "turn":
        return _by_commit(root)
    if chosen.isdecimal() and 1 <= int(chosen) <= PARTS:
        return Turn(int(chosen), f"JITTERSCOPE_LABS={chosen}")
    raise ValueError(f"JITTERSCOPE_LABS={chosen}: want all, turn, or a part from 1 to {PARTS}")


def _by_commit(root: Path) -> Turn:
    """Consecutive commits have consecutive parts; without a full history (no git, a shallow clone) days do."""
    shallow = _git(root, "rev-parse", "--is-shallow-repository")
    count = _git(root, "rev-list", "--count", "--first-parent", "HEAD")
    if shallow == "false" and count is not None:
        return Turn(int(count) % PARTS + 1, f"commit {count}")
    return Turn(int(time.time() // _DAY_S) % PARTS + 1, "the day, for want of a whole git history")


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def selected(runs: Sequence[Run], now: Turn, recorded: Iterable[str]) -> set[Run]:
    """What runs in this turn."""
    dealt = [run for run in runs if run.by_turn]
    return parts(dealt)[now.part - 1] | held_by_nothing_else(dealt, recorded)


def told(runs: Sequence[Run], chosen: set[Run], now: Turn) -> str:
    """A line for the header of a test run."""
    return (
        f"Labs: part {now.part} of {PARTS} ({now.why}): {len(chosen)} of {len(runs)} live runs, about "
        f"{seconds(chosen) / 60:.0f} min; recordings hold the others. All of them: make test-labs"
    )
