"""Telemetry of a simulated node for the scenarios of the kernel causes: storms of failing lookups, drops, reclaim.

Seeded, on the 100 ms grid, counted like the kernel and the collector: drop_slab rises when the drop is over, kernel
time comes in jiffies of 10 ms, and failing lookups are traced only from a second after negative dentries begin to grow.
Costs are measured (docs/whatif.md): 2.4 µs to create a negative dentry, 0.6 µs to free one, five times that for an
inode.
"""

from __future__ import annotations

import json

import numpy as np

from jitterscope.diagnosis.core.snapshot import Event, Snapshot
from jitterscope.diagnosis.scenarios.kernel.node import KernelRun, Loss, Node, Storm
from jitterscope.diagnosis.scenarios.kernel.views import snapshot_of
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US


def simulate(node: Node) -> Snapshot:
    return _Kernel(node).result()


class _Kernel(KernelRun):
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
            attributes = {"rows": json.dumps(rows), "total": str(round(count))}
            if self.node.nss is not None:
                attributes["nss"] = json.dumps({"command": storm.rows[0][0], **self.node.nss})
            event = Event(
                "fs.lookup_failures", EPOCH_US + low * TICK_US, (high - low) * TICK_US, attributes
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
