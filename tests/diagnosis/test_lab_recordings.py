"""Real lab runs, faults and look-alikes, as the product stored them: the engine names what is really there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jitterscope.diagnosis.engine import diagnose
from jitterscope.recordings import file
from jitterscope.recordings.snapshots import snapshot_of

FOLDER = Path(__file__).parents[1] / "fixtures" / "recordings"
RECORDINGS = sorted(FOLDER.glob("*.jitterscope"))
VARIANTS = {
    "fault", "limit", "gogc", "gomaxprocs", "burst",
    "overload", "request-burst", "periodic-burst", "gc-spiral", "healthy",
}  # fmt: skip


def test_every_variant_is_recorded() -> None:
    assert {file.load(path).labels["variant"] for path in RECORDINGS} == VARIANTS


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_cause_that_is_there(path: Path) -> None:
    recording = file.load(path)
    expected = recording.labels["expected"]
    hurt = [found for found in diagnose(snapshot_of(recording)).findings if found.severity is not None]
    assert [found.cause for found in hurt] == ([] if expected == "none" else [expected])


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_impact_is_what_the_lab_measured(path: Path) -> None:
    """The recording begins 5 s before the measured window; shares over both windows must be close."""
    recording = file.load(path)
    measured = json.loads(recording.labels["measured"])
    for found in diagnose(snapshot_of(recording)).findings:
        if found.severity is None:
            continue
        assert found.impact.slow_ratio == pytest.approx(measured["slow_share"], rel=0.35)
        assert found.impact.throttled_ratio == pytest.approx(measured["throttled_ratio"], rel=0.35)
