"""Thousands of hostile batches: each is rejected with a clear error, none with a 5xx; the good ones are stored.

`make test-labs`, which sets JITTERSCOPE_HOSTILE_BATCHES, sends 10,000.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import zstandard
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series import service as series
from tests.support.batches import CGROUP, DNS_SERVER, PROCESS, TICK_US, BatchBuilder, now_us
from tests.support.captures import capture

COUNT = int(os.environ.get("JITTERSCOPE_HOSTILE_BATCHES", "2000"))
DAY_US = 86_400_000_000
# So far ahead that no clock change explains it: the whole batch is rejected.
FAR_US = 1300 * DAY_US
Random = np.random.Generator


def compressed(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(content)


def good(spool: bytes, sequence: int, start_us: int) -> BatchBuilder:
    """What a collector sends, of every kind, but small."""
    builder = BatchBuilder("node-good", spool, sequence)
    cgroup = builder.resource(CGROUP, "/a", 0)
    process = builder.resource(PROCESS, "1:1", cgroup)
    server = builder.resource(DNS_SERVER, "10.0.0.1:53", process)
    counts = {(cgroup, "cpu_usage_us"): np.full(2, float(sequence)), (cgroup, "cpu_periods"): np.ones(2)}
    builder.block(counts, start_us)
    builder.block({(cgroup, "memory_usage_bytes"): np.full(2, 1e9)}, start_us, encoding=pb.ENCODING_F64)
    builder.distribution(server, "dns_latency_us", start_us, [{3: 1}, {4: 2}])
    builder.fact(process, "go.version", "1.23.4")
    builder.batch.events.add(
        resource=process, kind="go.gc_cycle", start_us=start_us, duration_us=10, attributes={"a": "b"}
    )
    builder.batch.queries.add(
        server=server, start_us=start_us, end_us=start_us + 1000, offset_us=[1], latency_us=[2], result=[0], name=[0],
        client=[0], names=["a. A"], clients=["10.0.0.2"],
    )  # fmt: skip
    builder.batch.triggers.add(resource=cgroup, reason="throttled", at_us=start_us)
    builder.batch.captures.append(capture(start_us, seconds=1))
    builder.batch.sources.add(name="psi", state=pb.SOURCE_STATE_ACTIVE)
    return builder


def _set(path: str, value: Any) -> Callable[[pb.Batch, Random], None]:
    """Change one field: "blocks.0.step_us"."""

    def change(batch: pb.Batch, _: Random) -> None:
        target: Any = batch
        *parents, name = path.split(".")
        for part in parents:
            target = target[int(part)] if part.isdigit() else getattr(target, part)
        current = getattr(target, name)
        if hasattr(current, "extend"):
            del current[:]
            current.extend(value)
        else:
            setattr(target, name, value)

    change.__name__ = f"{path}={str(value)[:40]}"
    return change


def _resource_twice(batch: pb.Batch, _: Random) -> None:
    batch.resources.add(kind=CGROUP, key="/a", parent=0)


def _series_twice(batch: pb.Batch, _: Random) -> None:
    batch.blocks[0].metric[1] = batch.blocks[0].metric[0]


def _second_node(batch: pb.Batch, _: Random) -> None:
    batch.resources.add(kind=pb.RESOURCE_KIND_NODE, key="other", parent=0)


def _infinite(batch: pb.Batch, _: Random) -> None:
    batch.blocks[1].values = np.array([1.0, np.inf], "<f8").tobytes()


def _nul_attribute(batch: pb.Batch, _: Random) -> None:
    batch.events[0].attributes["x"] = "a\0b"


def _many_facts(batch: pb.Batch, _: Random) -> None:
    for number in range(20_001):
        batch.facts.add(resource=0, name="a.b", value=str(number), observed_at_us=batch.sealed_at_us)


def _many_captures(batch: pb.Batch, _: Random) -> None:
    for _number in range(17):
        batch.captures.append(batch.captures[0])


def _long_string(batch: pb.Batch, _: Random) -> None:
    batch.captures[0].strings[0] = "x" * 1025


def _unsorted(batch: pb.Batch, _: Random) -> None:
    batch.captures[0].offset_us[0] = batch.captures[0].offset_us[-1] + 1


def _deep_stack(batch: pb.Batch, _: Random) -> None:
    batch.captures[0].stacks[0].user.extend([0] * 513)


NOW = now_us()
CAPTURE_MUTATIONS: tuple[Callable[[pb.Batch, Random], None], ...] = (
    _many_captures, _deep_stack,
    _set("captures.0.resource", 4), _set("captures.0.resource", 2**32 - 1), _set("captures.0.reason", ""),
    _set("captures.0.reason", "'; DROP TABLE captures"), _set("captures.0.start_us", NOW + FAR_US),
    _set("captures.0.start_us", -(2**63)), _set("captures.0.end_us", 0), _set("captures.0.end_us", 2**63 - 1),
    _set("captures.0.rate_hz", float("nan")), _set("captures.0.rate_hz", float("inf")),
    _set("captures.0.rate_hz", -1.0),
    _set("captures.0.lost_samples", 2**64 - 1), _set("captures.0.strings", []), _long_string, _unsorted,
    _set("captures.0.processes.0.command", 2**32 - 1), _set("captures.0.processes.0.cgroup", "a\0"),
    _set("captures.0.processes.0.cgroup", "x" * 4097), _set("captures.0.stacks.0.kernel", [10_000]),
    _set("captures.0.offset_us", [2**32 - 1]), _set("captures.0.stack", []), _set("captures.0.process", [0]),
    _set("captures.0.cpu", [2**32 - 1]), _set("captures.0.row_offset_us", [1]), _set("captures.0.row_process", [7]),
    _set("captures.0.row_state", [0x10FFFF]), _set("captures.0.row_state", [0]), _set("captures.0.row_threads", []),
    _set("captures.0.wait_offset_us", [2**32 - 1]), _set("captures.0.wait_process", [7]),
    _set("captures.0.wait_thread", []), _set("captures.0.wait_name", [10_000]), _set("captures.0.wait_state", [0]),
    _set("captures.0.wait_call", [10_000]), _set("captures.0.wait_place", [10_000]),
    _set("captures.0.wait_stack", [10_000]),
)  # fmt: skip
# Each breaks the contract in one place; the value by itself would be stored or would crash something.
MUTATIONS: tuple[Callable[[pb.Batch, Random], None], ...] = (
    _set("spool_id", b"short"), _set("spool_id", b""), _set("sequence", 2**63), _set("dropped_batches", 2**64 - 1),
    _set("sealed_at_us", NOW + FAR_US), _set("sealed_at_us", 0), _set("sealed_at_us", -(2**63)),
    _set("sealed_at_us", 2**63 - 1), _set("sealed_at_us", NOW - 30 * DAY_US), _set("collector_version", "x" * 101),
    _set("collector_version", "a\0"), _set("resources.0.kind", 2), _set("resources.1.kind", 0),
    _set("resources.1.kind", 99), _set("resources.1.parent", 1), _set("resources.1.parent", 2**32 - 1),
    _set("resources.1.key", ""), _set("resources.1.key", "k" * 513), _set("resources.1.key", "a\0b"),
    _resource_twice, _second_node, _series_twice, _infinite, _nul_attribute, _many_facts,
    _set("blocks.0.start_us", NOW + 1), _set("blocks.0.start_us", NOW + FAR_US), _set("blocks.0.start_us", 0),
    _set("blocks.0.start_us", -(2**63)), _set("blocks.0.start_us", 2**63 - 1), _set("blocks.0.step_us", 0),
    _set("blocks.0.step_us", 1), _set("blocks.0.step_us", 2**32 - 1), _set("blocks.0.tick_count", 0),
    _set("blocks.0.tick_count", 3), _set("blocks.0.tick_count", 2**32 - 1), _set("blocks.0.encoding", 0),
    _set("blocks.0.encoding", 77), _set("blocks.0.resource", []), _set("blocks.0.resource", [1]),
    _set("blocks.0.resource", [1, 4]), _set("blocks.0.resource", [1, 2**32 - 1]), _set("blocks.0.resource", [1, 0]),
    _set("blocks.0.metric", [1, 4000]), _set("blocks.0.metric", [1, 2**32 - 1]), _set("blocks.0.metric", [1, 87]),
    _set("blocks.0.metric", [1]), _set("blocks.0.values", b""), _set("blocks.0.values", b"x" * 15),
    _set("distributions.0.metric", 1), _set("distributions.0.metric", 2**32 - 1), _set("distributions.0.resource", 9),
    _set("distributions.0.entries", [1]), _set("distributions.0.entries", [2, 1]),
    _set("distributions.0.entries", [2**32 - 1, 0]), _set("distributions.0.bucket", [1]),
    _set("distributions.0.bucket", [1, 5000]), _set("distributions.0.count", [1]),
    _set("facts.0.resource", 4), _set("facts.0.name", ""), _set("facts.0.name", "x" * 200),
    _set("facts.0.name", "'; DROP TABLE facts"), _set("facts.0.value", "x" * 65_537), _set("facts.0.value", "\0"),
    _set("facts.0.observed_at_us", NOW + FAR_US), _set("facts.0.observed_at_us", -1),
    _set("events.0.resource", 4), _set("events.0.kind", "Bad Kind"), _set("events.0.duration_us", 2**64 - 1),
    _set("events.0.start_us", NOW + FAR_US), _set("events.0.start_us", 2**63 - 1),
    _set("queries.0.server", 1), _set("queries.0.server", 2**32 - 1), _set("queries.0.end_us", 0),
    _set("queries.0.end_us", 2**63 - 1), _set("queries.0.offset_us", [5000]), _set("queries.0.offset_us", [1, 2]),
    _set("queries.0.latency_us", []), _set("queries.0.result", []), _set("queries.0.name", [1]),
    _set("queries.0.client", [2**32 - 1]), _set("queries.0.names", ["x" * 301]), _set("queries.0.names", ["\0"]),
    _set("queries.0.clients", []), _set("queries.0.queue_wait_us", [1, 2]),
    _set("triggers.0.resource", 4), _set("triggers.0.reason", "NO"), _set("triggers.0.at_us", NOW + FAR_US),
    *CAPTURE_MUTATIONS,
    _set("sources.0.name", ""), _set("sources.0.state", 0), _set("sources.0.state", 44),
    _set("sources.0.detail", "x" * 2001), _set("sources.0.needs", "\0"),
)  # fmt: skip


def _mutated(random: Random, content: pb.Batch, number: int) -> bytes:
    batch = pb.Batch()
    batch.CopyFrom(content)
    MUTATIONS[number % len(MUTATIONS)](batch, random)
    return compressed(batch.SerializeToString())


def _truncated(random: Random, content: pb.Batch, _: int) -> bytes:
    whole = compressed(content.SerializeToString())
    return whole[: int(random.integers(0, len(whole) - 1))]


def _truncated_inside(random: Random, content: pb.Batch, _: int) -> bytes:
    # Cut within the first resource: the rest can never be a whole message.
    whole = content.SerializeToString()
    return compressed(whole[: whole.index(b"node-good") + int(random.integers(1, 8))])


def _flipped(random: Random, content: pb.Batch, _: int) -> bytes:
    whole = bytearray(compressed(content.SerializeToString()))
    whole[int(random.integers(0, 4))] ^= 0xFF  # the frame's magic number
    return bytes(whole)


def _noise(random: Random, _content: pb.Batch, _: int) -> bytes:
    return random.bytes(int(random.integers(0, 4000)))


def _noise_in_a_frame(random: Random, _content: pb.Batch, _: int) -> bytes:
    return compressed(b"\xff" + random.bytes(int(random.integers(1, 4000))))


def _two_frames(_random: Random, content: pb.Batch, _: int) -> bytes:
    return compressed(content.SerializeToString()) * 2


BOMBS = (
    compressed(bytes(65 * 1024 * 1024)),  # states its size
    zstandard.ZstdCompressor(write_content_size=False).compress(bytes(65 * 1024 * 1024)),  # does not
)
MAKERS = (_mutated, _mutated, _mutated, _truncated, _truncated_inside, _flipped, _noise, _noise_in_a_frame, _two_frames)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_hostile_batches(client: TestClient, organization: Any, other_organization: Any) -> None:
    random = np.random.default_rng(3)
    spool, hostile_spool = secrets.token_bytes(16), secrets.token_bytes(16)
    start_us = NOW - 3600 * 10 * TICK_US
    template = good(hostile_spool, 10**6, start_us).batch
    statuses: Counter[int] = Counter()
    slugs: Counter[str] = Counter()
    stored = 0
    for number in range(COUNT):
        body = MAKERS[number % len(MAKERS)](random, template, number // len(MAKERS))
        headers = organization.ingest_headers
        if number % 500 == 1:
            body = BOMBS[number // 500 % 2]
        elif number % 500 == 2:
            body = random.bytes(8 * 1024 * 1024 + 1)
        elif number % 100 == 3:
            body = compressed(template.SerializeToString())
            headers = {"Authorization": f"Bearer {['jsi_wrong', 'x', '', organization.api_token][number // 100 % 4]}"}
        answer = client.post("/api/v1/ingest", content=body, headers=headers)
        statuses[answer.status_code] += 1
        mutation = MUTATIONS[number // len(MAKERS) % len(MUTATIONS)].__name__
        assert 400 <= answer.status_code < 500, (number, mutation, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        slugs[problem["type"].rpartition(":")[2]] += 1
        assert problem["detail"]
        assert problem["what_to_do"]
        if number % 50 == 0:
            stored += 1
            body = good(spool, stored, start_us + stored * 2 * TICK_US).body()
            answer = client.post("/api/v1/ingest", content=body, headers=organization.ingest_headers)
            assert answer.json() == {"duplicate": False, "too_old": 0}, answer.text
    assert statuses.total() == COUNT
    assert set(statuses) == {400, 401, 403, 413}
    expected = {"malformed-batch", "clock-ahead", "too-old", "batch-too-large", "unauthenticated", "missing-scope"}
    assert set(slugs) == expected
    check_stored(organization.id, spool, stored, start_us)
    with db.organization_session(other_organization.id) as session:
        assert session.execute(text("SELECT count(*) FROM resources")).scalar_one() == 0


def check_stored(organization_id: int, spool: bytes, stored: int, start_us: int) -> None:
    """All of the good batches are stored, and nothing of the others."""
    with db.organization_session(organization_id) as session:
        spools = session.execute(text("SELECT spool_id, count(*) AS n FROM ingest_batches GROUP BY 1")).all()
        assert [(row.spool_id, row.n) for row in spools] == [(spool, stored)]
        (cgroup,) = session.execute(text("SELECT id FROM resources WHERE kind = 'cgroup'")).scalars()
        window = (start_us + 2 * TICK_US, start_us + 2 * (stored + 1) * TICK_US)
        usage = series.read_series(session, [cgroup], ["cpu_usage_us"], *window)[cgroup, "cpu_usage_us"]
        np.testing.assert_array_equal(usage, np.repeat(np.arange(1.0, stored + 1), 2))
        for table in ("distributions", "events", "query_blocks"):
            assert session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == stored
        assert session.execute(text("SELECT count(*) FROM facts")).scalar_one() == 1
