"""What is known about runtimes: CPUs, GC threads, collectors, and heaps as they choose them, and what a process is."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from jitterscope.diagnosis.areas.cpu.whatif.predict import predict, prepare
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView
from jitterscope.diagnosis.programs import jvm, nodejs, options, runtimes
from tests.diagnosis.scenarios import built

MIB = 1 << 20


def process(*set_: str, **facts: str) -> ResourceView:
    named = {name.replace("__", "."): value for name, value in facts.items()}
    told = named | ({"runtime.options": json.dumps(set_)} if set_ else {})
    return ResourceView(1, "process", "7:1", "", facts=tuple(FactValue(name, value, 0) for name, value in told.items()))


def java(*set_: str, version: str = "17.0.9+9") -> ResourceView:
    return process(*set_, runtime__name="jvm", runtime__version=version)


@pytest.mark.parametrize(
    ("facts", "runtime"),
    [
        ({"process__executable": "java"}, "jvm"),
        ({"process__executable": "node", "process__command": "MainThread"}, "nodejs"),
        ({"process__executable": "python3.12"}, "python"),
        ({"process__command": "ruby3.1"}, "ruby"),
        ({"process__executable": "dotnet"}, "dotnet"),
        ({"process__executable": "nginx"}, None),
        ({"process__executable": "nodexporter"}, None),
        ({"process__executable": "javaless"}, None),
        ({"process__executable": "java", "go__version": "1.23"}, "go"),
        ({"process__executable": "launcher", "runtime__name": "jvm"}, "jvm"),
        ({}, None),
    ],
)
def test_a_process_is_of_a_runtime(facts: dict[str, str], runtime: str | None) -> None:
    assert runtimes.of(process(**facts)) == runtime


@pytest.mark.parametrize(
    ("set_", "limit", "node", "cpus", "threads"),
    [
        ((), 0.5, 8, 1, 1),  # serial: below 2 CPUs
        (("-XX:+UseParallelGC",), 0.5, 8, 1, 1),
        (("-XX:+UseParallelGC",), 2.5, 8, 3, 3),
        (("-XX:+UseParallelGC",), 6, 4, 4, 4),
        (("-XX:+UseParallelGC",), math.inf, 72, 72, 48),
        (("-XX:+UseParallelGC", "-XX:ActiveProcessorCount=4"), 0.5, 8, 4, 4),
        (("-XX:+UseParallelGC", "-XX:ActiveProcessorCount=4", "-XX:ActiveProcessorCount=2"), 0.5, 8, 2, 2),
        (("-XX:+UseG1GC", "-XX:ParallelGCThreads=3"), 2, 8, 2, 3),
        (("-XX:+UseG1GC", "-XX:-UseContainerSupport"), 0.5, 8, 8, 8),
        (("-XX:+UseSerialGC", "-XX:ActiveProcessorCount=4"), 4, 8, 4, 1),
    ],
)
def test_a_jvm_sizes_itself(set_: tuple[str, ...], limit: float, node: float, cpus: int, threads: int) -> None:
    assert jvm.cpus(java(*set_), limit, node).value == cpus
    assert jvm.gc_threads(java(*set_), limit, node).value == threads


@pytest.mark.parametrize(
    ("version", "manager", "limit"),
    [("23.0.2", "none", 4), ("24", "none", 0.5), ("25.0.1", "systemd", 0.5), ("25.0.1", "docker", 4)],
)
def test_the_limits_that_a_jvm_reads(version: str, manager: str, limit: float) -> None:
    """4 CPUs of its own, half of one for the slice that it is in."""

    def group(number: int, quota_us: str) -> ResourceView:
        told = {"cpu.quota_us": quota_us, "cpu.period_us": "100000", "workload.manager": manager}
        return ResourceView(number, "cgroup", "/c", "c", facts=tuple(FactValue(k, v, 0) for k, v in told.items()))

    whole = built("gc_throttling/case 1")
    above = (group(2, "50000"), group(3, "-1"))
    snapshot = replace(whole, subject=group(1, "400000"), ancestors=above)
    assert runtimes.limit_read(snapshot, java(version=version)) == limit
    assert runtimes.limit_read(snapshot, process(go__version="1.25.1")) == 4
    assert runtimes.limit_read(replace(snapshot, subject=group(1, "-1"), ancestors=()), java(version="24")) == math.inf


@pytest.mark.parametrize(
    ("view", "limit", "memory_mib", "collector"),
    [
        (java(version="17.0.9"), 1, 4096, "serial"),
        (java(version="17.0.9"), 2, 1024, "serial"),
        (java(version="17.0.9"), 2, 2048, "g1"),
        (java(version="27"), 1, 512, "g1"),
        (java(version="1.8.0_392"), 4, 4096, "parallel"),
        (java("-XX:+UseZGC", version="21.0.1"), 1, 512, "zgc"),
        (process(runtime__gc_kind="G1 young collection pauses, G1 full collection pauses"), 1, 512, "g1"),
        (process(runtime__gc_kind="PSScavenge, PSParallelCompact"), 1, 512, "parallel"),
        (process(runtime__gc_kind="Copy, MSC"), 4, 4096, "serial"),
        (process(runtime__gc_kind="ZGC minor collection pauses"), 1, 512, "zgc"),
        (process(runtime__name="jvm"), 4, 4096, None),
    ],
)
def test_the_collector_of_a_jvm(view: ResourceView, limit: float, memory_mib: float, collector: str | None) -> None:
    assert jvm.collector(view, limit, 8, memory_mib * MIB) == collector


def test_the_heap_of_a_jvm() -> None:
    assert jvm.heap_limit_bytes(java("-Xmx420m"), 1 << 30) == 420 * MIB
    assert jvm.heap_limit_bytes(java("-Xmx420m", "-XX:MaxHeapSize=1g"), None) == 1 << 30
    assert jvm.heap_limit_bytes(java(), 1 << 30) == 256 * MIB
    assert jvm.heap_limit_bytes(java("-XX:MaxRAMPercentage=75.0"), 1 << 30) == 768 * MIB
    assert jvm.heap_limit_bytes(java(), None) is None


@pytest.mark.parametrize(
    ("memory_mib", "set_", "heap_mib"),
    [
        # Half of a small memory (MinRAMPercentage), 96 MiB × 1.3 up to four times that, a quarter of a large one.
        (200, (), 100),
        (240, (), 120),
        (256, (), 124.8),
        (400, (), 124.8),
        (512, (), 128),
        (200, ("-XX:MaxRAMPercentage=75",), 100),
        (200, ("-XX:MinRAMPercentage=25",), 50),
        (256, ("-XX:MaxRAMPercentage=75",), 192),
    ],
)
def test_the_default_heap_in_a_small_container(memory_mib: int, set_: tuple[str, ...], heap_mib: float) -> None:
    assert jvm.heap_limit_bytes(java(*set_), memory_mib * MIB) == pytest.approx(heap_mib * MIB, rel=1e-6)


@pytest.mark.parametrize(
    ("version", "has"),
    [("17.0.9", True), ("10.0.2", True), ("9.0.4", False), ("1.8.0_392", True), ("1.8.0_151", False), ("1.8.0", None)],
)
def test_old_jvms_have_no_processor_count(version: str, has: bool | None) -> None:
    assert jvm.has_processor_count(java(version=version)) is has


def test_the_gc_threads_of_node() -> None:
    assert nodejs.gc_threads(process(), 16).value == 5
    assert nodejs.gc_threads(process(), 2).value == 2
    assert nodejs.gc_threads(process("--v8-pool-size=0"), 16).value == 1
    assert nodejs.gc_threads(process("--single-threaded-gc"), 16).value == 1
    assert nodejs.old_space_bytes(("--max-old-space-size=512",)) == 512 * MIB
    assert nodejs.old_space_bytes(("--max_old_space_size=256",)) == 256 * MIB


def test_options_that_cannot_be_read_are_none() -> None:
    for text in (None, "", "{}", "not json", "[1, 2]"):
        assert options.parse(text) == ()
    assert options.show('["-Xmx1g"]') == "-Xmx1g"
    assert options.show("[]") is None
    assert [options.size(text) for text in ("1g", "420M", "1024", "x", None)] == [1 << 30, 420 * MIB, 1024, None, None]


def test_how_many_cpus_a_collector_uses() -> None:
    go = process(go__version="1.23", go__env__GOMAXPROCS="3")
    assert runtimes.parallelism(go, 0.5, 8) == runtimes.Parallelism(3, "GOMAXPROCS", "set in the environment")
    for name in ("python", "ruby"):
        assert runtimes.parallelism(process(runtime__name=name), 4, 8).value == 1
    assert runtimes.parallelism(java("-XX:+UseParallelGC"), 4, 8).value == 4
    assert runtimes.parallelism(process(), 4, None).value is None


def test_a_what_if_replays_the_limit_of_a_jvm_and_knows_no_setting_of_go() -> None:
    trace = from_snapshot(built("gc_throttling/JVM"))
    assert not isinstance(trace, str)
    assert (trace.is_go, trace.gc_stops, trace.setting.gomaxprocs) == (False, True, None)
    prepared, now = prepare(trace), trace.setting
    recorded, larger = (predict(prepared, one) for one in (now, replace(now, cpu_limit=4.0)))
    assert recorded.throttled_ratio is not None
    assert larger.throttled_ratio is not None
    assert larger.throttled_ratio.expected < 0.2 * recorded.throttled_ratio.expected
    assert recorded.gc_cycles_per_min is not None
    for other in (replace(now, gogc=200.0), replace(now, gomemlimit_bytes=1 << 30), replace(now, gomaxprocs=1)):
        said = predict(prepared, other)
        assert said.throttled_ratio is None
        assert "No Go program was seen here" in (said.cannot_tell or "")
