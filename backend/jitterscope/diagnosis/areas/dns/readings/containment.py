"""Matches single queries across two servers by time: a forwarded query lies inside the one that caused it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.query_results import GIVEN_UP_US, TIMEOUT
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, Queries

# The two captures see packets at slightly different points.
TOLERANCE_US = 300
MOST_COMPARED = 2_000


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of queries: index at the forwarding server (`outer`) and at its upstream (`inner`); times in µs.

    `before_us` is how long the query stayed at the forwarding server before it was sent on, `inner_us` the upstream's
    time, `after_us` from its answer to the forwarding server's own.
    """

    outer: IntArray
    inner: IntArray
    before_us: FloatArray
    inner_us: FloatArray
    after_us: FloatArray


def match(outer: Queries, inner: Queries) -> Matches:
    """Match each forwarded query with the one that waited for it.

    Of those that began before it, that is the first to be answered after it: a forwarder answers as soon as its
    upstream does, so the ends identify pairs even if many wait. Queries without an answer match nothing.
    """
    ends = outer.sent_us + outer.latency_us
    answered = np.flatnonzero(outer.result != TIMEOUT)
    order = answered[np.argsort(ends[answered], kind="stable")]
    free_ends = [int(value) for value in ends[order]]
    following = list(range(len(order) + 1))  # union-find: the next candidate not taken

    def free(index: int) -> int:
        while following[index] != index:
            following[index] = following[following[index]]
            index = following[index]
        return index

    pairs: list[tuple[int, int]] = []
    inner_ends = inner.sent_us + inner.latency_us
    came = np.flatnonzero(inner.result != TIMEOUT)
    for number in came[np.argsort(inner_ends[came], kind="stable")]:
        index = free(bisect_left(free_ends, int(inner_ends[number]) - TOLERANCE_US))
        latest = int(inner.sent_us[number]) + TOLERANCE_US
        # A few of those answered next can have begun later: they do not match.
        for _ in range(8):
            if index >= len(order) or int(outer.sent_us[order[index]]) <= latest:
                break
            index = free(index + 1)
        if index >= len(order) or int(outer.sent_us[order[index]]) > latest:
            continue
        pairs.append((int(order[index]), int(number)))
        following[index] = index + 1
    rows = np.array(pairs or np.zeros((0, 2)), dtype=np.int64).reshape(-1, 2)
    first, second = rows[:, 0], rows[:, 1]
    return Matches(
        outer=first,
        inner=second,
        before_us=np.maximum(0, inner.sent_us[second] - outer.sent_us[first]).astype(np.float64),
        inner_us=inner.latency_us[second].astype(np.float64),
        after_us=np.maximum(0, ends[first] - inner_ends[second]).astype(np.float64),
    )


def contained_ratio(outer: Queries | None, inner: Queries | None) -> tuple[float, int]:
    """(share of the inner queries that lie inside a separate query of the outer server, number compared).

    The absence of such a query is only meaningful if both kept every query.
    """
    if outer is None or inner is None or not outer.complete or not inner.complete:
        return 0.0, 0
    low = max(outer.complete[0][0], inner.complete[0][0])
    high = min(outer.complete[-1][1], inner.complete[-1][1])
    # The partner of a query that began before, or ends after, is outside.
    chosen = (
        (inner.sent_us >= low + GIVEN_UP_US) & (inner.sent_us + inner.latency_us < high) & (inner.result != TIMEOUT)
    )
    if not chosen.any():
        chosen = (inner.sent_us >= low) & (inner.sent_us + inner.latency_us < high) & (inner.result != TIMEOUT)
    count = int(chosen.sum())
    if not count:
        return 0.0, 0
    # The newest are enough, and bound the work.
    newest = np.flatnonzero(chosen)[-MOST_COMPARED:]
    part = Queries(inner.sent_us[newest], inner.latency_us[newest], inner.result[newest])
    around = outer.sent_us + outer.latency_us >= int(part.sent_us[0]) - TOLERANCE_US
    whole = Queries(outer.sent_us[around], outer.latency_us[around], outer.result[around])
    return len(match(whole, part).inner) / len(newest), len(newest)
