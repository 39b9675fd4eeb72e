"""Telemetry of a simulated server that stalls now and then, of DNS or of any TCP protocol; seeded.

One thread answers in order of arrival. While it is held, requests wait: unread in the socket, or already read if other
threads do the reading. Counts are on the 100 ms grid as the collector counts them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import Distribution, Event, FloatArray, Queries, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.distributions import distribution_of
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US, view

# stopped: SIGSTOP; disk: the reading thread waits for a disk; loop: it runs something long; crowded: others use the
# CPUs; lock: requests are read, and all need a lock that one holds; peer: all need an answer from another server.
Kind = Literal["stopped", "disk", "loop", "crowded", "lock", "peer"]
# (state, system call, kernel function, threads) of four threads, by what holds them; when idle.
_Threads = tuple[tuple[str, str, str, int], ...]
_IDLE: _Threads = (("S", "epoll_wait", "do_epoll_wait", 1), ("S", "futex", "futex_do_wait", 3))
_WAYS: dict[Kind, _Threads] = {
    "stopped": (("T", "epoll_wait", "do_signal_stop", 1), ("T", "futex", "do_signal_stop", 3)),
    "disk": (("D", "fsync", "jbd2_log_wait_commit", 1), ("S", "futex", "futex_do_wait", 3)),
    "loop": (("R", "?", "", 1), ("S", "futex", "futex_do_wait", 3)),
    "crowded": (("R", "?", "", 1), ("S", "futex", "futex_do_wait", 3)),
    "lock": (("S", "futex", "futex_do_wait", 4),),
    "peer": (("S", "epoll_wait", "do_epoll_wait", 1), ("S", "recvfrom", "wait_woken", 3)),
}
# A silence is looked at after this time, then every 50 ms.
LOOKED_AT_S = 0.045
_READ = frozenset({"lock", "peer"})
SERVER = 3


@dataclass(frozen=True, slots=True)
class Hold:
    """[at_s, at_s + seconds) in which nothing is answered, and why."""

    at_s: float
    seconds: float
    kind: Kind = "stopped"


@dataclass(frozen=True, slots=True)
class Service:
    """Parameters of a run. `rate` requests/s take `work_us` of CPU each and `away_us` elsewhere.

    `heavy_ratio` of them take `heavy_us` instead of `away_us`: some requests are slow by nature. `starts_s`: when the
    process starts, which then answers within `cold_us` for 10 s. `full`: other programs use all CPUs of the node all
    the time. `watched`: what the threads wait in while nothing is answered is recorded.
    """

    protocol: Literal["dns", "tcp"] = "tcp"
    seconds: float = 60.0
    rate: float = 200.0
    work_us: float = 400.0
    away_us: float = 0.0
    heavy_ratio: float = 0.0
    heavy_us: float = 0.0
    holds: tuple[Hold, ...] = ()
    starts_s: float | None = None
    cold_us: float = 0.0
    full: bool = False
    watched: bool = True
    seed: int = 1
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Requests:
    """Parallel arrays, µs since the start."""

    came: FloatArray
    read: FloatArray
    answered: FloatArray


def simulate(load: Service) -> Snapshot:
    random = np.random.default_rng(load.seed)
    ticks = int(load.seconds * 1_000_000) // TICK_US
    requests = _serve(load, random)
    cpu, delay, io = _resources(load, requests, ticks, random)
    server = _server(load, requests, ticks)
    since = EPOCH_US + int((load.starts_s if load.starts_s is not None else -3600.0) * 1e6)
    name = "unbound" if load.protocol == "dns" else "redis-server"
    process = view(
        2, "process", "4711:1", {"process_cpu_us": cpu, "process_run_delay_us": delay}, {"process.executable": name},
        (Event("process.start", since),) if load.starts_s is not None else (),
    )  # fmt: skip
    noise = 300 + 200 * random.random(ticks)
    facts = {"cpu.quota_us": "-1", "cpu.period_us": "100000", "workload.manager": "none"} | load.facts
    subject = view(
        1, "cgroup", "/lab/server",
        {"cpu_usage_us": cpu + noise, "cpu_throttled_periods": np.zeros(ticks), "cpu_throttled_us": np.zeros(ticks)},
        facts,
    )  # fmt: skip
    idle = np.zeros(ticks) if load.full else 4.0 * TICK_US - cpu - 20_000
    waiting = np.full(ticks, 90_000.0) if load.full else np.minimum(TICK_US, 500 + delay)
    node = view(
        0, "node", "node-1",
        {
            "psi_cpu_some_us": waiting, "psi_io_some_us": io, "psi_memory_some_us": np.zeros(ticks),
            "host_idle_us": idle, "host_user_us": 4.0 * TICK_US - idle,
        },
        {"node.cpus": "4", "node.kernel": "6.12.9", "node.cgroup_version": "2"},
    )  # fmt: skip
    of_dns = load.protocol == "dns"
    return Snapshot(
        EPOCH_US, ticks, subject, node, processes=(process,), dns_servers=(server,) if of_dns else (),
        tcp_servers=() if of_dns else (server,),
    )  # fmt: skip


def _serve(load: Service, random: np.random.Generator) -> _Requests:
    count = int(load.seconds * load.rate)
    came = (np.arange(count) + random.random(count)) * (1e6 / load.rate)
    if load.starts_s is not None:
        came = came[came > (load.starts_s + 0.5) * 1e6]
    away = np.where(random.random(len(came)) < load.heavy_ratio, load.heavy_us, load.away_us)
    away = away * (0.8 + 0.4 * random.random(len(came)))
    if load.starts_s is not None:
        away += np.where(came < (load.starts_s + 10) * 1e6, load.cold_us * random.random(len(came)), 0.0)
    read, answered = np.zeros(len(came)), np.zeros(len(came))
    free = 0.0
    spans = [(hold.at_s * 1e6, (hold.at_s + hold.seconds) * 1e6, hold.kind) for hold in load.holds]
    for i, at in enumerate(came):
        begin = max(at, free)
        held = next(((end, kind) for start, end, kind in spans if start <= begin < end), None)
        if held is not None:
            begin = held[0]
        reads = any(start <= at < end and kind in _READ for start, end, kind in spans)
        read[i] = at if reads else begin
        free = begin + load.work_us
        answered[i] = free + away[i]
    inside = answered < load.seconds * 1e6
    return _Requests(came[inside], np.maximum(read, came)[inside], answered[inside])


def _resources(
    load: Service, requests: _Requests, ticks: int, random: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """CPU time, run delay, and I/O waits of each tick, µs."""
    cpu = np.histogram(requests.answered, np.arange(ticks + 1) * TICK_US)[0] * load.work_us
    cpu = cpu * (0.95 + 0.1 * random.random(ticks)) + 200
    delay, io = 50 + 100 * random.random(ticks), 100 * random.random(ticks)
    edges = np.arange(ticks) * float(TICK_US)
    for hold in load.holds:
        start, end = hold.at_s * 1e6, (hold.at_s + hold.seconds) * 1e6
        inside = np.clip(np.minimum(end, edges + TICK_US) - np.maximum(start, edges), 0, None)
        if hold.kind == "loop":
            cpu += inside
        elif hold.kind == "disk":
            io += inside
        elif hold.kind == "crowded":
            # The kernel counts a wait when it is over.
            delay[min(ticks - 1, int(end // TICK_US))] += end - start
    return cpu, delay, io


def _server(load: Service, requests: _Requests, ticks: int) -> ResourceView:
    edges = np.arange(ticks + 1) * TICK_US
    took = requests.answered - requests.came

    def per_tick(at: FloatArray) -> FloatArray:
        return np.histogram(at, edges)[0].astype(np.float64)

    columns = {
        "queries": per_tick(requests.came),
        "answers": per_tick(requests.answered),
        "slow": per_tick(requests.answered[took > SLOW_US]),
    }
    latency = _distribution(requests.answered, took, ticks)
    waits = _distribution(requests.read, requests.read - requests.came, ticks)
    single = Queries(
        EPOCH_US + requests.came.astype(np.int64), took.astype(np.int64), np.zeros(len(took), np.int64),
        (requests.read - requests.came).astype(np.int64), complete=((EPOCH_US, EPOCH_US + ticks * TICK_US),),
    )  # fmt: skip
    if load.protocol == "dns":
        series = {f"dns_{name}": values for name, values in columns.items()} | {"dns_timeouts": np.zeros(ticks)}
        made = view(SERVER, "dns_server", "127.0.0.1:53", series, {"dns.software": "unbound"})
        named = {"dns_latency_us": latency, "dns_queue_wait_us": waits}
    else:
        series = {
            "requests": columns["queries"], "responses": columns["answers"], "responses_slow": columns["slow"],
            "requests_unanswered": np.zeros(ticks),
        }  # fmt: skip
        facts = {"tcp.program": "redis-server", "tcp.process": "4711:1", "tcp.addresses": '["127.0.0.1:6379"]'}
        made = view(SERVER, "tcp_server", "/lab/server:6379", series, facts)
        named = {"request_latency_us": latency, "request_wait_us": waits}
    events = tuple(_waiting(hold) for hold in load.holds if load.watched and hold.seconds >= LOOKED_AT_S)
    return replace(made, queries=single, distributions=named, events=events)


def _waiting(hold: Hold) -> Event:
    """What the flight recorder tells of a hold: one thread that reads, and three that work."""
    looks = int((hold.seconds - LOOKED_AT_S) / 0.05) + 1
    rows = [[state, call, place, threads * looks, []] for state, call, place, threads in _WAYS[hold.kind]]
    usual = [[state, call, place, threads, []] for state, call, place, threads in _IDLE]
    attributes = {
        "looks": str(looks), "read": str(4 * looks), "threads": "4", "waits": json.dumps(rows),
        "usual": json.dumps(usual),
    }  # fmt: skip
    start_us = EPOCH_US + int((hold.at_s + LOOKED_AT_S) * 1e6)
    return Event("server.waiting", start_us, (looks - 1) * 50_000, attributes)


def _distribution(at: FloatArray, values: FloatArray, ticks: int) -> Distribution:
    tick = np.clip(at // TICK_US, 0, ticks - 1).astype(np.int64)
    return distribution_of(tick, values)
