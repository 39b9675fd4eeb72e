"""Which runtime a process uses, and how many CPUs its garbage collector can use at once.

A process is identified by what a collector source reports about it, else by the name of its executable. The second
shows that it collects garbage, but not when.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import NotEnoughData
from jitterscope.diagnosis.core.gc import gc_source, read_gc, runtime_of
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import number, own_limit, program, quota_of, serving
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import golang, jvm, nodejs

_BY_NAME = (
    ("jvm", r"java|jsvc"),
    ("nodejs", r"node|nodejs"),
    ("python", r"(python|pypy)[\d.]*"),
    ("ruby", r"ruby[\d.]*"),
    ("dotnet", r"dotnet"),
)
# Usable as the subject of a sentence and as the owner of a collector: "the JVM".
NAMES = {"go": "Go", "jvm": "the JVM", "nodejs": "Node.js", "python": "Python", "ruby": "Ruby", "dotnet": ".NET"}
# The collector source that watches the GC of a runtime; other runtimes have none.
SOURCES = {"go": "go_runtime", "jvm": "jvm_gc", "nodejs": "nodejs_gc", "python": "python_gc", "ruby": "ruby_gc"}


@dataclass(frozen=True, slots=True)
class Parallelism:
    """CPUs that a collector can use at once; None if unknown. `what` is counted, `why` says what set it."""

    value: int | None
    what: str
    why: str


def of(view: ResourceView) -> str | None:
    """ "go", "jvm", "nodejs", "python", "ruby", or "dotnet"; None for a program whose runtime is unknown."""
    if told := runtime_of(view):
        return told
    name = program(view) or ""
    return next((runtime for runtime, pattern in _BY_NAME if re.fullmatch(pattern, name)), None)


def name_of(view: ResourceView) -> str | None:
    """The display name of the runtime of a process."""
    return NAMES.get(of(view) or "")


def marks_in_unseen_stops(view: ResourceView) -> bool:
    """Whether marking stops the program in steps of any length that are not seen: Ruby's between allocations."""
    return of(view) == "ruby"


def described(view: ResourceView) -> str:
    """The process whose GC is not observed: "java (the JVM)", "java (concurrent work of G1)"."""
    return f"{say.program(view) or 'a process'} ({_unseen_work(view) or name_of(view)})"


def _unseen_work(view: ResourceView) -> str | None:
    """The part of an observed collector's work that is not seen: what it does concurrently."""
    kind = jvm.concurrent(view)
    if kind is not None:
        return f"concurrent work of {jvm.NAMES[kind]}"
    observed = gc_source(view) is not None
    return "marking by V8 while the program runs" if observed and nodejs.marks_unseen(view) else None


@reading
def unobserved(snapshot: Snapshot) -> tuple[ResourceView, ...]:
    """Servers of the subject that collect garbage unobserved.

    Of a process beside the server, only its CPU matters; if the serving process is unknown, any of them can be it. A
    JVM's concurrent collection is not visible: hsperfdata counts pauses. Node.js marks concurrently.
    """
    servers = serving(snapshot)
    observed = {one.view.id for one in read_gc(snapshot) if _unseen_work(one.view) is None}
    return tuple(
        view
        for view in snapshot.processes
        if view.id not in observed and (not servers or view.id in servers) and of(view) is not None
    )


def gc_not_observed(cause: str, snapshot: Snapshot) -> NotEnoughData:
    """Whose GC is unknown, and why."""
    unseen = unobserved(snapshot)
    reason = "no GC cycle of a process here was observed, and which runtimes they are is not known."
    if unseen:
        named = " and ".join(sorted(map(described, unseen)))
        sources = {SOURCES.get(of(view) or "") for view in unseen}
        gone = [f" {one} is not available: {why}." for one, why in snapshot.unavailable.items() if one in sources]
        reason = f"no collector source reports the GC cycles of {named}." + "".join(sorted(gone))
    return NotEnoughData(cause=cause, missing=["gc_active_us"], reason=f"Needs gc_active_us: {reason}")


def limit_read(snapshot: Snapshot, view: ResourceView) -> float:
    """CPUs of the quota that a program of the subject takes into account, inf without one.

    A JVM reads those of the cgroups above too since JDK 24 (JDK-8322420); in a container it does not see these.
    """
    in_container = snapshot.subject.fact("workload.manager") not in ("none", "systemd")
    if of(view) != "jvm" or in_container or (jvm.release(view) or 0) < jvm.READS_ABOVE:
        return own_limit(snapshot)
    limits = [quota_of(cgroup) for cgroup in (snapshot.subject, *snapshot.ancestors)]
    return min((limit for limit in limits if limit is not None), default=math.inf)


def parallelism(view: ResourceView, limit: float, node_cpus: float | None) -> Parallelism:
    """The collector's parallelism under a CPU limit in CPUs (inf: none)."""
    runtime = of(view)
    if runtime == "jvm":
        threads = jvm.gc_threads(view, limit, node_cpus)
        return Parallelism(threads.value, "GC threads", threads.why)
    if runtime == "nodejs":
        threads = nodejs.gc_threads(view, node_cpus)
        return Parallelism(threads.value, "GC threads", threads.why)
    if runtime in ("python", "ruby"):
        return Parallelism(1, "GC threads", "it collects on the thread that allocates")
    if runtime == "go":
        procs = golang.maxprocs(view, limit, node_cpus)
        return Parallelism(procs.value, "GOMAXPROCS", procs.why)
    cpus = number(view.fact("process.affinity_cpus")) or node_cpus
    return Parallelism(None if cpus is None else int(cpus), "threads", "one per CPU of the node at most")
