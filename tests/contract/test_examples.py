"""The golden batches of contracts/ decode here as they do in the collector's tests, and ingest accepts them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from google.protobuf import json_format

from jitterscope.ingest.validation import validate
from jitterscope.pb import ingest_pb2 as pb

EXAMPLES = Path(__file__).resolve().parents[2] / "contracts" / "ingest" / "v1" / "examples"
FILES = sorted(EXAMPLES.glob("*.binpb"))


def read(path: Path) -> pb.Batch:
    return pb.Batch.FromString(path.read_bytes())


def test_there_are_examples() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_wire_and_json_are_the_same(path: Path) -> None:
    batch = read(path)
    assert json_format.Parse(path.with_suffix(".json").read_text(), pb.Batch()) == batch
    # No fields unknown to this side: what is parsed and written again has lost nothing.
    assert pb.Batch.FromString(batch.SerializeToString(deterministic=True)) == batch
    assert batch.ByteSize() == len(path.read_bytes())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ingest_takes_it(path: Path) -> None:
    batch = read(path)
    valid = validate(batch, now_us=batch.sealed_at_us, oldest_us=0)
    assert len(valid.resources) == len(batch.resources)
    assert len(valid.blocks) == len(batch.blocks)
    assert len(valid.queries) == len(batch.queries)


def test_values_mean_what_the_collector_meant() -> None:
    batch = read(EXAMPLES / "throttled-dns-server.binpb")
    block = next(block for block in batch.blocks if 5 in block.metric)
    series = list(block.metric).index(5)
    values = np.frombuffer(block.values, "<i2").reshape(len(block.metric), block.tick_count)[series]
    assert values.tolist() == [0, 0, 0, -(2**15), 1]  # a missed tick, then the throttled one
    assert batch.resources[block.resource[series]].key == "/jitterscope-lab-1/coredns"
    assert batch.dropped_batches == 3
