"""How long the kernel will be busy freeing N dentries: by hand, at an unmount, in reclaim.

pause = work × cost × waiting, work in negative dentries: 1 for a negative one, 1.5 for the name of a real file, 5 more
for an inode that goes with it (of three in ten). The cost is the node's own: from its last drops, and from the kernel
time that creating dentries takes here, weighted by their certainty. Only if there is neither, a figure from elsewhere
with a wide interval. Waiting: the task that drops is like any other, and waits for a CPU that others use.
docs/whatif.md has the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.kernel.readings import kernel_memory
from jitterscope.diagnosis.areas.kernel.readings.dentry_falls import (
    INODE_WEIGHT,
    INODES_GONE,
    POSITIVE_WEIGHT,
    Fall,
    falls,
)
from jitterscope.diagnosis.areas.kernel.readings.past_drops import past_drops
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

Source = Literal["drops", "reclaim", "creation", "reference"]
# Kernel time [µs] to free a negative dentry if a failing lookup takes 1 µs to create one, and the exponent of that
# dependency, which is weak. Creating is mostly instructions, freeing mostly waiting for memory (30 storms and drops on
# two processors: creating took 1.0 to 4.1 µs, freeing 0.5 to 0.9; docs/whatif.md).
FREE_US, FREE_EXPONENT = 0.53, 0.2
# µs each. Between 0.2 (a server with a 3.x kernel: 200 M in 40 s) and 0.9 (a small virtual machine with 6.18).
REFERENCE_US = 0.5
# Possible error of each source (σ of the logarithm).
_SPREAD: dict[Source, float] = {"drops": 0.16, "reclaim": 0.35, "creation": 0.20, "reference": 0.55}
# If only the whole node's kernel time is known, which others contribute to.
_SPREAD_NODE = 0.28
_LEAST_SPREAD = 0.13
_LEAST_WEIGHT, _LEAST_MADE = 50_000.0, 50_000.0
# Bounds on the kernel time [µs] of a failing lookup that leaves a dentry behind, on any machine.
_MAKE_RANGE = (0.4, 40.0)
_Z90 = 1.645
# Approximate inode size of common file systems (ext4 1.1 KB, xfs 1 KB, overlayfs 0.7 KB): converts slab bytes to a
# count.
INODE_BYTES = 1_050.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Time to free a negative dentry on this node, its source, and its error (σ of the logarithm)."""

    each_us: float
    source: Source
    spread: float
    basis: str  # a clause for display


@dataclass(frozen=True, slots=True)
class Pause:
    """A predicted pause in seconds: 90 % interval, and its components (counts).

    `waiting`: factor over its kernel time, because others use the CPUs too.
    """

    seconds: Interval
    waiting: float
    negative: float
    positive: float
    inodes: float
    cost: Cost


@reading
def predict(
    snapshot: Snapshot, negative: float | None = None, positive: float | None = None, inodes: float | None = None
) -> Pause | None:
    """The pause of dropping this many; omitted counts are what the node has now (`echo 2 > drop_caches`).

    If only `negative` is given, nothing else is dropped: a directory or a file system of such names. Three in ten names
    of real files take their inode along if that is not given. None if the dentries are unknown.
    """
    dentries = kernel_memory.read(snapshot)
    held = math.inf
    if negative is None:
        negative = dentries.negative_now
        positive = dentries.positive_unused_now if positive is None else positive
        known = kernel_memory.last(dentries.inode_bytes) / INODE_BYTES
        held = known if math.isfinite(known) else math.inf
    positive = positive or 0.0
    inodes = min(positive, min(held, INODES_GONE * positive) if inodes is None else inodes)
    work = negative + POSITIVE_WEIGHT * positive + INODE_WEIGHT * inodes
    if not math.isfinite(work):
        return None
    cost = cost_of(snapshot)
    busy = work * cost.each_us / 1e6
    # The weights of real files are less certain than the cost.
    extra = 0.4 * (1 - negative / work) if work > 0 else 0.0
    factor = math.exp(_Z90 * math.hypot(cost.spread, extra))
    wait = waiting(snapshot, snapshot.ticks)
    # Competing tasks may have a lower weight, and then do not delay it.
    seconds = Interval(low=busy / factor, high=busy * wait * factor, expected=busy * wait)
    return Pause(seconds, wait, negative, positive, inodes, cost)


def waiting(snapshot: Snapshot, until: int) -> float:
    """How many times longer a CPU-bound task took in the 10 s before tick `until`: 1 if a CPU is mostly idle.

    By the tasks that were runnable, and by the CPU time in demand that the hypervisor stole.
    """
    ticks = slice(max(0, until - 100), until)

    def last(metric: str) -> FloatArray:
        return series(snapshot.node, metric, snapshot.ticks)[ticks]

    runnable = last("host_runnable")
    runnable = runnable[np.isfinite(runnable)]
    # The median: many tasks wake at the ends of ticks, including the one that counts. That one stands for the dropping
    # task.
    others = float(np.median(runnable)) / kernel_memory.cpus(snapshot) if len(runnable) else 1.0
    used, stolen = (
        last("host_user_us") + kernel_memory.system_us(snapshot.node, snapshot.ticks)[ticks],
        last("host_steal_us"),
    )
    known = np.isfinite(used) & np.isfinite(stolen)
    wanted = float((used + stolen)[known].sum())
    given = float(used[known].sum()) / wanted if wanted > 0 else 1.0
    return float(np.clip(max(1.0, others) / max(given, 0.1), 1.0, 3.0))


@reading
def cost_of(snapshot: Snapshot) -> Cost:
    """The node's own cost of freeing a negative dentry, from the data of the snapshot."""
    found = falls(snapshot)
    own = [cost for cost in (_of_drops(snapshot, found), _of_creation(snapshot)) if cost is not None]
    if len(own) == 1:
        return own[0]
    if own:
        # Weighted by their certainty, as for independent measurements.
        weights = [1 / cost.spread**2 for cost in own]
        middle = sum(w * math.log(cost.each_us) for w, cost in zip(weights, own, strict=True)) / sum(weights)
        spread = max(_LEAST_SPREAD, 1 / math.sqrt(sum(weights)))
        return Cost(math.exp(middle), own[0].source, spread, " and ".join(cost.basis for cost in own))
    reclaimed = [fall for fall in found if _reclaimed(fall)]
    if reclaimed:
        each = sum(fall.system_us for fall in reclaimed) / sum(fall.weight for fall in reclaimed)
        return Cost(each, "reclaim", _SPREAD["reclaim"], "the kernel time of slab reclaim on this node")
    return Cost(REFERENCE_US, "reference", _SPREAD["reference"], "other machines (this node has freed none yet)")


def _of_drops(snapshot: Snapshot, found: Sequence[Fall]) -> Cost | None:
    """From the last drops and unmounts, the newest five: a node's speed changes with its neighbors."""
    past = [(drop.weight, drop.duration_us, drop.negative_ratio) for drop in past_drops(snapshot)]
    dropped = [
        (fall.weight, fall.duration_us / waiting(snapshot, fall.start), fall.negative / fall.weight)
        for fall in found
        if fall.how in ("drop", "unmount")
    ]
    known = [row for row in (*past, *dropped) if row[0] >= _LEAST_WEIGHT]
    if not known:
        return None
    # The weights of real files and inodes are rough, so drops of mostly negative dentries are more informative.
    pure = [row for row in known if row[2] >= 0.5]
    rows = (pure or known)[-5:]
    weight, took = sum(row[0] for row in rows), sum(row[1] for row in rows)
    many = "the last drop" if len(rows) == 1 else f"the last {len(rows)} drops"
    basis = f"{many} on this node ({weight:,.0f} worth {took / 1e6:.2f} s)"
    return Cost(took / weight, "drops", _SPREAD["drops" if pure else "reclaim"], basis)


def _of_creation(snapshot: Snapshot) -> Cost | None:
    own = _creation_of_cgroup(snapshot)
    made = _creation_of_node(snapshot) if own is None else own
    if made is None:
        return None
    basis = f"the {made:.2f} µs of kernel time that creating one takes on this node"
    each_us = FREE_US * made**FREE_EXPONENT
    return Cost(each_us, "creation", _SPREAD_NODE if own is None else _SPREAD["creation"], basis)


def _reclaimed(fall: Fall) -> bool:
    return (
        fall.how in ("kswapd", "direct_reclaim")
        and fall.weight >= _LEAST_WEIGHT
        and math.isfinite(fall.system_us)
        and 0.05 <= fall.system_us / fall.weight <= 10.0
    )


@reading
def creation_us(snapshot: Snapshot) -> float | None:
    """Kernel time (µs) to create a negative dentry on this node; None if too few were created.

    By the CPU time of the cgroup that creates them, if known; else by the node's, above its baseline.
    """
    own = _creation_of_cgroup(snapshot)
    return _creation_of_node(snapshot) if own is None else own


def _creation_of_cgroup(snapshot: Snapshot) -> float | None:
    n = snapshot.ticks
    made, hot = _made(kernel_memory.read(snapshot).negative)
    total = float(made[hot].sum())
    if total < _LEAST_MADE:
        return None
    for view in snapshot.cgroups:
        failures = series(view, "lookup_failures", n)
        spent = series(view, "cpu_system_us", n)
        traced = hot & np.isfinite(failures) & np.isfinite(spent)
        there = float(made[traced].sum())
        if there >= _LEAST_MADE and failures[traced].sum() >= 0.8 * there:
            return _sane(float(spent[traced].sum() / max(there, float(failures[traced].sum()))))
    return None


def _creation_of_node(snapshot: Snapshot) -> float | None:
    n = snapshot.ticks
    made, hot = _made(kernel_memory.read(snapshot).negative)
    if float(made[hot].sum()) < _LEAST_MADE:
        return None
    system = kernel_memory.system_us(snapshot.node, n)
    known = hot & np.isfinite(system)
    if not known.any() or made[known].sum() < _LEAST_MADE:
        return None
    quiet = ~hot & np.isfinite(system)
    for fall in falls(snapshot):
        quiet[fall.start : fall.end + 2] = False
    calm = system[quiet]
    # If calm ticks are few, they are those around a storm, and hardly calm themselves.
    base = float(np.median(calm)) if len(calm) >= 300 else kernel_memory.calm_us(calm if len(calm) else system)
    return _sane(float((system[known] - base).sum() / made[known].sum()))


def _sane(each_us: float) -> float | None:
    return each_us if _MAKE_RANGE[0] <= each_us <= _MAKE_RANGE[1] else None


def _made(negative: FloatArray) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Negative dentries gained in each tick, and the ticks with many; a gap's gain counts where it ends."""
    made = np.zeros(len(negative))
    known = np.flatnonzero(np.isfinite(negative))
    hot = np.zeros(len(negative), dtype=np.bool_)
    if len(known) < 2:
        return made, hot
    gained, width = np.diff(negative[known]), np.diff(known)
    made[known[1:]] = gained
    quick = gained / width >= max(200.0, 0.2 * float((gained / width).max()))
    for low, high, is_quick in zip(known[:-1], known[1:], quick, strict=True):
        hot[low + 1 : high + 1] = is_quick
    return made, hot
