"""Telemetry of a simulated TCP server and the path to its clients: an accept queue, round trips, and losses; seeded.

One thread accepts, others answer. Counts are on the 100 ms grid as the collector counts them; drops once a second.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.distributions import distribution_of
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US, view

SERVER = 3
# A SYN without an answer is sent again after these times (RFC 6298, 2.1 and 5.5).
_AGAIN_US = (1_000_000.0, 2_000_000.0, 4_000_000.0, 8_000_000.0)
_TIMER_US = 200_000.0


@dataclass(frozen=True, slots=True)
class Server:
    """Parameters of a run. `rate` requests/s arrive evenly, plus `bursts` of (at_s, requests) at once.

    `each`: every request has its own connection, from `clients` addresses; otherwise the `clients` keep theirs.
    Accepting one takes `accept_us`, an answer `work_us`, the `slow_ratio` of them `slow_us`. `trip_us`: a round trip.
    `loss` of the answers are lost on the way, a share of `noticed` of them noticed by the client, and `synack_loss` of
    the SYN-ACKs.
    """

    seconds: float = 60.0
    rate: float = 100.0
    bursts: tuple[tuple[float, int], ...] = ()
    each: bool = True
    clients: int = 4
    backlog: int = 128
    accept_us: float = 100.0
    work_us: float = 400.0
    slow_ratio: float = 0.0
    slow_us: float = 200_000.0
    trip_us: float = 300.0
    loss: float = 0.0
    noticed: float = 0.0
    synack_loss: float = 0.0
    program: str = "nginx"
    facts: dict[str, str] = field(default_factory=dict)
    process_facts: dict[str, str] = field(default_factory=dict)
    seed: int = 1


@dataclass(slots=True)
class _Seen:
    """The collector's records: (time, value) of each, µs."""

    requests: list[float] = field(default_factory=list)
    answers: list[tuple[float, float]] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)
    opened: list[tuple[float, float]] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    drops: list[float] = field(default_factory=list)
    queue: list[tuple[float, float]] = field(default_factory=list)
    synacks: list[float] = field(default_factory=list)
    resent: list[float] = field(default_factory=list)
    delays: list[tuple[float, float]] = field(default_factory=list)
    fast_delays: list[tuple[float, float]] = field(default_factory=list)


def simulate(load: Server) -> Snapshot:
    random = np.random.default_rng(load.seed)
    ticks = int(load.seconds * 1_000_000) // TICK_US
    seen = _serve(load, random)
    edges = np.arange(ticks + 1, dtype=np.float64) * TICK_US
    cpu = np.histogram([at for at, _ in seen.answers], edges)[0] * load.work_us + 300 + 200 * random.random(ticks)
    delay = 50 + 100 * random.random(ticks)
    process = view(
        2, "process", "4711:1", {"process_cpu_us": cpu, "process_run_delay_us": delay},
        {"process.executable": load.program} | load.process_facts,
    )  # fmt: skip
    subject = view(
        1, "cgroup", "/lab/server",
        {"cpu_usage_us": cpu + 200, "cpu_throttled_periods": np.zeros(ticks), "cpu_throttled_us": np.zeros(ticks)},
        {"cpu.quota_us": "-1", "cpu.period_us": "100000", "workload.manager": "none"} | load.facts,
    )  # fmt: skip
    idle = 4.0 * TICK_US - cpu - 20_000
    node = view(
        0, "node", "node-1",
        {
            "psi_cpu_some_us": 500 + delay, "psi_io_some_us": np.full(ticks, 50.0), "psi_memory_some_us":
            np.zeros(ticks), "host_idle_us": idle, "host_user_us": 4.0 * TICK_US - idle,
        },
        {"node.cpus": "4", "node.kernel": "6.12.9", "node.cgroup_version": "2"},
    )  # fmt: skip
    return Snapshot(
        EPOCH_US, ticks, subject, node, processes=(process,), tcp_servers=(_server(load, seen, edges),)
    )  # fmt: skip


def _serve(load: Server, random: np.random.Generator) -> _Seen:
    """Attempts in order of time; a queue that one thread drains."""
    seen, order = _Seen(), count()
    number = int(load.seconds * load.rate)
    at = (np.arange(number) + random.random(number)) * (1e6 / load.rate)
    for start, many in load.bursts:
        at = np.concatenate([at, start * 1e6 + 2_000 * random.random(many)])
    # (time, number, tries so far, duration of the handshake: 0 if the SYN is still to come)
    events = [(float(one), next(order), 0, 0.0) for one in np.sort(at)]
    heapq.heapify(events)
    accepted: list[float] = []  # when the waiting ones will have been accepted
    free = 0.0
    last: dict[int, float] = {}
    while events:
        now, which, tries, took = heapq.heappop(events)
        if now >= load.seconds * 1e6:
            continue
        if not load.each:
            _answer(load, seen, random, now, now)
            continue
        while accepted and accepted[0] <= now:
            heapq.heappop(accepted)
        if len(accepted) > load.backlog:
            seen.drops.append(now)
            if tries < len(_AGAIN_US):
                heapq.heappush(events, (now + _AGAIN_US[tries], which, tries + 1, 0.0))
            continue
        if not took:
            took = load.trip_us * (0.95 + 0.1 * random.random())
            if random.random() < load.synack_loss:
                took += 1_000_000.0
                seen.synacks.append(now + 1_000_000.0)
            heapq.heappush(events, (now + took, which, tries, took))
            continue
        seen.opened.append((now, min(took, 1_000_000.0)))
        client = which % load.clients
        if now - last.get(client, -1e9) < 10e6:
            seen.again.append(now)
        last[client] = now
        free = max(free, now) + load.accept_us
        heapq.heappush(accepted, free)
        seen.queue.append((now, float(len(accepted))))
        _answer(load, seen, random, now, free)
    return seen


def _answer(load: Server, seen: _Seen, random: np.random.Generator, came: float, read: float) -> None:
    work = load.slow_us if random.random() < load.slow_ratio else load.work_us
    answered = max(came, read) + work * (0.9 + 0.2 * random.random())
    seen.requests.append(came)
    seen.waits.append((read, max(1.0, read - came)))
    seen.answers.append((answered, answered - came))
    if load.noticed and random.random() < load.noticed * load.loss:
        seen.resent.append(answered + load.trip_us)
        seen.fast_delays.append((answered + 2 * load.trip_us, load.trip_us * (1 + 0.1 * random.random())))
        return
    timer, waited = _TIMER_US + load.trip_us, 0.0
    while random.random() < (1 - load.noticed) * load.loss:
        waited += timer * (1 + 0.03 * random.random())
        timer *= 2
        seen.resent.append(answered + waited)
    if waited:
        seen.delays.append((answered + waited + load.trip_us, waited))


def _server(load: Server, seen: _Seen, edges: FloatArray) -> ResourceView:
    ticks = len(edges) - 1

    def per_tick(at: list[float]) -> FloatArray:
        return np.histogram(at, edges)[0].astype(np.float64)

    drops = np.zeros(ticks)
    for at in seen.drops:  # read at the end of each second
        drops[min(ticks - 1, (int(at) // 1_000_000 + 1) * 10 - 1)] += 1
    queue = np.full(ticks, np.nan)
    for at, many in seen.queue:
        if (tick := int(at) // TICK_US) < ticks:
            queue[tick] = np.fmax(queue[tick], many)
    series = {
        "requests": per_tick(seen.requests),
        "responses": per_tick([at for at, _ in seen.answers]),
        "responses_slow": per_tick([at for at, took in seen.answers if took > SLOW_US]),
        "requests_unanswered": np.zeros(ticks),
        "requests_inflight": np.zeros(ticks),
        "connections_opened": per_tick([at for at, _ in seen.opened]),
        "reconnections": per_tick(seen.again),
        "listen_drops": drops,
        "accept_queue": queue,
        "synack_retransmits": per_tick(seen.synacks),
        "retransmits": per_tick(seen.resent),
    }
    facts = {
        "tcp.program": load.program, "tcp.process": "4711:1", "tcp.addresses": '["10.0.0.7:8080"]',
        "tcp.accept_limit": str(load.backlog), "tcp.somaxconn": "4096", "tcp.listeners": "1",
    }  # fmt: skip
    made = view(SERVER, "tcp_server", "/lab/server:8080", series, facts)
    named = {
        "request_latency_us": seen.answers, "request_wait_us": seen.waits, "handshake_us": seen.opened,
        "retransmit_delay_us": seen.delays, "fast_retransmit_delay_us": seen.fast_delays,
    }  # fmt: skip
    return replace(made, distributions={name: _distribution(rows, ticks) for name, rows in named.items() if rows})


def _distribution(rows: list[tuple[float, float]], ticks: int) -> Distribution:
    at, values = np.array(rows).T
    tick = np.clip(at // TICK_US, 0, ticks - 1).astype(np.int64)
    return distribution_of(tick, values)


def overflowing(made: Snapshot, busy: FloatArray, backlog: int = 16) -> Snapshot:
    """A run of another simulator whose server drops attempts where it is `busy` (0..1 of each tick).

    The queue is full in those ticks.
    """
    drops, queue = np.zeros(made.ticks), np.full(made.ticks, 2.0)
    for tick in np.flatnonzero(busy > 0.5).tolist():
        drops[min(made.ticks - 1, (tick // 10 + 1) * 10 - 1)] += 5
        queue[tick] = backlog + 1
    server = made.tcp_servers[0]
    requests = server.series["requests"]
    told = {
        "connections_opened": requests, "reconnections": requests, "listen_drops": drops, "accept_queue": queue,
        "synack_retransmits": np.zeros(made.ticks), "retransmits": np.zeros(made.ticks),
    }  # fmt: skip
    short = Distribution(np.arange(made.ticks), np.full(made.ticks, 140), np.nan_to_num(requests).astype(np.int64))
    facts = view(0, "tcp_server", "", {}, {"tcp.accept_limit": str(backlog), "tcp.somaxconn": "4096"}).facts
    full = replace(
        server, series={**server.series, **told}, facts=(*server.facts, *facts),
        distributions={**server.distributions, "handshake_us": short},
    )  # fmt: skip
    return replace(made, tcp_servers=(full,))
