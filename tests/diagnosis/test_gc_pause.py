"""Pauses of a collector: which are its own, which harm, and what was not observed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.readings import run_waits
from jitterscope.diagnosis.areas.runtime.area import AREA
from jitterscope.diagnosis.areas.runtime.fixes import collector
from jitterscope.diagnosis.areas.runtime.readings import pauses
from jitterscope.diagnosis.core.area import Amounts
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.gc import Cycles, read_gc
from jitterscope.diagnosis.core.landing import Facts, Seen
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.snapshot import Event, FactValue, FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.views import without
from jitterscope.diagnosis.scenarios.cpu.workload import other_runtime
from jitterscope.diagnosis.scenarios.runtime.gc_pause_scenario import JVM
from tests.diagnosis.scenarios import built

CAUSE = all_causes()["runtime/gc_pause"]
MEASURES = {one.id: one for one in AREA.measures}


def with_process(snapshot: Snapshot, **series: FloatArray) -> Snapshot:
    """With these series for its only process."""
    (process,) = snapshot.processes
    return replace(snapshot, processes=(replace(process, series=dict(process.series) | series),))


def test_all_long_pauses_of_a_jvm_are_told() -> None:
    made = simulate(replace(JVM, seed=41))
    found = pauses.read(made.snapshot)
    assert found is not None
    (process,) = made.snapshot.processes
    lengths = [event.duration_us for event in process.events]
    assert found.count == made.gc_cycles == len(lengths)
    assert len(found.long) == sum(length >= pauses.LONG_US for length in lengths)
    assert found.longest_us == max(lengths)
    assert set(found.held) == {"collector"}
    # All of its threads collect: 4 CPUs.
    assert np.nansum(found.worked_us) == pytest.approx(4 * sum(lengths), rel=0.2)


def test_a_collector_that_gets_no_cpu_is_not_the_cause() -> None:
    """The same pauses, in which the process hardly ran: something else had the CPU."""
    whole = built("gc_pause/JVM")
    (process,) = whole.processes
    stopped = process.series["gc_pause_us"] > 0
    starved = with_process(whole, process_cpu_us=np.where(stopped, 500.0, process.series["process_cpu_us"]))
    verdict = CAUSE.detect(starved)
    assert isinstance(verdict, NotFound)
    assert "got hardly any CPU" in verdict.reason


def test_a_pause_whose_waits_nobody_recorded_is_less_certain() -> None:
    """Without its CPU time, what shows waits for a CPU and for memory must exclude them."""
    levels = []
    for gone in ((), ("process_cpu_us",), ("process_cpu_us", "process_run_delay_us", "psi_memory_some_us")):
        snapshot = built("gc_pause/JVM")
        for metric in gone:
            snapshot = without(snapshot, metric)
        found = CAUSE.detect(snapshot)
        assert isinstance(found, Found)
        levels.append(found.confidence)
    assert levels == ["high", "medium", "low"]


def test_neighbours_that_use_the_rest_are_not_blamed() -> None:
    """GC threads wait for each other; others have the CPUs only when no answer is pending."""
    snapshot = built("gc_pause/JVM on a full node")
    verdict = all_causes()["cpu/neighbours"].detect(snapshot)
    assert isinstance(verdict, NotFound)
    waits = run_waits.read_waits(snapshot)
    assert waits is not None
    in_all_waits = run_waits.cpu_use(snapshot, waits, waits.spans)
    assert in_all_waits is not None
    assert in_all_waits.others > 0.5 > verdict.numbers["others"]
    assert verdict.numbers["own_late"] > 0.8
    assert "its own work takes the CPUs" in verdict.reason


def test_without_cpu_of_the_process_it_is_less_certain() -> None:
    whole = built("gc_pause/JVM")
    unknown = with_process(whole, process_cpu_us=np.full(whole.ticks, np.nan))
    (sure,), (less,) = diagnose(whole).findings, diagnose(unknown).findings
    assert (sure.confidence, less.confidence) == ("high", "medium")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gc_pause/near miss: the CPU limit makes them long", "were throttled by the CPU limit"),
        ("gc_pause/near miss: memory is reclaimed meanwhile", "waited for memory"),
        ("gc_pause/healthy: short pauses", "too short"),
        ("gc_pause/healthy: long pauses while no query comes", "slow answers fell into GC pauses"),
    ],
)
def test_it_says_why_not(name: str, words: str) -> None:
    verdict = CAUSE.detect(built(name))
    assert isinstance(verdict, NotFound)
    assert words in verdict.reason
    assert verdict.numbers


def test_pauses_of_a_program_whose_answers_were_not_timed_harm_nobody_that_is_known() -> None:
    verdict = CAUSE.detect(replace(built("gc_pause/JVM"), tcp_servers=()))
    assert isinstance(verdict, NotEnoughData)
    assert verdict.missing == ["responses_slow"]


def test_slow_answers_outside_the_pauses_are_not_explained_by_them() -> None:
    """A tenth of the answers waits for something else, while the pauses are there as well."""
    verdict = CAUSE.detect(simulate(replace(JVM, gogc=30, stray_slow_ratio=0.1, seed=42)).snapshot)
    assert isinstance(verdict, NotFound)
    assert verdict.numbers["slow_inside"] < 0.3 * verdict.numbers["slow"]


def test_a_runtime_that_nobody_watches_is_named() -> None:
    verdict = CAUSE.detect(simulate(replace(JVM, observed=False, seconds=20, seed=43)).snapshot)
    assert isinstance(verdict, NotEnoughData)
    assert "java (the JVM)" in verdict.reason


def test_a_source_that_is_not_available_says_so() -> None:
    blind = simulate(replace(JVM, observed=False, seconds=20, seed=43)).snapshot
    verdict = CAUSE.detect(replace(blind, unavailable={"jvm_gc": "needs the user of the JVM"}))
    assert isinstance(verdict, NotEnoughData)
    assert "jvm_gc is not available: needs the user of the JVM." in verdict.reason


def test_pauses_without_length_are_not_guessed() -> None:
    """Cycles alone do not show how long the program was stopped."""
    whole = built("gc_pause/JVM")
    (process,) = whole.processes
    events = tuple(replace(event, attributes={"source": "hsperfdata"}) for event in process.events)
    series = {name: values for name, values in process.series.items() if name != "gc_pause_us"}
    verdict = CAUSE.detect(replace(whole, processes=(replace(process, series=series, events=events),)))
    assert isinstance(verdict, NotEnoughData)
    assert verdict.missing == ["gc_pause_us"]


def test_concurrent_work_is_not_observed_and_says_so() -> None:
    """hsperfdata has the pauses of G1; its concurrent marking can use up a quota unseen."""
    verdicts = {}
    for kind in ("PSScavenge, PSParallelCompact", "G1 young collection pauses, G1 full collection pauses"):
        load = replace(JVM, quota_us=50_000, qps=4000, live_mb=5, gogc=1000, seconds=20, seed=13)
        made = simulate(replace(load, facts={**load.facts, "runtime.gc_kind": kind})).snapshot
        verdicts[kind[:2]] = all_causes()["cpu/gc_throttling"].detect(made)
    assert isinstance(verdicts["PS"], NotFound)
    assert isinstance(verdicts["G1"], NotEnoughData)
    assert "java (concurrent work of G1)" in verdicts["G1"].reason


def test_the_measures_are_what_was_recorded() -> None:
    whole = built("gc_pause/JVM")
    (process,) = whole.processes
    for name, expected in (
        ("gc_pause_ms_per_min", float(process.series["gc_pause_us"].sum()) / 1000),
        ("long_pauses_per_min", float(len([one for one in process.events if one.duration_us >= 20_000]))),
    ):
        amounts = MEASURES[name].read(whole)
        assert isinstance(amounts, Amounts)
        assert np.nansum(amounts.part) == pytest.approx(expected, rel=0.02)
        assert np.nansum(amounts.whole) == pytest.approx(whole.ticks / 600)
    slow = MEASURES["slow_ratio"].read(whole)
    assert isinstance(slow, Amounts)
    assert slow.events is not None


def test_what_was_not_measured_has_no_figure() -> None:
    nothing = replace(built("gc_pause/JVM"), processes=(), tcp_servers=())
    assert [one.read(nothing) for one in AREA.measures] == [None] * len(AREA.measures)


@pytest.mark.parametrize(
    ("options", "kind", "version", "fixes"),
    [
        ('["-XX:+UseParallelGC", "-Xmx420m"]', "PSParallelCompact", "17.0.9",
         {"jvm_collector": "reduces", "jvm_pause_goal": "cannot_help", "jvm_larger_heap": "reduces"}),
        ('["-XX:+UseParallelGC", "-Xmx420m"]', "PSScavenge", "17.0.9",
         {"jvm_collector": "reduces", "jvm_pause_goal": "reduces", "jvm_larger_heap": "reduces"}),
        ('["-XX:+UseG1GC"]', "G1 young collection pauses", "21.0.1",
         {"jvm_collector": "removes", "jvm_pause_goal": "reduces"}),
        ('["-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"]', "G1 young collection pauses", "11.0.2", {}),
    ],
)  # fmt: skip
def test_fixes_follow_collector_and_version(options: str, kind: str, version: str, fixes: dict[str, str]) -> None:
    facts = {"workload.container": "cart", "runtime.options": options, "runtime.gc_kind": kind,
             "runtime.version": version}  # fmt: skip
    made = simulate(replace(JVM, facts=facts, seconds=30, seed=44)).snapshot
    (process,) = made.processes
    events = tuple(replace(one, attributes={**one.attributes, "collector": kind}) for one in process.events)
    made = replace(made, processes=(replace(process, events=events),))
    found = CAUSE.detect(made)
    assert isinstance(found, Found)
    assert {fix.id: fix.verdict for fix in CAUSE.propose(made, found)} == fixes


def test_no_setting_of_go_is_proposed_for_another_runtime() -> None:
    for name in ("gc_pause/JVM", "gc_pause/Node.js", "gc_pause/Python", "gc_pause/Ruby", "gc_throttling/JVM",
                 "gc_throttling/Node.js", "gc_throttling/Python", "gc_throttling/Ruby"):  # fmt: skip
        (found,) = diagnose(built(name)).findings
        text = " ".join(fix.model_dump_json() for fix in found.fixes)
        assert found.fixes
        assert not [word for word in ("GOGC", "GOMEMLIMIT", "GOMAXPROCS") if word in text], name


@pytest.mark.parametrize("runtime", ["nodejs", "ruby"])
def test_marking_in_steps_that_stop_the_program_unseen_is_not_ruled_out(runtime: str) -> None:
    """V8 keeps its steps short; those of Ruby have any length."""
    whole = simulate(replace(other_runtime(runtime), quota_us=None, live_mb=150, gogc=30, seconds=30, seed=45)).snapshot
    (process,) = whole.processes
    cycles = tuple(
        replace(one, attributes={**one.attributes, "pause_us": "2000", "marking_us": str(one.duration_us - 2_000)})
        for one in process.events
    )
    seen = {**process.series, "gc_pause_us": np.minimum(process.series["gc_pause_us"], 2_000.0)}
    verdict = CAUSE.detect(replace(whole, processes=(replace(process, events=cycles, series=seen),)))
    if runtime == "nodejs":
        assert isinstance(verdict, NotFound)
    else:
        assert isinstance(verdict, NotEnoughData)
        assert "Ruby marked in steps" in verdict.reason


@pytest.mark.parametrize(
    ("version", "memory", "options", "fixes"),
    [
        ("3.4.5", -1, "[]", {"ruby_full_between_requests", "ruby_old_objects", "ruby_malloc_limit"}),
        ("3.3.8", -1, "[]", {"ruby_old_objects", "ruby_malloc_limit"}),
        ("3.3.8", 1 << 30, '["RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR=4"]', {"ruby_malloc_limit"}),
        ("3.3.8", 256 << 20, "[]", {"ruby_old_objects"}),
        ("3.3.8", -1, '["RUBY_GC_MALLOC_LIMIT_MAX=0"]', {"ruby_old_objects"}),
        ("3.1.2", -1, '["RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR=1.2", "RUBY_GC_MALLOC_LIMIT_MAX=268435456"]',
         {"ruby_old_objects"}),
    ],
)  # fmt: skip
def test_fixes_of_ruby_follow_version_memory_and_what_is_set(
    version: str, memory: int, options: str, fixes: set[str]
) -> None:
    """Those that can be applied at once, for both causes."""
    for name in ("runtime/gc_pause", "cpu/gc_throttling"):
        made = built(f"{name.partition('/')[2]}/Ruby")
        (process,) = made.processes
        told = {"runtime.version": version, "runtime.options": options}
        facts = tuple(one for one in process.facts if one.name not in told)
        facts += tuple(FactValue(key, value, made.start_us) for key, value in told.items())
        subject = replace(made.subject, facts=(
            *(one for one in made.subject.facts if one.name != "memory.limit_bytes"),
            FactValue("memory.limit_bytes", str(memory), made.start_us)))  # fmt: skip
        made = replace(made, subject=subject, processes=(replace(process, facts=facts),))
        (found,) = (one for one in diagnose(made).findings if one.cause == name)
        ready = {fix.id for fix in found.fixes if fix.id.startswith("ruby") and fix.patches}
        assert ready == fixes, name


@pytest.mark.parametrize(
    ("before", "after", "lands"),
    [
        ('["-XX:+UseG1GC"]', '["-XX:+UseG1GC", "-XX:MaxGCPauseMillis=50"]', True),
        ('["-XX:MaxGCPauseMillis=200"]', '["-XX:MaxGCPauseMillis=50"]', True),
        ('["-XX:MaxGCPauseMillis=50"]', '["-XX:MaxGCPauseMillis=200"]', False),
        ('["-XX:MaxGCPauseMillis=50"]', "[]", False),
    ],
)
def test_a_pause_goal_lands(before: str, after: str, lands: bool) -> None:
    (kind,) = (one for one in collector.FIXES if one.id == "jvm_pause_goal")
    assert isinstance(kind.landing, Seen)
    old: Facts = {"runtime.options": before}
    assert kind.landing.lands_as(old, {"runtime.options": after}) is lands


def cycle(start_us: int, length_us: int, pause_us: int | None, name: str = "young") -> Event:
    told = {"source": "hsperfdata", "collector": name} | ({} if pause_us is None else {"pause_us": str(pause_us)})
    return Event("gc.cycle", start_us, length_us, told)


def test_cycles_of_any_runtime_are_read() -> None:
    events = (cycle(250_000, 30_000, 30_000), cycle(100_000, 50_000, None), cycle(400_000, 100_000, 900, "Z"))
    facts = (FactValue("runtime.name", "jvm", 0), FactValue("runtime.gc_source", "hsperfdata", 0))
    process = ResourceView(1, "process", "7:1", "", facts=facts, events=events)
    subject = ResourceView(2, "cgroup", "/a", "a")
    (found,) = read_gc(Snapshot(0, 10, subject, ResourceView(3, "node", "n", "n"), processes=(process,)))
    assert (found.runtime, found.source, found.sure, found.exact) == ("jvm", "hsperfdata", True, True)
    assert isinstance(found.cycles, Cycles)
    assert found.cycles.start_us.tolist() == [100_000, 250_000, 400_000]
    assert found.cycles.collector.tolist() == ["young", "young", "Z"]
    assert found.cycles.stop.tolist() == [False, True, False]
    assert found.active_us.tolist() == [0, 50_000, 30_000, 0, 100_000, 0, 0, 0, 0, 0]
    assert found.stopped_us.tolist() == [0, 0, 30_000, 0, 0, 0, 0, 0, 0, 0]


def test_a_full_collection_is_judged_by_its_like() -> None:
    """Young collections of 5 ms beside it do not make most of a full one look like a stall."""
    made = simulate(replace(other_runtime("jvm"), seed=45)).snapshot
    (process,) = made.processes
    young = tuple(cycle(made.start_us + 500_000 * n, 5_000, 5_000) for n in range(made.ticks // 5))
    seen = replace(made, processes=(replace(process, events=(*process.events, *young)),))
    assert [found.cause for found in diagnose(seen).findings] == ["cpu/gc_throttling"]
