"""Turns a node's window into the shapes of the page. Pure: it gets a snapshot and returns schemas."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from jitterscope.diagnosis.areas.pods.readings import bpf_loads
from jitterscope.diagnosis.areas.pods.readings import events as pod_events
from jitterscope.diagnosis.areas.pods.readings import phases as pod_phases
from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings import verifier as pod_verifier
from jitterscope.diagnosis.areas.pods.readings.bpf_loads import Owner
from jitterscope.diagnosis.areas.pods.readings.phases import Part
from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_US, PERCENTILES, Durations, Nothing, PodStarts
from jitterscope.diagnosis.areas.pods.readings.verifier import Verifying
from jitterscope.diagnosis.core.snapshot import Distribution, Snapshot
from jitterscope.diagnosis.programs import cilium_versions
from jitterscope.pods.schemas import (
    StartupChange,
    StartupPart,
    StartupPercentiles,
    StartupPod,
    StartupPoint,
    StartupProgram,
    StartupStack,
    StartupStackPart,
    StartupVerifier,
)

# Beyond this many, points are merged.
_POINTS = 240
_PODS = 20
_VERSIONS = {"node.cilium": "Cilium", "node.kubelet": "kubelet", "node.kernel": "kernel"}


def percentiles(found: Durations) -> StartupPercentiles:
    p50, p90, p99 = (found.quantile_us(q) for q in PERCENTILES)
    return StartupPercentiles(starts=found.n, late=found.over(OBJECTIVE_US), p50_us=p50, p90_us=p90, p99_us=p99)


def phases(starts: PodStarts, owner: Owner | None, *, waits: bool) -> list[Part]:
    return pod_phases.parts(starts, owner.per_set_us if owner is not None and waits else None)


def part(one: Part, starts: PodStarts) -> StartupPart:
    p50, p90, p99 = one.at_us
    return StartupPart(
        id=one.id, title=one.title, inside=one.inside, in_objective=one.in_objective, operations=one.operations,
        mean_us=one.mean_us, share_ratio=one.mean_us / starts.starts.mean_us, p50_us=p50, p90_us=p90, p99_us=p99,
    )  # fmt: skip


def stacks(starts: PodStarts, parts: list[Part]) -> list[StartupStack]:
    """The percentiles of the objective, each as a stack of its outermost phases."""
    top = [one for one in parts if one.inside is None and one.in_objective]
    found = []
    for position, q in enumerate(PERCENTILES):
        whole, together = starts.starts.quantile_us(q), sum(one.at_us[position] for one in top)
        scale = min(1.0, whole / together) if together else 0.0
        pieces = [StartupStackPart(id=one.id, us=one.at_us[position] * scale) for one in top]
        found.append(StartupStack(q=q, start_us=whole, parts=pieces))
    return found


def over_time(snapshot: Snapshot, found: Distribution) -> list[StartupPoint]:
    """One point per scrape; neighboring ones are merged if there are many."""
    width = max(1, -(-snapshot.ticks // _POINTS))
    slot = found.tick // width
    points = []
    for at in np.unique(slot):
        here = slot == at
        values = Durations(found.bucket[here].astype(np.int64), found.count[here].astype(np.int64))
        points.append(
            StartupPoint(
                at_us=snapshot.start_us + int(found.tick[here].max() + 1) * snapshot.step_us,
                starts=values.n,
                late=values.over(OBJECTIVE_US),
                p50_us=values.quantile_us(0.5),
                max_us=values.quantile_us(1.0),
            )
        )
    return points


def verifier(snapshot: Snapshot, starts: PodStarts) -> tuple[StartupVerifier | None, Owner | None]:
    """The loader with the most time, and whether pods wait for it."""
    owners = bpf_loads.loaders(snapshot)
    if not owners:
        return None, None
    judged = pod_verifier.find(snapshot)
    owner = judged.owner if isinstance(judged, Verifying) else owners[0]
    ciliums = cilium_versions.is_cilium(snapshot, owner.command)
    gate = cilium_versions.NO_NODEPORT_NAT
    shown = StartupVerifier(
        command=owner.command,
        waits=isinstance(judged, Verifying),
        reason=None if isinstance(judged, Verifying) else judged.reason,
        sets=owner.sets,
        loads=owner.loads,
        per_start_us=owner.per_set_us,
        share_ratio=pod_verifier.share_of_starts(owner, starts),
        programs=[
            StartupProgram(
                name=one.name, instructions=one.instructions, verified_instructions=one.verified_instructions,
                loads=one.loads, failed=one.failed, per_start_us=one.total_us / owner.sets,
                share_ratio=one.total_us / owner.total_us if owner.total_us else 0.0,
                unused=f"Pods never run it; Cilium {gate.since_text} {gate.what}."
                if ciliums and cilium_versions.unused_for_pods(one.name) else None,
            )
            for one in owner.programs
        ],
    )  # fmt: skip
    return shown, owner


def slowest(snapshot: Snapshot) -> list[StartupPod]:
    """Pods by name, the slowest without its image pulls first."""
    pods = sorted(pod_events.started(snapshot), key=lambda pod: (-pod.sli_us, pod.created_us))
    return [
        StartupPod(
            namespace=pod.namespace,
            pod=pod.pod,
            created_us=pod.created_us,
            start_us=pod.sli_us,
            total_us=pod.total_us,
            image_pull_us=pod.image_pull_us,
        )
        for pod in pods[:_PODS]
    ]


def changes(snapshot: Snapshot, told: Distribution, split_us: int | None) -> list[StartupChange]:
    """Versions that changed in the window, and the requested time, in time order."""
    found = list[tuple[int, str | None, str | None, str | None]]()
    for name, what in _VERSIONS.items():
        history = sorted((fact for fact in snapshot.node.facts if fact.name == name), key=lambda fact: fact.since_us)
        for before, after in pairwise(history):
            if before.value != after.value and snapshot.start_us <= after.since_us < snapshot.end_us:
                found.append((after.since_us, what, before.value, after.value))
    if split_us is not None:
        found.append((split_us, None, None, None))
    return [
        StartupChange.model_validate(
            {"at_us": at, "what": what, "old": old, "new": new}
            | dict(zip(("before", "after"), _around(snapshot, told, at), strict=True))
        )
        for at, what, old, new in sorted(found, key=lambda one: one[0])
    ]


def _around(snapshot: Snapshot, found: Distribution, at_us: int) -> tuple[StartupPercentiles | None, ...]:
    early = snapshot.start_us + found.tick * snapshot.step_us < at_us
    halves = []
    for mask in (early, ~early):
        values = Durations(found.bucket[mask].astype(np.int64), found.count[mask].astype(np.int64))
        halves.append(percentiles(values) if values.n else None)
    return tuple(halves)


def starts_of(snapshot: Snapshot) -> PodStarts | str:
    """The starts, or why there are none to judge."""
    found = pod_starts.read(snapshot)
    if isinstance(found, PodStarts):
        return found
    return "No pod started in this window." if isinstance(found, Nothing) else found.reason
