"""Fixes of every area land through their own change, and through nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.kernel.readings import settings
from jitterscope.diagnosis.areas.pods.readings.programs_seen import PROGRAMS, programs
from jitterscope.diagnosis.core.area import Amounts
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.landing import Facts, Seen
from jitterscope.diagnosis.core.registry import all_areas, fix_of, fixes_of
from jitterscope.diagnosis.core.snapshot import Event, Snapshot
from jitterscope.diagnosis.scenarios.pods.simulate import CILIUM_112, Loader, PodLoad, run
from jitterscope.diagnosis.verification.changes import matching_fix, steps
from jitterscope.diagnosis.verification.plan import kinds, watched
from tests.diagnosis.scenarios import SCENARIOS, built

# Those of DNS are tried in test_dns_area.py, by whole Corefiles.
AREAS = tuple(area for area in all_areas() if area != "dns")
FAULTS = [
    name for name, one in SCENARIOS.items()
    if (one.expected or "").partition("/")[0] in ("io", "kernel", "memory", "pods")
]  # fmt: skip


def _nss(**told: str) -> str:
    return json.dumps({"version": "3.36", "file_system": "overlay"} | told)


def _corefile(*options: str, plugin: str = "forward") -> str:
    """The fact dns.corefile_parsed of one server block with one plugin."""
    words = [option.split() for option in options]
    return json.dumps([{"zones": ["."], "plugins": [{"name": plugin, "args": ["."], "options": words}]}])


def _marks(scale: int, least: int) -> str:
    return json.dumps({"watermark_scale_factor": scale, "min_free_kbytes": least, "zones": [{"name": "DMA"}]})


_PROGRAMS = json.dumps({"cilium-agent": ["a", "b_ipv6", "c"]})
_UPSTREAMS = json.dumps([{"zone": ".", "address": "10.0.0.1", "max_concurrent": 100}])


# Cause, fix, before, after, and a change of the same facts that is something else.
def _limits(**kinds: int) -> str:
    return json.dumps([{"device": "sda", "number": "8:0", **kinds}])


def _options(*options: str) -> Facts:
    return {"runtime.options": json.dumps(options)}


_LIMIT = {"cpu.quota_us": "50000", "cpu.period_us": "100000"}
_UNLIMITED = {"neighbour.cpu.quota_us": "-1", "neighbour.cpu.period_us": "100000"}

LANDINGS: list[tuple[str, str, Facts, Facts, Facts]] = [
    ("kernel/negative_dentry_growth", "memory_limit", {settings.LOOKER_LIMIT: "-1"}, {settings.LOOKER_LIMIT: "500"},
     {settings.LOOKER_LIMIT: "-1"}),
    ("kernel/negative_dentry_growth", "dentry_limit", {"node.dentry_limit": '{"fs.negative-dentry-limit": "0"}'},
     {"node.dentry_limit": '{"fs.negative-dentry-limit": "15"}'}, {"node.dentry_limit": '{"fs.dentry-negative": "1"}'}),
    ("kernel/negative_dentry_growth", "dentry_limit", {"node.kernel": "4.18.0-477.el8", "node.dentry_limit": "{}"},
     {"node.kernel": "4.18.0-553.el8", "node.dentry_limit": "{}"}, {"node.dentry_limit": "{}"}),
    ("kernel/negative_dentry_growth", "drop_caches", {settings.LAST_DROP: "1000"}, {settings.LAST_DROP: "2000"}, {}),
    ("kernel/negative_dentry_growth", "drop_caches", {}, {settings.LAST_DROP: "2000"}, {settings.LAST_DROP: ""}),
    ("kernel/dentry_reclaim_contention", "drop_before_unmount", {}, {settings.LAST_DROP: "2000"}, {}),
    ("kernel/negative_dentry_growth", "forget_removed", {"node.dentry_limit": '{"fs.dentry-negative": "0"}'},
     {"node.dentry_limit": '{"fs.dentry-negative": "1"}'}, {"node.dentry_limit": "{}"}),
    ("kernel/dentry_reclaim_contention", "newer_kernel", {"node.kernel": "3.10"}, {"node.kernel": "5.14"}, {}),
    ("kernel/dentry_reclaim_contention", "watermark_scale_factor", {"node.watermarks": _marks(10, 5)},
     {"node.watermarks": _marks(100, 5)}, {"node.watermarks": _marks(10, 50)}),
    ("kernel/nss_stat_storm", "nss_variable", {settings.NSS: _nss()}, {settings.NSS: _nss(env="no")},
     {settings.NSS: _nss(env="auto")}),
    ("kernel/nss_stat_storm", "nss_unset", {settings.NSS: _nss(env="auto")}, {settings.NSS: _nss()},
     {settings.NSS: _nss(env="no")}),
    ("kernel/nss_stat_storm", "nss_variable", {settings.NSS_VARIABLE: ""}, {settings.NSS_VARIABLE: "no"},
     {settings.NSS_VARIABLE: "auto"}),
    ("kernel/nss_stat_storm", "nss_unset", {settings.NSS_VARIABLE: "auto"}, {settings.NSS_VARIABLE: ""},
     {settings.NSS_VARIABLE: "no"}),
    ("kernel/nss_stat_storm", "nss_update", {settings.NSS: _nss()}, {settings.NSS: _nss(version="3.53")},
     {settings.NSS: _nss(env="no")}),
    ("memory/limit_oom", "raise_memory_limit", {"memory.limit_bytes": "100"}, {"memory.limit_bytes": "-1"},
     {"memory.limit_bytes": "50"}),
    ("memory/limit_oom", "gomemlimit", {}, {"go.env.GOMEMLIMIT": "100MiB"}, {"go.env.GOGC": "50"}),
    ("memory/limit_oom", "cache_capacity", {"dns.corefile_parsed": _corefile("success 200000", plugin="cache")},
     {"dns.corefile_parsed": _corefile("success 9984", plugin="cache")}, {}),
    ("memory/query_burst_oom", "max_concurrent", {"dns.corefile_parsed": _corefile()},
     {"dns.corefile_parsed": _corefile("max_concurrent 900")}, {"dns.corefile_parsed": _corefile("expire 9s")}),
    ("memory/query_burst_oom", "max_concurrent", {"dns.upstreams": _UPSTREAMS.replace("100", "900")},
     {"dns.upstreams": _UPSTREAMS}, {"dns.upstreams": "broken"}),
    ("memory/query_burst_oom", "shed", {"dns.corefile_parsed": _corefile()},
     {"dns.corefile_parsed": _corefile(plugin="shed")},
     {"dns.corefile_parsed": _corefile("max_concurrent 900")}),
    ("io/disk_stall", "raise_io_limit", {"disk.limits": _limits(write_bytes_per_s=100, read_bytes_per_s=100)},
     {"disk.limits": _limits(write_bytes_per_s=200, read_bytes_per_s=100)},
     {"disk.limits": _limits(write_bytes_per_s=200, read_bytes_per_s=50)}),
    ("io/disk_stall", "raise_io_limit", {"disk.limits": _limits(write_bytes_per_s=100)}, {"disk.limits": "[]"},
     {"disk.limits": _limits(write_bytes_per_s=100, writes_per_s=100)}),
    ("io/disk_stall", "faster_disk", {"disk.device": "sda", "disk.rotational": "1"},
     {"disk.device": "nvme0n1", "disk.rotational": "0"}, {"disk.device": "sda", "disk.rotational": "0"}),
    ("memory/page_cache_thrashing", "raise_memory_limit_for_files", {"memory.limit_bytes": "100"},
     {"memory.limit_bytes": "200"}, {"memory.limit_bytes": "50"}),
    ("memory/page_cache_thrashing", "raise_memory_limit_for_files", {"memory.limit_bytes": "100"},
     {"memory.limit_bytes": "-1"}, {"memory.limit_bytes": "100"}),
    ("memory/reclaim_stall", "watermark_scale_factor", {"node.watermarks": _marks(10, 5)},
     {"node.watermarks": _marks(100, 5)}, {"node.watermarks": _marks(10, 50)}),
    ("memory/reclaim_stall", "min_free_kbytes", {"node.watermarks": _marks(10, 5)},
     {"node.watermarks": _marks(10, 50)}, {"node.watermarks": _marks(100, 5)}),
    ("cpu/neighbours", "limit_neighbour", _UNLIMITED, {**_UNLIMITED, "neighbour.cpu.quota_us": "50000"}, _UNLIMITED),
    ("cpu/neighbours", "limit_neighbour", {**_UNLIMITED, "neighbour.cpu.quota_us": "90000"},
     {**_UNLIMITED, "neighbour.cpu.quota_us": "50000"}, _UNLIMITED),
    ("cpu/neighbours", "raise_cpu_weight", {"cpu.weight": "100"}, {"cpu.weight": "200"}, {"cpu.weight": "50"}),
    ("cpu/neighbours", "dedicated_cpus", {"process.affinity_cpus": "4"}, {"process.affinity_cpus": "2"},
     {"process.affinity_cpus": "8"}),
    ("cpu/gc_throttling", "raise_cpu_limit", {"cpu.quota_us": "50000"}, {"cpu.quota_us": "-1"},
     {"cpu.quota_us": "20000"}),
    ("cpu/gc_throttling", "cfs_burst", {"cpu.burst_us": "10"}, {"cpu.burst_us": "50000"}, {"cpu.burst_us": "0"}),
    ("cpu/gc_throttling", "gomaxprocs", {}, {"go.env.GOMAXPROCS": "1"}, {"go.env.GOGC": "50"}),
    ("cpu/gc_throttling", "gogc_off_gomemlimit", {}, {"go.env.GOGC": "off", "go.env.GOMEMLIMIT": "1GiB"},
     {"go.env.GOGC": "200"}),
    ("cpu/memory_limit_gc_spiral", "raise_gomemlimit", {"go.env.GOMEMLIMIT": "48MiB"},
     {"go.env.GOMEMLIMIT": "128MiB"}, {"go.env.GOMEMLIMIT": "16MiB"}),
    ("cpu/memory_limit_gc_spiral", "unset_gomemlimit", {"go.env.GOMEMLIMIT": "48MiB"}, {}, {"go.env.GOGC": "off"}),
    ("cpu/gc_throttling", "jvm_active_processors", _options(), _options("-XX:ActiveProcessorCount=1"),
     _options("-Xmx1g")),
    ("cpu/gc_throttling", "jvm_gc_threads", _options("-XX:ParallelGCThreads=4"), _options("-XX:ParallelGCThreads=2"),
     _options("-XX:ParallelGCThreads=8")),
    *(
        (cause, *landing)
        for cause in ("cpu/gc_throttling", "runtime/gc_pause")
        for landing in (
            ("jvm_larger_heap", _options("-Xmx420m"), _options("-Xmx1g"), _options("-Xmx420m", "-XX:+UseG1GC")),
            ("jvm_collector", _options("-XX:+UseParallelGC"), _options("-XX:+UseG1GC"), _options("-XX:+UseSerialGC")),
            ("node_old_space", _options(), _options("--max-old-space-size=512"), _options("--expose-gc")),
            ("node_semi_space", _options("--max-semi-space-size=16"), _options("--max-semi-space-size=64"),
             _options("--max-semi-space-size=8")),
            ("ruby_old_objects", _options(), _options("RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR=4"),
             _options("RUBY_GC_HEAP_OLDOBJECT_LIMIT_FACTOR=1.2")),
            ("ruby_malloc_limit", _options("RUBY_GC_MALLOC_LIMIT_MAX=67108864"),
             _options("RUBY_GC_MALLOC_LIMIT=67108864", "RUBY_GC_MALLOC_LIMIT_MAX=134217728"), _options()),
        )
    ),
    ("runtime/gc_pause", "jvm_pause_goal", _options("-XX:MaxGCPauseMillis=200"), _options("-XX:MaxGCPauseMillis=50"),
     _options("-XX:MaxGCPauseMillis=400")),
    ("net/accept_queue", "raise_backlog", {"tcp.accept_limit": "16"}, {"tcp.accept_limit": "128"},
     {"tcp.accept_limit": "8"}),
    ("net/accept_queue", "raise_somaxconn", {"tcp.somaxconn": "128"}, {"tcp.somaxconn": "4096"},
     {"tcp.somaxconn": "64"}),
    ("net/accept_queue", "more_acceptors", {"tcp.listeners": "2"}, {"tcp.listeners": "4"}, {"tcp.listeners": "1"}),
    ("io/disk_stall", "limit_disk_neighbour", {"neighbour.disk.limits": "[]"},
     {"neighbour.disk.limits": _limits(write_bytes_per_s=100)}, {"neighbour.disk.limits": "broken"}),
    ("io/disk_stall", "limit_disk_neighbour", {"neighbour.disk.limits": _limits(write_bytes_per_s=200)},
     {"neighbour.disk.limits": _limits(write_bytes_per_s=100)},
     {"neighbour.disk.limits": _limits(write_bytes_per_s=400)}),
    ("kernel/negative_dentry_growth", "vfs_cache_pressure", {"node.vfs_cache_pressure": "100"},
     {"node.vfs_cache_pressure": "200"}, {"node.vfs_cache_pressure": "100"}),
    ("memory/limit_oom", "memory_high", {"memory.high_bytes": "-1"}, {"memory.high_bytes": "500"},
     {"memory.high_bytes": "-1"}),
    ("memory/reclaim_stall", "memory_high", {"neighbour.memory.high_bytes": "-1"},
     {"neighbour.memory.high_bytes": "500"}, {"neighbour.memory.high_bytes": "-1"}),
    ("pods/bpf_verification", "newer_cilium", {"node.cilium": "1.12.3"}, {"node.cilium": "1.19.0"},
     {"node.cilium": "1.11.0"}),
    ("pods/bpf_verification", "leave_out", {PROGRAMS: _PROGRAMS}, {PROGRAMS: '{"cilium-agent": ["a", "b_ipv6"]}'},
     {PROGRAMS: '{"cilium-agent": ["a", "other"]}'}),
    ("pods/bpf_verification", "without_ipv6", {PROGRAMS: _PROGRAMS}, {PROGRAMS: '{"cilium-agent": ["a", "c"]}'},
     {PROGRAMS: '{"cilium-agent": ["a", "b_ipv6"]}'}),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "fix_id", "before", "after", "other"), LANDINGS)
def test_a_fix_lands_by_its_own_change(cause: str, fix_id: str, before: Facts, after: Facts, other: Facts) -> None:
    kind = fix_of(cause, fix_id)
    assert kind is not None
    assert isinstance(kind.landing, Seen)
    assert {name for facts in (before, after) for name in facts} <= set(kind.landing.facts)
    assert kind.landing.lands_as(before, after)
    assert not kind.landing.lands_as(before, other)
    assert not kind.landing.lands_as(before, before)
    # What is no longer seen is not a change; but an environment is read as a whole.
    if not any(name.startswith("go.env.") for name in before):
        assert not kind.landing.lands_as(before, {})


@pytest.mark.parametrize("area", AREAS)
def test_every_landing_that_is_seen_is_tried(area: str) -> None:
    tried = {fix_id for cause, fix_id, *_ in LANDINGS if cause.startswith(f"{area}/")}
    seen = {kind.id for kind in fixes_of(area) if isinstance(kind.landing, Seen)}
    assert seen - {"dentry_negative"} == tried


def test_a_neighbour_is_not_the_workload_itself() -> None:
    """Its limit is no change of the workload's own, which another fix changes."""
    proposed = ["limit_neighbour", "raise_cpu_limit"]
    before = {**_LIMIT, **_UNLIMITED}
    after = {**before, "neighbour.cpu.quota_us": "50000"}
    found = steps(watched("cpu/neighbours", proposed), before, after, restarted=False)
    assert [step.text for step in found] == ["CPU limit of the neighbor no limit → 0.5 CPU"]
    assert matching_fix(kinds("cpu/neighbours", proposed), found, before, after) == "limit_neighbour"


@pytest.mark.parametrize("name", FAULTS)
def test_every_fix_is_declared_and_measured(name: str) -> None:
    """Every proposed fix says how it lands, and one of its measures can improve here."""
    scenario, snapshot = SCENARIOS[name], built(name)
    cause = scenario.expected or ""
    measures = {one.id: one for one in all_areas()[cause.partition("/")[0]].measures}
    for fix in diagnose(snapshot).findings[0].fixes:
        kind = fix_of(cause, fix.id)
        assert kind is not None, fix.id
        assert set(kind.measures) <= set(measures), fix.id
        if not scenario.hurts or fix.verdict == "cannot_help":
            continue
        read = [measures[one].read(snapshot) for one in kind.measures]
        lost = any(isinstance(one, Amounts) and np.nansum(one.part) > 0 for one in read)
        # What only grows towards a limit has caused no harm yet.
        assert lost or cause.startswith("memory/"), fix.id


def test_a_drop_by_hand_is_seen_by_the_event_or_the_counter() -> None:
    quiet = built("healthy node/idle")
    assert settings.last_drop(quiet) is None
    dropped = built("dentry_reclaim_contention/dropped by hand")
    seen = settings.last_drop(dropped)
    assert seen is not None
    assert abs(seen.since_us - dropped.start_us - 61_900_000) <= 200_000
    pages = Event("fs.drop_caches", quiet.start_us + 5_000_000, 0, {"what": "1"})
    assert settings.last_drop(_with(quiet, pages)) is None
    names = replace(pages, attributes={"what": "2"})
    told = settings.last_drop(_with(quiet, names))
    assert told is not None
    assert told.since_us == names.start_us


def _with(snapshot: Snapshot, event: Event) -> Snapshot:
    node = replace(snapshot.node, events=(*snapshot.node.events, event))
    return replace(snapshot, node=node, subject=node)


def test_the_programs_of_a_pod_are_those_of_a_whole_set() -> None:
    snapshot = run(PodLoad(loader=Loader("cilium-agent", CILIUM_112), seed=5))
    seen = programs(snapshot)
    assert seen is not None
    assert json.loads(seen.value) == {"cilium-agent": sorted(CILIUM_112)}
    # A set that the end of the window cuts in two says nothing about what is loaded.
    last = max(event.start_us for event in snapshot.node.events if event.kind == "bpf.load")
    cut = replace(snapshot, ticks=(last - snapshot.start_us) // snapshot.step_us)
    node = replace(cut.node, events=tuple(event for event in cut.node.events if event.start_us < cut.end_us))
    again = programs(replace(cut, node=node, subject=node))
    assert again is not None
    assert json.loads(again.value) == {"cilium-agent": sorted(CILIUM_112)}


@pytest.mark.parametrize("starts", [1, 2, 3])
def test_what_a_tool_loads_when_it_starts_is_not_loaded_per_pod(starts: int) -> None:
    """Otherwise starting a collector would be a change, both when it appears and when it leaves the window."""
    snapshot = run(PodLoad(loader=Loader("cilium-agent", CILIUM_112), seed=5))
    last = next(event for event in reversed(snapshot.node.events) if event.kind == "bpf.load")
    begun_us = [snapshot.start_us + 1_000_000 * (1 + start) for start in range(starts)]
    started = tuple(
        replace(last, start_us=begin_us + 1_000 * i, duration_us=500, attributes=own)
        for begin_us in begun_us
        for i, own in enumerate({**last.attributes, "command": "tracer", "name": name} for name in ("one", "two"))
    )
    node = replace(snapshot.node, events=tuple(sorted((*started, *snapshot.node.events), key=lambda one: one.start_us)))
    seen = programs(replace(snapshot, node=node, subject=node))
    assert seen is not None
    assert json.loads(seen.value) == {"cilium-agent": sorted(CILIUM_112)}
