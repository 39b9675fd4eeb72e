"""Real lab runs, faults and look-alikes, as the product stored them: the engine names the actual cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jitterscope.diagnosis.areas.dns.readings.amplification import amplification
from jitterscope.diagnosis.core.engine import diagnose
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
        "fault", "max-tcp-connections", "prefer-udp", "more-replicas", "slow-upstream", "edge", "pool-churn",
        "healthy",
    },
    "search-domains": {"fault", "trailing-dot", "ndots", "nonexistent"},
    "dns-forward": {"rate-limited", "udp-loss", "no-negative-cache", "negative-cache", "one-socket", "healthy"},
    "coredns-oom": {"fault", "max-concurrent", "more-memory", "leak", "reclaim", "healthy"},
    "bpf-startup": {"fault", "pruned", "slow-image", "slow-start"},
    "negative-dentries": {"nss", "storm", "drop", "unmount", "files"},
    "service-gc": {"go", "grpc", "jvm-parallel", "jvm-g1", "node", "ruby", "gc-pause", "overload", "healthy"},
    "noisy-neighbour": {"fault"},
    "disk-stall": {"fault"},
    "page-cache": {"fault"},
    "slow-dependency": {"fault", "heavy-query"},
    "event-loop": {"fault-node", "fault-python"},
    "accept-queue": {"fault", "connect-churn"},
    "packet-loss": {"fault"},
}  # fmt: skip


@pytest.mark.parametrize("lab", VARIANTS)
def test_every_variant_is_recorded(lab: str) -> None:
    labels = [file.load_labels(path) for path in RECORDINGS]
    assert {one["variant"] for one in labels if one["lab"] == lab} == VARIANTS[lab]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_cause_that_is_there(path: Path) -> None:
    recording = file.load(path)
    expected, also = recording.labels["expected"], recording.labels.get("also", "").split(",")
    findings = diagnose(snapshot_of(recording)).findings
    hurt = [found for found in findings if found.severity is not None]
    assert [found.cause for found in hurt if found.cause not in also] == ([] if expected == "none" else [expected])


@pytest.mark.parametrize("path", [path for path in RECORDINGS if path.stem.startswith("coredns-gc")], ids=str)
def test_impact_is_what_the_lab_measured(path: Path) -> None:
    """The recording begins 5 s before the measured window; shares over both windows must be close."""
    recording = file.load(path)
    measured = json.loads(recording.labels["measured"])
    for found in diagnose(snapshot_of(recording)).findings:
        if found.severity is None:
            continue
        assert found.impact["slow_ratio"] == pytest.approx(measured["slow_share"], rel=0.35)
        assert found.impact["throttled_ratio"] == pytest.approx(measured["throttled_ratio"], rel=0.35)


def test_ndots_does_what_it_promised() -> None:
    """The prediction made from the fault, and the recording of the same pods with the fix."""
    before, after = (
        snapshot_of(file.load(FOLDER / f"search-domains-{variant}.jitterscope")) for variant in ("fault", "ndots")
    )
    (found,) = (one for one in diagnose(before).findings if one.cause == "dns/search_domain_amplification")
    (fix,) = (one for one in found.fixes if one.id == "ndots")
    promised = fix.predicted["queries_per_lookup"]
    measured = amplification(after).queries_per_name
    assert promised.low - 0.1 <= measured <= promised.high + 0.1
    assert amplification(before).queries_per_name > 5 * measured
