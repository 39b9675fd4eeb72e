"""Puts a simulated node into a Snapshot, as the collector and the database would deliver it."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.kernel.node import KernelRun
from jitterscope.diagnosis.scenarios.telemetry import (
    EPOCH_US,
    TICK_US,
    frozen,
    inside_ticks,
    latency_of,
    queries_of,
    view,
)

INODE_BYTES = 1_080.0


def snapshot_of(run: KernelRun) -> Snapshot:
    node, column, random = run.node, run.column, run.random
    noise = random.uniform(0.3, 1.7, run.n)
    system = column["system"] + node.base_system * TICK_US * noise
    # /proc/stat counts jiffies: the remainder is carried over.
    jiffies = np.diff(np.floor(np.cumsum(system) / 10_000), prepend=0.0) * 10_000
    used = (column["negative"] + column["positive"]) * 200
    series = {
        "dentries": column["negative"] + column["positive"] + 8_000,
        "dentries_unused": column["negative"] + column["positive"],
        "dentries_negative": column["negative"],
        "slab_dentry_bytes": used + 2e6,
        "slab_inode_bytes": column["inodes"] * INODE_BYTES + 3e6,
        "slab_reclaimable_bytes": used + column["inodes"] * INODE_BYTES + 2e8,
        "vm_low_margin_bytes": np.maximum(0, node.low_margin_bytes - (used - used[0])),
        "memory_available_bytes": np.full(run.n, 0.6 * node.memory_bytes),
        "host_system_us": jiffies,
        "host_user_us": 0.1 * TICK_US * noise,
        "host_irq_us": np.zeros(run.n),
        "host_idle_us": np.maximum(0, node.cpus * TICK_US - system),
        "host_runnable": np.full(run.n, 1.0),
        "vm_slabs_scanned": np.round(column["scanned"]),
        "vm_scan_direct_pages": np.round(column["direct"]),
        "vm_scan_kswapd_pages": np.round(column["kswapd"]),
        "vm_steal_direct_pages": np.round(column["direct"] * 0.6),
        "vm_steal_kswapd_pages": np.round(column["kswapd"] * 0.8),
        "vm_alloc_stalls": np.round(column["stalls"]),
        "vm_drop_slab": column["drop"],
        "unmounts": column["unmounts"],
        "thread_exits": np.round(column["exits"] + random.poisson(1.0, run.n)),
        "collector_lateness_us": random.uniform(50, 400, run.n),
    }
    if node.psi:
        series["psi_cpu_some_us"] = np.minimum(TICK_US, column["psi"] + random.uniform(0, 800, run.n))
        series["psi_memory_some_us"] = np.minimum(TICK_US, column["memory_psi"] + random.uniform(0, 50, run.n))
    if node.traced and (column["failures"] > 0).any():
        hot = np.flatnonzero(column["failures"])
        failures = np.full(run.n, np.nan)
        failures[hot[0] + 10 : hot[-1] + 60] = np.round(column["failures"])[hot[0] + 10 : hot[-1] + 60]
        series["lookup_failures"] = failures
    series["host_steal_us"] = node.cpus * TICK_US * node.stolen * inside_ticks(node.freezes, run.n)
    series = frozen(series, node.freezes, run.n)
    if node.missing_ratio:
        gone = random.random(run.n) < node.missing_ratio
        series = {name: np.where(gone, np.nan, values) for name, values in series.items()}
    facts = {
        "node.cpus": str(node.cpus), "node.kernel": node.kernel, "node.memory_bytes": f"{node.memory_bytes:.0f}",
        "node.cgroup_version": "2",
    } | ({} if node.limit is None else {"node.dentry_limit": node.limit}) | node.facts  # fmt: skip
    run.events.sort(key=lambda event: event.start_us)
    made = view(0, "node", "node-1", series, facts, tuple(run.events))
    servers = (_dns(run),) if node.serves_dns else ()
    return Snapshot(EPOCH_US, run.n, made, made, dns_servers=servers, cgroups=_cgroups(run))


def _cgroups(run: KernelRun) -> tuple[ResourceView, ...]:
    containers = {storm.cgroup: storm.container for storm in run.node.storms}
    found = []
    for number, (key, made) in enumerate(sorted(run.cgroups.items())):
        name = containers.get(key, "java")
        facts = {
            "workload.manager": "kubernetes", "workload.namespace": "shop", "workload.pod": f"{name}-7c9f-x2",
            "workload.container": name, "workload.owner": f"Deployment/{name}", "memory.limit_bytes": "-1",
        }  # fmt: skip
        series = {"cpu_system_us": made * run.node.make_us, "cpu_usage_us": made * run.node.make_us * 1.1}
        if run.node.traced and made.any():
            series["lookup_failures"] = np.round(made)
        found.append(view(20 + number, "cgroup", key, series, facts, tuple(run.who.get(key, ()))))
    return tuple(found)


def _dns(run: KernelRun) -> ResourceView:
    """A DNS server whose answers wait while a CPU does nothing else."""
    node = run.node
    count = int(node.seconds * node.qps)
    sent = EPOCH_US + np.sort(run.random.integers(0, int(node.seconds * 1e6) - 50_000, count))
    took = np.asarray(run.random.lognormal(np.log(300), 0.3, count), dtype=np.int64)
    for at, ticks in run.stalls:
        low, high = EPOCH_US + at * TICK_US, EPOCH_US + (at + ticks) * TICK_US
        inside = (sent >= low) & (sent < high) & (run.random.random(count) < 1 / node.cpus)
        took[inside] += np.asarray(high - sent[inside], dtype=np.int64) // 4
    for at_s, seconds in node.freezes:
        begin, end = (EPOCH_US + int(at * 1e6) for at in (at_s, at_s + seconds))
        held = (sent < end) & (sent + took > begin) & (node.whole | (run.random.random(count) < 1 / node.cpus))
        took[held] = end - sent[held] + np.asarray(run.random.integers(100, 3_000, int(held.sum())))
    queries = queries_of(
        [(int(a), int(b)) for a, b in zip(sent, took, strict=True)], EPOCH_US, EPOCH_US + run.n * TICK_US
    )
    tick = np.clip((queries.sent_us - EPOCH_US) // TICK_US, 0, run.n - 1)
    left = np.clip((queries.sent_us + queries.latency_us - EPOCH_US) // TICK_US, 0, run.n - 1)
    series = {
        "dns_queries": np.bincount(tick, minlength=run.n).astype(float),
        "dns_answers": np.bincount(left, minlength=run.n).astype(float),
        "dns_slow": np.bincount(left[queries.latency_us > SLOW_US], minlength=run.n).astype(float),
    }
    server = view(3, "dns_server", "10.0.0.10:53", series, {"dns.software": "coredns", "dns.version": "1.12.0"})
    return ResourceView(
        server.id, server.kind, server.key, server.name, server.series,
        {"dns_latency_us": latency_of(queries, run.n)}, server.facts, queries=queries,
    )  # fmt: skip
