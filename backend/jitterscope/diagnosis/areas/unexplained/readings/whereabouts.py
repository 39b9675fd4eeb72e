"""Where the time of a stall went: unread in the socket, on a CPU, waiting for one, throttled, or none of these.

Shares are relative to the stall's own length, above the baseline of the same ticks: a tick of 100 ms also covers time
before and after, and the backlog is worked off afterwards. The kernel counts a wait when it is over, and many threads
wait at once: by the end of a tick, no more counts than the length of the stall until then. A share of at least `MOST`
decides; up to `LITTLE` excludes. A share in between, or one that normally varies by more than `NOISE` from tick to
tick, decides nothing. What the threads of the server waited in, if the flight recorder read it, says that they waited
where such a share does not, and for what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.unexplained.readings.processes import serving
from jitterscope.diagnosis.areas.unexplained.readings.stalls import Stall, calm, overlaps, stalls, ticks_of
from jitterscope.diagnosis.areas.unexplained.readings.waiting import ONE, Waiting, waiting
from jitterscope.diagnosis.core.freezes import freezes
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, number, read_cpu, series
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, robust_baseline

# frozen: the whole node stood still; throttled: the CPU limit; cpu: the program ran; runnable: it waited for a CPU;
# socket: none of that, and requests waited unread; blocked: none of that, after they were read; idle: none of that, and
# whether they were read is not known; outside: neither unread nor being worked on; unknown.
Where = Literal["frozen", "throttled", "cpu", "runnable", "socket", "blocked", "idle", "outside", "unknown"]
MOST, LITTLE, NOISE = 0.5, 0.4, 0.5
# Share of the late answers' time spent in the socket: most of it, or hardly any.
UNREAD, READ = 0.6, 0.4
# Places in which no CPU was involved: what the threads waited in is the question.
ASLEEP: frozenset[Where] = frozenset({"socket", "blocked", "idle"})
# A node whose CPUs are idle for less than this share of the time has none to spare.
FULL = 0.05


@dataclass(frozen=True, slots=True)
class Account:
    """One stall. Shares of its length, None if not recorded or too noisy to tell.

    `cpu`: the processes that serve (`whole`: the whole container, an upper bound); `delay`: their threads' wait for a
    CPU; `throttled`: by the limit; `waited`: the late answers' time unread in the socket; `worked`: between reading and
    answer; `node_cpu`, `node_io`, `node_memory`: the node's pressure (PSI, some); `own_io` and `own_memory`: the
    container's; `in_kernel`: threads blocked there (state D); `gc`: a garbage collector at work. `full`: the node had
    no CPU to spare. `waiting`: what the threads waited in.
    """

    stall: Stall
    where: Where
    cpu: float | None
    whole: bool
    delay: float | None
    throttled: float | None
    waited: float | None
    worked: float | None
    node_cpu: float | None
    node_io: float | None
    node_memory: float | None
    own_io: float | None
    own_memory: float | None
    in_kernel: float | None
    gc: float | None
    full: bool
    waiting: Waiting | None

    @property
    def may_be_crowded(self) -> bool:
        """Whether it waited, or may have waited, for a CPU that the node did not have: nothing rules it out."""
        return (self.where == "runnable" and self.full) or (self.where == "unknown" and self.delay is None)


@reading
def accounts(snapshot: Snapshot) -> tuple[Account, ...]:
    """The account of every clear stall."""
    found = stalls(snapshot).clear
    quiet = calm(snapshot, found)
    return tuple(_account(snapshot, one, quiet) for one in found)


def _account(snapshot: Snapshot, stall: Stall, quiet: BoolArray) -> Account:
    processes = serving(snapshot, stall.server)
    part, length = ticks_of(snapshot, stall), stall.length_us
    passed_us = np.cumsum(overlaps(snapshot, stall.start_us, stall.end_us)[part]) * snapshot.step_us

    def share(views: Sequence[ResourceView], metric: str) -> float | None:
        known = [series(view, metric, snapshot.ticks) for view in views if has(view, metric)]
        return _share(np.sum(known, axis=0), part, passed_us, length, quiet) if known else None

    cpu, whole = share(processes, "process_cpu_us"), False
    if cpu is None:
        cpu, whole = share((snapshot.subject,), "cpu_usage_us"), True
    delay = share(processes, "process_run_delay_us")
    # Threads that wait at the same time add up in their run delay; pressure counts the time in which any task waits.
    crowded = share((snapshot.subject,), "psi_cpu_some_us")
    if delay is not None and crowded is not None:
        delay = min(delay, crowded)
    throttled = _throttled(snapshot, part, length)
    waited = None if stall.waited_us is None or not stall.latency_us else stall.waited_us / stall.latency_us
    worked = _worked(snapshot, stall, part)
    node_cpu = share((snapshot.node,), "psi_cpu_some_us")
    seen = waiting(snapshot, (stall,))
    where = _where(cpu, whole, delay, throttled, waited, worked, _crowding(snapshot, part))
    if _frozen_us(snapshot, stall) >= MOST * stall.length_us:
        where = "frozen"
    if where == "unknown" and seen is not None and _slept(seen):
        where = _unread(waited, worked)
    return Account(
        stall=stall,
        where=where,
        cpu=cpu,
        whole=whole,
        delay=delay,
        throttled=throttled,
        waited=waited,
        worked=worked,
        node_cpu=node_cpu,
        node_io=share((snapshot.node,), "psi_io_some_us"),
        node_memory=share((snapshot.node,), "psi_memory_some_us"),
        own_io=share((snapshot.subject,), "psi_io_some_us"),
        own_memory=share((snapshot.subject,), "psi_memory_some_us"),
        in_kernel=share(processes, "process_blocked_us"),
        gc=share(processes, "gc_active_us"),
        full=_is_full(snapshot, part),
        waiting=seen,
    )


def _share(values: FloatArray, part: slice, passed_us: FloatArray, length_us: int, quiet: BoolArray) -> float | None:
    """The ticks' value above the baseline, relative to the stall's length; None if one is missing or all is noise.

    `passed_us`: length of the stall until each tick ends.
    """
    inside = values[part]
    usual = robust_baseline(values[quiet])
    if not len(inside) or not np.isfinite(inside).all() or not usual.n:
        return None
    above = float(inside.sum()) - usual.median * len(inside)
    if 2 * usual.spread * np.sqrt(len(inside)) > NOISE * length_us and above < 2 * length_us:
        return None
    counted = 0.0
    for more, passed in zip(inside - usual.median, passed_us, strict=True):
        counted = min(counted + float(more), float(passed))
    return max(0.0, counted / length_us)


def _frozen_us(snapshot: Snapshot, stall: Stall) -> float:
    """The part of a stall in which the whole node stood still."""
    inside = (min(stall.end_us, one.end_us) - max(stall.start_us, one.start_us) for one in freezes(snapshot) or ())
    return float(sum(max(0, one) for one in inside))


def _throttled(snapshot: Snapshot, part: slice, length_us: int) -> float | None:
    """By the limit that applies; 0 without one. Throttled time is credited when it is over, summed over run queues."""
    cpu = read_cpu(snapshot)
    behind = slice(part.start, part.stop + cpu.lag)
    periods, held = cpu.throttled[behind], cpu.throttled_us[behind]
    if np.nansum(periods) > 0:
        return min(1.0, float(np.nansum(held)) / length_us) if np.isfinite(held).any() else None
    is_unlimited = (number(snapshot.subject.fact("cpu.quota_us")) or 0) < 0
    return 0.0 if is_unlimited or np.isfinite(periods).any() else None


def _worked(snapshot: Snapshot, stall: Stall, part: slice) -> float | None:
    """Time between reading and answer of all answered requests, relative to the late ones' time. DNS only."""
    work = stall.server.distributions.get("dns_work_us")
    if work is None or not stall.latency_us:
        return None
    inside = (work.tick >= part.start) & (work.tick < part.stop)
    return min(1.0, float((work.count[inside] * value_of(work.bucket[inside])).sum()) / stall.latency_us)


def _crowding(snapshot: Snapshot, part: slice) -> float | None:
    """The share of the stall's ticks in which some task waited for a CPU, in the container or else on the node."""
    for view in (snapshot.subject, snapshot.node):
        waits = series(view, "psi_cpu_some_us", snapshot.ticks)[part]
        if len(waits) and np.isfinite(waits).all():
            return float(waits.mean()) / snapshot.step_us
    return None


def _is_full(snapshot: Snapshot, part: slice) -> bool:
    cpus = number(snapshot.node.fact("node.cpus"))
    idle = series(snapshot.node, "host_idle_us", snapshot.ticks)[part]
    if cpus is None or not len(idle) or not np.isfinite(idle).any():
        return False
    # /proc/stat counts in 10 ms, and not all of it at once: examine slightly more than the stall.
    wide = series(snapshot.node, "host_idle_us", snapshot.ticks)[max(0, part.start - 3) : part.stop + 3]
    return float(np.nanmean(wide)) < FULL * cpus * snapshot.step_us


def _where(
    cpu: float | None, whole: bool, delay: float | None, throttled: float | None, waited: float | None,
    worked: float | None, crowding: float | None,
) -> Where:  # fmt: skip
    """The class of a stall by its shares."""
    if throttled is not None and throttled >= MOST:
        return "throttled"
    # On a busy node, running tasks also wait for a CPU, and threads can do both at once: together they had work to do.
    ran, queued = cpu or 0.0, delay or 0.0
    if ran + queued >= MOST and not whole:
        return "cpu" if ran >= queued else "runnable" if queued >= 1.5 * ran else "unknown"
    # If run delay is not recorded, it says as much if no task at all waited for a CPU.
    waits = delay if delay is not None else crowding
    if cpu is None or waits is None or throttled is None or cpu + waits + throttled > LITTLE:
        return "unknown"
    return _unread(waited, worked)


def _slept(seen: Waiting) -> bool:
    """Whether the threads themselves show that the program neither ran nor was ready to run."""
    is_runnable = any(one.way == "running" and one.threads >= ONE for one in seen.groups)
    return seen.told is not None and not is_runnable


def _unread(waited: float | None, worked: float | None) -> Where:
    """The place of a stall in which the program did nothing, by where the requests were."""
    if waited is None:
        return "idle"
    if waited >= UNREAD:
        return "socket"
    if waited > READ:
        return "unknown"
    return "outside" if worked is not None and worked <= 1 - UNREAD else "blocked"
