"""Request servers in containers, as a collector reports them; numbers are exact, so that tests can add them up."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.pb import ingest_pb2 as pb
from tests.support.batches import CGROUP, PROCESS, TICK_US, BatchBuilder

TCP_SERVER, TCP_UPSTREAM = pb.RESOURCE_KIND_TCP_SERVER, pb.RESOURCE_KIND_TCP_UPSTREAM
TICKS_PER_MINUTE = 60_000_000 // TICK_US
SLOW_US = 20_000
# Answers over 20 ms in a tick that has slow ones.
SLOW_PER_TICK = 3


@dataclass(frozen=True)
class Serving:
    """A container with one listening program.

    `asks`: by address, the key of the server there, "" if it is not known; every call takes as long as the answers.
    `of_services`: by address, the Kubernetes Service that has it.
    `slow`: the slowest answer (µs) of ticks that have slow ones. `throttled`: throttled µs by tick. `lost`: requests
    without an answer by tick. `errors`: answers with status 5xx by tick, if it speaks plaintext HTTP. `grpc_errors`:
    with a code of a failed server, if it speaks plaintext gRPC. `kinds`: rows of the event about kinds of requests, the
    same every minute, and `grpc`: its codes.
    """

    program: str
    port: int
    pid: int
    per_tick: int = 30
    usual_us: float = 1000.0
    slow: Mapping[int, int] = field(default_factory=dict)
    throttled: Mapping[int, int] = field(default_factory=dict)
    lost: Mapping[int, int] = field(default_factory=dict)
    errors: Mapping[int, int] | None = None
    grpc_errors: Mapping[int, int] | None = None
    kinds: Sequence[Sequence[str | int | None]] = ()
    grpc: Sequence[Sequence[int]] = ()
    runtime: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "shop"
    asks: Mapping[str, str] = field(default_factory=dict)
    of_services: Mapping[str, str] = field(default_factory=dict)

    def part(self, first: int, ticks: int) -> Serving:
        """The same server from tick `first` on."""

        def cut(values: Mapping[int, int]) -> dict[int, int]:
            return {tick - first: value for tick, value in values.items() if first <= tick < first + ticks}

        return replace(
            self,
            slow=cut(self.slow),
            throttled=cut(self.throttled),
            lost=cut(self.lost),
            errors=None if self.errors is None else cut(self.errors),
            grpc_errors=None if self.grpc_errors is None else cut(self.grpc_errors),
        )

    @property
    def path(self) -> str:
        return f"/kubepods/burstable/pod-{self.program}/{self.program}"


def kind_bucket(us: float) -> int:
    """From contracts/metrics.toml."""
    return math.ceil(int(bucket_of(np.array([us]))[0]) / 3)


def add(builder: BatchBuilder, serving: Serving, start_us: int, ticks: int) -> tuple[int, int]:
    """Add a container and its server to a batch; returns the indices of both."""
    pod = builder.resource(CGROUP, serving.path.rpartition("/")[0])
    container = builder.resource(CGROUP, serving.path, pod)
    process = builder.resource(PROCESS, f"{serving.pid}:1000", container)
    server = builder.resource(TCP_SERVER, f"{serving.path}:{serving.port}", container)
    facts = {
        container: {
            "workload.namespace": serving.namespace, "workload.pod": f"{serving.program}-5d8",
            "workload.container": serving.program, "cpu.quota_us": "50000", "cpu.period_us": "100000",
        },
        process: {"process.command": serving.program, "process.executable": serving.program, **serving.runtime},
        server: {
            "tcp.program": serving.program, "tcp.process": f"{serving.pid}:1000",
            "tcp.addresses": f'["0.0.0.0:{serving.port}"]',
        },
    }  # fmt: skip
    for index, known in facts.items():
        for name, value in known.items():
            builder.fact(index, name, value, start_us)
    slowest = np.full(ticks, serving.usual_us)
    for tick, us in serving.slow.items():
        slowest[tick] = us
    late = _at(serving.slow, ticks) > 0
    usually_slow = float(serving.per_tick) if serving.usual_us > SLOW_US else 0.0
    builder.block(
        {
            (server, "requests"): np.full(ticks, float(serving.per_tick)),
            (server, "responses"): serving.per_tick - _at(serving.lost, ticks),
            (server, "responses_slow"): np.where(late, float(SLOW_PER_TICK), usually_slow),
            (server, "request_latency_max_us"): slowest,
            (server, "requests_inflight"): np.full(ticks, 1.0),
            (server, "requests_unanswered"): _at(serving.lost, ticks),
            **_statuses(server, serving, ticks),
            (container, "cpu_usage_us"): np.where(late, 50_000.0, 18_000.0),
            (container, "cpu_periods"): np.ones(ticks),
            (container, "cpu_throttled_periods"): (_at(serving.throttled, ticks) > 0).astype(np.float64),
            (container, "cpu_throttled_us"): _at(serving.throttled, ticks),
        },
        start_us,
    )
    if serving.kinds:
        told = builder.batch.events.add(
            resource=server, kind="requests.kinds", start_us=start_us, duration_us=10_000_000
        )
        told.attributes["rows"] = json.dumps(serving.kinds)
        told.attributes["latency"] = json.dumps(
            [[kind_bucket(int(row[5] or 0) / int(row[1] or 1)), row[1]] for row in serving.kinds]
        )
        if serving.grpc:
            told.attributes["grpc"] = json.dumps(serving.grpc)
    usual, *others = bucket_of(np.array([serving.usual_us, *serving.slow.values()], np.float64)).tolist()
    late_bucket = dict(zip(serving.slow, others, strict=True))
    latencies = [
        {usual: serving.per_tick - SLOW_PER_TICK, late_bucket[tick]: SLOW_PER_TICK}
        if tick in late_bucket
        else {usual: serving.per_tick}
        for tick in range(ticks)
    ]
    builder.distribution(server, "request_latency_us", start_us, latencies)
    for address, asked in serving.asks.items():
        upstream = builder.resource(TCP_UPSTREAM, f"{serving.path}>{address}", container)
        builder.fact(upstream, "upstream.server", asked, start_us)
        if address in serving.of_services:
            builder.fact(upstream, "upstream.service", serving.of_services[address], start_us)
        calls = {
            "upstream_calls": np.full(ticks, float(serving.per_tick)),
            "upstream_calls_slow": np.where(late, float(SLOW_PER_TICK), usually_slow),
            "upstream_latency_max_us": slowest,
        }
        builder.block({(upstream, name): values for name, values in calls.items()}, start_us)
        builder.distribution(upstream, "upstream_latency_us", start_us, latencies)
    return container, server


def _statuses(server: int, serving: Serving, ticks: int) -> dict[tuple[int, str], np.ndarray[tuple[int], Any]]:
    found: dict[tuple[int, str], np.ndarray[tuple[int], Any]] = {}
    for protocol, errors in (("http", serving.errors), ("grpc", serving.grpc_errors)):
        if errors is not None:
            found[server, f"{protocol}_responses"] = serving.per_tick - _at(serving.lost, ticks)
            found[server, f"{protocol}_server_errors"] = _at(errors, ticks)
    return found


def batches(node: str, servers: Sequence[Serving], start_us: int, ticks: int) -> Iterator[bytes]:
    """Bodies for POST /api/v1/ingest, a minute each, of a node with these servers."""
    spool = BatchBuilder(node).batch.spool_id
    for sequence, first in enumerate(range(0, ticks, TICKS_PER_MINUTE), start=1):
        builder = BatchBuilder(node, spool, sequence)
        builder.fact(0, "node.hostname", node, start_us)
        for serving in servers:
            count = min(TICKS_PER_MINUTE, ticks - first)
            add(builder, serving.part(first, count), start_us + first * TICK_US, count)
        yield builder.body()


def _at(values: Mapping[int, int], ticks: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    result = np.zeros(ticks)
    for tick, value in values.items():
        result[tick] = value
    return result


def minute_ago(minutes: int, now_us: int) -> int:
    """The start of a whole minute, `minutes` before the one that contains a time."""
    return (now_us // 60_000_000 - minutes) * 60_000_000
