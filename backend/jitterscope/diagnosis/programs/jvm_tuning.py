"""Fixes by JVM options, for every area with causes in the JVM's collector.

Sources: docs.oracle.com/en/java/javase/21/gctuning (ergonomics, G1, ZGC), JEP 377, 439 and 474 (ZGC), JEP 523.
"""

from __future__ import annotations

import math

from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import jvm, options
from jitterscope.diagnosis.programs.golang import heap_live_bytes
from jitterscope.diagnosis.programs.option_patches import JAVA, replaces, setting

_GUIDE = "https://docs.oracle.com/en/java/javase/21/gctuning/"
REFERENCES = [_GUIDE + "ergonomics.html", _GUIDE + "available-collectors.html"]
_MIB = 1 << 20
# A heap that grows by less than this factor changes little.
_LEAST_GAIN = 1.25
# ZGC is production-ready since JDK 15 (JEP 377), generational since 21 (JEP 439), and by default since 23 (JEP 474).
_ZGC, _GENERATIONAL, _GENERATIONAL_BY_DEFAULT = 15, 21, 23
_PAUSE_GOAL_MS = 50


def memory_limit(snapshot: Snapshot) -> float | None:
    """The container's memory limit in bytes; None: no limit, or not known."""
    limit = number(snapshot.subject.fact("memory.limit_bytes"))
    return limit if limit is not None and limit > 0 else None


def larger_heap(snapshot: Snapshot, process: ResourceView, verify: str) -> Fix | None:
    """A heap twice as large if memory allows; None if its size is unknown."""
    memory = memory_limit(snapshot)
    now = jvm.heap_limit_bytes(process, memory)
    if now is None:
        return None
    room = math.inf if memory is None else memory * (1 - jvm.BESIDE_HEAP)
    wanted = int(min(2.0 * now, room) / _MIB / 16) * 16
    fits = wanted * _MIB >= _LEAST_GAIN * now
    live = heap_live_bytes(process)
    if not fits:
        wanted = math.ceil(2 * now / _MIB / 16) * 16
    # A limit that is not known may be too small for it.
    known = number(snapshot.subject.fact("memory.limit_bytes")) is not None
    texts, undo, rule = setting(JAVA, f"-Xmx{wanted}m")
    of_live = f" {say.mebibytes(live)} of it are live after a collection." if live is not None else ""
    return Fix(
        id="jvm_larger_heap",
        title=f"Raise the heap limit from {say.mebibytes(now)} to {say.mebibytes(wanted * _MIB)} (-Xmx{wanted}m)",
        summary=f"The heap may take {say.mebibytes(now)} now.{of_live} With more room between two collections there "
        "are fewer of them. Each lasts as long as before.",
        verdict="reduces",
        precondition=None
        if fits and memory is not None
        else f"Raise the memory limit of the container to {say.mebibytes(wanted * _MIB / (1 - jvm.BESIDE_HEAP))} first."
        if memory is not None
        else f"About {say.mebibytes(wanted * _MIB / (1 - jvm.BESIDE_HEAP))} of memory for the container.",
        patches=texts if fits and known else [],
        caveats=[
            rule,
            "A larger young generation can hold more survivors: see whether single pauses get longer.",
            f"Keep {100 * jvm.BESIDE_HEAP:.0f} % of the container's memory limit for what is not heap: metaspace, code "
            "cache, threads.",
        ],
        verify="GC cycles become rarer. " + verify,
        undo=undo,
        references=[_GUIDE + "factors-affecting-garbage-collection-performance.html"],
    )


def _heap_of(facts: Facts) -> int | None:
    memory = number(facts.get("memory.limit_bytes"))
    return jvm.heap_bytes(options.in_facts(facts), memory if memory is not None and memory > 0 else None)


def _heap_rises(before: Facts, after: Facts) -> bool:
    old, new = _heap_of(before), _heap_of(after)
    return new is not None and (old is None or new > old)


def low_pause_collector(snapshot: Snapshot, process: ResourceView, limit: float, verify: str) -> Fix | None:
    """G1 instead of Serial, Parallel, or CMS; ZGC instead of G1. None if the current collector is unknown."""
    node = number(snapshot.node.fact("node.cpus"))
    now, release = jvm.collector(process, limit, node, memory_limit(snapshot)), jvm.release(process)
    if now in (None, "zgc", "shenandoah"):
        return None
    zgc = now == "g1"
    if zgc and (release is None or release < _ZGC):
        return None
    flags = "-XX:+UseZGC" if zgc else "-XX:+UseG1GC"
    if zgc and release is not None and _GENERATIONAL <= release < _GENERATIONAL_BY_DEFAULT:
        flags += " -XX:+ZGenerational"
    texts, undo, rule = setting(JAVA, flags)
    assert now is not None
    return Fix(
        id="jvm_collector",
        title=f"Use {'ZGC' if zgc else 'G1'} instead of {jvm.NAMES[now]} ({flags})",
        summary="ZGC does nearly all of its work while the program runs; its pauses stay below 1 ms."
        if zgc
        else "G1 marks while the program runs and collects the old generation in parts, each within a pause goal of "
        f"200 ms by default; {jvm.NAMES[now]} stops the program for the whole of it.",
        verdict="removes" if zgc else "reduces",
        precondition=replaces(process, *(f"-XX:+{flag}" for flag in jvm.FLAGS)),
        patches=texts,
        caveats=[
            rule,
            "It uses more CPU time in all, beside the requests: under a small CPU limit that can throttle instead.",
            "A heap that fills faster than it is collected still ends in a full collection."
            if not zgc
            else "A heap that fills faster than it is collected stops the threads that allocate.",
        ],
        verify="GC pauses get shorter. " + verify,
        undo=undo,
        references=REFERENCES + (["https://openjdk.org/jeps/439"] if zgc else []),
    )


def _collector_of(facts: Facts) -> tuple[str, ...]:
    return tuple(one for one in options.in_facts(facts) if one.removeprefix("-XX:+") in jvm.FLAGS)


def _collector_changes(before: Facts, after: Facts) -> bool:
    """A change to G1, ZGC, or Shenandoah, by an option or as reported by the JVM."""
    low = ("-XX:+UseG1GC", "-XX:+UseZGC", "-XX:+UseShenandoahGC")
    return _collector_of(before) != _collector_of(after) and any(one in low for one in _collector_of(after))


def pause_goal(snapshot: Snapshot, process: ResourceView, limit: float, full: bool, verify: str) -> Fix | None:
    """MaxGCPauseMillis, which makes the young generation smaller. `full`: the long pauses are full collections."""
    node = number(snapshot.node.fact("node.cpus"))
    now = jvm.collector(process, limit, node, memory_limit(snapshot))
    goal = options.count(options.value(options.of(process), "-XX:MaxGCPauseMillis"))
    if now not in ("g1", "parallel") or (goal is not None and goal <= _PAUSE_GOAL_MS):
        return None
    flag = f"-XX:MaxGCPauseMillis={_PAUSE_GOAL_MS}"
    texts, undo, rule = setting(JAVA, flag)
    return Fix(
        id="jvm_pause_goal",
        title=f"Set a pause goal of {_PAUSE_GOAL_MS} ms ({flag})",
        summary="Cannot help: the long pauses are full collections, which follow no goal."
        if full
        else f"{jvm.NAMES[now]} makes the young generation smaller until its collections stay within the goal, which "
        f"is {goal if goal is not None else 200 if now == 'g1' else 'not set'} now. They become more frequent.",
        verdict="cannot_help" if full else "reduces",
        precondition=replaces(process, "-XX:MaxGCPauseMillis"),
        patches=[] if full else texts,
        caveats=[
            rule,
            "A goal that is too short costs throughput: GC takes a larger share of CPU time.",
            "A fixed size of the young generation (-Xmn, -XX:NewSize) switches it off.",
        ],
        verify="GC pauses get shorter. " + verify,
        undo=undo,
        references=[_GUIDE + "garbage-first-garbage-collector-tuning.html"],
    )


def _goal_of(facts: Facts) -> int | None:
    return options.count(options.value(options.in_facts(facts), "-XX:MaxGCPauseMillis"))


def _goal_falls(before: Facts, after: Facts) -> bool:
    old, new = _goal_of(before), _goal_of(after)
    return new is not None and (old is None or new < old)


LARGER_HEAP = FixKind(
    id="jvm_larger_heap",
    title="Raise the heap limit of the JVM",
    precondition="A memory limit of the container that leaves a quarter for what is not heap.",
    landing=Seen(
        "The heap limit of the JVM rises: -Xmx, or its share of the memory limit.",
        (options.FACT, "memory.limit_bytes", "runtime.gc_kind"),
        _heap_rises,
    ),
)
COLLECTOR = FixKind(
    id="jvm_collector",
    title="Use a collector with shorter pauses",
    precondition="A JVM with the Serial, Parallel or CMS collector, or with G1 from JDK 15 on.",
    landing=Seen(
        "The options of the JVM choose another collector: G1, ZGC or Shenandoah.",
        (options.FACT, "runtime.gc_kind"),
        _collector_changes,
    ),
)
PAUSE_GOAL = FixKind(
    id="jvm_pause_goal",
    title="Set a pause goal",
    precondition="A JVM with G1 or the Parallel collector, whose long pauses are collections of the young generation.",
    landing=Seen("MaxGCPauseMillis of the JVM is set, or falls.", (options.FACT,), _goal_falls),
)
