"""The parameters of a simulated node, and what a run of it fills."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from jitterscope.diagnosis.core.snapshot import Event, FloatArray

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
    # (at_s, seconds) in which the node stands still, and the share of its CPU time then that counts as stolen
    freezes: tuple[tuple[float, float], ...] = ()
    stolen: float = 0.0
    whole: bool = True  # else one CPU stands still, and the others answer
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
