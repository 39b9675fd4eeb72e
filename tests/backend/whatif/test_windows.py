"""The cache of prepared windows: few, short-lived, made once."""

from __future__ import annotations

import threading
import time

import pytest

from jitterscope.whatif.windows import RecentWindows


def test_it_is_made_once_and_held() -> None:
    made: list[str] = []
    held: RecentWindows[str] = RecentWindows(2, 10.0)
    for _ in range(3):
        assert held.get("a", lambda: made.append("a") or "A") == "A"  # type: ignore[func-returns-value]
    assert made == ["a"]


def test_the_least_recently_used_goes_first() -> None:
    held: RecentWindows[int] = RecentWindows(2, 10.0)
    for key in ("a", "b", "a", "c"):
        held.get(key, lambda: 1)
    assert len(held) == 2
    assert held.get("a", lambda: 2) == 1
    assert held.get("b", lambda: 2) == 2


def test_nothing_is_older_than_its_time() -> None:
    now = [0.0]
    held: RecentWindows[int] = RecentWindows(4, 10.0, lambda: now[0])
    held.get("a", lambda: 1)
    held.get("b", lambda: 1)
    now[0] = 10.1
    assert held.get("a", lambda: 2) == 2
    assert len(held) == 1, "what is too old is not kept in memory"


def test_what_fails_is_not_held() -> None:
    held: RecentWindows[int] = RecentWindows(2, 10.0)

    def fail() -> int:
        raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        held.get("a", fail)
    assert held.get("a", lambda: 7) == 7


def test_two_who_ask_at_once_make_one() -> None:
    made: list[int] = []
    held: RecentWindows[int] = RecentWindows(2, 10.0)

    def slowly() -> int:
        made.append(1)
        time.sleep(0.05)
        return 1

    threads = [threading.Thread(target=held.get, args=("a", slowly)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
