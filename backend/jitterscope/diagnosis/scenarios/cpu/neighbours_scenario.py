"""A server whose threads are runnable while others use the node's CPUs; and servers that wait for something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.app.near import near_miss
from jitterscope.diagnosis.scenarios.cpu.contention import (
    LITTLE,
    LOOPS,
    Taker,
    contended,
    delays,
    throttled_delays,
)
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.dns import single_socket_serialization_scenario as one_socket
from jitterscope.diagnosis.scenarios.dns import slow_upstream_scenario as upstream
from jitterscope.diagnosis.scenarios.dns import udp_loss_scenario as udp_loss
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import facts_of, frozen, inside_ticks

ID = "cpu/neighbours"
# The server runs about 40 ms of each second: the share of a weight of 2 beside six loops.
STARVED = tuple((0.3 + 0.9 * n, 0.86) for n in range(64))
MOMENTS = tuple((2.0 + 1.7 * n, 0.12 + 0.05 * (n % 4)) for n in range(33))
# With cpu.idle.
POLITE = tuple(replace(one, facts=tuple((dict(one.facts) | {"cpu.weight": "idle"}).items())) for one in LOOPS)
BASE = Workload(qps=300, live_mb=3, quota_us=None, gomaxprocs=1)


def _starved(load: Workload, spans: Sequence[tuple[float, float]], **more: object) -> Snapshot:
    """Others use all CPUs in the spans, and are nearly idle otherwise."""
    made = simulate(replace(load, hiccups=tuple(spans))).snapshot
    taken = 0.1 + 0.9 * inside_ticks(spans, made.ticks)
    split = one_socket.split(made, wait_all=True) if load.serves == "dns" else made
    return contended(split, delays(spans, made.ticks), taken, **more)  # type: ignore[arg-type]


def _fault(
    name: str, load: Workload, spans: Sequence[tuple[float, float]], hurts: bool = True, **more: object
) -> Scenario:
    return Scenario(f"neighbours/{name}", ID, partial(_starved, load, spans, **more), hurts)


def _throttled(load: Workload, taken: float = 0.3) -> Snapshot:
    made = one_socket.split(simulate(load).snapshot, wait_all=True)
    return contended(made, throttled_delays(made), taken, takers=LITTLE)


def _own_demand() -> Snapshot:
    """Its own threads use both CPUs and wait for each other."""
    made = simulate(Workload(qps=9_000, live_mb=3, quota_us=None, is_go=False, seconds=20, seed=41)).snapshot
    return contended(one_socket.split(made, wait_all=True), np.full(made.ticks, 150_000.0), 0.6, takers=LITTLE)


def _pinned() -> Snapshot:
    made = _starved(replace(BASE, seed=42), MOMENTS)
    idle = replace(made.node, series={**made.node.series, "host_idle_us": np.full(made.ticks, 100_000.0)})
    process = made.processes[0]
    process = replace(process, facts=(*process.facts, *facts_of({"process.affinity_cpus": "1"})))
    return replace(made, node=idle, processes=(process,))


def _fair() -> Snapshot:
    """A full node that is shared fairly: threads wait a few ms again and again, and no answer is late."""
    made = one_socket.split(simulate(replace(BASE, seed=43)).snapshot)
    return contended(made, np.full(made.ticks, 25_000.0), 1.0, weight="100")


def _waits_before() -> Snapshot:
    """Threads always wait a little, on an idle node too, and harm nobody; then neighbors take the CPUs."""
    spans = tuple((50.3 + 0.9 * n, 0.86) for n in range(10))
    made = simulate(replace(BASE, hiccups=spans, seed=47)).snapshot
    waited = delays(spans, made.ticks) + np.where(np.arange(made.ticks) < 500, 40_000.0, 0.0)
    return contended(one_socket.split(made, wait_all=True), waited, 0.1 + 0.9 * inside_ticks(spans, made.ticks))


def _waits_for_another(load: Workload) -> Snapshot:
    """Queries are read at once, and answered late by what the server asks; its many threads always wait for a CPU."""
    made = simulate(replace(load, hiccups=MOMENTS)).snapshot
    queries = made.dns_servers[0].queries
    assert queries is not None
    read = replace(queries, queue_wait_us=np.minimum(queries.latency_us // 2, 4_000))
    asked = replace(made, dns_servers=(replace(made.dns_servers[0], queries=read),))
    waited = 50_000.0 + 400_000.0 * inside_ticks(MOMENTS, made.ticks)
    return contended(one_socket.split(asked), waited, 1.0, weight="100")


def _waits_by_load(own_ms: float) -> Snapshot:
    """Each answer takes that long, as its upstream does, and threads wait all the time, more with more queries."""
    bursts = tuple((1.5 * n, 0.8, 700.0) for n in range(40))
    made = simulate(replace(BASE, qps=200, bursts=bursts, own_us=1_000 * own_ms, seed=46)).snapshot
    queries = np.nan_to_num(made.dns_servers[0].series["dns_queries"])
    return contended(one_socket.split(made), 10_500.0 + 500.0 * queries, 1.0, weight="100")


def _stolen() -> Snapshot:
    """The hypervisor steals CPU time: threads of the guest wait, and none of its cgroups uses the CPUs."""
    spans = MOMENTS
    made = simulate(replace(BASE, hiccups=spans, seed=44)).snapshot
    gone = 0.95 * inside_ticks(spans, made.ticks)
    split = one_socket.split(made, wait_all=True)
    return contended(split, delays(spans, made.ticks), 0.03, takers=LITTLE, stolen=gone)


def _frozen() -> Snapshot:
    """While the whole node stands still, threads of all programs wait, and the CPU time counts for whoever has it."""
    made = _starved(replace(BASE, seed=46), MOMENTS)
    return replace(made, node=replace(made.node, series=frozen(dict(made.node.series), MOMENTS, made.ticks)))


def _busy_upstream() -> Snapshot:
    """Late answers of a slow upstream on a node that is always full and shared fairly."""
    made = next(one for one in upstream.SCENARIOS if one.expected == "dns/slow_upstream").build()
    return contended(made, np.full(made.ticks, 20_000.0), 1.0, weight="100")


def _lost() -> Snapshot:
    made = udp_loss.SCENARIOS[0].build()
    return contended(made, np.full(made.ticks, 600.0), 0.3, takers=LITTLE)


def _lost_on_a_full_node() -> Snapshot:
    """Its threads wait all the time, yet nearly all answers are quick."""
    made = udp_loss.SCENARIOS[0].build()
    waited = np.random.default_rng(45).gamma(4.0, 10_000.0, made.ticks)
    return contended(made, waited, 1.0, weight="100")


def _one_socket() -> Snapshot:
    made = one_socket.SCENARIOS[0].build()
    return contended(made, np.full(made.ticks, 600.0), 0.2, takers=LITTLE)


KUBERNETES = {
    "workload.manager": "kubernetes", "workload.namespace": "kube-system", "workload.pod": "coredns-7d-abc",
    "workload.container": "coredns", "workload.owner": "Deployment/coredns",
}  # fmt: skip
BATCH = Taker("/kubepods/besteffort/batch", 0.97, (
    ("cpu.weight", "100"), ("cpu.quota_us", "-1"), ("workload.manager", "kubernetes"), ("workload.namespace", "jobs"),
    ("workload.pod", "report-1"), ("workload.container", "report"),
))  # fmt: skip
SCENARIOS = (
    _fault("six loops and a weight of 2 shares", BASE, STARVED),
    _fault("moments", replace(BASE, seed=2), MOMENTS),
    _fault(
        "one batch job in Kubernetes", replace(BASE, seed=3, facts=KUBERNETES), MOMENTS, takers=(BATCH,), weight="39"
    ),
    _fault("with a limit that does not bite", replace(BASE, quota_us=100_000, seed=4), MOMENTS),
    _fault("no Go", replace(BASE, is_go=False, seed=5), STARVED),
    _fault("nobody is named", replace(BASE, seed=6), MOMENTS, takers=()),
    _fault("HTTP", replace(BASE, serves="http", is_go=False, seed=9), STARVED),
    _fault("HTTP, moments", replace(BASE, serves="http", is_go=False, seed=10), MOMENTS),
    Scenario("neighbours/after a minute of small waits", ID, _waits_before, True),
    _fault("serves nothing", replace(BASE, serves=None, is_go=False, seed=7), STARVED, hurts=False),
    Scenario(
        "neighbours_by_pressure/no run delay",
        ID,
        partial(_starved, replace(BASE, seed=8), MOMENTS, pressure=True),
    ),
    Scenario("neighbours/look-alike: its own threads take all CPUs", None, _own_demand),
    Scenario(
        "neighbours/look-alike: those that have the CPU give way",
        "unexplained/slow_answers",
        partial(_starved, replace(BASE, seed=44), MOMENTS, takers=POLITE),
    ),
    Scenario("neighbours/look-alike: pinned to one of the CPUs", "unexplained/slow_answers", _pinned),
    Scenario("neighbours/look-alike: a full node that is shared fairly", None, _fair),
    Scenario(
        "neighbours/look-alike: queries are read at once and wait for another server",
        "unexplained/slow_answers",
        partial(_waits_for_another, replace(BASE, seed=48)),
    ),
    *(
        Scenario(f"neighbours/look-alike: each answer takes {ms} ms", None, partial(_waits_by_load, ms))
        for ms in (22, 2_500)
    ),
    Scenario("neighbours/near miss: GC uses up the limit", "cpu/gc_throttling", partial(_throttled, Workload(seed=31))),
    Scenario(
        "neighbours/near miss: GC uses up the limit on a full node",
        "cpu/gc_throttling",
        partial(_throttled, Workload(seed=32), 1.0),
        note="waits are in throttled periods",
    ),
    Scenario(
        "neighbours/near miss: overload",
        "cpu/limit_too_low",
        partial(_throttled, Workload(qps=4000, live_mb=3, seconds=20, seed=33)),
    ),
    Scenario(
        "neighbours/near miss: bursts",
        "cpu/request_burst",
        partial(_throttled, Workload(
            qps=200, live_mb=3, bursts=tuple((5.0 + 7 * i, 0.5, 5000.0) for i in range(7)), seed=34)),
    ),
    Scenario("neighbours/look-alike: the whole node freezes", "unexplained/slow_answers", _frozen),
    Scenario("neighbours/near miss: the hypervisor takes the CPUs", "cpu/steal", _stolen),
    Scenario("neighbours/near miss: one reader is too slow", "dns/single_socket_serialization", _one_socket),
    Scenario("neighbours/near miss: datagrams are lost on the way", "dns/udp_loss", _lost),
    Scenario("neighbours/near miss: datagrams are lost on a full node", "dns/udp_loss", _lost_on_a_full_node),
    Scenario("neighbours/near miss: a slow upstream on a full node", "dns/slow_upstream", _busy_upstream),
    near_miss("neighbours"),
)  # fmt: skip
