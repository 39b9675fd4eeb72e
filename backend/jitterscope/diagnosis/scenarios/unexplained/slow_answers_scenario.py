"""Scenarios of unexplained/slow_answers: stalls without a known cause, and look-alikes with one or without stalls."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.app.near import near_miss
from jitterscope.diagnosis.scenarios.cpu import gc_throttling_scenario, limit_too_low_scenario, periodic_burst_scenario
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate as run
from jitterscope.diagnosis.scenarios.cpu.views import without
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.dns import slow_upstream_scenario, udp_loss_scenario
from jitterscope.diagnosis.scenarios.io import disk_stall_scenario
from jitterscope.diagnosis.scenarios.memory import limit_oom_scenario, reclaim_stall_scenario
from jitterscope.diagnosis.scenarios.net import accept_queue_scenario
from jitterscope.diagnosis.scenarios.runtime import gc_pause_scenario
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.unexplained.simulate import Hold, Kind, Service, simulate

ID = "unexplained/slow_answers"


def _held(kind: Kind, *seconds: float, **load: object) -> Service:
    """Held for each of these durations, 8 s apart."""
    holds = tuple(Hold(12.03 + 8 * i, length, kind) for i, length in enumerate(seconds))
    return replace(Service(holds=holds), **load)  # type: ignore[arg-type]


def _hiccups() -> Snapshot:
    """Beside answers that are late on their own, now and then."""
    hiccups = ((10.0, 0.15), (31.0, 0.3), (47.0, 0.08))
    return run(Workload(live_mb=3, hiccups=hiccups, stray_slow_ratio=0.003, seed=4)).snapshot


def _compiling(at_s: float, compiled_us: float) -> Snapshot:
    """A program that started 3 s before the window has used up its CPU limit, in the last tick of which methods were
    compiled that took so long."""
    hold, limit = Hold(at_s, 0.3, "loop"), {"cpu.quota_us": "100000"}
    snapshot = simulate(Service(holds=(hold,), starts_s=-3.0, seconds=at_s + 20.0, facts=limit))
    first, last = round(at_s * 10), round(at_s * 10) + 3
    throttled, compiled = np.zeros(snapshot.ticks), np.zeros(snapshot.ticks)
    throttled[first:last], compiled[last - 1] = 40_000.0, compiled_us
    limited = {"cpu_throttled_us": throttled, "cpu_throttled_periods": (throttled > 0).astype(np.float64)}
    subject, process = snapshot.subject, snapshot.processes[0]
    return replace(
        snapshot,
        subject=replace(subject, series={**subject.series, **limited}),
        processes=(replace(process, series={**process.series, "jit_cpu_us": compiled}),),
    )


def _start_up() -> Snapshot:
    return run(limit_too_low_scenario.START_UP).snapshot


def _blind(load: Service, *metrics: str) -> Snapshot:
    """Without the data of some metrics, and without the waits of single requests."""
    snapshot = simulate(load)
    for metric in metrics:
        snapshot = without(snapshot, metric)

    def aggregated(view: ResourceView) -> ResourceView:
        return replace(view, queries=None, series=view.series, distributions=view.distributions)

    return replace(snapshot, tcp_servers=tuple(map(aggregated, snapshot.tcp_servers)))


def _near_miss(name: str, other: tuple[Scenario, ...]) -> Scenario:
    """The first scenario of another cause: late answers with a known cause."""
    first = next(one for one in other if one.expected and one.hurts)
    return replace(first, name=f"slow_answers/near miss: {name}")


SCENARIOS = (
    Scenario("slow_answers/stopped", ID, partial(simulate, _held("stopped", 0.3))),
    Scenario("slow_answers/stopped for 50 ms", ID, partial(simulate, _held("stopped", 0.05, 0.05, rate=400.0))),
    Scenario("slow_answers/stopped, DNS", ID, partial(simulate, _held("stopped", 0.12, 0.5, protocol="dns"))),
    Scenario("slow_answers/a lock held", ID, partial(simulate, _held("lock", 0.2, 0.1))),
    Scenario(
        "slow_answers/a lock held, threads not read", ID, partial(simulate, _held("lock", 0.2, 0.1, watched=False)),
    ),
    Scenario("slow_answers/slow disk", ID, partial(simulate, _held("disk", 0.25, 0.4))),
    Scenario("slow_answers/paused peer", ID, partial(simulate, _held("peer", 0.35))),
    Scenario("slow_answers/paused peer, DNS", ID, partial(simulate, _held("peer", 0.3, protocol="dns"))),
    Scenario("slow_answers/long loop", ID, partial(simulate, _held("loop", 0.25, 0.15, protocol="dns"))),
    Scenario(
        "slow_answers/near miss: long loop of an event loop", "cpu/event_loop_blocked",
        partial(simulate, _held("loop", 0.25, 0.15)),
    ),
    Scenario("slow_answers/lasts 12 s", ID, partial(simulate, _held("stopped", 12.0, seconds=90.0))),
    Scenario(
        "slow_answers/nothing but counts", ID,
        partial(
            _blind, _held("stopped", 0.3, 0.2), "process_cpu_us", "process_run_delay_us", "request_wait_us",
            "cpu_usage_us",
        ),
    ),
    Scenario("slow_answers/the node takes CPU away, not recorded", ID, _hiccups),
    Scenario("slow_answers/quiet service", None, partial(simulate, Service())),
    Scenario("slow_answers/two slow answers", None, partial(simulate, _held("stopped", 0.028))),
    Scenario(
        "slow_answers/some requests are slow by nature", None,
        partial(simulate, Service(heavy_ratio=0.03, heavy_us=120_000.0)),
    ),
    Scenario(
        "slow_answers/rare and slow by nature", None,
        partial(simulate, Service(rate=40.0, heavy_ratio=0.05, heavy_us=300_000.0)),
    ),
    Scenario("slow_answers/all are slow", None, partial(simulate, Service(away_us=60_000.0))),
    Scenario("slow_answers/start-up", None, partial(simulate, Service(starts_s=10.0, cold_us=300_000.0))),
    Scenario(
        "slow_answers/soon after a calm start", ID, partial(simulate, _held("stopped", 0.3, starts_s=1.0, rate=200.0))
    ),
    Scenario("slow_answers/compiled late in its start", None, partial(_compiling, 30.0, 250_000.0)),
    Scenario("slow_answers/hardly compiled", ID, partial(_compiling, 30.0, 20_000.0)),
    Scenario("slow_answers/compiled long after its start", ID, partial(_compiling, 200.0, 250_000.0)),
    Scenario("slow_answers/not over yet", None, partial(simulate, _held("stopped", 0.3, seconds=16.0))),
    Scenario(
        "slow_answers/full node, waits not recorded", None,
        partial(_blind, _held("crowded", 0.07, 0.06, 0.05, full=True), "process_run_delay_us"),
    ),
    _near_miss("GC uses up the limit", gc_throttling_scenario.SCENARIOS),
    _near_miss("limit too low", limit_too_low_scenario.SCENARIOS),
    Scenario("slow_answers/near miss: start under a low CPU limit", "cpu/limit_too_low", _start_up),
    _near_miss("periodic job", periodic_burst_scenario.SCENARIOS),
    _near_miss("slow upstream", slow_upstream_scenario.SCENARIOS),
    _near_miss("lost datagrams", udp_loss_scenario.SCENARIOS),
    _near_miss("reclaim", reclaim_stall_scenario.SCENARIOS),
    _near_miss("out of memory", limit_oom_scenario.SCENARIOS),
    _near_miss("a disk", disk_stall_scenario.SCENARIOS),
    _near_miss("pauses of the collector", gc_pause_scenario.SCENARIOS),
    _near_miss("no room for connections", accept_queue_scenario.SCENARIOS),
    near_miss("slow_answers"),
)  # fmt: skip
