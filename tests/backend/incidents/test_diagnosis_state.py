"""GET /resources/{id}/diagnosis: whether the resource is being diagnosed."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.recordings.snapshots import recording_of
from tests.backend.incidents.conftest import Service


def state(service: Service, resource_id: int) -> dict[str, Any]:
    return dict(service.get(f"/resources/{resource_id}/diagnosis"))


def test_before_and_after_a_diagnosis(service: Service) -> None:
    began_us = time.time_ns() // 1000
    subject_id = service.feed(recording_of(simulate(Workload()).snapshot))
    assert state(service, subject_id)["diagnosed_until"] is None
    assert datetime.fromisoformat(state(service, subject_id)["next_at"]).timestamp() * 1e6 >= began_us, "triggered"
    [node] = service.get("/resources", kind="node")["items"]
    assert state(service, node["id"])["next_at"] is None, "not triggered, and no visit is planned yet"
    outcome = service.diagnose(subject_id)
    assert outcome is not None
    after = state(service, subject_id)
    assert after["subject_id"] == subject_id
    seen_us = datetime.fromisoformat(after["diagnosed_until"]).timestamp() * 1e6
    assert began_us - 2e6 < seen_us < time.time_ns() // 1000


def test_of_a_process_it_is_that_of_its_cgroup(service: Service) -> None:
    subject_id = service.feed(recording_of(simulate(Workload()).snapshot))
    service.diagnose(subject_id)
    found = service.get("/resources", kind="process")["items"]
    assert found
    assert {state(service, one["id"])["subject_id"] for one in found} == {subject_id}


def test_unknown_resource(service: Service) -> None:
    assert service.get("/resources/987654321/diagnosis", status=404)["title"]
