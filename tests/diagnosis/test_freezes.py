"""Freezes of a whole node: when they were, and what they are taken for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.engine import detect
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.freezes import METRIC, freezes, late_in_freezes
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.kernel.node_freeze_scenario import FREEZES
from tests.diagnosis.scenarios import built, diagnosed

FROZEN = "neighbours/look-alike: the whole node freezes"


def late(*, looks_like_freezes: bool) -> Cause:
    """A cause that is always found."""
    [told] = diagnosed(FROZEN).findings
    cause = all_causes()["cpu/neighbours"]
    found: Found = told.model_copy(update={"cause": cause.id, "rivals": [], "fixes": []})
    return replace(cause, detect=lambda snapshot: found, rivals=(), looks_like_freezes=looks_like_freezes)


def unrecorded(snapshot: Snapshot) -> Snapshot:
    series = {name: values for name, values in snapshot.node.series.items() if name != METRIC}
    return replace(snapshot, node=replace(snapshot.node, series=series))


def test_a_freeze_is_known_from_the_first_tick_that_was_due() -> None:
    snapshot = built("node_freeze/paused by its host")
    found = freezes(snapshot)
    assert found is not None
    for one, (at_s, seconds) in zip(found, FREEZES, strict=True):
        begin_us, end_us = (snapshot.start_us + int(at * 1e6) for at in (at_s, at_s + seconds))
        assert 0 <= one.start_us - begin_us <= snapshot.step_us
        assert abs(one.end_us - end_us) <= 1


def test_what_waits_for_freezes_is_nothing_else() -> None:
    snapshot = built(FROZEN)
    hits, of = late_in_freezes(snapshot)
    assert hits >= 0.9 * of > 0
    said = detect(snapshot, [late(looks_like_freezes=True)])
    assert said.findings == []
    assert f"{hits:,} of {of:,} late answers waited for freezes of the whole node" in said.not_found[0].reason
    assert detect(snapshot, [late(looks_like_freezes=False)]).findings


def test_without_that_thread_nothing_is_taken_for_a_freeze() -> None:
    snapshot = unrecorded(built(FROZEN))
    assert freezes(snapshot) is None
    assert late_in_freezes(snapshot)[0] == 0
    assert detect(snapshot, [late(looks_like_freezes=True)]).findings


def test_without_answers_around_it_a_late_thread_is_no_freeze() -> None:
    """A node's single answers are read for a shorter time than its ticks."""
    snapshot = built("node_freeze/paused by its host")
    [server] = snapshot.dns_servers
    queries = server.queries
    assert queries is not None
    late = queries.sent_us >= snapshot.start_us + 60_000_000
    kept = replace(
        queries, sent_us=queries.sent_us[late], latency_us=queries.latency_us[late], result=queries.result[late]
    )
    found = freezes(replace(snapshot, dns_servers=(replace(server, queries=kept),)))
    assert found == (freezes(snapshot) or ())[2:]
    untimed = replace(snapshot, dns_servers=())
    assert len(freezes(untimed) or ()) == 3


def test_what_a_freeze_left_waiting_is_worked_off_after_it() -> None:
    """An answer that also waited for those before it counts, and one that took far longer than the freeze does not."""
    snapshot = built("node_freeze/paused by its host")
    [first, *_] = freezes(snapshot) or ()
    [server] = snapshot.dns_servers
    queries = server.queries
    assert queries is not None

    def counted(sent_us: int, took_us: int) -> int:
        one = replace(
            queries, sent_us=np.array([sent_us]), latency_us=np.array([took_us]), result=np.zeros(1, np.int64)
        )
        return late_in_freezes(replace(snapshot, dns_servers=(replace(server, queries=one),)))[0]

    assert counted(first.end_us - 50_000, 150_000) == 1
    assert counted(first.end_us - 50_000, 900_000) == 0
    assert counted(first.start_us - 500_000, 300_000) == 0
