"""Adds CPU contention on the node to a simulated run: run delay, host CPU, and the cgroups that use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.core.signals import number, series
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.telemetry import TICK_US, facts_of, view


@dataclass(frozen=True, slots=True)
class Taker:
    """A cgroup that uses `share` of the remaining CPU time; `facts` are its own."""

    name: str
    share: float
    facts: tuple[tuple[str, str], ...] = ()


LOOPS = tuple(Taker(f"/lab/loop-{n}", 1 / 6, (("cpu.weight", "1953.125"), ("cpu.quota_us", "-1"))) for n in range(6))
LITTLE = (Taker("/system.slice/cron.service", 0.05),)


def delays(spans: Sequence[tuple[float, float]], ticks: int) -> FloatArray:
    """Run delay (µs per tick) of one thread that cannot run in (at_s, seconds): counted when it runs again."""
    waited = np.full(ticks, 400.0)
    for at, seconds in spans:
        tick = int((at + seconds) * 1e6) // TICK_US
        if tick < ticks:
            waited[tick] += seconds * 1e6
    return waited


def contended(
    snapshot: Snapshot,
    waited_us: FloatArray,
    taken: FloatArray | float,
    *,
    takers: Sequence[Taker] = LOOPS,
    stolen: FloatArray | float = 0.0,
    weight: str | None = "0.195",
    pressure: bool = False,
) -> Snapshot:
    """Add contention to a run. `waited_us`: run delay of the first process per tick.

    `taken`: the share of the node's CPU time left by the subject that others use; the rest is idle, or `stolen`. With
    `pressure`, PSI shows the waiting, and no run delay does.
    """
    n, node, subject = snapshot.ticks, snapshot.node, snapshot.subject
    cpus = number(node.fact("node.cpus")) or 2.0
    left = np.maximum(0.0, cpus * snapshot.step_us - np.nan_to_num(series(subject, "cpu_usage_us", n)))
    others, away = left * taken, left * stolen
    host = {
        "host_user_us": cpus * snapshot.step_us - left + others,
        "host_idle_us": np.maximum(0.0, left - others - away),
        "host_steal_us": away,
        "host_irq_us": np.zeros(n),
        "host_iowait_us": np.zeros(n),
        "host_runnable": np.where(np.asarray(taken) > 0.9, 7.0, 1.0) * np.ones(n),
    }
    around = tuple(
        view(90 + at, "cgroup", one.name, {"cpu_usage_us": others * one.share}, dict(one.facts))
        for at, one in enumerate(takers)
    )
    own = subject.series
    processes = snapshot.processes
    if pressure:
        own = {**own, "psi_cpu_some_us": np.minimum(waited_us, float(snapshot.step_us))}
    elif processes:
        first = processes[0]
        told = {"process_run_delay_us": waited_us, "process_threads": np.full(n, 1.0)} | dict(first.series)
        processes = (replace(first, series=told), *processes[1:])
    facts = facts_of({"cpu.weight": weight}) if weight is not None else ()
    return replace(
        snapshot,
        node=_with(node, host),
        subject=replace(subject, series=own, facts=(*subject.facts, *facts)),
        processes=processes,
        cgroups=around,
    )


def _with(node: ResourceView, host: dict[str, FloatArray]) -> ResourceView:
    return replace(node, series={**node.series, **host})


def throttled_delays(snapshot: Snapshot) -> FloatArray:
    """The run delay that the kernel counts for a cgroup that is throttled and waits for nothing else."""
    return 400.0 + np.nan_to_num(series(snapshot.subject, "cpu_throttled_us", snapshot.ticks))
