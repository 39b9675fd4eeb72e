"""Slow answers of a start-up do not hide the fault that follows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jitterscope.diagnosis.core import recent
from jitterscope.diagnosis.core.engine import detect
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.recordings import file
from jitterscope.recordings.snapshots import snapshot_of

RECORDING = file.load(Path(__file__).parents[2] / "fixtures" / "hidden-causes" / "gc-pause-after-start.jitterscope")


def until(tick: int) -> Snapshot:
    return snapshot_of(RECORDING, RECORDING.start_us, RECORDING.start_us + tick * 100_000)


def test_the_fault_is_found_while_the_start_is_in_the_window(service: Any) -> None:
    whole = detect(snapshot_of(RECORDING))
    assert [found.cause for found in whole.findings] == ["unexplained/slow_answers"]
    outcome = service.diagnose(service.feed(RECORDING))
    assert outcome.causes == ["runtime/gc_pause"]
    (incident,) = service.get("/incidents")["items"]
    assert (incident["cause"], incident["confidence"]) == ("runtime/gc_pause", "high")


def test_what_is_slow_all_the_time_is_looked_at_as_a_whole() -> None:
    """The start-up itself is not hidden by anything, and 30 s have no earlier part."""
    for tick in (450, 700):
        snapshot = until(tick)
        assert not recent.is_hidden(snapshot, detect(snapshot))
    end = snapshot_of(RECORDING, RECORDING.end_us - recent.RECENT_US, RECORDING.end_us)
    assert not recent.is_hidden(end, detect(end))
    assert recent.shows(detect(end))


def test_an_explained_window_is_not_looked_at_again() -> None:
    snapshot = snapshot_of(RECORDING)
    known = detect(snapshot_of(RECORDING, RECORDING.end_us - recent.RECENT_US, RECORDING.end_us))
    assert recent.is_hidden(snapshot, detect(snapshot))
    assert not recent.is_hidden(snapshot, known)
