"""How a finding of slow answers without a known cause reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitterscope.diagnosis.areas.unexplained.causes._case import Case
from jitterscope.diagnosis.areas.unexplained.readings.processes import serving
from jitterscope.diagnosis.areas.unexplained.readings.stalls import stalls
from jitterscope.diagnosis.areas.unexplained.readings.waiting import Group, Waiting, Way
from jitterscope.diagnosis.areas.unexplained.readings.whereabouts import MOST, Account, Where
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import references
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence, SeriesRef
from jitterscope.diagnosis.core.served import metric, read_served
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

_MECHANISM: dict[Where, str] = {
    "frozen": "the whole node froze",
    "throttled": "its CPU limit throttled it",
    "cpu": "it spent the time on the CPU",
    "runnable": "it was ready to run and waited for a CPU",
    "socket": "{noun} waited unread while it neither ran nor waited for a CPU",
    "blocked": "it had read the {noun}, then neither ran nor waited for a CPU",
    "idle": "it neither ran nor waited for a CPU",
    "outside": "the time passed outside the program",
    "unknown": "where the time went is not known",
}
_MEANING: dict[Where, str] = {
    "frozen": "Nothing ran on the node, not even a thread with real-time priority: its hypervisor paused it, or the "
    "firmware or a real-time program had its CPUs.",
    "throttled": "The limit throttled it, and no cause of throttling explains why it needed more.",
    "cpu": "The program itself ran: on a large request, on work of its own, or in a loop.",
    "runnable": "Its threads were ready to run, and other work had the CPUs.",
    "socket": "A program that does not even read is stopped (SIGSTOP, the freezer, a debugger), or its reading thread "
    "waits for a disk, a lock, or another server.",
    "blocked": "It read and then waited for a lock, a disk, or another server, or it was stopped while it worked on "
    "what it had read.",
    "idle": "It was stopped, or waited for a lock, a disk, or another server. Whether it had read the {noun} was "
    "not recorded.",
    "outside": "The {noun} were neither unread in the socket nor being worked on: the time passed in the node's "
    "network stack.",
    "unknown": "The data recorded about its threads is not conclusive.",
}

# What a group of threads did, after "14 of 16 threads".
_DID: dict[Way, str] = {
    "stopped": "{were} stopped by a signal",
    "frozen": "{were} frozen by the cgroup freezer",
    "traced": "{were} stopped by a debugger",
    "disk": "waited for a disk or file system ({detail})",
    "kernel": "waited for a lock in the kernel ({detail})",
    "running": "{were} running or ready to run",
    "server": "waited for another server ({detail})",
    "lock": "waited for a lock ({detail})",
    "sleep": "slept ({detail})",
    "events": "waited for events ({detail})",
    "other": "waited in {detail}",
}
# At most this many groups of threads are told.
_GROUPS = 4


def _threads(seen: Waiting, group: Group) -> str:
    """ "14 of 16 threads waited for a lock (futex)"; the same threads in each look, or their average."""
    some, of = max(1, round(group.threads)), max(1, round(seen.threads))
    did = _DID[group.way].format(were="was" if some == 1 else "were", detail=group.detail or "an unknown function")
    if of == 1:
        return f"its only thread {did}"
    return f"all {of:,} threads {did}" if some >= of else f"{some:,} of {of:,} threads {did}"


def who(case: Case) -> str:
    """ "CoreDNS", "redis-server :6379"."""
    return name_of(case.snapshot, case.server)


def name_of(snapshot: Snapshot, server: ResourceView) -> str:
    if server.kind == "dns_server":
        return say.who(snapshot)
    name = server.fact("tcp.program") or say.who(snapshot)
    return f"{name} :{server.key.rpartition(':')[2]}"


def title(case: Case) -> str:
    seen = case.waiting
    if seen is not None and seen.told is not None:
        how = _threads(seen, seen.told)
    else:
        how = _MECHANISM[case.where].format(noun=read_served(case.snapshot).noun)
    return f"{who(case)} stalls up to {say.ms(case.max_us)}: {how}"


def summary(case: Case) -> str:
    noun = read_served(case.snapshot).noun
    count = say.count(len(case.all), "stall")
    parts = [
        f"{case.late:,} of {case.of:,.0f} {noun} that arrived during {count} were answered late, after up to "
        f"{say.ms(case.max_us)}, and no other cause explains it. Late means {stalls(case.snapshot).over}.",
        *_meaning(case, noun),
    ]
    if case.share < 1:
        parts.append(f"This holds for {say.percent(case.share)} of the late answers. The others differ.")
    parts += [
        f"Meanwhile tasks {whose} waited for {what} for {say.percent(min(1.0, value))} of the time."
        for whose, what, value in _pressure(case)
        if value >= MOST
    ]
    return " ".join(parts)


def _meaning(case: Case, noun: str) -> list[str]:
    """Sentences about the place, and about what the threads waited in there."""
    seen = case.waiting
    if seen is None:
        return [_MEANING[case.where].format(noun=noun)]
    looks = f"in {say.count(seen.looks, 'look')} at its threads during the stalls"
    if seen.told is None:
        return [
            _MEANING[case.where].format(noun=noun),
            f"Its threads waited as they do when idle, {looks}: they show no lock, disk, or signal. Coroutines, such "
            "as goroutines, wait without a thread.",
        ]
    unread = [f"Meanwhile the {noun} waited unread in the socket."] if case.where == "socket" else []
    first = _threads(seen, seen.told)
    return [f"{first[0].upper()}{first[1:]} {looks}.", *unread]


def _pressure(case: Case) -> list[tuple[str, str, float]]:
    """(whose, for what, share) of waits that were recorded, of the container before the node."""
    found = []
    for what, own, node in (
        ("I/O", case.mean(lambda one: one.own_io), case.mean(lambda one: one.node_io)),
        ("memory", case.mean(lambda one: one.own_memory), case.mean(lambda one: one.node_memory)),
    ):
        if own is not None:
            found.append(("of the container", what, own))
        elif node is not None:
            found.append(("of the node", what, node))
    return found


def evidence(case: Case) -> list[Evidence]:
    snapshot, noun = case.snapshot, read_served(case.snapshot).noun
    whole = stalls(snapshot)
    outside, rest = whole.late - sum(one.late for one in whole.clear), whole.answers - sum(o.of for o in whole.clear)
    servers = tuple({one.stall.server.id: one.stall.server for one in case.all}.values())
    found = [
        Evidence(
            id="late_in_stalls",
            statement=f"Of the {noun} that arrived in {say.count(len(case.all), 'stall')}, those that took "
            f"{lateness.words(whole.limits, brief=True)}",
            value=f"{case.late:,} of {case.of:,.0f}",
            comparison=f"outside stalls: {outside:,} of {max(rest, 0):,.0f}",
            numbers={
                "hits": float(case.late), "of": case.of, "outside": float(outside), "outside_of": max(rest, 0.0),
                "stalls": float(len(case.all)),
            },
            series=[ref for one in servers for ref in _refs(case, [one], metric(one, "slow"), metric(one, "requests"))],
        ),
        Evidence(
            id="length",
            statement="Longest stall",
            value=say.ms(max(one.stall.length_us for one in case.all)),
            comparison=f"total {say.ms(sum(one.stall.length_us for one in case.all))}",
            numbers={
                "longest_us": float(max(one.stall.length_us for one in case.all)),
                "sum_us": float(sum(one.stall.length_us for one in case.all)),
                "max_us": case.max_us,
            },
            series=[ref for one in servers for ref in _refs(case, [one], metric(one, "latency"))],
        ),
    ]  # fmt: skip
    return [*found, *_groups(case), *(one for one in _shares(case) if one is not None)]


def _groups(case: Case) -> list[Evidence]:
    """What the threads waited in, the telling ways first."""
    seen = case.waiting
    if seen is None:
        return []
    told = [one for one in seen.groups if one is seen.told or round(one.threads) >= 1][:_GROUPS]
    return [
        Evidence(
            id=f"threads_{one.way}",
            statement=f"Threads that {_DID[one.way].format(were='were', detail=one.detail or 'an unknown function')}",
            value=f"{max(1, round(one.threads)):,} of {round(seen.threads):,}, {say.count(seen.looks, 'look')}",
            comparison=None if one.usual is None else f"when idle: {one.usual:.0f}",
            numbers={
                "threads": one.threads, "read": seen.threads, "of": float(seen.of), "looks": float(seen.looks),
                **({} if one.usual is None else {"usual": one.usual}),
            },
        )
        for one in told
    ]  # fmt: skip


def _shares(case: Case) -> list[Evidence | None]:
    """Where the time of the stalls went, by each signal that was recorded."""
    snapshot, server = case.snapshot, case.server
    processes = serving(snapshot, server)
    first = case.main[0]
    cpu_of = ((snapshot.subject,), "cpu_usage_us") if first.whole else (processes, "process_cpu_us")
    ran = "of the container" if first.whole else "of the program"
    late = "of the late answers' time"
    rows: list[tuple[str, str, str, Callable[[Account], float | None], Sequence[ResourceView], str]] = [
        ("unread", "Unread in the socket", late, lambda one: one.waited, (server,), metric(server, "wait")),
        ("worked", "Between read and answer", late, lambda one: one.worked, (server,), "dns_work_us"),
        ("on_cpu", f"CPU time {ran} above baseline", "", lambda one: one.cpu, *cpu_of),
        ("run_delay", "Its threads ready to run, waiting for a CPU", "", lambda one: one.delay, processes,
         "process_run_delay_us"),
        ("throttled", "Throttled by the CPU limit", "", lambda one: one.throttled, (read_cpu(snapshot).owner,),
         "cpu_throttled_us"),
        ("gc", "GC cycle running", "", lambda one: one.gc, processes, "gc_active_us"),
        ("in_kernel", "Its threads blocked in the kernel (state D) on a disk, a file system, or a kernel lock", "",
         lambda one: one.in_kernel, processes, "process_blocked_us"),
        ("own_io", "Tasks of the container waiting for I/O", "", lambda one: one.own_io, (snapshot.subject,),
         "psi_io_some_us"),
        ("node_io", "Tasks of the node waiting for I/O, above baseline", "", lambda one: one.node_io, (snapshot.node,),
         "psi_io_some_us"),
        ("node_memory", "Tasks of the node waiting for memory, above baseline", "", lambda one: one.node_memory,
         (snapshot.node,), "psi_memory_some_us"),
    ]  # fmt: skip
    return [_share(case, *row) for row in rows]


def _share(
    case: Case, name: str, statement: str, of: str, read: Callable[[Account], float | None],
    views: Sequence[ResourceView], metric_name: str,
) -> Evidence | None:  # fmt: skip
    share = case.mean(read)
    if share is None:
        return None
    whole = of or f"of {say.ms(case.length_us)}"
    value = f"{say.percent(share)} {whole}" if of else f"{say.ms(share * case.length_us)} {whole}"
    return Evidence(
        id=name,
        statement=statement,
        value=value,
        numbers={"share": share, "length_us": float(case.length_us)},
        series=_refs(case, views, metric_name),
    )


def _refs(case: Case, views: Sequence[ResourceView], *names: str) -> list[SeriesRef]:
    """Where these metrics of the resources can be looked up, as far as they were recorded."""
    return references.recorded((case.snapshot.start_us, case.snapshot.end_us), views, *names)
