"""The time during which late answers were pending, compared with a count per millisecond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jitterscope.diagnosis.core import held_up
from jitterscope.diagnosis.core.snapshot import Queries, Snapshot
from tests.diagnosis.scenarios import built

MS = 1_000
ANSWERS = st.lists(st.tuples(st.integers(0, 2_900), st.integers(1, 400)), min_size=1, max_size=30)


def answered(answers: list[tuple[int, int]]) -> Snapshot:
    """A snapshot of 30 ticks whose server sent these answers: begin and duration in ms."""
    whole = built("gc_pause/JVM")
    (server,) = whole.tcp_servers
    sent, took = (np.array([one[at] * MS for one in answers], np.int64) for at in (0, 1))
    queries = Queries(whole.start_us + sent, took.astype(np.int32), np.zeros(len(answers), np.int8))
    return replace(whole, ticks=30, tcp_servers=(replace(server, queries=queries),))


@given(ANSWERS)
def test_time_of_late_answers(answers: list[tuple[int, int]]) -> None:
    late = [(begun, took) for begun, took in answers if took > 30 and begun + took <= 3_000]
    busy = {at for begun, took in late for at in range(begun, begun + took)}
    want = [MS * sum(at in busy for at in range(tick * 100, tick * 100 + 100)) for tick in range(30)]
    assert held_up.late_time_us(answered(answers), 30 * MS).tolist() == want
