"""Telemetry of a simulated node for the scenarios of the kernel causes: storms of failing lookups, drops, reclaim.

Seeded, on the 100 ms grid, counted like the kernel and the collector: drop_slab rises when the drop is over, kernel
time comes in jiffies of 10 ms, and failing lookups are traced only from a second after negative dentries begin to grow.
Costs are measured (docs/whatif.md): 2.4 µs to create a negative dentry, 0.6 µs to free one, five times that for an
inode.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from jitterscope.diagnosis.core.snapshot import Event, FloatArray, Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import EPOCH_US, TICK_US
from jitterscope.diagnosis.scenarios.kernel.views import snapshot_of

GIB = 1 << 30
Rows = tuple[tuple[str, int, str, float], ...]  # command, pid, pattern, share of the lookups


@dataclass(frozen=True, slots=True)
class Storm:
    """Failing lookups at `rate`/s in [start_s, end_s); `stay`: share of names that remain cached.

    `bursts_s`: only this long at the start of every `every_s`.
    """

    start_s: float
    end_s: float
    rate: float
    rows: Rows = (("scanner", 4242, "/data/cache/#/item-#.json", 1.0),)
    stay: float = 1.0
    fails: float = 1.0  # share of the names from failed lookups; the rest are of files created and removed
    every_s: float | None = None
    bursts_s: float = 0.4
    cgroup: str | None = "/kubepods/pod1/app"
    container: str = "app"


@dataclass(frozen=True, slots=True)
class Loss:
    """At `at_s` the kernel frees a share of the dentries. `how`: drop, unmount, rmdir, direct, kswapd, unlink."""

    at_s: float
    how: str
    negative: float = 1.0
    positive: float = 0.0
    slowdown: float = 1.0
    target: str = "/var/lib/kubelet/pods/1b2c/volumes/cache"
    command: str = "umount"


@dataclass(frozen=True, slots=True)
class Node:
    """Parameters of a run; the defaults are a quiet node."""

    seconds: float = 120.0
    cpus: int = 2
    memory_bytes: float = 24.0 * GIB
    negative: float = 20_000.0
    positive: float = 60_000.0
    files_per_s: float = 0.0  # real files read by a directory walk
    files_start_s: float = 20.0
    storms: tuple[Storm, ...] = ()
    losses: tuple[Loss, ...] = ()
    # (at_s, seconds, pages scanned/s, slab objects scanned/s) of reclaim that frees pages, not dentries
    page_reclaim: tuple[tuple[float, float, float, float], ...] = ()
    exits: tuple[tuple[float, int], ...] = ()  # (at_s, threads)
    unmounts_s: tuple[float, ...] = ()  # of mounts without names
    exit_stall_s: float = 0.0
    make_us: float = 2.4
    free_us: float = 0.6
    base_system: float = 0.03
    low_margin_bytes: float = 12.0 * GIB
    kernel: str = "6.12.9"
    limit: str | None = "{}"
    traced: bool = True
    psi: bool = True
    counts_unmounts: bool = True
    serves_dns: bool = False
    qps: float = 400.0
    missing_ratio: float = 0.0
    nss: dict[str, str] | None = None
    seed: int = 1
    facts: dict[str, str] = field(default_factory=dict)


def simulate(node: Node) -> Snapshot:
    return KernelRun(node).result()


class KernelRun:
    """Columns and events of one run, before the collector's view of them."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.random = np.random.default_rng(node.seed)
        self.n = int(node.seconds * 10)
        names = (
            "negative", "positive", "inodes", "system", "scanned", "direct", "kswapd", "stalls", "drop", "unmounts",
            "exits", "failures", "psi", "memory_psi",
        )  # fmt: skip
        self.column: dict[str, FloatArray] = {name: np.zeros(self.n) for name in names}
        self.events: list[Event] = []
        self.stalls: list[tuple[float, float]] = []  # times in which a CPU did nothing else
        self.cgroups: dict[str, FloatArray] = {}
        self.who: dict[str, list[Event]] = {}

    def result(self) -> Snapshot:
        node, column = self.node, self.column
        column["negative"] += node.negative
        column["positive"] += node.positive
        column["inodes"] += node.positive * 0.8
        if node.files_per_s:
            grown = np.clip((np.arange(self.n) / 10 - node.files_start_s) * node.files_per_s, 0, None)
            column["positive"] += grown
            column["inodes"] += grown
            column["system"] += np.where(grown > 0, node.files_per_s / 10 * 12.0, 0)
        for number, storm in enumerate(node.storms):
            self._storm(number, storm)
        for loss in sorted(node.losses, key=lambda loss: loss.at_s):
            self._lose(loss)
        for at_s, seconds, pages, objects in node.page_reclaim:
            part = slice(int(at_s * 10), int((at_s + seconds) * 10))
            column["direct"][part] += pages / 10
            column["kswapd"][part] += pages / 10
            column["scanned"][part] += objects / 10
            column["stalls"][part] += 40
            column["system"][part] += 0.8 * TICK_US
            column["memory_psi"][part] += 0.5 * TICK_US
        for at_s in node.unmounts_s:
            column["unmounts"][int(at_s * 10)] += 1
            self.events.append(Event("fs.unmount", EPOCH_US + int(at_s * 1e6), 0, {"target": "/run/x", "type": "nsfs"}))
        for at_s, threads in node.exits:
            self._exit(at_s, threads)
        return snapshot_of(self)

    def _storm(self, number: int, storm: Storm) -> None:
        made = np.zeros(self.n)
        first, last = int(storm.start_s * 10), min(self.n, int(storm.end_s * 10))
        for tick in range(first, last):
            into = (tick - first) / 10
            if storm.every_s is None or into % storm.every_s < storm.bursts_s - 1e-9:
                made[tick] = storm.rate / 10 * self.random.uniform(0.9, 1.1)
        kept = np.cumsum(made * storm.stay)
        # What does not remain is freed within the next tick.
        passing = made * (1 - storm.stay)
        self.column["negative"] += kept + passing
        made_by_failing = made * storm.fails
        self.column["failures"] += made_by_failing
        self.column["system"] += made * self.node.make_us
        if storm.cgroup is not None:
            self.cgroups[storm.cgroup] = self.cgroups.get(storm.cgroup, np.zeros(self.n)) + made_by_failing
        for low in range(first + 10, last, 100):
            high = min(low + 100, last)
            count = float(made_by_failing[low:high].sum())
            if not self.node.traced or count < 1:
                continue
            rows = [[command, pid, pattern, round(count * share)] for command, pid, pattern, share in storm.rows]
            event = Event(
                "fs.lookup_failures", EPOCH_US + low * TICK_US, (high - low) * TICK_US,
                {"rows": json.dumps(rows), "total": str(round(count))},
            )  # fmt: skip
            self.events.append(event)
            if storm.cgroup is not None:
                self.who.setdefault(storm.cgroup, []).append(event)
        if self.node.traced:
            self.events.append(
                Event(
                    "fs.tracing", EPOCH_US + (first + 10) * TICK_US, (last - first) * TICK_US, {"why": "dentry_growth"}
                )
            )

    def _lose(self, loss: Loss) -> None:
        column, at = self.column, int(loss.at_s * 10)
        negative = column["negative"][at] * loss.negative
        positive = column["positive"][at] * loss.positive
        inodes = min(positive, column["inodes"][at])
        each = 8.0 if loss.how == "unlink" else self.node.free_us * loss.slowdown
        took_us = (negative + 1.5 * positive + 5 * inodes) * each
        ticks = max(1, int(np.ceil(took_us / TICK_US)))
        done = np.clip((np.arange(self.n) - at + 1) * TICK_US / took_us, 0, 1)
        column["negative"] -= negative * done
        column["positive"] -= positive * done
        column["inodes"] -= inodes * done
        share = np.diff(done, prepend=0.0)
        column["system"] += share * took_us
        end_us = round(EPOCH_US + at * TICK_US + took_us)
        last = min(self.n - 1, at + ticks - 1)
        if loss.how in ("drop", "direct", "kswapd"):
            column["scanned"] += share * (negative + positive + inodes) * 1.2
        if loss.how == "drop":
            column["drop"][last] += 1
            self.events.append(Event("fs.drop_caches", end_us, 0, {"command": "bash", "pid": "5", "what": "2"}))
        if loss.how in ("direct", "kswapd"):
            column["kswapd"] += share * 8_000 * ticks
            if loss.how == "direct":
                column["direct"] += share * 6_000 * ticks
                column["stalls"] += share * 200 * ticks
                column["memory_psi"] += share * 0.6 * took_us
        if loss.how == "unmount":
            column["unmounts"][last] += 1 if self.node.counts_unmounts else 0
            if self.node.counts_unmounts:
                start = EPOCH_US + at * TICK_US
                attributes = {"target": loss.target, "type": "overlay", "command": loss.command, "last": "yes"}
                self.events.append(Event("fs.unmount", start, end_us - start, attributes))
        if loss.how != "unlink":
            self.stalls.append((at, took_us / TICK_US))
            column["psi"] += share * took_us * 0.7

    def _exit(self, at_s: float, threads: int) -> None:
        at, column = int(at_s * 10), self.column
        length = max(2, int(self.node.exit_stall_s * 10))
        column["exits"][at : at + 3] += threads / 3
        column["system"][at : at + length] += TICK_US * 1.5
        column["psi"][at : at + length] += 0.7 * TICK_US
        event = Event(
            "process.mass_exit", EPOCH_US + at * TICK_US, 300_000,
            {"command": "java", "pid": "777", "threads": str(threads)},
        )  # fmt: skip
        self.who.setdefault("/kubepods/pod2/java", []).append(event)
        self.cgroups.setdefault("/kubepods/pod2/java", np.zeros(self.n))
        self.stalls.append((at, float(length)))
