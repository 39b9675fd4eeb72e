"""Rules in the outbox: which channels get a row, what waits for the end of quiet hours, and what is dropped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from jitterscope.db import organization_session
from jitterscope.notify.conditions import Place
from jitterscope.notify.models import ChannelRow, DeliveryRow
from jitterscope.notify.outbox import withdraw
from jitterscope.notify.payload import ACTIONS
from jitterscope.notify.quiet_hours import DAYS
from jitterscope.notify.rules import replay, state_after
from tests.backend.notify.test_rules import COREDNS, event, quiet, rule

SECRET = "0123456789abcdef"


def quiet_now(minutes: int = 60, **more: Any) -> dict[str, Any]:
    """Quiet hours that began an hour ago and end in this many minutes, to the minute."""
    now = datetime.now(UTC)
    start, end = (f"{now + timedelta(minutes=one):%H:%M}" for one in (-60, minutes))
    return {"days": list(DAYS), "start": start, "end": end, "time_zone": "UTC", **more}


@pytest.fixture
def add(outbox: Any, receiver: Any) -> Any:
    def add_(**more: Any) -> int:
        return int(outbox.add_channel("webhook", {"url": receiver.url, "secret": SECRET}, **more))

    return add_


def subject(**names: Any) -> dict[str, Any]:
    return {"kind": "cgroup", "key": "/a/b", "name": "web", "node": "node-1", **names}


def told(receiver: Any) -> list[tuple[str, int]]:
    return [(one.json["type"].removeprefix("incident."), one.json["incident"]["id"]) for one in receiver.requests]


def test_each_channel_gets_what_it_is_for(outbox: Any, add: Any) -> None:
    kube = add(conditions={"namespaces": ["kube-*"]})
    dns, everything = add(conditions={"causes": ["dns/*"]}), add()
    outbox.queue(incident_id=1, subject=subject(namespace="kube-system"))
    outbox.queue(incident_id=2, subject=subject(namespace="default"), cause="dns/udp_loss")
    outbox.queue(incident_id=3, subject=subject())
    got = {channel: {row.incident_id for row in outbox.rows() if row.channel_id == channel}
           for channel in (kube, dns, everything)}  # fmt: skip
    assert got == {kube: {1}, dns: {2}, everything: {1, 2, 3}}


def test_an_incident_is_also_for_those_whom_it_reached(outbox: Any, add: Any) -> None:
    add(conditions={"namespaces": ["kube-system"]})
    outbox.queue(subject=subject(kind="node"), also=[Place("kube-system", frozenset({"coredns"}), "node-1")])
    assert len(outbox.rows()) == 1


def test_who_was_told_is_told_how_it_goes_on(outbox: Any, add: Any, receiver: Any) -> None:
    add(conditions={"causes": ["cpu/*"]}, min_severity="critical")
    outbox.queue("opened")
    outbox.queue("reclassified", severity="warning", cause="dns/udp_loss")
    outbox.queue("resolved", severity="warning", cause="dns/udp_loss")
    outbox.queue("opened", incident_id=2, cause="dns/udp_loss")
    outbox.deliver()
    assert told(receiver) == [("opened", 1), ("reclassified", 1), ("resolved", 1)]


def test_a_message_waits_for_the_end_of_quiet_hours(outbox: Any, add: Any, receiver: Any, api: Any) -> None:
    number = add(quiet_hours=quiet_now())
    outbox.queue("opened", severity="warning", incident_id=1)
    outbox.queue("opened", severity="critical", incident_id=2)
    outbox.deliver()
    assert told(receiver) == [("opened", 2)], "critical passes"
    shown = api.get(f"/api/v1/channels/{number}").json()
    assert (shown["pending"], shown["held"]) == (1, 1)
    [waiting] = api.get(f"/api/v1/channels/{number}/deliveries", params={"state": "pending"}).json()["items"]
    until = datetime.fromisoformat(waiting["held_until"])
    assert timedelta(minutes=50) < until - datetime.now(UTC) <= timedelta(minutes=60)
    assert waiting["next_attempt_at"] == waiting["held_until"]
    outbox.change(next_attempt_at=datetime.now(UTC))  # the morning
    outbox.deliver()
    outbox.deliver()
    assert told(receiver) == [("opened", 2), ("opened", 1)]


def test_what_came_and_went_is_not_sent_and_says_why(outbox: Any, add: Any, receiver: Any, api: Any) -> None:
    number = add(quiet_hours=quiet_now())
    outbox.queue("opened", severity="warning")
    outbox.queue("resolved", severity="warning")
    outbox.make_due()
    outbox.deliver()
    assert told(receiver) == []
    listed = api.get(f"/api/v1/channels/{number}/deliveries", params={"state": "skipped"}).json()["items"]
    assert {(one["type"], one["last_error"]) for one in listed} == {
        ("incident.opened", "The incident began and ended during quiet hours"),
        ("incident.resolved", "The incident began and ended during quiet hours"),
    }


def test_what_gets_critical_at_night_replaces_what_waits(outbox: Any, add: Any, receiver: Any) -> None:
    add(quiet_hours=quiet_now())
    outbox.queue("opened", severity="warning")
    outbox.queue("escalated", severity="critical")
    outbox.deliver()
    outbox.make_due()
    outbox.deliver()
    assert told(receiver) == [("escalated", 1)]
    assert outbox.states() == ["skipped", "sent"]


def test_muting_takes_back_what_waits_and_nothing_else(outbox: Any, add: Any, organization: Any) -> None:
    add(quiet_hours=quiet_now())
    add()
    outbox.queue("opened", severity="warning", incident_id=1)
    outbox.queue("opened", severity="warning", incident_id=2)
    with organization_session(organization.id) as session:
        withdraw(session, 1)
    states = {(row.incident_id, row.held_until is not None): row.state for row in outbox.rows()}
    assert states == {(1, True): "skipped", (1, False): "pending", (2, True): "pending", (2, False): "pending"}


def test_other_quiet_hours_hold_for_what_waits(outbox: Any, add: Any, api: Any, receiver: Any) -> None:
    number = add(quiet_hours=quiet_now(60))
    outbox.queue("opened", severity="warning")
    path = f"/api/v1/channels/{number}"
    longer = quiet_now(120, critical_passes=True)
    assert api.patch(path, json={"quiet_hours": longer}).json()["quiet_hours"] == longer
    [row] = outbox.rows()
    assert row.held_until == row.next_attempt_at > datetime.now(UTC) + timedelta(minutes=100)
    assert api.patch(path, json={"name": "night"}).json()["quiet_hours"] == longer, "what is left out stays"
    assert api.patch(path, json={"quiet_hours": None}).json()["quiet_hours"] is None
    outbox.deliver()
    assert told(receiver) == [("opened", 1)]
    [entry, *_] = [one for one in api.get("/api/v1/audit").json()["items"] if one["action"] == "channel.update"]
    assert entry["detail"]["quiet_hours"] == {"from": longer, "to": None}


def test_queuing_again_changes_nothing(outbox: Any, add: Any, organization: Any, monkeypatch: Any) -> None:
    """A transition whose code runs twice, as after a lost commit."""
    from tests.backend.notify import conftest

    add(quiet_hours=quiet_now())
    for action in ("opened", "resolved"):
        number = outbox.queue(action, severity="warning")
        before = [(row.id, row.state, row.held_until) for row in outbox.rows()]
        monkeypatch.setattr(conftest, "_transitions", iter([number]))
        outbox.queue(action, severity="warning")
        assert [(row.id, row.state, row.held_until) for row in outbox.rows()] == before
        monkeypatch.setattr(conftest, "_transitions", iter(range(number + 1, number + 9)))


actions = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.sampled_from(("info", "warning", "critical")), st.integers(1, 2),
              st.integers(1, 600)),
    min_size=1, max_size=10,
)  # fmt: skip


@pytest.mark.slow
@given(life=actions, passes=st.booleans(), wanted=st.frozensets(st.sampled_from(ACTIONS), min_size=4))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_outbox_does_what_the_preview_says(
    outbox: Any, organization: Any, receiver: Any, life: Any, passes: bool, wanted: frozenset[str]
) -> None:
    hours = quiet(critical_passes=passes)
    with organization_session(organization.id) as session:
        session.execute(delete(ChannelRow))
    outbox.add_channel(
        "webhook", {"url": receiver.url, "secret": SECRET}, quiet_hours=hours.model_dump(), actions=sorted(wanted)
    )
    clock, events, states = datetime(2020, 1, 1, tzinfo=UTC), [], dict[int, str]()
    names = subject(name=next(iter(COREDNS.names)), node=COREDNS.node, namespace=COREDNS.namespace)
    for action, severity, incident_id, minutes in life:
        clock += timedelta(minutes=minutes)
        states[incident_id] = state = state_after(action, states.get(incident_id, "open"))
        events.append(replace(event(action, clock, severity, incident_id), state=state))
        outbox.queue(action, incident_id, severity, at=clock, subject=names, state=state)
    expected = replay(rule(actions=wanted, quiet_hours=hours), events)
    with organization_session(organization.id) as session:
        rows = session.query(DeliveryRow).where(DeliveryRow.state == "pending").order_by(DeliveryRow.id).all()
        queued = {
            (row.payload["transition"]["action"], row.payload["transition"]["at"], row.held_until) for row in rows
        }
    assert queued == {
        (one.event.action, one.event.at.isoformat().replace("+00:00", "Z"), one.held_until) for one in expected
    }
    assert len(rows) == len(expected)
