"""The number of pods of a workload over time."""

from __future__ import annotations

from jitterscope.changes.scaling import Pod, Scaling, scalings

MINUTE_US = 60 * 1_000_000
NOW = 24 * 60


def pods(*lives: tuple[int, int]) -> list[Pod]:
    """By the minutes in which they were created and last seen; their node is heard from until now."""
    return [Pod(created * MINUTE_US, seen * MINUTE_US, NOW * MINUTE_US) for created, seen in lives]


def found(of: list[Pod], since: int = 0) -> list[tuple[float, int, int]]:
    return [(one.at_us / MINUTE_US, one.before, one.after) for one in scalings(of, since * MINUTE_US)]


def test_pods_that_come_and_go() -> None:
    assert found([]) == []
    assert found(pods((1, NOW))) == []
    assert found(pods((1, NOW), (100, NOW), (101, NOW))) == [(100, 1, 3)]
    assert found(pods((1, NOW), (100, 500))) == [(100, 1, 2), (500, 2, 1)]
    assert found(pods((1, NOW), (100, 500)), since=200) == [(500, 2, 1)]


def test_an_autoscaler_that_goes_step_by_step_is_one_change() -> None:
    assert found(pods((1, NOW), (100, NOW), (105, NOW), (112, NOW))) == [(100, 1, 4)]


def test_a_workload_that_is_scaled_soon_after_it_was_created() -> None:
    def of(revisions: str, *created_s: int) -> list[tuple[float, int, int]]:
        told = [Pod(at_s * 1_000_000, NOW * MINUTE_US, NOW * MINUTE_US, one) for one, at_s in
                zip(revisions, created_s, strict=True)]  # fmt: skip
        return [(one.at_us / 1e6, one.before, one.after) for one in scalings(told, 0, at_once=True)]

    assert of("aaaa", 1, 2, 200, 215) == [(200, 2, 4)]
    # All of one creation; a rollout, which creates its pods one after another; and one that is not known to be none.
    assert of("aaa", 1, 2, 50) == []
    assert of("aab", 1, 2, 200) == []
    assert found(pods((1, NOW), (5, NOW))) == []


def test_replaced_pods_are_no_change() -> None:
    rolled = pods((1, 101), (1, 104), (1, 109), (100, NOW), (103, NOW), (108, NOW))
    assert found(rolled) == []
    # Stopped first, and ready minutes later.
    assert found(pods((1, 100), (108, NOW))) == []


def test_a_pod_that_waits_for_its_restart_is_there() -> None:
    assert found(pods((1, NOW), (1, NOW - 5))) == []
    assert found(pods((1, NOW), (1, NOW - 8))) == [(NOW - 8, 2, 1)]


def test_to_none_and_back() -> None:
    assert found(pods((1, 100), (200, NOW))) == [(100, 1, 0), (200, 0, 1)]


def test_nothing_is_told_of_the_time_when_a_node_was_silent() -> None:
    silent = Pod(1, 300 * MINUTE_US, 300 * MINUTE_US)
    assert found([silent, *pods((1, NOW), (100, NOW), (400, NOW))]) == [(100, 2, 3)]
    # A pod that ended before it fell silent is known to be gone.
    ended = Pod(1, 200 * MINUTE_US, 300 * MINUTE_US)
    assert found([ended, *pods((1, NOW), (400, NOW))]) == [(200, 2, 1), (400, 1, 2)]


def test_a_change_is_told_once() -> None:
    assert list(scalings(pods((1, NOW), (100, NOW)), 0)) == [Scaling(100 * MINUTE_US, 1, 2)]
