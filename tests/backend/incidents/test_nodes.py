"""A node as the subject of a diagnosis: what is read, what triggers and visits it, and that it is recorded."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from jitterscope.db import organization_session
from jitterscope.diagnosis.areas.kernel.readings.past_drops import PAST_DROP
from jitterscope.diagnosis.core.snapshot import Event, Snapshot
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, view
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.scheduling import diagnoses, snapshots
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.scheduling.dispatch import Trigger, triggered
from jitterscope.inventory.store.nodes import MAX_PROCESSES
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import recording_of, snapshot_of

TICKS = 100
ROWS = '[["curl", 17, "/etc/pki/nssdb/.#_dOeSnotExist_.db", 900]]'


def made() -> Snapshot:
    """10 s of a node whose negative dentries grow by 5,000/s; one container causes it, one is idle."""
    node = replace(
        view(
            0, "node", "node-9",
            {"dentries_negative": 1e6 + np.linspace(0.0, 500.0 * (TICKS - 1), TICKS),
             "host_system_us": np.full(TICKS, 20_000.0), "host_user_us": np.full(TICKS, 30_000.0),
             "host_irq_us": np.zeros(TICKS)},
            {"node.kernel": "3.10.0-1160", "node.watermarks": "{}"},
        ),
        events=(Event("fs.tracing", EPOCH_US + 1_000_000, 5_000_000, {"why": "negative dentries grow"}),),
    )  # fmt: skip
    looks = Event("fs.lookup_failures", EPOCH_US + 2_000_000, 1_000_000, {"rows": ROWS, "total": "900"})
    busy = view(1, "cgroup", "/kubepods/storm", {"lookup_failures": np.full(TICKS, 90.0)}, {}, (looks,))
    idle = view(2, "cgroup", "/kubepods/idle", {"cpu_usage_us": np.full(TICKS, 90.0)}, {})
    process = view(4, "process", "18:1", {}, {"process.executable": "nginx"})
    return Snapshot(EPOCH_US, TICKS, node, node, processes=(process,), cgroups=(busy, idle))


@pytest.fixture(scope="module")
def recording() -> Recording:
    return recording_of(made())


def loaded(service: Any, subject_id: int) -> Snapshot:
    with organization_session(service.organization.id) as session:
        found = snapshots.load(session, subject_id, 30_000_000)
    assert found is not None
    assert (found.subject.kind, found.subject.name) == ("node", found.subject.node)
    return found.snapshot


def test_a_node_is_a_subject(service: Any, recording: Recording) -> None:
    snapshot = loaded(service, service.feed(recording))
    assert (snapshot.subject.kind, snapshot.subject.id) == ("node", snapshot.node.id)
    growth = snapshot.subject.series["dentries_negative"]
    assert np.nanmax(growth) - np.nanmin(growth) == pytest.approx(500.0 * (TICKS - 1))
    assert snapshot.subject.fact("node.kernel") == "3.10.0-1160"
    assert [event.kind for event in snapshot.subject.events if event.kind == "fs.tracing"] == ["fs.tracing"]
    # The idle cgroup has no part in it.
    [busy] = snapshot.cgroups
    assert busy.key == "/kubepods/storm"
    assert np.nansum(busy.series["lookup_failures"]) == 90 * TICKS
    assert busy.events[0].attributes["rows"] == ROWS
    assert [one.fact("process.executable") for one in snapshot.processes] == ["nginx"]
    assert (snapshot.ancestors, snapshot.workloads) == ((), ())


def test_of_many_processes_some_are_read(service: Any, recording: Recording) -> None:
    crowd = [replace(recording.resources[-1], key=f"{pid}:1") for pid in range(100, 200)]
    snapshot = loaded(service, service.feed(replace(recording, resources=(*recording.resources, *crowd))))
    assert len(snapshot.processes) == MAX_PROCESSES


def test_a_trigger_of_the_node_and_the_schedule_diagnose_it(service: Any, recording: Recording) -> None:
    node_id = service.feed(recording)
    organization_id = service.organization.id
    with organization_session(organization_id) as session:
        assert triggered(session, [Trigger(node_id, "dentry_growth", time.time_ns() // 1000)]) == [node_id]
    with organization_session(organization_id) as session:
        assert node_id in schedule.due(session)
        assert diagnoses.visited_subjects(session) == [node_id]
    outcome = service.diagnose(node_id)
    assert outcome is not None
    assert outcome.visited
    with organization_session(organization_id) as session:
        session.execute(text("UPDATE resources SET last_seen_at = now() - interval '10 min' WHERE kind = 'node'"))
        assert diagnoses.visited_subjects(session) == []


def test_a_trigger_of_a_cgroup_stays_with_the_cgroup(service: Any, recording: Recording) -> None:
    service.feed(recording)
    with organization_session(service.organization.id) as session:
        cgroup = session.execute(text("SELECT id FROM resources WHERE key = '/kubepods/storm'")).scalar_one()
        assert triggered(session, [Trigger(cgroup, "throttled", time.time_ns() // 1000)]) == [cgroup]


def test_a_recording_of_a_node_carries_what_its_diagnosis_reads(service: Any, recording: Recording) -> None:
    node_id = service.feed(recording)
    now_us = time.time_ns() // 1000
    window = {"resource": node_id, "from": str(now_us - 30_000_000), "to": str(now_us)}
    response = service.client.get("/api/v1/recordings", params=window, headers=service.organization.headers)
    assert response.status_code == 200, response.text
    replayed = snapshot_of(file.read(io.BytesIO(response.content)))
    stored = loaded(service, node_id)
    assert replayed.subject == replayed.node
    for views in ("cgroups", "processes"):
        before, after = getattr(stored, views), getattr(replayed, views)
        assert {one.key: sorted(one.series) for one in before} == {one.key: sorted(one.series) for one in after}, views
    assert replayed.cgroups[0].events[0].attributes["rows"] == ROWS


def test_the_same_scenario_comes_back_from_a_recording(recording: Recording) -> None:
    again = snapshot_of(recording)
    assert again.subject.kind == "node"
    assert [one.key for one in again.cgroups] == ["/kubepods/storm", "/kubepods/idle"]
    assert [fact.name for fact in again.subject.facts] == ["node.kernel", "node.watermarks"]


def test_earlier_incidents_of_a_node_tell_its_next_diagnosis(service: Any, recording: Recording) -> None:
    """A drop that made an incident before the window is an event of the node, as its area declares."""
    node_id = service.feed(recording)
    evidence = [
        {"id": "freed", "numbers": {"weight": 2e6, "duration_us": 1.2e6, "negative": 1.9e6}},
        {"id": "trigger", "numbers": {"drops": 1.0}},
    ]
    before_s, past = int(time.time()) - 3_600, {"evidence": evidence}
    at = datetime.fromtimestamp(before_s, UTC)
    with organization_session(service.organization.id) as session:
        for cause, finding in (("kernel/dentry_reclaim_contention", past), ("kernel/nss_stat_storm", past)):
            session.add(
                IncidentRow(
                    organization_id=service.organization.id, subject_id=node_id, subject_kind="node", subject_key="m",
                    subject_name="m", subject_node="m", cause=cause, title="t", severity="info", confidence="high",
                    state="resolved", onset_at=at, opened_at=at, last_seen_at=at, resolved_at=at,
                    trigger_at=at, window_from=at, window_to=at, finding=finding, baseline_at=at,
                )
            )  # fmt: skip
    [event] = [one for one in loaded(service, node_id).node.events if one.kind == PAST_DROP]
    assert (event.start_us, event.duration_us) == (before_s * 1_000_000, 1_200_000)
