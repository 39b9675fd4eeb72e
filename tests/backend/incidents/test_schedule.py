"""The schedule in the database: nothing is lost, nothing is done twice, nothing starves."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from jitterscope.cache import valkey
from jitterscope.db import organization_ids, organization_session
from jitterscope.incidents.scheduling import diagnoses, dispatch, tasks
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.scheduling.dispatch import Trigger
from jitterscope.incidents.scheduling.plan import Entry
from jitterscope.recordings.model import Recording

LONG = timedelta(hours=1)


@pytest.fixture(autouse=True)
def nothing_else_is_due(database: Any) -> None:
    """Clear triggers that other tests left without a worker."""
    for organization_id in organization_ids():
        with organization_session(organization_id) as session:
            session.execute(text("UPDATE diagnosis_schedule SET due_at = NULL, leased_until = NULL"))


def trigger(organization: Any, *resource_ids: int, reason: str = "throttled") -> None:
    with organization_session(organization.id) as session:
        dispatch.triggered(session, [Trigger(one, reason, time.time_ns() // 1000) for one in resource_ids])


def state(organization: Any, subject_id: int) -> Entry:
    with organization_session(organization.id) as session:
        entry = schedule.state(session, subject_id)
    assert entry is not None
    return entry


def set_due(organization: Any, *subject_ids: int) -> None:
    with organization_session(organization.id) as session:
        schedule.visit(session, subject_ids, timedelta(0))


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, during: Callable[[], object] = lambda: None) -> Iterator[Counter[int]]:
    """How often each subject is diagnosed inside the block, by looks that do nothing."""
    looks: Counter[int] = Counter()

    def stand_in(organization_id: int, subject_id: int) -> None:
        looks[subject_id] += 1
        during()

    monkeypatch.setattr(diagnoses, "diagnose_subject", stand_in)
    yield looks


def test_a_trigger_leads_to_an_incident(service: Any, gc_fault: Recording, organization: Any) -> None:
    subject_id = service.feed(gc_fault)
    assert state(organization, subject_id).waiting
    tasks.look()
    [incident] = service.get("/incidents")["items"]
    assert incident["subject"]["resource_id"] == subject_id
    entry = state(organization, subject_id)
    assert entry.causes == ("cpu/gc_throttling",)
    assert entry.waiting == ()
    assert entry.due_at is not None
    assert entry.looked_at is not None
    assert entry.due_at - entry.looked_at == timedelta(seconds=10), "explained: watched from now on"


def test_further_looks_until_harm_is_explained(
    service: Any, healthy: Recording, gc_fault: Recording, organization: Any
) -> None:
    now_us = time.time_ns() // 1000
    subject_id = service.feed(healthy, ends_us=now_us - 100_000_000)
    trigger(organization, subject_id)
    tasks.look()
    entry = state(organization, subject_id)
    assert entry.due_at is not None
    assert entry.looked_at is not None
    assert entry.due_at - entry.looked_at < timedelta(seconds=1), "the next look follows"
    assert service.feed(gc_fault, ends_us=now_us) == subject_id
    time.sleep(0.9)
    tasks.poll()
    assert [one["cause"] for one in service.get("/incidents")["items"]] == ["cpu/gc_throttling"]
    assert state(organization, subject_id).follow_until is None


def test_valkey_loses_everything(service: Any, gc_fault: Recording, organization: Any) -> None:
    subject_id = service.feed(gc_fault)
    valkey().flushall()
    assert state(organization, subject_id).due_at is not None
    tasks.poll()
    assert [one["cause"] for one in service.get("/incidents")["items"]] == ["cpu/gc_throttling"]


def test_many_triggers_are_one_look(
    service: Any, healthy: Recording, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject_id = service.feed(healthy)
    process_id = service.get("/resources", kind="process")["items"][0]["id"]
    for reason in ("throttled", "slow_query", "oom_kill"):
        trigger(organization, subject_id, process_id, reason=reason)
    assert state(organization, subject_id).waiting == ("oom_kill", "slow_query", "throttled")
    with counted(monkeypatch) as looks:
        tasks.look()
    assert looks == {subject_id: 1}


def test_a_trigger_during_a_look_is_looked_at_after_it(
    service: Any, healthy: Recording, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject_id = service.feed(healthy)
    trigger(organization, subject_id)
    claim = dispatch.next_claim()
    assert claim is not None
    trigger(organization, subject_id, reason="oom_kill")
    assert dispatch.next_claim() is None, "one at a time"
    with counted(monkeypatch):
        dispatch.look(claim)
    entry = state(organization, subject_id)
    assert entry.waiting == ("oom_kill",)
    with organization_session(organization.id) as session:
        assert subject_id in schedule.due(session, within=timedelta(seconds=1))


def test_a_noisy_organization_does_not_starve_another(
    organization: Any, other_organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_due(organization, *range(1, 41))
    set_due(other_organization, 1001, 1002)
    order = []
    with counted(monkeypatch):
        for _ in range(6):
            claim = dispatch.next_claim()
            assert claim is not None
            order.append(claim.organization_id)
            dispatch.look(claim)
    assert order[:4].count(other_organization.id) == 2, "turn by turn"
    held = [dispatch.next_claim() for _ in range(3)]
    set_due(other_organization, 1003)
    claim = dispatch.next_claim()
    assert None not in held
    assert claim is not None
    assert claim.organization_id == other_organization.id, "who has nothing under way comes first"


def test_a_killed_workers_look_is_done_by_another(organization: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    set_due(organization, 7)
    lost = dispatch.next_claim()
    assert lost is not None
    assert dispatch.next_claim() is None
    with organization_session(organization.id) as session:
        lapsed = "leased_until = leased_until - interval '1 hour', due_at = due_at - interval '1 hour'"
        session.execute(text(f"UPDATE diagnosis_schedule SET {lapsed} WHERE subject_id = 7"))
    again = dispatch.next_claim()
    assert again is not None
    assert again.entry.subject_id == 7
    with counted(monkeypatch):
        dispatch.look(lost)  # it was only slow: the row belongs to the other worker now
    assert state(organization, 7).attempts == 2
    with counted(monkeypatch):
        dispatch.look(again)
    assert state(organization, 7).attempts == 0


def test_workers_at_once_take_each_subject_once(organization: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    set_due(organization, *range(1, 31))
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while (claim := dispatch.next_claim()) is not None or due():
                if claim is not None:
                    dispatch.look(claim)
        except BaseException as error:
            errors.append(error)

    def due() -> list[int]:
        with organization_session(organization.id) as session:
            return schedule.due(session)

    with counted(monkeypatch) as looks:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    assert looks == dict.fromkeys(range(1, 31), 1)


def test_an_error_does_not_stop_the_others(organization: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    set_due(organization, 1, 2)

    def fail() -> None:
        raise RuntimeError("a snapshot that no rule expected")

    with counted(monkeypatch, fail) as looks:
        tasks.look()
    assert set(looks) == {1, 2}
    entry = state(organization, 1)
    assert entry.attempts == 1
    assert entry.due_at is not None, "it is tried again"


def test_nobody_elses(organization: Any, other_organization: Any) -> None:
    set_due(organization, 5)
    with organization_session(other_organization.id) as session:
        assert schedule.state(session, 5) is None
        assert schedule.claim(session) is None
        assert schedule.due(session, within=LONG) == []


def test_at_most_so_many_at_once(organization: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    set_due(organization, *range(1, 9))
    gate, inside, most = threading.Event(), [0], [0]
    lock = threading.Lock()

    def wait() -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        gate.wait(5)
        with lock:
            inside[0] -= 1

    with counted(monkeypatch, wait) as looks:
        threads = [threading.Thread(target=tasks.look) for _ in range(5)]
        for thread in threads:
            thread.start()
        while most[0] < dispatch.MOST_AT_ONCE:
            time.sleep(0.01)
        gate.set()
        for thread in threads:
            thread.join()
    assert most[0] == dispatch.MOST_AT_ONCE
    assert sum(looks.values()) == 8


def test_visits_are_planned_where_nobody_has_to_look(service: Any, healthy: Recording, organization: Any) -> None:
    subject_id = service.feed(healthy)
    with organization_session(organization.id) as session:
        wanted = diagnoses.visited_subjects(session)
        session.execute(text("UPDATE diagnosis_schedule SET due_at = NULL"))
    assert subject_id in wanted
    diagnoses.plan_visits(organization.id)
    with organization_session(organization.id) as session:
        assert schedule.due(session, within=timedelta(minutes=1)) == wanted
    before = state(organization, subject_id).due_at
    diagnoses.plan_visits(organization.id)
    assert state(organization, subject_id).due_at == before, "it is planned already"
