"""The recording file keeps everything, and rejects what it cannot read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu import gc_throttling_scenario
from jitterscope.inventory.types import FactRow, SourceRow
from jitterscope.recordings import file
from jitterscope.recordings.merge import BadRecording
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.recordings.snapshots import load_recording, recording_of, snapshot_of
from jitterscope.series.types import StoredDistribution, StoredEvent, StoredQueries

START_US = 1_790_000_000_000_000
TICKS = 700  # more than one slice


def made() -> Recording:
    """Every kind of content, with values that need each width."""
    ticks = np.arange(TICKS, dtype=np.float64)
    usage = ticks * 1000
    usage[3] = np.nan
    zoomed = np.full(TICKS * 10, np.nan)
    zoomed[100:200] = 7.0
    sent = START_US + np.array([5, 29_999_999, 30_000_001, 40_000_000, 69_999_999])
    queries = StoredQueries(
        sent_us=sent, latency_us=np.array([100, 200, 90_000, 300, 400]), result=np.array([0, 0, 4, 3, 0]),
        name=np.array([0, 1, 0, 1, 2]), client=np.array([0, 0, 1, 0, 1]), names=("a. A", "b. A", "ü. AAAA"),
        clients=("10.0.0.1", "::1"), queue_wait_us=np.array([-1, 50, 60, -1, 70]),
        complete=((START_US + 29_000_000, START_US + 31_000_000),),
    )  # fmt: skip
    return Recording(
        start_us=START_US, ticks=TICKS, subject=1, labels={"lab": "coredns-gc", "expected": "cpu/gc_throttling"},
        sources=(SourceRow("psi", "unavailable", "not mounted", "Linux 4.20"), SourceRow("self", "active", "", "")),
        resources=(
            RecordedResource("node", "m1", "node 1", 0, series={"host_runnable": ticks % 5}),
            RecordedResource(
                "cgroup", "/a", "a", 0,
                series={"cpu_usage_us": usage, "memory_usage_bytes": ticks * 1e10 + 0.5, "cpu_periods": ticks * 0 + 1},
                zoomed={"cpu_usage_us": zoomed},
                facts=(
                    FactRow("cpu.quota_us", "50000", START_US), FactRow("cpu.quota_us", "9000", START_US + 33_000_000),
                ),
            ),
            RecordedResource(
                "process", "7:1", "coredns", 1,
                events=(StoredEvent(0, 0, "go.gc_cycle", START_US + 29_990_000, 500_000, {"source": "uprobe"}),),
            ),
            RecordedResource(
                "dns_server", "127.0.0.1:53", "coredns", 1, queries=queries,
                distributions={"dns_latency_us": StoredDistribution(
                    np.array([0, 0, 299, 300, 699]), np.array([10, 120, 5, 7, 9]), np.array([3, 1, 2, 70_000, 1])
                )},
            ),
        ),
    )  # fmt: skip


def same(one: Any, other: Any) -> bool:
    """Deep equality, in which NaN equals NaN in arrays."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, StoredQueries):  # names can be renumbered
        one, other = spelled(one), spelled(other)
        return same(one, other)
    if hasattr(one, "__dataclass_fields__"):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__)
    return bool(one == other)


def spelled(queries: StoredQueries) -> tuple[Any, ...]:
    names = [queries.names[i] for i in queries.name]
    clients = [queries.clients[i] for i in queries.client]
    columns = (queries.sent_us, queries.latency_us, queries.result, queries.queue_wait_us, queries.complete)
    return (*columns, names, clients)


def test_everything_survives(tmp_path: Path) -> None:
    recording = made()
    size = file.save(recording, tmp_path / "r.jitterscope")
    loaded = file.load(tmp_path / "r.jitterscope")
    for one, other in zip(recording.resources, loaded.resources, strict=True):
        assert same(one, other), one.kind
    assert same(recording, loaded)
    assert size == (tmp_path / "r.jitterscope").stat().st_size < 20_000
    assert [path.name for path in tmp_path.iterdir()] == ["r.jitterscope"]


def test_the_engine_says_the_same_of_a_recording(tmp_path: Path) -> None:
    snapshot = gc_throttling_scenario.SCENARIOS[0].build()
    before = diagnose(snapshot)
    file.save(recording_of(snapshot), tmp_path / "r.jitterscope")
    after = diagnose(load_recording(tmp_path / "r.jitterscope"))
    assert [found.cause for found in before.findings] == ["cpu/gc_throttling"]
    assert [found.cause for found in after.findings] == ["cpu/gc_throttling"]
    assert after.findings[0].impact == before.findings[0].impact
    assert after.findings[0].title == before.findings[0].title


def test_a_part_of_a_window() -> None:
    recording = made()
    part = snapshot_of(recording, START_US + 30_000_000, START_US + 40_000_000)
    assert isinstance(part, Snapshot)
    assert (part.start_us, part.ticks) == (START_US + 30_000_000, 100)
    assert part.subject.series["cpu_usage_us"][0] == 300_000
    assert part.subject.fact("cpu.quota_us") == "9000"
    assert part.dns_servers[0].queries is not None
    assert part.dns_servers[0].queries.sent_us.tolist() == [START_US + 30_000_001]
    assert part.dns_servers[0].queries.complete == ((START_US + 30_000_000, START_US + 31_000_000),)
    assert part.unavailable == {"psi": "not mounted (needs Linux 4.20)"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"", "not a recording"),
        (lambda content: b"PK" + content, "not a recording"),
        (lambda content: b"JITTREC9" + content[8:], "version is 9"),
        (lambda content: content[:-30], "cut off|damaged"),
        (lambda content: content[:200] + bytes([content[200] ^ 0xFF]) + content[201:], "damaged"),
        (lambda content: content[:8] + zstandard.compress(b"\xff\xff\xff\xff"), "exceeds the limit"),
        (lambda content: content[:8] + zstandard.compress(b"\x02\x00\x00\x00{}"), "damaged"),
        (lambda content: content[:8] + zstandard.compress(b"\x05\x00\x00\x00[1,2]"), "damaged"),
    ],
)
def test_what_is_not_a_recording_is_refused(change: Any, message: str) -> None:
    whole = io.BytesIO()
    file.write(made(), whole)
    content = whole.getvalue()
    with pytest.raises(BadRecording, match=message):
        file.read(io.BytesIO(change(content)))
