"""Simulates a node on which pods start: what the kubelet, Cilium, and the kernel would have reported."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from jitterscope.diagnosis.core.snapshot import Distribution, Event, FloatArray, Snapshot
from jitterscope.diagnosis.scenarios.distributions import distribution_of
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US, view

READ_EVERY_TICKS = 100


@dataclass(frozen=True, slots=True)
class Loader:
    """A program loader, by name and mean time (s); `for_pods`: for each pod in its sandbox, else `sets` times."""

    command: str
    programs: dict[str, float]
    for_pods: bool = True
    sets: int = 0
    unlike: float = 0.1  # coefficient of variation of the time


CILIUM_112 = {
    "tail_nodeport_n": 0.115, "tail_handle_ipv": 0.05, "handle_policy": 0.06, "from_container": 0.045,
    "tail_ipv4_polic": 0.08, "tail_ipv6_polic": 0.08, "tail_rev_nodepo": 0.04, "to_container": 0.03,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PodLoad:
    """Pods that start on one node; times in seconds."""

    pods: int = 30
    seconds: int = 120
    seed: int = 1
    before_s: float = 1.2  # scheduler, volumes, kubelet
    sandbox_s: float = 0.5  # without the loader's time
    container_s: float = 0.35
    spread: float = 0.15  # coefficient of variation of each
    pull_s: float = 0.0  # image pulls of each pod, not part of the objective
    loader: Loader | None = None
    beside: Loader | None = None  # loads programs that no pod waits for
    host_network_ratio: float = 0.0  # pods that load nothing
    kubelet: str = "v1.30.5"
    cilium: str | None = None
    cilium_metrics: bool = False
    sandbox_told: bool = True
    told_at_cgroup: bool = False  # loads are events of the agent's cgroup, if the collector knows it
    logged: bool = False  # the kubelet's log is read
    paged: bool = True  # its metrics page is
    facts: dict[str, str] = field(default_factory=dict)


def run(load: PodLoad) -> Snapshot:
    """The window of a node in which these pods start."""
    random = np.random.default_rng(load.seed)
    ticks, n = load.seconds * 10, load.pods
    created = np.sort(random.uniform(0.02, 0.8, n)) * load.seconds
    before, sandbox, container = (
        mean * np.maximum(0.2, random.normal(1.0, load.spread, n))
        for mean in (load.before_s, load.sandbox_s, load.container_s)
    )
    events, loading = _loads(load, load.loader, random, created + before)
    others, _ = _loads(load, load.beside, random, created + before)
    events = sorted((*events, *others), key=lambda event: event.start_us)
    sandbox = sandbox + loading
    sli = before + sandbox + container
    done = created + sli
    seen = {
        "pod_start_sli_us": (done, sli), "pod_start_total_us": (done + load.pull_s, sli + load.pull_s),
        "pod_container_start_us": (done, container / 2), "pod_cgroup_us": (created + before, np.full(n, 0.012)),
    }  # fmt: skip
    if load.sandbox_told:
        seen["pod_sandbox_us"] = (created + before + sandbox, sandbox)
    if load.pull_s:
        seen["pod_image_pull_us"] = (done + load.pull_s, load.pull_s * random.normal(1.0, load.spread, n))
    if load.cilium_metrics:
        had = loading > 0
        ready = (created + before + sandbox)[had]
        seen["pod_cni_us"] = (ready, loading[had] + 0.25)
        seen["pod_bpf_load_us"] = (ready, loading[had] + 0.12)
    facts = {"node.kernel": "5.10.109", "node.hostname": "node-1", "node.kubelet": load.kubelet} | load.facts
    if load.cilium is not None:
        facts["node.cilium"] = load.cilium
    if not load.paged:
        seen = {name: told for name, told in seen.items() if name.startswith(("pod_cni", "pod_bpf"))}
        del facts["node.kubelet"]
    pods = _logged(load, created, sli) if load.logged else ()
    here = pods if load.told_at_cgroup else (*events, *pods)
    node = view(0, "node", "node-1", _series(events, ticks), facts, here)
    node = replace(node, distributions={name: _told(at, took, ticks) for name, (at, took) in seen.items()})
    agent = view(1, "cgroup", "/kubepods/agent", {"cpu_usage_us": np.zeros(ticks)}, {}, tuple(events))
    return Snapshot(EPOCH_US, ticks, node, node, cgroups=(agent,) if load.told_at_cgroup else ())


def _logged(load: PodLoad, created_s: FloatArray, sli_s: FloatArray) -> tuple[Event, ...]:
    """One event per pod, as the collector derives them from the kubelet's log."""
    pods = []
    for number, (at, took) in enumerate(zip(created_s, sli_s, strict=True)):
        total_us = int((took + load.pull_s) * 1e6)
        attributes = {
            "namespace": "shop",
            "pod": f"web-{number}",
            "sli_us": str(int(took * 1e6)),
            "total_us": str(total_us),
        }
        if load.pull_s:
            attributes["image_pull_us"] = str(int(load.pull_s * 1e6))
        if at + took + load.pull_s < load.seconds:
            pods.append(Event("pod.start", EPOCH_US + int(at * 1e6), total_us, attributes))
    return tuple(pods)


def _loads(
    load: PodLoad, loader: Loader | None, random: np.random.Generator, sandbox_at: FloatArray
) -> tuple[list[Event], FloatArray]:
    """Loads as events, and how long each pod waits for its own (s)."""
    n = len(sandbox_at)
    loading, events = np.zeros(n), list[Event]()
    if loader is None:
        return events, loading
    networked = np.ones(n, dtype=bool)
    networked[random.choice(n, round(load.host_network_ratio * n), replace=False)] = False
    at = sandbox_at[networked] if loader.for_pods else random.uniform(0.0, 0.9, loader.sets) * load.seconds
    waits = []
    for start in at:
        clock = float(start) + 0.1
        began = clock
        for size, (name, mean) in enumerate(loader.programs.items()):
            took = mean * max(0.3, float(random.normal(1.0, loader.unlike)))
            events.append(
                Event(
                    "bpf.load", EPOCH_US + int(clock * 1e6), int(took * 1e6),
                    {"command": loader.command, "pid": "4711", "name": name, "type": "sched_cls",
                     "instructions": str(900 + 100 * size), "verified_instructions": str(int(took * 1.4e6))},
                )
            )  # fmt: skip
            clock += took
        waits.append(clock - began)
    if loader.for_pods:
        loading[networked] = waits
    end_us = EPOCH_US + load.seconds * 1_000_000
    return sorted((e for e in events if e.end_us < end_us), key=lambda e: e.start_us), loading


def _series(events: list[Event], ticks: int) -> dict[str, FloatArray]:
    """A load counts in the tick in which it returned."""
    loads, took = np.zeros(ticks), np.zeros(ticks)
    for event in events:
        tick = (event.end_us - EPOCH_US) // TICK_US
        loads[tick] += 1
        took[tick] += event.duration_us
    return {"bpf_loads": loads, "bpf_load_us": took}


def _told(at_s: FloatArray, took_s: FloatArray, ticks: int) -> Distribution:
    """What scrapes of the page, one in 10 s, show of values observed at these times."""
    read = (np.floor(at_s * 10 / READ_EVERY_TICKS).astype(np.int64) + 1) * READ_EVERY_TICKS - 1
    kept = read < ticks
    return distribution_of(read[kept], took_s[kept] * 1e6)
