"""Ingest batches from a recording of tests/fixtures/coredns-gc-10ms: the fault as a collector would have sent it."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.pb import ingest_pb2 as pb
from tests.diagnosis.recorded import ENVIRONMENT, FOLDER, STEP_US, Recording, load
from tests.support.batches import CGROUP, DNS_SERVER, PROCESS, BatchBuilder, now_us
from tests.support.patience import PATIENCE_S

HEADERS = {"Content-Type": "application/x-protobuf", "Content-Encoding": "zstd"}
TICKS_PER_BATCH = 20
ZOOM_US = 10_000
CPU = ("cpu_usage_us", "cpu_periods", "cpu_throttled_periods", "cpu_throttled_us")
DNS = ("dns_queries", "dns_answers", "dns_slow")
FACTS: dict[int, dict[str, str]] = {
    CGROUP: {
        "cpu.quota_us": "50000",
        "cpu.period_us": "100000",
        "cpu.burst_us": "0",
        "memory.limit_bytes": "536870912",
        "workload.manager": "kubernetes",
        "workload.namespace": "kube-system",
        "workload.container": "coredns",
        "workload.image": "registry.k8s.io/coredns/coredns:v1.12.0",
    },
    PROCESS: {
        "process.command": "coredns",
        "process.executable": "coredns",
        "go.version": "1.25.3",
        "go.main_module": "github.com/coredns/coredns@v1.12.0",
        "go.gc_source": "uprobe",
        "go.automaxprocs": "v1.6.0",
        "go.default_godebug": "containermaxprocs=0",
    },
    DNS_SERVER: {"dns.software": "coredns", "dns.version": "1.12.0", "dns.udp_sockets": "1"},
}


@lru_cache(maxsize=2)
def recorded_counters(variant: str) -> dict[str, NDArray[np.float64]]:
    """Counters of every 10 ms of a recording; the reader of 100 ms ticks drops this detail."""
    recording = load(variant)
    with gzip.open(FOLDER / variant / "cpu.csv.gz", "rt") as lines:
        cpu = np.loadtxt(lines, delimiter=",", dtype=np.int64)
    time_us = cpu[:, 0] // 1000
    ticks = len(recording.columns["cpu_usage_us"]) * STEP_US // ZOOM_US
    edges = recording.start_us + np.arange(ticks + 1) * ZOOM_US
    last = np.searchsorted(time_us, edges, side="right") - 1
    return {
        # Samples come every 10 ms but not on the grid: usage is spread evenly between two of them.
        "cpu_usage_us": np.asarray(np.diff(np.interp(edges, time_us, cpu[:, 4] / 1000.0))),
        "cpu_periods": np.diff(cpu[last, 1]).astype(float),
        "cpu_throttled_periods": np.diff(cpu[last, 2]).astype(float),
        "cpu_throttled_us": np.diff(cpu[last, 3]) / 1000.0,
    }


# Differences from the fault, besides the process's environment.
CHANGED: dict[str, dict[str, str]] = {"limit": {"cpu.quota_us": "-1"}, "burst": {"cpu.burst_us": "50000"}}


class RecordedNode:
    """A node that lived through a recording which ended `ended_s` ago. `batches()` is what its collector sends.

    Pods of one Deployment have one incident per cause.
    """

    def __init__(
        self,
        variant: str = "fault",
        node: str = "node-1",
        pod: str = "coredns-7c9",
        ended_s: float = 0.0,
        deployment: str = "coredns",
    ) -> None:
        self.recording: Recording = load(variant)
        self.variant, self.node, self.pod, self.deployment = variant, node, pod, deployment
        self.ticks = len(self.recording.columns["cpu_usage_us"])
        # Moved by whole ticks, so that the grid stays aligned.
        self.end_us = now_us() - int(ended_s * 1e6) // STEP_US * STEP_US
        self.shift_us = self.end_us - self.ticks * STEP_US - self.recording.start_us
        self.start_us = self.recording.start_us + self.shift_us

    def first_throttled_us(self, after_us: int = 0) -> int:
        """Start of the first throttled tick at or after a time."""
        throttled = np.flatnonzero(self.recording.columns["cpu_throttled_periods"] > 0) * STEP_US + self.start_us
        return int(throttled[throttled >= after_us][0])

    def batches(self) -> Iterator[bytes]:
        """Bodies for POST /api/v1/ingest, two seconds each, in order."""
        builder = BatchBuilder(self.node)
        spool = builder.batch.spool_id
        for sequence, first in enumerate(range(0, self.ticks, TICKS_PER_BATCH), start=1):
            yield self._batch(spool, sequence, first, min(TICKS_PER_BATCH, self.ticks - first))

    def _batch(self, spool: bytes, sequence: int, first: int, count: int) -> bytes:
        builder = BatchBuilder(self.node, spool, sequence)
        pod = builder.resource(CGROUP, f"/kubepods/burstable/{self.pod}")
        container = builder.resource(CGROUP, f"/kubepods/burstable/{self.pod}/coredns", pod)
        process = builder.resource(PROCESS, "4711:1000", container)
        server = builder.resource(DNS_SERVER, "10.0.0.10:53", process)
        start_us = self.start_us + first * STEP_US
        end_us = start_us + count * STEP_US
        # The node's clock is that of its data, however long sending them takes here.
        builder.batch.sealed_at_us = end_us
        part = {name: values[first : first + count] for name, values in self.recording.columns.items()}
        builder.block({(container, name): part[name] for name in CPU}, start_us)
        builder.block({(server, name): part[name] for name in DNS}, start_us)
        builder.block(
            {
                (process, "process_cpu_us"): part["cpu_usage_us"],
                (process, "gc_active_us"): self._gc(start_us, count),
            },
            start_us,
        )
        self._zoom(builder, container, first, count)
        self._queries(builder, server, start_us, end_us)
        for cycle in self.recording.cycles:
            at_us = cycle.start_us + self.shift_us
            if start_us <= at_us + cycle.duration_us < end_us:
                builder.batch.events.add(
                    resource=process,
                    kind="go.gc_cycle",
                    start_us=at_us,
                    duration_us=cycle.duration_us,
                    attributes={"source": "uprobe"},
                )
        if sequence == 1:
            self._facts(builder, {CGROUP: container, PROCESS: process, DNS_SERVER: server})
        for tick in np.flatnonzero(part["cpu_throttled_periods"] > 0):
            builder.batch.triggers.add(resource=container, reason="throttled", at_us=start_us + int(tick) * STEP_US)
        return builder.body()

    def _zoom(self, builder: BatchBuilder, container: int, first: int, count: int) -> None:
        """10 ms ticks of seconds with throttling, as a collector's ring buffer has them from before the stall."""
        counted = recorded_counters(self.variant)
        for at in range(first, first + count, 10):
            second = slice(at, min(at + 10, first + count))
            if self.recording.columns["cpu_throttled_periods"][second].any():
                ticks = slice(second.start * 10, second.stop * 10)
                values = {(container, name): counted[name][ticks] for name in CPU}
                builder.block(values, self.start_us + second.start * STEP_US, ZOOM_US)

    def _facts(self, builder: BatchBuilder, resources: dict[int, int]) -> None:
        known = {0: {"node.hostname": self.node, "node.cpus": "2", "node.kernel": "6.18.5", "node.cgroup_version": "1"}}
        for kind, index in resources.items():
            known[index] = dict(FACTS[kind])
        known[resources[PROCESS]] |= ENVIRONMENT[self.variant]
        workload = {"workload.pod": self.pod, "workload.owner": f"Deployment/{self.deployment}"}
        known[resources[CGROUP]] |= CHANGED.get(self.variant, {}) | workload
        for index, facts in known.items():
            for name, value in facts.items():
                builder.fact(index, name, value, self.start_us)
        builder.batch.sources.add(name="cgroup_cpu", state=pb.SOURCE_STATE_ACTIVE)
        builder.batch.sources.add(
            name="dns_path_split",
            state=pb.SOURCE_STATE_UNAVAILABLE,
            detail="no tracepoints here",
            needs="CAP_BPF and tracefs",
        )

    def _gc(self, start_us: int, count: int) -> NDArray[np.float64]:
        edges = start_us + np.arange(count + 1) * STEP_US
        active = np.zeros(count)
        for cycle in self.recording.cycles:
            from_us = cycle.start_us + self.shift_us
            active += np.clip(
                np.minimum(from_us + cycle.duration_us, edges[1:]) - np.maximum(from_us, edges[:-1]), 0, None
            )
        return active

    def _queries(self, builder: BatchBuilder, server: int, start_us: int, end_us: int) -> None:
        sent_us = self.recording.sent_us + self.shift_us
        latency_us = self.recording.latency_us
        inside = (sent_us >= start_us) & (sent_us < end_us)
        builder.batch.queries.add(
            server=server,
            complete=True,
            start_us=start_us,
            end_us=end_us,
            offset_us=(sent_us[inside] - start_us).tolist(),
            latency_us=latency_us[inside].tolist(),
            result=[pb.QUERY_RESULT_NOERROR] * int(inside.sum()),
            name=[0] * int(inside.sum()),
            client=[0] * int(inside.sum()),
            names=["kubernetes.default.svc.cluster.local. A"],
            clients=["10.0.0.7"],
        )
        answered_us = sent_us + latency_us
        ticks = []
        for tick_us in range(start_us, end_us, STEP_US):
            answers = latency_us[(answered_us >= tick_us) & (answered_us < tick_us + STEP_US)].astype(np.float64)
            buckets, counts = np.unique(bucket_of(answers), return_counts=True)
            ticks.append(dict(zip(buckets.tolist(), counts.tolist(), strict=True)))
        builder.distribution(server, "dns_latency_us", start_us, ticks)


def ingest(url: str, token: str, node: RecordedNode) -> None:
    """Send everything the node's collector would have sent."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
        for body in node.batches():
            client.post("/api/v1/ingest", content=body, headers=HEADERS).raise_for_status()


def wait_for_incident(client: httpx.Client, node: str, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
    """The incident of a node, once it exists."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        items = client.get("/api/v1/incidents").raise_for_status().json()["items"]
        for item in items:
            if item["subject"]["node"] == node:
                return dict(item)
        time.sleep(0.3)
    raise AssertionError(f"no incident was opened within {timeout_s:.0f} s")


def wait_for_state(client: httpx.Client, incident_id: int, state: str, timeout_s: float = PATIENCE_S) -> None:
    """Returns once an incident is in a state."""
    deadline = time.monotonic() + timeout_s
    seen: dict[str, Any] | None = None
    while time.monotonic() < deadline:
        seen = client.get(f"/api/v1/incidents/{incident_id}").raise_for_status().json()
        if seen["state"] == state:
            return
        time.sleep(0.5)
    assert seen is not None
    why = seen["verification"] and seen["verification"]["waiting_for"]
    raise AssertionError(
        f"the incident ({seen['title']}) is {seen['state']}, not {state}, after {timeout_s:.0f} s; "
        f"it waits for: {why}; what happened to it: {[(one['action'], one['detail']) for one in seen['history']]}"
    )
