"""Times of queries without their names: each query once, however many captures contain it."""

from __future__ import annotations

import numpy as np

from jitterscope.series.read_queries import _distinct


def part(number: int, *rows: tuple[int, int, int, int]) -> tuple[np.ndarray, ...]:
    """A capture: (sent, latency, result, wait) of each query."""
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    return (*columns, np.full(len(rows), number))


def times(*parts: tuple[np.ndarray, ...]) -> list[tuple[int, int, int, int]]:
    found = _distinct(parts, True, ())
    assert found.queue_wait_us is not None
    return list(
        zip(found.sent_us.tolist(), found.latency_us.tolist(), found.result.tolist(), found.queue_wait_us.tolist(),
            strict=True)
    )  # fmt: skip


def test_captures_that_follow_one_another_stay_as_they_are() -> None:
    assert times(part(0, (1, 5, 0, -1), (2, 5, 0, -1)), part(1, (3, 5, 0, 7))) == [
        (1, 5, 0, -1), (2, 5, 0, -1), (3, 5, 0, 7),
    ]  # fmt: skip


def test_a_query_of_two_captures_counts_once_and_keeps_its_wait() -> None:
    assert times(part(0, (1, 5, 0, 7), (4, 5, 0, -1)), part(1, (1, 5, 0, -1), (3, 9, 2, 2))) == [
        (1, 5, 0, 7), (3, 9, 2, 2), (4, 5, 0, -1),
    ]  # fmt: skip


def test_equal_queries_of_one_capture_are_different_ones() -> None:
    twice = ((1, 5, 0, -1), (1, 5, 0, -1))
    assert times(part(0, *twice)) == list(twice)
    assert times(part(0, *twice), part(1, (1, 5, 0, -1))) == list(twice)
    assert times(part(0, (1, 5, 0, -1)), part(1, *twice)) == list(twice)
