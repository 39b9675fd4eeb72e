"""Telemetry of a simulated server in a memory cgroup: waiting queries, a Go heap, a leak, page cache, and the kill.

Seeded, one tick (100 ms) at a time. The memory per query, the heap once queries stop piling up, and the drop of usage
at a kill follow the recordings of CoreDNS 1.12 in tests/fixtures/coredns-memory: 18 to 21 KiB per query, memory
proportional to waiting queries, up to twice that once their number is level.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.diagnosis.core.snapshot import Distribution, Event, FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US, view

MIB = 1 << 20
GIVE_UP_TICKS = 50  # the capture gives a query up after 5 s


@dataclass(frozen=True, slots=True)
class MemoryWorkload:
    """Parameters of a run. `wait_s` is how long a forwarded query waits; `bursts` are (start_s, seconds, qps).

    `leaks` are (start_s, seconds, MiB/s), `files` the same for page cache, `loads` (start_s, seconds, MiB) data that is
    loaded and kept. `tmpfs`: page cache that cannot be reclaimed. `seen_ratio` of ticks were recorded.
    """

    seconds: float = 40.0
    limit_mib: float | None = 170.0
    base_mib: float = 13.0
    qps: float = 25.0
    bursts: tuple[tuple[float, float, float], ...] = ()
    wait_s: float = 4.0
    waits: tuple[tuple[float, float, float], ...] = ()  # (start_s, seconds, wait_s)
    query_kib: float = 18.5
    max_concurrent: int | None = None
    leaks: tuple[tuple[float, float, float], ...] = ()
    loads: tuple[tuple[float, float, float], ...] = ()
    files: tuple[tuple[float, float, float], ...] = ()
    heap_mib: float = 0.0  # garbage that comes and goes: a heap that grows to twice this
    garbage_mib_s: float = 0.0
    tmpfs: bool = False
    restart_s: float = 1.0
    record: bool = True  # whether the kernel reports the killed process
    software: str = "coredns"
    version: str = "1.12.0"
    serves_dns: bool = True
    forwards: bool = True
    go: bool = True
    started_s: float | None = None
    psi_us: float = 0.0
    reclaim: tuple[tuple[float, float], ...] = ()  # (start_s, seconds) in which it reclaims at its limit
    seen_ratio: float = 1.0
    seed: int = 1
    facts: Mapping[str, str] = field(default_factory=dict)
    node_facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """The snapshot, and the truth: ticks in which it was killed, and memory without page cache per tick (bytes)."""

    snapshot: Snapshot
    kills: tuple[int, ...]
    net: FloatArray


def simulate_memory(load: MemoryWorkload) -> MemoryRun:
    machine = _Machine(load)
    for tick in range(machine.ticks):
        machine.step(tick)
    return machine.result()


def within(spans: tuple[tuple[float, float, float], ...], now_s: float) -> float | None:
    """The value of the last span that contains this time."""
    values = [value for start, seconds, value in spans if start <= now_s < start + seconds]
    return values[-1] if values else None


class _Machine:
    def __init__(self, load: MemoryWorkload) -> None:
        self.load = load
        self.random = np.random.default_rng(load.seed)
        self.ticks = int(load.seconds * 10)
        names = (
            "usage", "anon", "file", "hits", "kills", "scanned", "psi", "queries", "answers", "refused", "servfail",
            "timeouts", "slow", "inflight", "goroutines", "fds", "net",
        )  # fmt: skip
        self.columns: dict[str, FloatArray] = {name: np.zeros(self.ticks) for name in names}
        self.waiting: deque[tuple[int, int, int]] = deque()  # (arrived, leaves, how many)
        self.unanswered: deque[tuple[int, int]] = deque()  # lost in a kill: (arrived, how many)
        self.latencies: list[tuple[int, float, int]] = []
        self.events: list[Event] = []
        self.kill_ticks: list[int] = []
        self.down_until = 0
        self.arrivals = self.leaked = self.loaded = self.cached = self.garbage = self.high = 0.0
        self.gone: list[int] = []

    def step(self, tick: int) -> None:
        load, columns, now_s = self.load, self.columns, tick / 10
        rate = within(load.bursts, now_s)
        self.arrivals += (load.qps if rate is None else rate) / 10 * (0.97 + 0.06 * self.random.random())
        asked = int(self.arrivals) if load.serves_dns else 0
        self.arrivals -= int(self.arrivals)
        columns["queries"][tick] = asked
        up = tick >= self.down_until
        if up:
            self._serve(tick, asked, now_s)
        elif asked:
            self.unanswered.append((tick, asked))
        late = sum(n for at, n in self.unanswered if tick - at == GIVE_UP_TICKS)
        late += sum(n for at, _, n in self.waiting if tick - at == GIVE_UP_TICKS)
        columns["timeouts"][tick] = late
        self.unanswered = deque(item for item in self.unanswered if tick - item[0] < GIVE_UP_TICKS)
        holding = sum(n for _, _, n in self.waiting)
        seen = sum(n for at, _, n in self.waiting if tick - at < GIVE_UP_TICKS)
        columns["inflight"][tick] = seen + sum(n for _, n in self.unanswered)
        if up:
            self._remember(tick, now_s, holding)

    def _serve(self, tick: int, asked: int, now_s: float) -> None:
        load, columns = self.load, self.columns
        wait = within(load.waits, now_s)
        wait_s = load.wait_s if wait is None else wait
        room = asked
        if load.max_concurrent is not None:
            room = max(0, min(asked, load.max_concurrent - sum(n for _, _, n in self.waiting)))
        columns["refused"][tick] = asked - room
        self._answer(tick, 0.0003, asked - room)
        ticks = round(wait_s * 10)
        if ticks == 0:
            self._answer(tick, max(wait_s, 0.0005), room)
        elif room:
            self.waiting.append((tick, tick + ticks, room))
        while self.waiting and self.waiting[0][1] <= tick:
            at, _, n = self.waiting.popleft()
            if tick - at < GIVE_UP_TICKS:
                self._answer(tick, (tick - at) / 10, n)
                columns["servfail"][tick] += n if wait_s > 2 else 0

    def _answer(self, tick: int, seconds: float, count: int) -> None:
        if count:
            self.columns["answers"][tick] += count
            self.columns["slow"][tick] += count if seconds > SLOW_US / 1e6 else 0
            self.latencies.append((tick, seconds * 1e6, count))

    def _remember(self, tick: int, now_s: float, holding: int) -> None:
        load, columns = self.load, self.columns
        self.leaked += (within(load.leaks, now_s) or 0.0) / 10
        self.loaded += sum(mib / seconds / 10 for start, seconds, mib in load.loads if start <= now_s < start + seconds)
        self.cached += (within(load.files, now_s) or 0.0) / 10
        queries = load.query_kib / 1024 * holding
        live = queries + load.heap_mib
        self.garbage += load.garbage_mib_s / 10 + load.query_kib / 1024 * columns["queries"][tick] * 0.3
        if self.garbage > max(live, 4.0):
            self.garbage = 0.0
            self.gone.append(tick)
        # Pages freed by GC are reused: memory once touched stays resident for a while.
        self.high = max(self.high * 0.9995, live + (self.garbage if load.go else 0.0))
        wobble = 0.1 * self.random.random()
        net = load.base_mib + self.leaked + self.loaded + self.high + wobble
        limit = load.limit_mib
        if limit is not None:
            over = net + self.cached - limit
            if over > 0 and not load.tmpfs:
                columns["hits"][tick] += 40
                columns["scanned"][tick] += over * 600
                self.cached = max(0.0, self.cached - over)
            if net + (self.cached if load.tmpfs else 0.0) >= limit:
                self._kill(tick, limit)
                return
        if any(start <= now_s < start + seconds for start, seconds in load.reclaim):
            columns["hits"][tick] += 120
            columns["scanned"][tick] += 20_000
            columns["psi"][tick] = load.psi_us
        columns["net"][tick] = net * MIB
        columns["usage"][tick] = (net + self.cached) * MIB
        columns["anon"][tick], columns["file"][tick] = net * MIB * 0.93, self.cached * MIB
        columns["goroutines"][tick], columns["fds"][tick] = 30 + 2 * holding, 12 + holding

    def _kill(self, tick: int, limit: float) -> None:
        load, columns = self.load, self.columns
        columns["kills"][tick] += 1
        columns["usage"][tick] = columns["net"][tick] = 4.0 * MIB
        columns["hits"][tick] += 60
        attributes = {"count": "1"}
        if load.record:
            file = int(self.cached * MIB) if load.tmpfs else 4096
            anon = str(int(limit * MIB) - file)
            attributes |= {"pid": "4711", "command": load.software, "constraint": "memcg", "anon_bytes": anon,
                           "file_bytes": str(file), "trigger_command": load.software}  # fmt: skip
        self.events.append(Event("memory.oom_kill", EPOCH_US + tick * TICK_US, 0, attributes))
        self.kill_ticks.append(tick)
        self.unanswered.extend((at, n) for at, _, n in self.waiting if tick - at < GIVE_UP_TICKS)
        self.waiting.clear()
        self.leaked = self.high = self.garbage = self.loaded = self.cached = 0.0
        self.down_until = tick + 1 + round(load.restart_s * 10)

    # --- as the collector and the database would deliver it
    def result(self) -> MemoryRun:
        snapshot = Snapshot(
            EPOCH_US, self.ticks, self._cgroup(), _node(self.load), processes=(self._process(),),
            dns_servers=(self._server(),) if self.load.serves_dns else (),
        )  # fmt: skip
        return MemoryRun(snapshot, tuple(self.kill_ticks), self.columns["net"])

    def _seen(self, name: str, every: int = 1) -> FloatArray:
        values = self.columns[name].copy()
        if every > 1:
            values[np.arange(self.ticks) % every != 3] = np.nan
        if self.load.seen_ratio < 1:
            lost = np.random.default_rng(self.load.seed + 7).random(self.ticks) >= self.load.seen_ratio
            values[lost] = np.nan
        return values

    def _cgroup(self) -> ResourceView:
        load = self.load
        limit = -1 if load.limit_mib is None else int(load.limit_mib * MIB)
        columns = {
            "memory_usage_bytes": self._seen("usage"), "memory_anon_bytes": self._seen("anon", 10),
            "memory_file_bytes": self._seen("file", 10), "memory_limit_hits": self._seen("hits"),
            "memory_oom_kills": self._seen("kills"), "memory_reclaim_scanned_pages": self._seen("scanned"),
            "cpu_usage_us": np.full(self.ticks, 900.0), "cpu_throttled_periods": np.zeros(self.ticks),
        }  # fmt: skip
        if load.psi_us:
            columns["psi_memory_some_us"] = self._seen("psi")
        facts = {"cpu.quota_us": "-1", "cpu.period_us": "100000", "memory.limit_bytes": str(limit),
                 "workload.manager": "none"} | dict(load.facts)  # fmt: skip
        return view(1, "cgroup", "/lab/server", columns, facts, tuple(self.events))

    def _process(self) -> ResourceView:
        load = self.load
        columns = {"process_rss_bytes": self._seen("anon"), "process_cpu_us": np.full(self.ticks, 900.0)}
        facts = {"process.executable": load.software}
        events: tuple[Event, ...] = ()
        if load.go:
            cycles = np.zeros(self.ticks)
            cycles[self.gone] = 1
            columns |= {"go_goroutines": self._seen("goroutines"), "gc_cycles": cycles}
            facts |= {"go.version": "1.23.4", "go.gc_source": "metrics"}
        if load.serves_dns:
            columns["process_fds"] = self._seen("fds")
        if load.started_s is not None:
            events = (Event("process.start", EPOCH_US + int(load.started_s * 1e6)),)
        return view(2, "process", "4711:1", columns, facts, events)

    def _server(self) -> ResourceView:
        load = self.load
        names = ("queries", "answers", "slow", "inflight", "timeouts", "servfail", "refused")
        facts = {"dns.software": load.software, "dns.version": load.version, "dns.udp_sockets": "1"}
        if load.forwards:
            upstream: dict[str, object] = {"zone": ".", "address": "10.9.0.1", "port": 53}
            if load.max_concurrent is not None:
                upstream["max_concurrent"] = load.max_concurrent
            facts["dns.upstreams"] = json.dumps([upstream])
        made = view(3, "dns_server", "10.0.0.10:53", {f"dns_{name}": self._seen(name) for name in names},
                    facts | {k: v for k, v in load.facts.items() if k.startswith("dns.")})  # fmt: skip
        if not self.latencies:
            return made
        tick, value, count = (np.array(column) for column in zip(*self.latencies, strict=True))
        part = Distribution(tick.astype(np.int64), bucket_of(value.astype(np.float64)), count.astype(np.int64))
        return replace(made, distributions={"dns_latency_us": part})


def _node(load: MemoryWorkload) -> ResourceView:
    facts = {"node.cpus": "4", "node.kernel": "6.12.9", "node.cgroup_version": "2", "node.memory_bytes": str(16 << 30)}
    return view(0, "node", "node-1", {}, facts | dict(load.node_facts))
