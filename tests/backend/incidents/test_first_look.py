"""A first look at a healthy subject reads only its signs; whatever shows is diagnosed in full."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import signs_read
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.incidents.scheduling import dispatch, signs, snapshots
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.scheduling.diagnoses import visited_subjects
from jitterscope.incidents.scheduling.dispatch import Trigger, triggered
from jitterscope.incidents.scheduling.plan import Entry
from jitterscope.inventory import service as inventory
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import look
from tests.support.narrowed import narrow

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
WINDOW_US = 120_000_000
MINUTE_US = 60_000_000


def signs_of(organization: Any, subject_id: int) -> Snapshot:
    with organization_session(organization.id) as session:
        subject = inventory.resource(session, subject_id)
        assert subject is not None
        clock_us = inventory.node_clock_us(session, subject.node_id)
        assert clock_us is not None
        [found] = signs.load(session, [subject], clock_us, WINDOW_US).values()
    return found


def same(one: ResourceView, other: ResourceView) -> None:
    assert (one.id, one.kind, one.key, one.facts) == (other.id, other.kind, other.key, other.facts)
    assert one.series.keys() == other.series.keys()
    for name, values in one.series.items():
        np.testing.assert_array_equal(values, other.series[name])
    assert one.distributions.keys() == other.distributions.keys()
    assert {event.kind for event in one.events} == {event.kind for event in other.events}


@pytest.mark.parametrize(
    "name", ["coredns-gc-fault", "nodelocal-dnsmasq-fault", "negative-dentries-nss", "bpf-startup-fault"]
)
def test_signs_are_a_part_of_what_a_diagnosis_reads(service: Any, organization: Any, name: str) -> None:
    subject_id = service.feed(file.load(RECORDINGS / f"{name}.jitterscope"), suffix=f"-{name}")
    with organization_session(organization.id) as session:
        whole = snapshots.load(session, subject_id, WINDOW_US)
    assert whole is not None
    reads = signs_read(whole.snapshot.subject.kind)
    assert reads is not None
    expected, found = narrow(whole.snapshot, reads), signs_of(organization, subject_id)
    assert (found.start_us, found.ticks) == (expected.start_us, expected.ticks)
    for part in ("ancestors", "processes", "dns_servers", "neighbours"):
        views = getattr(found, part), getattr(expected, part)
        assert [view.id for view in views[0]] == [view.id for view in views[1]]
        for one, other in zip(*views, strict=True):
            same(one, other)
    same(found.subject, expected.subject)
    same(found.node, expected.node)


def whole_looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The subjects that are read in full from now on."""
    looked: list[int] = []
    load = snapshots.load

    def counted(session: Any, subject_id: int, window_us: int) -> snapshots.Loaded | None:
        looked.append(subject_id)
        return load(session, subject_id, window_us)

    monkeypatch.setattr(snapshots, "load", counted)
    return looked


def diagnosed_us(organization: Any, subject_id: int) -> int:
    with organization_session(organization.id) as session:
        entry = schedule.state(session, subject_id)
    assert entry is not None
    return entry.diagnosed_us


def test_what_shows_nothing_is_not_read_in_full(
    service: Any, organization: Any, healthy: Recording, gc_fault: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_us = time.time_ns() // 1000
    subject_id = service.feed(healthy, ends_us=now_us - 5 * MINUTE_US)
    looked = whole_looks(monkeypatch)
    look(organization, subject_id)
    assert looked == [subject_id], "the first look reads everything"
    before = diagnosed_us(organization, subject_id)
    assert look(organization, subject_id) is None, "nothing came since"
    service.feed(healthy, ends_us=now_us - 3 * MINUTE_US)
    outcome = look(organization, subject_id)
    assert looked == [subject_id]
    assert outcome is not None
    assert (outcome.causes, outcome.visited) == ([], True), "it is visited again"
    assert diagnosed_us(organization, subject_id) > before, "people see how new the data are that were looked at"
    service.feed(gc_fault, ends_us=now_us)
    outcome = look(organization, subject_id)
    assert looked == [subject_id] * 2
    assert outcome is not None
    assert outcome.causes == ["cpu/gc_throttling"]
    assert len(service.get("/incidents")["items"]) == 1


def test_without_a_trigger_what_shows_is_found(service: Any, organization: Any, gc_fault: Recording) -> None:
    """A cause without a trigger is found by the regular visit."""
    subject_id = service.feed(gc_fault)
    with organization_session(organization.id) as session:
        calm = "UPDATE diagnosis_schedule SET triggered_us = 0, diagnosed_us = diagnosed_us + :old, waiting = '{}'"
        session.execute(text(calm), {"old": 3 * MINUTE_US})
    outcome = look(organization, subject_id)
    assert outcome is not None
    assert outcome.causes == ["cpu/gc_throttling"]


def test_an_active_incident_is_always_looked_at_in_full(
    service: Any, organization: Any, healthy: Recording, gc_fault: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result of a full diagnosis decides whether it ends or changes its cause."""
    now_us = time.time_ns() // 1000
    subject_id = service.feed(gc_fault, ends_us=now_us - 9 * MINUTE_US)
    look(organization, subject_id)
    looked = whole_looks(monkeypatch)
    for minutes in (4, 2):
        service.feed(healthy, ends_us=now_us - minutes * MINUTE_US)
        look(organization, subject_id)
    assert looked == [subject_id] * 2
    service.change(service.get("/incidents")["items"][0]["id"], state="resolved", resolved_at=text("now()"))
    service.feed(healthy, ends_us=now_us)
    look(organization, subject_id)
    assert looked == [subject_id] * 2


def test_a_trigger_is_looked_at_in_full_until_it_led_to_nothing(
    service: Any, organization: Any, healthy: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject_id = service.feed(healthy, ends_us=time.time_ns() // 1000 - 3 * MINUTE_US)
    look(organization, subject_id)
    subject_id = service.feed(healthy)
    with organization_session(organization.id) as session:
        triggered(session, [Trigger(subject_id, "slow_query", time.time_ns() // 1000)])
    looked = whole_looks(monkeypatch)
    look(organization, subject_id)
    assert looked == [subject_id]


def visits(organization: Any, ends_us: int) -> list[int]:
    """The node and the servers of a recording that was played, without a trigger for minutes, due now."""
    with organization_session(organization.id) as session:
        subjects = visited_subjects(session)
        schedule.visit(session, subjects, timedelta(0))
        calm = "due_at = clock_timestamp(), urgent = false, waiting = '{}', triggered_us = 0, diagnosed_us = :at"
        session.execute(text(f"UPDATE diagnosis_schedule SET {calm}"), {"at": ends_us - MINUTE_US})
    return subjects


@pytest.fixture
def calm_node(service: Any, organization: Any) -> list[int]:
    """The subjects of a node without trouble, all due."""
    recording = file.load(RECORDINGS / "search-domains-ndots.jitterscope")
    ends_us = time.time_ns() // 1000
    service.feed(recording, ends_us=ends_us)
    return visits(organization, ends_us)


def entries(organization: Any, subjects: list[int]) -> list[Entry]:
    with organization_session(organization.id) as session:
        return [entry for one in subjects if (entry := schedule.state(session, one)) is not None]


def look_at_one(organization: Any) -> None:
    with organization_session(organization.id) as session:
        claim = schedule.claim(session)
    assert claim is not None
    dispatch.look(claim)


def test_one_look_visits_all_subjects_of_a_node(
    organization: Any, calm_node: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = whole_looks(monkeypatch)
    assert len(calm_node) > 3
    before = entries(organization, calm_node)
    look_at_one(organization)
    after = entries(organization, calm_node)
    assert looked == []
    assert all(one.diagnosed_us > other.diagnosed_us for one, other in zip(after, before, strict=True))
    due = [one.due_at for one in after if one.due_at is not None]
    assert len(due) == len(calm_node)
    assert max(due) - min(due) < timedelta(seconds=1), "the next visits are one look again"
    with organization_session(organization.id) as session:
        assert schedule.due(session) == []


def test_what_needs_its_own_look_gets_it(organization: Any, calm_node: list[int]) -> None:
    """A subject with a trigger or an incident, and one whose visit is far off, are not looked at beside another."""
    claimed, triggered_id, far, *others = calm_node
    with organization_session(organization.id) as session:
        triggered(session, [Trigger(triggered_id, "oom_kill", time.time_ns() // 1000)])
        due = "UPDATE diagnosis_schedule SET due_at = clock_timestamp() + :in WHERE subject_id = ANY(:ids)"
        session.execute(text(due), {"in": timedelta(seconds=45), "ids": [far]})
        session.execute(text(due), {"in": timedelta(seconds=20), "ids": [triggered_id, *others]})
    look_at_one(organization)
    seen = {one.subject_id for one in entries(organization, calm_node) if one.looked_at is not None}
    assert seen == {claimed, *others}


def test_a_triggered_look_is_at_one_subject(
    organization: Any, calm_node: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a server that triggers every few seconds would have its whole node visited as often."""
    with organization_session(organization.id) as session:
        triggered(session, [Trigger(calm_node[2], "slow_query", 0)])
        session.execute(
            text("UPDATE diagnosis_schedule SET due_at = clock_timestamp() + interval '20 s' WHERE subject_id <> :id"),
            {"id": calm_node[2]},
        )
    looked = whole_looks(monkeypatch)
    look_at_one(organization)
    assert looked == []
    assert [one.subject_id for one in entries(organization, calm_node) if one.looked_at] == [calm_node[2]]


def test_a_trigger_during_a_look_beside_is_kept(
    organization: Any, calm_node: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    load = signs.load

    def interrupted(session: Any, *arguments: Any) -> dict[int, Snapshot]:
        with organization_session(organization.id) as other:
            triggered(other, [Trigger(calm_node[1], "oom_kill", time.time_ns() // 1000)])
        return load(session, *arguments)

    monkeypatch.setattr(signs, "load", interrupted)
    look_at_one(organization)
    entry = entries(organization, calm_node)[1]
    assert (entry.waiting, entry.looked_at) == (("oom_kill",), None)


def test_signs_read_beside_others_are_those_read_alone(organization: Any, calm_node: list[int]) -> None:
    with organization_session(organization.id) as session:
        rows = inventory.resources(session, calm_node)
        clock_us = inventory.node_clock_us(session, next(iter(rows.values())).node_id)
        assert clock_us is not None
        together = signs.load(session, list(rows.values()), clock_us, WINDOW_US)
        alone = [signs.load(session, [one], clock_us, WINDOW_US)[one.id] for one in rows.values()]
    assert len(together) == len(calm_node)
    for one in alone:
        other = together[one.subject.id]
        assert (one.start_us, one.ticks) == (other.start_us, other.ticks)
        for part in ("ancestors", "processes", "dns_servers", "tcp_servers", "neighbours"):
            for view, same_view in zip(getattr(one, part), getattr(other, part), strict=True):
                same(view, same_view)
        same(one.subject, other.subject)
        same(one.node, other.node)
