# ruff: noqa: T201
"""make bench-services: the list of servers and the map of calls over a day of busy servers.

A node's batches of 24 h are sent and compacted as they are in use: servers of 100 requests/s that call two others each,
latencies spread log-normally. Then the API answers what the page Services asks, for the last hour and for the day.
Printed: seconds of each request (median and slowest), and what the histograms take in the database.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series import tasks
from tests.bench.ingest import INGEST, iso, post_all
from tests.bench.ingest_parts.product import Product
from tests.support.batches import BatchBuilder
from tests.support.tcp_servers import TICKS_PER_MINUTE, Serving, add, minute_ago

MINUTE_US = 60_000_000
PER_TICK = 10
# Minutes that differ in their latencies; the day repeats them.
DIFFERENT = 16
ASKED: dict[str, tuple[str, int, dict[str, str]]] = {
    "the list, 1 h": ("services", 60, {}),
    "the list, 24 h": ("services", 1440, {}),
    "the list by p99, 24 h": ("services", 1440, {"sort": "p99"}),
    "the map, 1 h": ("services/map", 60, {}),
    "the map, 24 h": ("services/map", 1440, {}),
}


def latencies(random: np.random.Generator) -> list[dict[int, int]]:
    """The histogram of each tick of a minute."""
    buckets = bucket_of(random.lognormal(np.log(2_000), 0.5, (TICKS_PER_MINUTE, PER_TICK)))
    return [dict(zip(*(part.tolist() for part in np.unique(row, return_counts=True)), strict=True)) for row in buckets]


def minute(servers: int, at_us: int, spread: Sequence[dict[int, int]]) -> pb.Batch:
    """A batch of a minute of a node."""
    builder = BatchBuilder("bench-node")
    for number in range(servers):
        asked = ((number + 1) % servers, (number + 2) % servers)
        asks = {f"10.0.0.{one + 1}:{8000 + one}": "" for one in asked}
        add(
            builder,
            Serving(f"service-{number}", 8000 + number, 100 + number, PER_TICK, asks=asks),
            at_us,
            TICKS_PER_MINUTE,
        )
    buckets = [bucket for one in spread for bucket in one]
    counts = [count for one in spread for count in one.values()]
    for part in builder.batch.distributions:
        part.entries[:] = [len(one) for one in spread]
        part.bucket[:] = buckets
        part.count[:] = counts
    return builder.batch


def batches(servers: int, minutes: int, until_us: int) -> Iterator[bytes]:
    """Bodies for POST /api/v1/ingest, a minute each, until a time."""
    random = np.random.default_rng(7)
    alike = [minute(servers, until_us, latencies(random)) for _ in range(DIFFERENT)]
    spool = secrets.token_bytes(16)
    for number in range(minutes):
        batch = alike[number % DIFFERENT]
        start_us = until_us - (minutes - number) * MINUTE_US
        for block in batch.blocks:
            block.start_us = start_us
        for histograms in batch.distributions:
            histograms.start_us = start_us
        for fact in batch.facts:
            fact.observed_at_us = start_us
        batch.spool_id, batch.sequence, batch.sealed_at_us = spool, number + 1, start_us + MINUTE_US
        yield zstandard.ZstdCompressor(level=1).compress(batch.SerializeToString())


def measure(product: Product, path: str, rounds: int, **parameters: Any) -> list[float]:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        product.get(f"/api/v1/{path}", **parameters)
        taken.append(time.perf_counter() - started)
    return taken


def tell(name: str, taken: Sequence[float]) -> None:
    print(f"{name}: {statistics.median(taken):.2f} s, at most {max(taken):.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=12)
    parser.add_argument("--minutes", type=int, default=1440)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    until_us = minute_ago(0, time.time_ns() // 1000)
    with tempfile.TemporaryDirectory(prefix="jitterscope-bench-") as folder, Product(Path(folder)) as product:
        bodies = list(batches(arguments.servers, arguments.minutes, until_us))
        sent_s = post_all(product.port, INGEST, bodies, 1, {"Authorization": f"Bearer {product.ingest_token}"})
        began = time.perf_counter()
        tasks.compact_organization(product.organization_id)
        tasks.merge_closed(product.organization_id, until_us)
        print(f"sent in {sent_s:.0f} s, compacted in {time.perf_counter() - began:.0f} s", flush=True)
        product.reclaim(["distributions"])
        print(
            f"histograms: {product.size_bytes(['distributions']) / 1e6:.0f} MB of {3 * arguments.servers} series",
            flush=True,
        )
        for name, (path, minutes, more) in ASKED.items():
            window = {"from": until_us - minutes * MINUTE_US, "to": until_us}
            tell(name, measure(product, path, arguments.rounds, **window, **more))
        first = json.loads(product.get("/api/v1/services"))["items"][0]["id"]
        day = {"from": iso(until_us - 1440 * MINUTE_US), "to": iso(until_us)}
        chart = {"resource": first, "metric": "request_latency_us", **day}
        tell("a server's p50 and p99 over time, 24 h", measure(product, "series/query", arguments.rounds, **chart))


if __name__ == "__main__":
    main()
