"""Fixes: a JVM whose collector cannot use more CPUs at once than the quota pays for."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import jvm, options, runtimes
from jitterscope.diagnosis.programs.jvm_tuning import memory_limit
from jitterscope.diagnosis.programs.option_patches import JAVA, replaces, setting

REFERENCES = [
    "https://docs.oracle.com/en/java/javase/21/docs/specs/man/java.html",
    "https://bugs.openjdk.org/browse/JDK-8281181",
]
CPUS, THREADS = "-XX:ActiveProcessorCount", "-XX:ParallelGCThreads"


def propose(snapshot: Snapshot, throttling: Throttling) -> list[Fix]:
    """Fewer CPUs for the whole JVM, and fewer GC threads alone: each where it is above the limit rounded down."""
    cpu, gc = throttling.cpu, throttling.gc
    if gc is None or gc.runtime != "jvm" or not math.isfinite(cpu.limit):
        return []
    node, wanted = number(snapshot.node.fact("node.cpus")), max(1, math.floor(cpu.limit + 1e-9))
    own = runtimes.limit_read(snapshot, gc.view)
    believed, threads = jvm.cpus(gc.view, own, node), jvm.gc_threads(gc.view, own, node)
    kind = jvm.collector(gc.view, own, node, memory_limit(snapshot))
    found = []
    if believed.value is not None and believed.value > wanted:
        found.append(_fewer_cpus(snapshot, throttling, believed, wanted, kind))
    if threads.value is not None and threads.value > wanted:
        found.append(_fewer_threads(snapshot, throttling, threads.value, threads.why, wanted))
    return found


def _fewer_cpus(
    snapshot: Snapshot, throttling: Throttling, now: jvm.Cpus, wanted: int, kind: jvm.Collector | None
) -> Fix:
    texts, undo, rule = setting(JAVA, f"{CPUS}={wanted}")
    gc = throttling.gc
    assert gc is not None
    caveats = [rule, "It also sizes the JIT, the common pool, and the pools of frameworks: check throughput."]
    explicit = any(option.removeprefix("-XX:+") in jvm.FLAGS for option in options.of(gc.view))
    if wanted < jvm.SERVER_CPUS and not explicit and kind != "serial":
        caveats.append("With 1 CPU a JVM before JDK 27 selects the Serial collector unless an option selects another.")
    verdict, reason = _enough(throttling)
    has = jvm.has_processor_count(gc.view)
    if has is False:
        verdict, reason = "cannot_help", "Cannot help: before JDK 10 and 8u191 a JVM refuses to start with it. "
    return Fix(
        id="jvm_active_processors",
        title=f"Let the JVM see {wanted} CPU ({CPUS}={wanted})" if wanted == 1
        else f"Let the JVM see {wanted} CPUs ({CPUS}={wanted})",
        summary=f"{reason}The JVM sees {now.value} CPUs ({now.why}) and the limit is {throttling.cpu.limit:g}: it "
        "sizes GC threads and pools for more CPUs than the limit allows.",
        verdict=verdict,
        precondition=replaces(gc.view, CPUS) if has else "Requires JDK 10, or 8u191, or later.",
        patches=texts if has else [],
        caveats=caveats,
        verify=patches.VERIFY,
        undo=undo,
        references=REFERENCES,
    )  # fmt: skip


def _fewer_threads(snapshot: Snapshot, throttling: Throttling, now: int, why: str, wanted: int) -> Fix:
    texts, undo, rule = setting(JAVA, f"{THREADS}={wanted}")
    verdict, reason = _enough(throttling)
    assert throttling.gc is not None
    return Fix(
        id="jvm_gc_threads",
        title=f"Use {wanted} GC thread ({THREADS}={wanted})" if wanted == 1
        else f"Use {wanted} GC threads ({THREADS}={wanted})",
        summary=f"{reason}{now} GC threads ({why}) use up the quota together. Fewer threads cause less memory "
        "traffic and finish with less CPU time in total.",
        verdict=verdict,
        precondition=replaces(throttling.gc.view, THREADS),
        patches=texts,
        caveats=[rule, "With enough CPU a collection takes longer with fewer threads."],
        verify=patches.VERIFY,
        undo=undo,
        references=REFERENCES,
    )  # fmt: skip


def _enough(throttling: Throttling) -> tuple[str, str]:
    """Below 1 CPU one thread alone uses up a period's quota."""
    cpu = throttling.cpu
    if cpu.limit >= 1:
        return "reduces", ""
    return "cannot_help", (
        f"Cannot help enough: the limit is {cpu.limit:g} CPU, and even one CPU in use uses up the quota of a period "
        f"after {cpu.period_quota_us / 1000:.0f} of {cpu.period_us / 1000:.0f} ms. "
    )


def _falls(name: str, before: Facts, after: Facts) -> bool:
    old, new = (options.count(options.value(options.in_facts(facts), name)) for facts in (before, after))
    return new is not None and (old is None or new < old)


FIXES = (
    FixKind(
        id="jvm_active_processors",
        title="Let the JVM see no more CPUs than its limit",
        precondition="A JVM that sees more CPUs than its limit allows.",
        landing=Seen(
            "ActiveProcessorCount of the JVM is set, or falls.",
            (options.FACT, "runtime.cpus", "runtime.gc_kind", "memory.limit_bytes"),
            lambda before, after: _falls(CPUS, before, after),
        ),
    ),
    FixKind(
        id="jvm_gc_threads",
        title="Use fewer GC threads",
        precondition="A JVM with the Parallel collector or G1, and more GC threads than its limit allows CPUs.",
        landing=Seen(
            "ParallelGCThreads of the JVM is set, or falls.",
            (options.FACT, "memory.limit_bytes"),
            lambda before, after: _falls(THREADS, before, after),
        ),
    ),
)
