"""Workers that diagnose the same subject concurrently, and stale diagnoses, make one incident."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import Diagnosis, diagnose
from jitterscope.diagnosis.core.finding import Found
from jitterscope.incidents.lifecycle.apply import apply_diagnosis
from jitterscope.incidents.models import TransitionRow
from jitterscope.incidents.retention import windows
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.scheduling.snapshots import load
from jitterscope.incidents.store import incidents
from jitterscope.recordings.model import Recording


def test_many_workers_one_incident(service: Any, gc_fault: Recording) -> None:
    subject_id = service.feed(gc_fault)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            service.diagnose(subject_id)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    [summary] = service.get("/incidents")["items"]
    assert len(service.get(f"/incidents/{summary['id']}")["history"]) == 1


def test_a_late_diagnosis_of_older_data_is_dropped(service: Any, gc_fault: Recording, organization: Any) -> None:
    subject_id = service.feed(gc_fault)
    with organization_session(organization.id) as session:
        loaded = load(session, subject_id, 120_000_000)
    assert loaded is not None
    window = (loaded.snapshot.start_us, loaded.snapshot.end_us)
    empty = Diagnosis(findings=[], not_found=[], not_enough_data=[])
    with organization_session(organization.id) as session:
        assert apply_diagnosis(session, loaded.subject, empty, window, loaded.clock_us) == []
    older = (window[0] - 1_000_000, window[1] - 1_000_000)
    with organization_session(organization.id) as session:
        assert apply_diagnosis(session, loaded.subject, diagnose(loaded.snapshot), older, loaded.clock_us) == []
    assert service.get("/incidents")["items"] == []


def test_a_cause_is_corrected_and_the_story_told(service: Any, gc_fault: Recording, organization: Any) -> None:
    subject_id = service.feed(gc_fault)
    with organization_session(organization.id) as session:
        loaded = load(session, subject_id, 120_000_000)
    assert loaded is not None
    right = diagnose(loaded.snapshot)
    wrong_found = right.findings[0].model_copy(
        update={"cause": "cpu/limit_too_low", "title": "limit too low", "last_us": right.findings[0].onset_us + 10}
    )
    wrong = Diagnosis(findings=[Found.model_validate(wrong_found)], not_found=[], not_enough_data=[])
    window = (loaded.snapshot.start_us, loaded.snapshot.end_us)
    for diagnosis in (wrong, right):
        with organization_session(organization.id) as session:
            apply_diagnosis(session, loaded.subject, diagnosis, window, loaded.clock_us)
    [summary] = service.get("/incidents")["items"]
    assert summary["cause"] == "cpu/gc_throttling"
    history = service.get(f"/incidents/{summary['id']}")["history"]
    assert [item["action"] for item in history] == ["opened", "reclassified"]
    assert "is not “" in history[1]["detail"]


def test_a_risk_is_listed_and_becomes_an_incident(service: Any, gc_fault: Recording, organization: Any) -> None:
    subject_id = service.feed(gc_fault)
    with organization_session(organization.id) as session:
        loaded = load(session, subject_id, 120_000_000)
    assert loaded is not None
    hurting = diagnose(loaded.snapshot)
    harmless = Diagnosis(
        findings=[hurting.findings[0].model_copy(update={"severity": None, "harm": "none"})],
        not_found=[],
        not_enough_data=[],
    )
    window = (loaded.snapshot.start_us, loaded.snapshot.end_us)
    for _ in range(2):
        with organization_session(organization.id) as session:
            apply_diagnosis(session, loaded.subject, harmless, window, loaded.clock_us)
    [risk] = service.get("/risks")["items"]
    assert (risk["cause"], risk["subject"]["resource_id"]) == ("cpu/gc_throttling", subject_id)
    assert risk["harm"] == "none"
    slow, queries = risk["impact"]["slow_queries"], risk["impact"]["queries"]
    assert risk["harm_reason"] == f"No harm attributed to it: {slow:,} of {queries:,} answers were slow."
    assert service.get("/incidents")["items"] == []
    with organization_session(organization.id) as session:
        apply_diagnosis(session, loaded.subject, hurting, window, loaded.clock_us)
    assert service.get("/risks")["items"] == []
    assert len(service.get("/incidents")["items"]) == 1


def test_retention_keeps_what_active_and_pinned_incidents_show(
    service: Any, gc_fault: Recording, organization: Any
) -> None:
    service.diagnose(service.feed(gc_fault))
    number = service.get("/incidents")["items"][0]["id"]

    def kept() -> int:
        with organization_session(organization.id) as session:
            return len(windows(session))

    with organization_session(organization.id) as session:
        [window] = windows(session)
    assert len(window.resource_ids) == len(gc_fault.resources)
    assert window.to_us - window.from_us >= 60_000_000
    service.post(f"/incidents/{number}/resolve")
    assert kept() == 0
    service.post(f"/incidents/{number}/pin", {"pinned": True})
    assert kept() == 1


def test_incidents_of_a_resource_that_is_gone_are_closed(service: Any, gc_fault: Recording, organization: Any) -> None:
    subject_id = service.feed(gc_fault)
    service.diagnose(subject_id)
    with organization_session(organization.id) as session:
        session.execute(text("DELETE FROM resources WHERE id = :id"), {"id": subject_id})
    with organization_session(organization.id) as session:
        assert incidents.active_subjects(session) == {subject_id}
    assert service.diagnose(subject_id) is None
    assert service.get("/incidents")["items"][0]["state"] == "resolved"
    with organization_session(organization.id) as session:
        assert incidents.active_subjects(session) == set()
        assert schedule.state(session, subject_id) is None


def test_history_cannot_be_rewritten_by_the_application(service: Any, gc_fault: Recording, organization: Any) -> None:
    service.diagnose(service.feed(gc_fault))
    with pytest.raises(ProgrammingError, match="permission denied"), organization_session(organization.id) as session:
        session.query(TransitionRow).update({"actor": "nobody"})
