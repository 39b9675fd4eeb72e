"""Baselines in which no incident may open: no limit, a sufficient limit, GC switched off, a startup."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import Event, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import TICK_US


def _run(load: Workload) -> Snapshot:
    return simulate(load).snapshot


def _start_up() -> Snapshot:
    """10 s of loading: many quick cycles, throttled, without requests; then a healthy minute."""
    snapshot = simulate(Workload(qps=400, live_mb=3, seconds=60, seed=5)).snapshot
    begin = snapshot.start_us + 5 * TICK_US
    loading = slice(5, 105)
    throttled = np.zeros(snapshot.ticks)
    throttled[loading] = 1.0

    def changed(view: ResourceView, **columns: np.ndarray[tuple[int], np.dtype[np.float64]]) -> ResourceView:
        series = {name: values.copy() for name, values in view.series.items()}
        for name, values in columns.items():
            series[name][loading] = values[loading]
        return replace(view, series=series)

    zero, full = np.zeros(snapshot.ticks), np.full(snapshot.ticks, 50_000.0)
    subject = changed(snapshot.subject, cpu_usage_us=full, cpu_throttled_periods=throttled)
    server = changed(snapshot.dns_servers[0], dns_queries=zero, dns_answers=zero, dns_slow=zero)
    process = changed(snapshot.processes[0], gc_active_us=np.full(snapshot.ticks, 60_000.0))
    cycles = tuple(Event("go.gc_cycle", begin + 200_000 * i, 120_000, {"source": "uprobe"}) for i in range(49))
    process = replace(process, events=(Event("process.start", begin), *cycles))
    return replace(snapshot, subject=subject, dns_servers=(server,), processes=(process,))


SCENARIOS = (
    Scenario("healthy/small heap", None, partial(_run, Workload(qps=500, live_mb=3))),
    Scenario("healthy/no limit", None, partial(_run, Workload(quota_us=None))),
    Scenario("healthy/limit above GOMAXPROCS", None, partial(_run, Workload(quota_us=200_000, seed=2))),
    Scenario("healthy/GOGC off", None, partial(_run, Workload(gogc=None, gomemlimit_mb=3000, seed=3))),
    Scenario("healthy/start-up", None, _start_up),
    Scenario("healthy/HTTP, small heap", None, partial(_run, Workload(serves="http", qps=500, live_mb=3, seed=6))),
)
