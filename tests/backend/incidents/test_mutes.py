"""Mutes: what they cover, what they hold back, and what is sent when they end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from jitterscope.db import organization_session
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.mutes import service as mutes
from jitterscope.incidents.mutes.matching import Candidate, Muting, covers, holds_until, longest
from jitterscope.incidents.mutes.models import MuteRow
from jitterscope.notify.conditions import Conditions, Place
from jitterscope.notify.quiet_hours import WeeklyHours
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import moved
from tests.backend.incidents.test_channel_preview import hook, incident, queued

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)  # a Wednesday
DEV, PROD = (Place(name, frozenset({f"{name}/api", "api"}), "node-1") for name in ("dev", "prod"))
COREDNS: dict[str, Any] = {"conditions": {"namespaces": ["kube-system"]}}


def muting(number: int = 1, **given: Any) -> Muting:
    usual: dict[str, Any] = {
        "incident_id": None, "resource_id": None, "severities": frozenset(), "conditions": Conditions(), "hours": None,
        "until": NOW + timedelta(hours=1), "reason": "known", "by": "Ada",
    }  # fmt: skip
    return Muting(id=number, **usual | given)


def candidate(*places: Place, severity: str = "warning", resources: tuple[int, ...] = (7,)) -> Candidate:
    return Candidate(5, frozenset(resources), severity, "cpu/gc_throttling", places or (DEV,))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"incident_id": 5}, True), ({"incident_id": 6}, False),
        ({"resource_id": 7}, True), ({"resource_id": 8}, False),
        ({"severities": frozenset({"info", "warning"})}, True), ({"severities": frozenset({"info"})}, False),
        ({"conditions": Conditions(causes=["cpu/*"])}, True), ({"conditions": Conditions(causes=["dns/*"])}, False),
        ({"resource_id": 7, "conditions": Conditions(causes=["cpu/gc_throttling"])}, True),
        ({"resource_id": 7, "conditions": Conditions(causes=["dns/*"])}, False),
        ({"conditions": Conditions(namespaces=["dev"])}, True),
        ({"conditions": Conditions(resources=["dev/api"])}, True),
        ({"conditions": Conditions(nodes=["node-2"])}, False),
    ],
)  # fmt: skip
def test_everything_that_is_given_has_to_fit(given: dict[str, Any], expected: bool) -> None:
    assert covers(muting(**given), candidate()) is expected


def test_trouble_that_spread_beyond_what_is_muted_is_told() -> None:
    dev = muting(conditions=Conditions(namespaces=["dev"]))
    assert covers(dev, candidate(DEV, DEV))
    assert not covers(dev, candidate(DEV, PROD))


def test_weekly_hours_hold_in_their_zone_until_their_end_or_the_mutes() -> None:
    hours = WeeklyHours(days=["wed"], start="12:30", end="14:00", time_zone="Europe/Berlin")
    assert holds_until(muting(hours=hours, until=None), NOW) == NOW + timedelta(hours=1)  # 13:00 there
    assert holds_until(muting(hours=hours, until=NOW + timedelta(minutes=5)), NOW) == NOW + timedelta(minutes=5)
    assert holds_until(muting(hours=hours, until=None), NOW - timedelta(hours=1)) is None
    assert holds_until(muting(hours=hours, until=NOW), NOW) is None


@given(st.lists(st.one_of(st.none(), st.integers(-5, 50)), min_size=1, max_size=5))
def test_the_mute_that_holds_longest_counts(hours: list[int | None]) -> None:
    """None: without an end."""
    made = [
        muting(number, until=None if one is None else NOW + timedelta(hours=one)) for number, one in enumerate(hours)
    ]
    cover = longest(made, candidate(), NOW)
    held = [one for one in hours if one is None or one > 0]
    if not held:
        assert cover is None
        return
    assert cover is not None
    assert cover.until == (None if None in held else NOW + timedelta(hours=max(one for one in held if one is not None)))


def rule(service: Any, status: int = 201, *, hours: float | None = 1, **given: Any) -> Any:
    until = None if hours is None else (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    return service.post("/mutes", {"reason": "load test", "until": until, **given}, status=status)


def lapse(organization: Any, mute_id: int) -> None:
    """Let the mute's time pass, and let the clock's visit happen."""
    past = datetime.now(UTC) - timedelta(seconds=1)
    with organization_session(organization.id) as session:
        session.execute(update(MuteRow).where(MuteRow.id == mute_id).values(until=past))
        session.execute(update(IncidentRow).where(IncidentRow.muted).values(muted_until=past))


def history(service: Any, number: int) -> list[str]:
    return [one["action"] for one in service.get(f"/incidents/{number}")["history"]]


def named(gc_fault: Recording) -> Recording:
    return moved(gc_fault, "/kubepods/p1/c1", "coredns-7c9d8bb6f4-x2x9q")


def test_a_muted_incident_is_found_and_shown_and_notifies_nobody(service: Any, gc_fault: Recording) -> None:
    channel = hook(service, min_severity="info")
    made = rule(service, **COREDNS)
    assert (made["state"], made["incidents"], made["created_by"]) == ("holds", [], "token test api")
    number = incident(service, named(gc_fault))
    found = service.get(f"/incidents/{number}")
    assert found["muted"] is True
    assert (found["muted_until"], found["namespace"], found["workload"]) == (made["until"], "kube-system", "coredns")
    assert found["mute"] == {
        "id": made["id"], "by": "token test api", "reason": "load test", "only_this": False, "recurs": False,
    }  # fmt: skip
    assert history(service, number) == ["opened", "muted"]
    assert queued(service, channel) == []
    assert [one["id"] for one in service.get("/incidents", muted=True)["items"]] == [number]
    assert service.get("/incidents", muted=False)["items"] == []
    assert service.get("/mutes")["items"][0]["incidents"] == [number]
    refused = service.post(f"/incidents/{number}/unmute", status=409)
    assert "load test" in refused["detail"]


def test_who_heard_nothing_is_told_when_the_mute_ends(service: Any, gc_fault: Recording, organization: Any) -> None:
    """As for a new incident, also to channels that did not ask for the ends of mutes; and only once."""
    channel, reminded = hook(service, actions=["opened"], min_severity="info"), hook(service, min_severity="info")
    number = incident_after(service, gc_fault, rule(service, **COREDNS))
    lapse(organization, service.get("/mutes")["items"][0]["id"])
    assert mutes.visit(organization.id) == 1
    assert mutes.visit(organization.id) == 0
    assert queued(service, channel) == queued(service, reminded) == ["incident.unmuted"]
    assert service.get(f"/incidents/{number}")["mute"] is None
    assert history(service, number) == ["opened", "muted", "unmuted"]


def incident_after(service: Any, gc_fault: Recording, _mute: Any) -> int:
    return incident(service, named(gc_fault))


def test_a_set_time_reminds_and_a_hand_does_not(service: Any, gc_fault: Recording, organization: Any) -> None:
    channel = hook(service, min_severity="info")
    number = incident(service, named(gc_fault))
    made = rule(service, incident_id=number)
    service.post(f"/mutes/{made['id']}/end")
    assert queued(service, channel) == ["incident.opened"], "the incident stands as it did when they were told"
    again = rule(service, incident_id=number)
    lapse(organization, again["id"])
    mutes.visit(organization.id)
    assert queued(service, channel) == ["incident.opened", "incident.unmuted"]
    once_more = rule(service, incident_id=number)
    service.post(f"/incidents/{number}/acknowledge")
    lapse(organization, once_more["id"])
    mutes.visit(organization.id)
    told = ["incident.opened", "incident.unmuted", "incident.unmuted"]
    assert queued(service, channel) == told, "acknowledged meanwhile: that is news, and told once"


def test_weekly_hours_remind_nobody_who_knows(service: Any, gc_fault: Recording, organization: Any) -> None:
    channel = hook(service, min_severity="info")
    number = incident(service, named(gc_fault))
    now = datetime.now(UTC)
    every_day = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "time_zone": "UTC",
                 "start": f"{now - timedelta(hours=2):%H:%M}", "end": f"{now + timedelta(hours=2):%H:%M}"}  # fmt: skip
    made = service.post("/mutes", {"reason": "backups", "hours": every_day, **COREDNS}, status=201)
    assert (made["state"], made["incidents"], made["until"]) == ("holds", [number], None)
    before = {**every_day, "start": f"{now - timedelta(hours=3):%H:%M}", "end": f"{now - timedelta(hours=2):%H:%M}"}
    with organization_session(organization.id) as session:
        session.execute(update(MuteRow).where(MuteRow.id == made["id"]).values(hours=before))
    mutes.visit(organization.id)
    assert service.get("/mutes")["items"][0]["state"] == "waits"
    assert queued(service, channel) == ["incident.opened"]
    assert history(service, number) == ["opened", "muted", "unmuted"]


def test_what_happens_as_a_mute_passes_is_told_without_waiting_for_the_clock(
    service: Any, gc_fault: Recording, organization: Any
) -> None:
    channel = hook(service, min_severity="info")
    number = incident_after(service, gc_fault, rule(service, **COREDNS))
    lapse(organization, service.get("/mutes")["items"][0]["id"])
    service.post(f"/incidents/{number}/acknowledge")
    assert queued(service, channel) == ["incident.acknowledged"]
    assert history(service, number) == ["opened", "muted", "acknowledged", "unmuted"]
    assert mutes.visit(organization.id) == 0


def test_alerts_that_would_stay_open_are_closed_in_silence(
    service: Any, gc_fault: Recording, organization: Any
) -> None:
    config = {"routing_key": "0123456789abcdef0123456789abcdef", "events_url": "http://127.0.0.1:9/"}
    pager = {"kind": "pagerduty", "name": "p", "config": config, "min_severity": "info"}
    alerts = service.post("/channels", pager, status=201)["id"]
    chat = hook(service, min_severity="info")
    number = incident(service, named(gc_fault))
    rule(service, **COREDNS)
    service.post(f"/incidents/{number}/resolve")
    assert queued(service, alerts) == ["incident.opened", "incident.resolved"]
    assert queued(service, chat) == ["incident.opened"]


def test_one_incident_is_muted_and_unmuted_with_a_reason(service: Any, gc_fault: Recording) -> None:
    number = incident(service, named(gc_fault))
    muted = service.post(f"/incidents/{number}/mute", {"reason": "on it"})
    assert (muted["mute"]["reason"], muted["mute"]["only_this"], muted["muted_until"]) == ("on it", True, None)
    until = (datetime.now(UTC) + timedelta(hours=4)).isoformat()
    assert service.post(f"/incidents/{number}/mute", {"until": until})["muted_until"] is not None
    first, second = service.get("/mutes")["items"]
    assert (first["state"], second["state"], second["ended_by"]) == ("holds", "ended", "token test api")
    assert first["incident_title"] == muted["title"]
    assert service.post(f"/incidents/{number}/unmute")["mute"] is None
    assert [one["state"] for one in service.get("/mutes", ended=True)["items"]] == ["ended", "ended"]
    assert service.get("/mutes", ended=False)["items"] == []


def test_the_longest_of_two_counts_and_the_other_takes_over(service: Any, gc_fault: Recording) -> None:
    number = incident(service, named(gc_fault))
    short, long = rule(service, hours=1, **COREDNS), rule(service, hours=9, conditions={"causes": ["cpu/*"]})
    assert service.get(f"/incidents/{number}")["mute"]["id"] == long["id"]
    service.post(f"/mutes/{long['id']}/end")
    assert service.get(f"/incidents/{number}")["mute"]["id"] == short["id"]
    assert history(service, number) == ["opened", "muted"]
    service.post(f"/mutes/{short['id']}/end")
    assert service.get(f"/incidents/{number}")["muted"] is False
    assert service.post(f"/mutes/{short['id']}/end")["ended_at"] is not None


def test_the_preview_says_what_it_would_have_muted(service: Any, gc_fault: Recording) -> None:
    number = incident(service, named(gc_fault))
    service.post(f"/incidents/{number}/acknowledge")
    told = service.post("/mutes/preview", COREDNS)
    assert (told["incidents"], told["messages"], told["open"], told["complete"]) == (1, 2, 1, True)
    assert (told["last"][0]["id"], told["last"][0]["messages"], told["last"][0]["state"]) == (number, 2, "acknowledged")
    assert service.post("/mutes/preview", {"conditions": {"namespaces": ["dev"]}})["incidents"] == 0
    subject = service.get(f"/incidents/{number}")["subject"]["resource_id"]
    assert service.post("/mutes/preview", {"resource_id": subject})["incidents"] == 1
    assert service.get("/mutes")["items"] == [], "a preview makes nothing"


@pytest.mark.parametrize(
    ("given", "status", "problem"),
    [
        ({}, 422, "mutes-everything"),
        ({"hours": None, **COREDNS}, 422, "no-end"),
        ({"hours": -1, **COREDNS}, 422, "in-the-past"),
        ({"hours": 24 * 400, **COREDNS}, 422, "too-long"),
        ({"reason": " ", **COREDNS}, 422, "invalid"),
        ({"incident_id": 999999999999}, 404, "not-found"),
        ({"resource_id": 999999999999}, 404, "not-found"),
    ],
)
def test_mutes_that_make_no_sense(service: Any, given: dict[str, Any], status: int, problem: str) -> None:
    assert problem in rule(service, status=status, **given)["type"]


def test_there_are_not_more_mutes_than_each_change_may_ask(service: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(mutes, "MOST", 1)
    made = rule(service, **COREDNS)
    assert "too-many-mutes" in rule(service, status=409, **COREDNS)["type"]
    service.post(f"/mutes/{made['id']}/end")
    rule(service, **COREDNS)


def test_another_organizations_mute_is_none(service: Any, gc_fault: Recording, make_organization: Any) -> None:
    made = rule(service, **COREDNS)
    other = make_organization()
    answer = service.client.post(f"/api/v1/mutes/{made['id']}/end", headers=other.headers)
    assert answer.status_code == 404
    assert service.client.get("/api/v1/mutes", headers=other.headers).json()["items"] == []
    with organization_session(other.id) as session:
        assert session.get(MuteRow, made["id"]) is None


def test_who_made_and_ended_it_is_in_the_audit_trail(service: Any, gc_fault: Recording) -> None:
    number = incident(service, named(gc_fault))
    made = rule(service, **COREDNS)
    service.post(f"/mutes/{made['id']}/end")
    trail = [(one["action"], one["target"], one["actor"]) for one in service.get("/audit")["items"]]
    about = [(one, target) for one, target, actor in trail if actor == "token test api"]
    assert {("mute.create", f"mute {made['id']}"), ("mute.end", f"mute {made['id']}")} <= set(about)
    assert {("incident.muted", f"incident {number}"), ("incident.unmuted", f"incident {number}")} <= set(about)
