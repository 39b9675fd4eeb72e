"""Faults and fixes as consecutive recordings, and what verification makes of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import text

from jitterscope.db import organization_session
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.incidents.scheduling import diagnoses, dispatch
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.verification import visit as verification
from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.recordings.snapshots import cut, recording_of

S_US = 1_000_000


def recorded(load: Workload, process: str = "4711:1") -> Recording:
    """A run; `process` is the key of its server."""
    made = recording_of(simulate(load).snapshot)
    return changed(made, lambda one: replace(one, key=process) if one.kind == "process" else one)


def changed(recording: Recording, change: Callable[[RecordedResource], RecordedResource]) -> Recording:
    return replace(recording, resources=tuple(map(change, recording.resources)))


def shortened(recording: Recording, seconds: int) -> Recording:
    return cut(recording, recording.start_us, recording.start_us + seconds * S_US)


def without_facts(recording: Recording, *names: str) -> Recording:
    return changed(recording, lambda one: replace(one, facts=tuple(f for f in one.facts if f.name not in names)))


def moved(recording: Recording, key: str, pod: str, process: str = "4711:1", container: str = "coredns") -> Recording:
    """The same run in a pod's container."""
    names = {"workload.manager": "kubernetes", "workload.namespace": "kube-system", "workload.pod": pod,
             "workload.container": container}  # fmt: skip

    def change(one: RecordedResource) -> RecordedResource:
        if one.kind == "cgroup":
            facts = [fact for fact in one.facts if fact.name not in names]
            facts += [FactRow(name, value, recording.start_us) for name, value in names.items()]
            return replace(one, key=key, facts=tuple(facts))
        return replace(one, key=process) if one.kind == "process" else one

    return changed(recording, change)


def story(service: Any, *parts: Recording) -> int:
    """Feed recordings in turn, the last one up to now; diagnose after the first. Returns the incident's ID."""
    now_us = time.time_ns() // 1000
    ends_us = now_us - sum(part.ticks for part in parts[1:]) * 100_000
    subject = service.feed(parts[0], ends_us=ends_us)
    service.diagnose(subject)
    for part in parts[1:]:
        ends_us += part.ticks * 100_000
        service.feed(part, ends_us=ends_us)
    return int(service.get("/incidents")["items"][0]["id"])


def look(organization: Any, subject_id: int) -> diagnoses.Outcome | None:
    """Do what a worker does if this subject, and no other, is due."""
    with organization_session(organization.id) as session:
        schedule.visit(session, [subject_id], timedelta(0))
        session.execute(
            text("UPDATE diagnosis_schedule SET due_at = CASE WHEN subject_id = :id THEN clock_timestamp() END"),
            {"id": subject_id},
        )
    with organization_session(organization.id) as session:
        claim = schedule.claim(session)
    assert claim is not None
    return dispatch.look(claim)


def visit(service: Any, incident_id: int) -> Any:
    verification.visit(service.organization.id, incident_id)
    return service.get(f"/incidents/{incident_id}")


def measures(incident: Any) -> dict[str, Any]:
    return {one["metric"]: one for one in incident["verification"]["measures"]}
