"""Collections of other runtimes than Go that stop a service without throttling; and pauses with other reasons."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import Event, FactValue, Snapshot
from jitterscope.diagnosis.scenarios.app.near import near_miss
from jitterscope.diagnosis.scenarios.cpu import event_loop_blocked_scenario as event_loop
from jitterscope.diagnosis.scenarios.cpu.contention import LITTLE, contended, delays
from jitterscope.diagnosis.scenarios.cpu.neighbours_scenario import STARVED
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload, other_runtime
from jitterscope.diagnosis.scenarios.memory.reclaim_stall_scenario import AT_LIMIT
from jitterscope.diagnosis.scenarios.memory.runs import run
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import TICK_US, inside_ticks

ID = "runtime/gc_pause"
JVM = replace(other_runtime("jvm"), quota_us=None, live_mb=600.0, gogc=15)


def _run(load: Workload) -> Snapshot:
    """In a container that waits neither for memory nor for a CPU."""
    made = simulate(load).snapshot
    return contended(_roomy(made), np.full(made.ticks, 400.0), 0.1, takers=LITTLE)


def _roomy(made: Snapshot) -> Snapshot:
    columns = dict(made.subject.series)
    columns |= {"psi_memory_some_us": np.zeros(made.ticks), "memory_usage_bytes": columns["memory_anon_bytes"]}
    return replace(made, subject=replace(made.subject, series=columns))


def _on_a_full_node(load: Workload) -> Snapshot:
    """Others use what it leaves of the CPUs. In a pause it has them all, and its GC threads wait for each other."""
    made = simulate(load).snapshot
    used = made.subject.series["cpu_usage_us"]
    waits = np.where(used > TICK_US, used, np.where(np.arange(made.ticks) % 3 == 0, 15_000.0, 400.0))
    return contended(_roomy(made), waits, 1.0)


def _starved(load: Workload) -> Snapshot:
    """Collections of 5 ms of work that others keep off the CPUs for most of a second."""
    made = simulate(replace(load, hiccups=STARVED)).snapshot
    taken = 0.1 + 0.9 * inside_ticks(STARVED, made.ticks)
    return contended(_roomy(made), delays(STARVED, made.ticks), taken)


def _computes() -> Snapshot:
    """A Node.js program that is busy with long functions, and collects for 8 ms now and then."""
    made = event_loop.SCENARIOS[0].build()
    process = made.processes[0]
    ticks = np.arange(12, made.ticks, 30)
    stopped = np.zeros(made.ticks)
    stopped[ticks] = 8_000.0
    told = {"source": "uprobe", "collector": "scavenge", "pause_us": "8000"}
    events = tuple(Event("gc.cycle", made.start_us + int(tick) * TICK_US + 10_000, 8_000, told) for tick in ticks)
    series = {**process.series, "gc_active_us": stopped, "gc_pause_us": stopped}
    return replace(made, processes=(replace(process, series=series, events=events),))


def _fault(name: str, load: Workload, note: str = "") -> Scenario:
    return Scenario(f"gc_pause/{name}", ID, partial(_run, load), note=note)


def _fine(name: str, load: Workload, note: str = "") -> Scenario:
    return Scenario(f"gc_pause/healthy: {name}", None, partial(_run, load), note=note)


def _reclaims(seed: int) -> Snapshot:
    """A JVM that waits for page cache to be reclaimed, also during its collections: each takes four ticks."""
    made = run(replace(AT_LIMIT, go=False, software="java", seed=seed))
    (process,) = made.processes
    ticks = np.arange(170, 290, 8)
    pauses = tuple(
        Event("gc.cycle", made.start_us + int(tick) * TICK_US, 4 * TICK_US,
              {"source": "hsperfdata", "collector": "PSScavenge", "pause_us": str(4 * TICK_US)})
        for tick in ticks
    )  # fmt: skip
    stopped, slow = np.zeros(made.ticks), np.zeros(made.ticks)
    for tick in ticks:
        stopped[tick : tick + 4] = TICK_US
        slow[tick : tick + 5] = 2.0
    facts = {"runtime.name": "jvm", "runtime.version": "17.0.9", "runtime.gc_source": "hsperfdata"}
    told = tuple(FactValue(name, value, made.start_us) for name, value in facts.items())
    series = {name: values for name, values in process.series.items() if not name.startswith(("go", "gc_", "heap_"))}
    series |= {"gc_active_us": stopped, "gc_pause_us": stopped, "process_cpu_us": np.full(made.ticks, 20_000.0)}
    jvm = replace(process, series=series, events=pauses, facts=(*process.facts, *told))
    cpu = {"cpu_throttled_periods": np.zeros(made.ticks)}
    subject = replace(made.subject, series=dict(made.subject.series) | cpu)
    servers = tuple(replace(one, series=dict(one.series) | {"dns_slow": slow}) for one in made.dns_servers)
    return replace(made, subject=subject, processes=(jvm,), dns_servers=servers)


SCENARIOS = (
    _fault("JVM", JVM),
    _fault("JVM below its limit", replace(JVM, quota_us=400_000, seed=2)),
    _fault("JVM, one GC thread", replace(JVM, live_mb=150, gogc=30, gc_threads=1, seed=3)),
    _fault("JVM with G1", replace(JVM, seed=4, facts={
        "workload.container": "cart", "runtime.options": '["-Xmx800m", "-XX:+UseG1GC"]',
        "runtime.gc_kind": "G1 young collection pauses"})),
    _fault("Node.js", replace(other_runtime("nodejs"), quota_us=None, live_mb=250, gogc=25, seed=5)),
    _fault("Python", replace(other_runtime("python"), quota_us=None, live_mb=150, gogc=30, seed=6)),
    _fault("Ruby", replace(other_runtime("ruby"), quota_us=None, live_mb=150, gogc=30, seed=9)),
    Scenario("gc_pause/JVM on a full node", ID, partial(_on_a_full_node, replace(JVM, live_mb=300, gogc=12, seed=8))),
    _fault("noise", replace(JVM, missing_ratio=0.02, stray_slow_ratio=0.0005, seed=7)),
    _fine("short pauses", replace(JVM, live_mb=20, seed=20)),
    _fine("long pauses while no query comes", replace(JVM, qps=0.2, seed=21)),
    _fine("GC of Go", Workload(quota_us=None, seed=22), note="cycles of 70 ms beside the program"),
    Scenario(
        "gc_pause/near miss: the CPU limit makes them long",
        "cpu/gc_throttling",
        partial(_run, replace(other_runtime("jvm"), gogc=15, seed=30)),
    ),
    Scenario(
        "gc_pause/near miss: others have the CPUs that it needs",
        "cpu/neighbours",
        partial(_starved, replace(JVM, live_mb=20.0, gogc=30, seed=32)),
    ),
    Scenario("gc_pause/near miss: its own code takes as long", "cpu/event_loop_blocked", _computes),
    Scenario(
        "gc_pause/near miss: memory is reclaimed meanwhile",
        "memory/reclaim_stall",
        partial(_reclaims, 31),
    ),
    near_miss("gc_pause"),
)  # fmt: skip
