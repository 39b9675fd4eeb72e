"""A first look at a healthy subject reads only its signs; whatever shows is diagnosed in full."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import signs_read
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.incidents.scheduling import snapshots
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.scheduling.dispatch import Trigger, triggered
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
        found = snapshots.load_signs(session, subject, clock_us, WINDOW_US)
    assert found is not None
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
