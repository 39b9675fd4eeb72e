"""When an upstream counts as silent: queries wait at it, and clients in front wait for them."""

from __future__ import annotations

import numpy as np
import pytest

from jitterscope.diagnosis.areas.dns.readings.upstream_time import _overdue
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.telemetry import view

TICKS, SILENT_FROM, LIMIT_US = 120, 60, 100_000.0


def _server(number: int, queries: FloatArray, answers: FloatArray, inflight: FloatArray) -> ResourceView:
    columns = {"dns_queries": queries, "dns_answers": answers, "dns_inflight": inflight}
    return view(number, "dns_server", f"10.0.0.{number}:53", columns, {})


def _silent(asker: ResourceView, target: ResourceView) -> list[int]:
    """Seconds in which the target was silent; its answers take 2 ms."""
    node = view(0, "node", "node-1", {}, {})
    snapshot = Snapshot(0, TICKS, node, node, dns_servers=(asker, target))
    held = target.series["dns_answers"] * 2_000 / snapshot.step_us
    _, _, silent = _overdue(snapshot, asker, target, LIMIT_US, np.zeros(TICKS), held)
    return np.flatnonzero(silent).tolist()


@pytest.mark.parametrize("ghosts", [0.0, 24.0, 200.0])
def test_answers_that_the_capture_missed_are_not_waited_for_when_the_load_ends(ghosts: float) -> None:
    busy = np.where(np.arange(TICKS) < SILENT_FROM, 50.0, 0.0)
    lost = np.where(np.arange(TICKS) < SILENT_FROM, ghosts / SILENT_FROM, 0.0)
    asker = _server(1, busy, busy, np.where(busy > 0, 2.0, 0.0))
    target = _server(2, busy, busy - lost, np.cumsum(lost) + 1.0)
    assert _silent(asker, target) == []


@pytest.mark.parametrize("goes_on", [True, False])
def test_an_upstream_that_answers_nothing_any_more_is_silent(goes_on: bool) -> None:
    """Whether or not it gets further queries: a dnsmasq whose children all wait sends none."""
    calm = np.arange(TICKS) < SILENT_FROM
    asked, at_target = np.full(TICKS, 50.0), np.where(calm | goes_on, 50.0, 0.0)
    at_target[SILENT_FROM] = 50.0
    answered = np.where(calm, 50.0, 0.0)
    waiting = np.cumsum(asked - answered)
    asker = _server(1, asked, answered, waiting)
    target = _server(2, at_target, answered, np.cumsum(at_target - answered))
    assert _silent(asker, target) == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(("dropped", "silent"), [(0.03, []), (0.5, list(range(1, 12)))])
def test_what_was_dropped_while_most_was_answered_is_no_silence_when_the_load_ends(
    dropped: float, silent: list[int]
) -> None:
    """A client waits for each of them; if it is half of all, silence cannot be distinguished from dropping."""
    busy = np.where(np.arange(TICKS) < SILENT_FROM, 50.0, 0.0)
    lost = dropped * busy
    waiting = np.minimum(np.cumsum(lost), dropped * 50.0 * 50)
    asker = _server(1, busy, busy - lost, waiting + 1.0)
    target = _server(2, busy, busy - lost, waiting + 1.0)
    assert _silent(asker, target) == silent
