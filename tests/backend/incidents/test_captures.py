"""Captures of the flight recorder: stored with their batch, shown with their incident, kept while it is pinned."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import zstandard
from sqlalchemy import text

from jitterscope.captures import wire
from jitterscope.db import organization_session
from jitterscope.incidents import retention as incident_retention
from jitterscope.incidents.scheduling import tasks
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.recordings import file
from jitterscope.recordings.model import RecordedCapture, Recording
from jitterscope.recordings.replay import prepare
from jitterscope.recordings.snapshots import cut
from jitterscope.series import retention
from tests.support.batches import now_us
from tests.support.captures import SERVER_CGROUP, capture

pytestmark = pytest.mark.slow

S_US = 1_000_000
DAY_US = 86_400 * S_US


def with_captures(recording: Recording, *starts_s: int, resource: int = 0) -> Recording:
    """The recording with captures of 10 s that start at these offsets (s)."""
    made = [
        RecordedCapture(resource, wire.capture_of(capture(recording.start_us + second * S_US))) for second in starts_s
    ]
    return replace(recording, captures=tuple(made))


@pytest.fixture
def incident(service: Any, gc_fault: Recording) -> Any:
    """An incident of a cgroup, with a capture of its node at that time, one of itself, and one from long before."""
    own = with_captures(gc_fault, 40, resource=gc_fault.subject).captures
    recording = with_captures(gc_fault, 20)
    service.feed(replace(recording, captures=(*recording.captures, *own)))
    subject = service.feed(with_captures(gc_fault, 20), ends_us=now_us() - 3600 * S_US)
    service.diagnose(subject)
    [found] = service.get("/incidents")["items"]
    return service.get(f"/incidents/{found['id']}")


def test_an_incident_lists_captures_of_its_subject_and_node(service: Any, incident: Any) -> None:
    items = service.get(f"/incidents/{incident['id']}/captures")["items"]
    assert [(one["of"], one["reason"], one["samples"], one["processes"], one["cpus"]) for one in items] == [
        ("node", "system_cpu", 1980, 3, 2), ("subject", "system_cpu", 1980, 3, 2),
    ]  # fmt: skip
    assert items[0]["end_us"] - items[0]["start_us"] == 10 * S_US
    assert (items[0]["rate_hz"], items[0]["lost_samples"]) == (99.0, 2)


def test_a_capture_is_merged(service: Any, incident: Any) -> None:
    path = f"/incidents/{incident['id']}/captures"
    [first, _] = service.get(path)["items"]
    shown = service.get(f"{path}/{first['id']}")
    assert shown["flame"]["total_samples"] == shown["flame"]["samples"][0] == 1980
    assert {"kubelet", "shrink_dcache_for_umount", "main.serve"} <= set(shown["flame"]["names"])
    assert [one["command"] for one in shown["processes"]] == ["kswapd0", "coredns", "kubelet"]
    assert sum(shown["seconds"]["kernel_samples"]) == 990 + 297
    start_us = first["start_us"]
    window = {"from": str(start_us + 3 * S_US), "to": str(start_us + 6 * S_US)}
    stall = service.get(f"{path}/{first['id']}", **window)
    assert stall["flame"]["total_samples"] == 594
    assert "main.serve" not in stall["flame"]["names"]
    assert (stall["from_us"], stall["to_us"]) == (start_us + 3 * S_US, start_us + 6 * S_US)
    assert len(stall["seconds"]["kernel_samples"]) == 10
    one = service.get(f"{path}/{first['id']}", pid=100)
    assert one["flame"]["total_samples"] == 297
    assert [line["pid"] for line in one["processes"]] == [100]


def test_a_capture_of_the_subject_alone(service: Any, incident: Any) -> None:
    """Only processes in the incident's cgroup or below it."""
    path = f"/incidents/{incident['id']}/captures"
    capture_id = service.get(path)["items"][0]["id"]
    assert service.get(f"{path}/{capture_id}", scope="subject")["flame"]["total_samples"] == 0
    service.change(incident["id"], subject_key=SERVER_CGROUP.rpartition("/")[0])
    shown = service.get(f"{path}/{capture_id}", scope="subject")
    assert shown["flame"]["total_samples"] == 693
    assert [one["command"] for one in shown["processes"]] == ["coredns"]
    everything = service.get(f"{path}/{capture_id}")["processes"]
    assert {one["command"]: one["of_subject"] for one in everything} == {
        "kswapd0": False, "coredns": True, "kubelet": False,
    }  # fmt: skip


def test_waiting_threads_by_what_they_wait_in(service: Any, incident: Any) -> None:
    path = f"/incidents/{incident['id']}/captures"
    [first, _] = service.get(path)["items"]
    shown = service.get(f"{path}/{first['id']}")
    assert shown["more_waiting"] == 0
    assert shown["waiting"] == [
        {
            "command": "coredns", "of_subject": False, "state": "S", "call": "futex", "place": "futex_do_wait",
            "threads": 3, "times": 60, "looks": 20, "names": ["worker"], "stack": [],
        },
        {
            "command": "coredns", "of_subject": False, "state": "D", "call": "fsync", "place": "jbd2_log_wait_commit",
            "threads": 1, "times": 20, "looks": 20, "names": ["coredns"],
            "stack": ["jbd2_log_wait_commit", "ext4_sync_file"],
        },
    ]  # fmt: skip
    window = {"from": str(first["start_us"] + 3 * S_US), "to": str(first["start_us"] + 3 * S_US + 300_000)}
    assert [one["times"] for one in service.get(f"{path}/{first['id']}", **window)["waiting"]] == [18, 6]
    assert service.get(f"{path}/{first['id']}", pid=100)["waiting"] == []


def test_what_does_not_belong_is_not_found(service: Any, incident: Any, other_organization: Any) -> None:
    path = f"/incidents/{incident['id']}/captures"
    capture_id = service.get(path)["items"][0]["id"]
    service.get("/incidents/999999/captures", status=404)
    service.get(f"{path}/999999", status=404)
    service.get(f"{path}/{capture_id}", status=422, **{"from": "yesterday"})
    service.get(f"{path}/{capture_id}", status=422, **{"from": "2", "to": "1"})
    with organization_session(service.organization.id) as session:
        earlier = session.execute(text("SELECT id FROM captures ORDER BY start_us LIMIT 1")).scalar_one()
    # Of the same node, but from another time.
    service.get(f"{path}/{earlier}", status=404)
    response = service.client.get(f"/api/v1{path}/{capture_id}", headers=other_organization.headers)
    assert response.status_code == 404
    with organization_session(other_organization.id) as session:
        assert session.execute(text("SELECT count(*) FROM captures")).scalar_one() == 0


def test_captures_of_pinned_incidents_outlive_the_others(service: Any, incident: Any) -> None:
    """A week later, what the incident shows stays, and what is an hour older is dropped."""
    path = f"/incidents/{incident['id']}/captures"
    later_us = time.time_ns() // 1000 + 8 * DAY_US
    service.change(incident["id"], pinned=True)
    deleted = retention.expire(service.organization.id, later_us)
    assert deleted["captures"] == 1
    assert len(service.get(path)["items"]) == 2
    with organization_session(service.organization.id) as session:
        assert tasks.pinned(session) == incident_retention.windows(session) != []
    service.change(incident["id"], pinned=False, resolved_at=datetime.now(UTC), state="resolved")
    assert retention.expire(service.organization.id, later_us)["captures"] == 2
    assert service.get(path)["items"] == []


def test_a_recording_carries_captures_and_a_replay_sends_them(service: Any, incident: Any) -> None:
    node = service.get(f"/incidents/{incident['id']}")["subject"]
    now = time.time_ns() // 1000
    window = {"resource": node["resource_id"], "from": str(now - 70 * S_US), "to": str(now)}
    response = service.client.get("/api/v1/recordings", params=window, headers=service.organization.headers)
    assert response.status_code == 200, response.text
    recording = file.read(io.BytesIO(response.content))
    assert sorted(recording.resources[one.resource].kind for one in recording.captures) == ["cgroup", "node"]
    sent = list(prepare(recording, 0, "-again"))
    carrying = [batch for batch in sent if batch.captures]
    assert sum(len(batch.captures) for batch in carrying) == 2
    # As a collector does: not before its end, and with the trigger that it was taken for.
    for batch in carrying:
        for one in batch.captures:
            assert one.end_us <= batch.sealed_at_us
            assert (one.resource, "system_cpu") in {(t.resource, t.reason) for t in batch.triggers}
        body = zstandard.compress(batch.SerializeToString())
        answer = service.client.post("/api/v1/ingest", content=body, headers=service.organization.ingest_headers)
        assert answer.status_code == 200, answer.text
    half = cut(recording, recording.start_us, recording.start_us + 5 * S_US)
    assert len(half.captures) < 2


def test_a_batch_with_captures_is_stored_once(service: Any, gc_fault: Recording) -> None:
    batch: pb.Batch = next(prepare(with_captures(gc_fault, -9), now_us() - gc_fault.end_us, ""))
    assert len(batch.captures) == 1
    for _ in range(2):
        body = zstandard.compress(batch.SerializeToString())
        answer = service.client.post("/api/v1/ingest", content=body, headers=service.organization.ingest_headers)
        assert answer.status_code == 200, answer.text
    with organization_session(service.organization.id) as session:
        assert session.execute(text("SELECT count(*) FROM captures")).scalar_one() == 1
