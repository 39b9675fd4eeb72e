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
    "coredns-gc": {
        "fault", "limit", "gogc", "gomaxprocs", "burst",
        "overload", "request-burst", "periodic-burst", "gc-spiral", "healthy",
    },
    "nodelocal-dnsmasq": {
        "fault", "max-tcp-connections", "prefer-udp", "more-replicas", "slow-upstream", "edge", "healthy",
    },
    "search-domains": {"fault", "trailing-dot", "ndots", "nonexistent"},
    "coredns-oom": {"fault", "max-concurrent", "more-memory", "leak", "healthy"},
    "bpf-startup": {"fault", "pruned", "slow-image", "slow-start"},
    "negative-dentries": {"nss", "storm", "drop", "unmount", "files"},
}  # fmt: skip


@pytest.mark.parametrize("lab", VARIANTS)
def test_every_variant_is_recorded(lab: str) -> None:
    labels = [file.load(path).labels for path in RECORDINGS]
    assert {one["variant"] for one in labels if one["lab"] == lab} == VARIANTS[lab]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_cause_that_is_there(path: Path) -> None:
    recording = file.load(path)
    expected, also = recording.labels["expected"], recording.labels.get("also", "").split(",")
    hurt = [found for found in diagnose(snapshot_of(recording)).findings if found.severity is not None]
    assert [found.cause for found in hurt if found.cause not in also] == ([] if expected == "none" else [expected])


@pytest.mark.parametrize("path", [path for path in RECORDINGS if path.stem.startswith("coredns-gc")], ids=str)
def test_impact_is_what_the_lab_measured(path: Path) -> None:
    """The recording begins 5 s before the measured window; shares over both windows must be close."""
    recording = file.load(path)
    measured = json.loads(recording.labels["measured"])
    for found in diagnose(snapshot_of(recording)).findings:
        if found.severity is None:
            continue
        assert found.impact.slow_ratio == pytest.approx(measured["slow_share"], rel=0.35)
        assert found.impact.throttled_ratio == pytest.approx(measured["throttled_ratio"], rel=0.35)
