"""The area `kernel`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from jitterscope.diagnosis.areas.kernel.readings import past_drops, settings
from jitterscope.diagnosis.areas.kernel.readings.figures import (
    drop_time,
    failed_lookups,
    frozen_time,
    made_dentries,
    negative_dentries,
    thread_exits,
)
from jitterscope.diagnosis.areas.kernel.whatif.answer import answer
from jitterscope.diagnosis.core import answers, freezes, impact, lanes
from jitterscope.diagnosis.core.area import (
    Area,
    Control,
    History,
    Lane,
    Line,
    Load,
    Mark,
    Measure,
    Sighting,
    WatchedFact,
    WhatIf,
)

AREA = Area(
    id="kernel",
    title="Kernel",
    lanes=(
        Lane(
            "dentries", "Dentries (cached names)", "1",
            (
                Line("unused", "dentries_unused", "line", of="node"),
                Line("negative", "dentries_negative", "area", hot=True, of="node"),
            ),
        ),
        Lane(
            "lookups", "Failed path lookups, per tick", "1",
            (Line("failed lookups", "lookup_failures", "bars", hot=True),),
        ),
        lanes.NODE_CPU,
        lanes.LATENESS,
        lanes.RECLAIM,
        lanes.PRESSURE,
        lanes.MARGIN,
    ),
    marks=(
        lanes.MASS_EXIT,
        Mark("fs.unmount", "unmounted", "target"),
        Mark("fs.drop_caches", "caches dropped manually", "command"),
        Mark("fs.tracing", "failed lookups traced"),
        Mark("fs.lookup_failures", "failed lookups reported", "total"),
        lanes.OOM_KILL,
        lanes.EVICTION,
    ),
    impact=impact.ANSWERS,
    measures=(
        Measure(
            "drop_ms_per_min", "Kernel time of stalls by freed dentries", "ms/min",
            ("dentries", "dentries_negative", "host_system_us", "host_irq_us", "vm_drop_slab", "vm_slabs_scanned",
             "vm_scan_direct_pages", "vm_scan_kswapd_pages", "unmounts", "thread_exits", "fs.unmount",
             "fs.drop_caches", "process.mass_exit"),
            drop_time,
        ),
        Measure(
            "made_dentries_per_s", "Negative dentries created", "1/s", ("dentries_negative",), made_dentries, least=50.0
        ),
        Measure("negative_dentries", "Negative dentries held", "1", ("dentries_negative",), negative_dentries,
                least=10_000.0),
        lanes.MEMORY_WAIT,
        answers.SLOW_ANSWERS,
        # Counted only while somebody traces, so after a fix that works there may be none to compare.
        Measure("failed_lookups_per_s", "Failed path lookups", "1/s", ("lookup_failures",), failed_lookups,
                decides=False),
        Measure(
            "frozen_ms_per_min", "Time in which the node was frozen", "ms/min",
            (freezes.METRIC, "collector_lateness_us"), frozen_time, least=30.0,
        ),
        lanes.LATE_TICKS,
    ),
    # Whatever starts and ends on the node: a program that no longer runs makes no names, and no fix did that.
    load=(Load("thread_exits", "thread exits/s", ("thread_exits",), thread_exits, factor=3.0),),
    facts=(
        WatchedFact("node.kernel", "Kernel", "node"),
        WatchedFact("node.dentry_limit", "Kernel limits for dentries", "node", settings.show_limits),
        WatchedFact("node.watermarks", "Memory watermarks", "node", settings.show_watermarks),
        WatchedFact("node.vfs_cache_pressure", "vm.vfs_cache_pressure", "node"),
        WatchedFact(settings.NSS_VARIABLE, "NSS_SDB_USE_CACHE", "neighbours", settings.show_variable),
    ),
    sightings=(
        Sighting(
            settings.LAST_DROP, "Caches dropped manually", ("fs.drop_caches", "vm_drop_slab"), settings.last_drop,
            settings.show_time,
        ),
        Sighting(
            settings.NSS, "NSS library", ("fs.lookup_failures",), settings.nss_library, settings.show_nss
        ),
        Sighting(
            settings.LOOKER_LIMIT, "Memory limit of the container that looks up names",
            ("fs.lookup_failures", "memory.limit_bytes"), settings.looker_limit, settings.show_bytes,
        ),
    ),
    history=(History("kernel/dentry_reclaim_contention", past_drops.NEWEST, past_drops.event_of),),
    whatifs=(
        WhatIf(
            "dentries", "Freeing dentries",
            "Predicts how long the kernel is busy when it frees this many dentries at once.",
            (
                Control("negative_dentries", "Negative dentries", "1", 0, 1e11),
                Control("positive_dentries", "Unused dentries of real files", "1", 0, 1e11),
                Control("inodes", "Inodes freed with them", "1", 0, 1e11, hint="At most as many as dentries of files."),
            ),
            answer=answer,
            subject="node",
            causes=(
                "kernel/negative_dentry_growth", "kernel/nss_stat_storm", "kernel/dentry_reclaim_contention",
            ),
        ),
    ),
)  # fmt: skip
