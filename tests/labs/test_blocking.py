"""How long a process's threads were blocked, from samples of their states."""

from __future__ import annotations

import os

import pytest

from labs.blocking import BlockedThreads


@pytest.mark.parametrize(
    ("blocked", "seconds"),
    [
        ([(0, 0), (10_000, 1), (20_000, 2)], 0.03),
        ([(0, 0), (3_000_000, 1)], 0.05),  # the machine stood still: for how long the thread waited, nobody saw
        ([(0, 8), (3_000_000, 7)], 21.0),
    ],
    ids=["in time", "late", "late, and blocked all the time"],
)
def test_a_sample_stands_for_the_time_since_the_one_before(blocked: list[tuple[int, int]], seconds: float) -> None:
    threads = BlockedThreads(os.getpid())
    threads._rows = [(at_us, count, 0, 0) for at_us, count in blocked]
    assert threads.blocked_s(0, 3_000_000) == pytest.approx(seconds)
