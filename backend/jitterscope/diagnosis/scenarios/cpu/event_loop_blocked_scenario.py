"""Servers with one worker thread that is busy for long, or all the time; and threads that others hold up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.sketch import bucket_of, value_of
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, Snapshot
from jitterscope.diagnosis.scenarios.app.near import near_miss
from jitterscope.diagnosis.scenarios.cpu.contention import LITTLE, contended, delays, throttled_delays
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload, other_runtime
from jitterscope.diagnosis.scenarios.dns import single_socket_serialization_scenario as one_socket
from jitterscope.diagnosis.scenarios.net.runs import OVERFLOW as CROWD
from jitterscope.diagnosis.scenarios.net.simulate import simulate as crowd
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import TICK_US, facts_of, inside_ticks

ID = "cpu/event_loop_blocked"
NODE = {"process.executable": "node", "runtime.name": "nodejs", "runtime.version": "20.19.2"}
PYTHON = {"process.executable": "python3.11"}
REDIS = {"process.executable": "redis-server"}
BASE = Workload(serves="http", is_go=False, qps=300, live_mb=3, quota_us=None, gomaxprocs=1, node_cpus=4)
BLOCKS = tuple((2.03 + 1.7 * n, 0.15 + 0.1 * (n % 4)) for n in range(33))
SHORT = tuple((2.01 + 1.3 * n, 0.07) for n in range(43))


def _with_waits(made: Snapshot) -> Snapshot:
    """Of each answer's time, everything beyond its work was spent with the request waiting to be read."""
    server = made.tcp_servers[0]
    whole = server.distributions["request_latency_us"]
    waited = bucket_of(np.maximum(1.0, value_of(whole.bucket) - 300.0))
    told = {**server.distributions, "request_wait_us": Distribution(whole.tick, waited, whole.count)}
    return replace(made, tcp_servers=(replace(server, distributions=told),))


def _named(made: Snapshot, facts: dict[str, str], extra_us: FloatArray | float = 0.0) -> Snapshot:
    """The server's process as this program, with this much additional CPU time per tick."""
    process, subject = made.processes[0], made.subject
    used = np.minimum(series(process, "process_cpu_us", made.ticks) + extra_us, float(TICK_US))
    process = replace(process, series={**process.series, "process_cpu_us": used}, facts=facts_of(facts))
    usage = np.minimum(series(subject, "cpu_usage_us", made.ticks) + extra_us, float(TICK_US))
    subject = replace(subject, series={**subject.series, "cpu_usage_us": usage})
    return replace(made, processes=(process, *made.processes[1:]), subject=subject)


def _blocked(
    load: Workload, spans: Sequence[tuple[float, float]], facts: dict[str, str], taken: float = 0.1
) -> Snapshot:
    """It computes in the spans, and reads no request meanwhile."""
    made = simulate(replace(load, hiccups=tuple(spans))).snapshot
    busy = _named(_with_waits(made), facts, inside_ticks(spans, made.ticks) * TICK_US)
    return contended(busy, np.full(made.ticks, 500.0), taken, takers=LITTLE)


def _beside_another(load: Workload) -> Snapshot:
    """A second program in its container uses more CPU, at other times."""
    made = _blocked(load, BLOCKS, PYTHON)
    own = made.processes[0]
    later = inside_ticks([(start + 0.8, 0.5) for start, _ in BLOCKS], made.ticks) * TICK_US
    number = 1 + max(one.id for one in (made.node, made.subject, *made.processes, *made.tcp_servers))
    other = replace(own, id=number, key="4711:1", facts=facts_of(NODE), series={"process_cpu_us": later})
    usage = series(made.subject, "cpu_usage_us", made.ticks) + later
    subject = replace(made.subject, series={**made.subject.series, "cpu_usage_us": usage})
    return replace(made, subject=subject, processes=(own, other))


def _saturated(load: Workload, facts: dict[str, str]) -> Snapshot:
    return _blocked(load, (), facts)


def _starved(load: Workload) -> Snapshot:
    """It is runnable in the spans while others use the CPUs."""
    made = _named(_with_waits(simulate(replace(load, hiccups=BLOCKS)).snapshot), NODE)
    return contended(made, delays(BLOCKS, made.ticks), 0.1 + 0.9 * inside_ticks(BLOCKS, made.ticks))


def _throttled(load: Workload, facts: dict[str, str]) -> Snapshot:
    made = _with_waits(simulate(load).snapshot)
    process = made.processes[0]
    # A Go program of the simulator keeps its facts, which identify it as garbage-collected.
    named = made if load.is_go else replace(made, processes=(replace(process, facts=facts_of(facts)),))
    return contended(named, throttled_delays(made), 0.1, takers=LITTLE)


def _collects() -> Snapshot:
    """Collections stop it for as long, in a container that waits neither for memory nor for a CPU."""
    made = simulate(replace(other_runtime("nodejs"), quota_us=None, live_mb=250, gogc=25, seed=12)).snapshot
    columns = dict(made.subject.series)
    columns |= {"psi_memory_some_us": np.zeros(made.ticks), "memory_usage_bytes": columns["memory_anon_bytes"]}
    roomy = replace(made, subject=replace(made.subject, series=columns))
    return contended(roomy, np.full(made.ticks, 400.0), 0.1, takers=LITTLE)


def _waits_for_another(load: Workload) -> Snapshot:
    """Answers wait 60 ms for another server, and the thread is busy at other times."""
    made = simulate(replace(load, stray_slow_ratio=0.05)).snapshot
    busy = _named(_with_waits(made), NODE, inside_ticks(BLOCKS, made.ticks) * TICK_US)
    return contended(busy, np.full(made.ticks, 500.0), 0.1, takers=LITTLE)


def _one_socket() -> Snapshot:
    made = one_socket.SCENARIOS[4].build()
    return contended(made, np.full(made.ticks, 600.0), 0.2, takers=LITTLE)


def _fault(name: str, load: Workload, spans: Sequence[tuple[float, float]], facts: dict[str, str]) -> Scenario:
    return Scenario(f"event_loop_blocked/{name}", ID, partial(_blocked, load, spans, facts))


SCENARIOS = (
    _fault("Node.js, long functions", BASE, BLOCKS, NODE),
    _fault("Node.js, blocks shorter than a tick", replace(BASE, qps=600, seed=2), SHORT, NODE),
    _fault("Redis, long commands", replace(BASE, qps=2000, query_us=40.0, seed=3), BLOCKS, REDIS),
    _fault("Python", replace(BASE, qps=100, seed=4), BLOCKS, PYTHON),
    Scenario("event_loop_blocked/Python, beside a Node.js that uses more CPU", ID, partial(
        _beside_another, replace(BASE, qps=100, seed=12))),
    Scenario("event_loop_blocked/Node.js, more requests than one thread serves", ID, partial(
        _saturated, replace(BASE, qps=5_200, seconds=30, seed=5), NODE)),
    Scenario("event_loop_blocked/work of low priority takes the idle CPUs", ID, partial(
        _blocked, replace(BASE, seed=11), BLOCKS, NODE, 1.0)),
    Scenario("event_loop_blocked/look-alike: busy, and nobody is late", None, partial(
        _saturated, replace(BASE, qps=3_000, seed=6), NODE)),
    Scenario("event_loop_blocked/look-alike: a server that it asks is slow", None, partial(
        _waits_for_another, replace(BASE, seed=7))),
    Scenario("event_loop_blocked/near miss: others have the CPUs", "cpu/neighbours", partial(
        _starved, replace(BASE, seed=8))),
    Scenario("event_loop_blocked/near miss: GC uses up the limit", "cpu/gc_throttling", partial(
        _throttled, Workload(serves="http", qps=300, seed=9), NODE)),
    Scenario("event_loop_blocked/near miss: bursts use up the limit", "cpu/request_burst", partial(
        _throttled, Workload(serves="http", qps=200, live_mb=3, is_go=False,
                             bursts=tuple((5.0 + 7 * i, 0.5, 5000.0) for i in range(7)), seed=10), NODE)),
    Scenario("event_loop_blocked/near miss: dnsmasq reads one socket", "dns/single_socket_serialization", _one_socket),
    Scenario(
        "event_loop_blocked/near miss: bursts of connections that find no room",
        "net/accept_queue",
        partial(crowd, replace(CROWD, program="node", process_facts=NODE)),
    ),
    Scenario("event_loop_blocked/near miss: it collects garbage for as long", "runtime/gc_pause", _collects),
    near_miss("event_loop_blocked"),
)  # fmt: skip
