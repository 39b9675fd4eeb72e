"""Bodies of a few kilobytes that would take gigabytes when parsed: refused before that, and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import zstandard
from fastapi.testclient import TestClient

from jitterscope.ingest import limits, remote_write
from jitterscope.kit import protobuf_counts
from jitterscope.kit.protobuf_counts import Counted, TooMany
from jitterscope.pb import ingest_pb2 as pb
from tests.backend.ingest.remote_writer import every, post, request_of
from tests.support.batches import now_us
from tests.support.captures import capture
from tests.support.peak import peak_bytes

_MIB = 1024 * 1024
EXAMPLES = Path(__file__).parents[3] / "contracts" / "ingest" / "v1" / "examples"
COUNT = 4 * _MIB


def nested(field: int, content: bytes) -> bytes:
    """A submessage of up to 2^28 bytes."""
    size = len(content)
    length = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F | 0x80, size >> 21 & 0x7F])
    return bytes([field << 3 | 2]) + length + content


# Field numbers of ingest.proto: resources, captures, and what is in one capture, event, or block.
BATCHES = {
    "resources": b"\x2a\x00" * COUNT,
    "captures": b"\x72\x00" * COUNT,
    "stacks": nested(14, b"\x42\x00" * COUNT),
    "strings": nested(14, b"\x32\x00" * COUNT),
    "attributes": nested(9, b"\x2a\x00" * COUNT),
    "numbers": nested(7, nested(6, bytes(8 * COUNT))),
    "numbers, not packed": nested(7, b"\x30\x00" * COUNT),
    "unknown": b"\xa2\x06\x00" * COUNT,
}
WRITES = {
    "series": b"\x0a\x00" * COUNT,
    "labels": nested(1, b"\x0a\x00" * COUNT),
    "samples": nested(1, b"\x12\x00" * COUNT),
}


def used(api: TestClient) -> dict[str, int]:
    return {one["name"]: one["used"] for one in api.get("/api/v1/organizations/current/limits").json()}


@pytest.mark.usefixtures("early_in_a_minute")
@pytest.mark.parametrize("what", BATCHES)
def test_a_batch_is_counted_before_it_is_parsed(api: TestClient, organization: Any, what: str) -> None:
    content = BATCHES[what]
    body = zstandard.ZstdCompressor().compress(content)
    before = peak_bytes(anew=True)
    answer = api.post("/api/v1/ingest", content=body, headers=organization.ingest_headers)
    taken = peak_bytes() - before
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:jitterscope:problem:malformed-batch"), answer.text
    assert "more than" in answer.json()["detail"]
    assert taken < 2 * len(content) + 32 * _MIB, f"{taken / _MIB:.0f} MiB"
    assert used(api)["unpacked_bytes"] == len(content)
    assert used(api)["ingest_bytes"] == len(body)


@pytest.mark.usefixtures("early_in_a_minute")
@pytest.mark.parametrize("what", WRITES)
def test_a_write_is_counted_before_it_is_parsed(api: TestClient, organization: Any, what: str) -> None:
    content = WRITES[what]
    before = peak_bytes(anew=True)
    answer = post(api, organization, content)
    taken = peak_bytes() - before
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:jitterscope:problem:write-too-large"), answer.text
    assert taken < 3 * len(content) + 32 * _MIB, f"{taken / _MIB:.0f} MiB"
    assert used(api)["unpacked_bytes"] == len(content)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.binpb")), ids=lambda path: path.stem)
def test_what_collectors_send_is_far_below_the_limits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf_counts, "SMALL_BYTES", 0)
    protobuf_counts.check(path.read_bytes(), limits.COUNTED)


def test_what_others_send_is_below_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protobuf_counts, "SMALL_BYTES", 0)
    labels = {"__name__": "x_total", **{f"label_{number}": "value" for number in range(18)}}
    series = [(labels | {"instance": str(number)}, every(15, [1.0])) for number in range(10_000)]
    remote_write.parse(remote_write.V1, request_of(series).SerializeToString())


def test_every_kind_of_field_is_passed_over_correctly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts agree with the parsed message: a field that is read wrongly would shift everything after it."""
    monkeypatch.setattr(protobuf_counts, "SMALL_BYTES", 0)
    batch = pb.Batch(sequence=2**63 - 1, sealed_at_us=-1, captures=[capture(now_us(), seconds=2)])
    content = batch.SerializeToString()
    fields = {14: Counted("captures", 1, within={6: Counted("strings", len(batch.captures[0].strings))})}
    protobuf_counts.check(content, fields)
    with pytest.raises(TooMany, match="strings"):
        protobuf_counts.check(
            content, {14: Counted("captures", 1, within={6: Counted("strings", len(batch.captures[0].strings) - 1)})}
        )
    for end in (1, len(content) // 2, len(content) - 1):
        with pytest.raises(ValueError, match="cut off"):
            protobuf_counts.check(content[:end], fields)
