"""The golden batch that Python writes and the Go tests decode: every field, each encoding with its extremes.

`python tests/contract/test_every_field.py` rewrites it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from google.protobuf import json_format

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from jitterscope.pb import ingest_pb2 as pb  # noqa: E402
from jitterscope.series.codec import decode_wire  # noqa: E402
from tests.support.batches import CGROUP, DNS_SERVER, PROCESS, BatchBuilder  # noqa: E402

EXAMPLES = ROOT / "contracts" / "ingest" / "v1" / "examples"
EVERY_FIELD = EXAMPLES / "every-field.binpb"
START_US = 1_795_250_660_000_000
NAN = float("nan")


def every_field() -> pb.Batch:
    """Every message and field of the contract, each encoding with a missing tick and its extremes."""
    builder = BatchBuilder("4c4c4544-0042", bytes(range(16)), 2**40)
    batch = builder.batch
    batch.sealed_at_us, batch.collector_version, batch.dropped_batches = START_US + 2_000_000, "0.1.0", 3
    pod = builder.resource(CGROUP, "/kubepods/burstable/pod9118fc9a", 0)
    container = builder.resource(CGROUP, "/kubepods/burstable/pod9118fc9a/0c8cd1b2", pod)
    process = builder.resource(PROCESS, "99065:4211", container)
    server = builder.resource(DNS_SERVER, "10.96.0.10:53", process)
    path = builder.resource(pb.RESOURCE_KIND_DNS_PATH, "10.244.1.7>10.96.0.10:53", server)
    builder.resource(pb.RESOURCE_KIND_PROBE, "example.com./A@10.96.0.10:53", 0)
    usage = [0.0, 2**31 - 1, NAN, -5.0]
    builder.block({(container, "cpu_usage_us"): usage, (pod, "cpu_usage_us"): [1, 2, 3, 4]}, START_US)
    builder.block({(container, "cpu_periods"): [1, 32767, NAN, -32767]}, START_US, encoding=pb.ENCODING_I16)
    memory = [5.81e8, 0.1, NAN, -1e300]
    builder.block({(container, "memory_usage_bytes"): memory}, START_US, encoding=pb.ENCODING_F64)
    builder.block({(container, "cpu_usage_us"): range(10)}, START_US, step_us=10_000)
    builder.distribution(server, "dns_latency_us", START_US, [{0: 1, 140: 90, 294: 2}, {}, {393: 2**32 - 1}])
    builder.distribution(path, "dns_latency_us", START_US, [{140: 1}])
    builder.fact(container, "cpu.quota_us", "900000", START_US)
    builder.fact(server, "dns.corefile", ".:53 {\n    errors\n}\n# “quoted” – ✓", START_US + 1)
    batch.events.add(
        resource=process,
        kind="go.gc_cycle",
        start_us=START_US + 7,
        duration_us=480_000,
        attributes={"source": "uprobe"},
    )
    batch.queries.add(
        server=server, complete=True, start_us=START_US, end_us=START_US + 400_000, offset_us=[10, 10, 399_999],
        latency_us=[220, 91_000, 5_000_000], result=[0, 1, 4], name=[0, 1, 0], client=[0, 0, 1],
        names=["example.com. A", "nowhere.example. AAAA"], clients=["10.244.1.7", "10.244.2.9"],
        queue_wait_us=[11, 90_000, 4_000_000],
    )  # fmt: skip
    batch.triggers.add(resource=container, reason="throttled", at_us=START_US + 100_000)
    batch.sources.add(name="dns_capture", state=pb.SOURCE_STATE_ACTIVE)
    batch.sources.add(name="go_runtime", state=pb.SOURCE_STATE_DEGRADED, detail="by threads", needs="CAP_BPF")
    batch.sources.add(name="psi", state=pb.SOURCE_STATE_UNAVAILABLE, detail="no /proc/pressure", needs="Linux 4.20")
    return batch


def test_every_field_is_what_it_was() -> None:
    assert pb.Batch.FromString(EVERY_FIELD.read_bytes()) == every_field()


def test_missing_ticks_and_extremes_decode() -> None:
    batch = pb.Batch.FromString(EVERY_FIELD.read_bytes())
    decoded = [decode_wire(block.encoding, block.values, block.tick_count)[0] for block in batch.blocks[:3]]
    np.testing.assert_array_equal(decoded[0], [0, 2**31 - 1, NAN, -5])
    np.testing.assert_array_equal(decoded[1], [1, 32767, NAN, -32767])
    np.testing.assert_array_equal(decoded[2], [5.81e8, 0.1, NAN, -1e300])


if __name__ == "__main__":
    EVERY_FIELD.write_bytes(every_field().SerializeToString(deterministic=True))
    text = json_format.MessageToJson(
        every_field(), preserving_proto_field_name=True, ensure_ascii=False, sort_keys=True
    )
    EVERY_FIELD.with_suffix(".json").write_text(text + "\n")
