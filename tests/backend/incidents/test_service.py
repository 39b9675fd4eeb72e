"""From ingested data to an incident, on real servers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from jitterscope.db import organization_session
from jitterscope.incidents.scheduling import diagnoses
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.scheduling.snapshots import load
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import changed


def test_a_fault_becomes_one_incident(service: Any, gc_fault: Recording) -> None:
    subject_id = service.feed(gc_fault)
    outcome = service.diagnose(subject_id)
    assert outcome.causes == ["cpu/gc_throttling"]
    [summary] = service.get("/incidents")["items"]
    assert summary["cause"] == "cpu/gc_throttling"
    assert summary["state"] == "open"
    assert summary["subject"]["resource_id"] == subject_id
    incident = service.get(f"/incidents/{summary['id']}")
    assert [item["action"] for item in incident["history"]] == ["opened"]
    assert {rival["cause"] for rival in incident["rivals"]} >= {"cpu/request_burst", "cpu/limit_too_low"}
    assert incident["evidence"]
    assert incident["fixes"]
    assert incident["references"]
    # Diagnosing the same data again changes nothing.
    service.diagnose(subject_id)
    assert service.get(f"/incidents/{summary['id']}") == incident
    [entry] = [one for one in service.get("/audit")["items"] if one["action"] == "incident.opened"]
    assert (entry["actor"], entry["target"]) == ("jitterscope", f"incident {summary['id']}")


def test_nothing_is_found_in_health(service: Any, healthy: Recording) -> None:
    outcome = service.diagnose(service.feed(healthy))
    assert outcome.causes == []
    assert service.get("/incidents")["items"] == []
    assert service.get("/risks")["items"] == []


def test_the_snapshot_from_the_database_is_what_was_sent(service: Any, gc_fault: Recording, organization: Any) -> None:
    subject_id = service.feed(gc_fault)
    with organization_session(organization.id) as session:
        loaded = load(session, subject_id, 120_000_000)
    assert loaded is not None
    snapshot = loaded.snapshot
    assert snapshot.ticks == 1200
    sent = gc_fault.resources[gc_fault.subject].series["cpu_usage_us"]
    stored = snapshot.subject.series["cpu_usage_us"][-gc_fault.ticks :]
    assert (stored == sent).all()
    assert snapshot.subject.fact("cpu.quota_us") == "50000"
    assert len(snapshot.processes) == len(snapshot.dns_servers) == 1
    queries = next(one.queries for one in gc_fault.resources if one.queries is not None)
    assert snapshot.dns_servers[0].queries is not None
    # The scenario's queries have no names, so the few with equal times and latencies count once.
    assert 0.999 < len(snapshot.dns_servers[0].queries.sent_us) / len(queries.sent_us) <= 1
    assert loaded.subject.node == snapshot.node.name


def test_triggers_are_noted_with_the_data(service: Any, gc_fault: Recording, organization: Any) -> None:
    """A lost queue message delays a diagnosis until the schedule, and no longer."""
    subject_id = service.feed(gc_fault)
    with organization_session(organization.id) as session:
        assert schedule.due(session, within=timedelta(minutes=1)) == [subject_id]


def test_it_resolves_after_quiet_data_and_comes_back(
    service: Any, gc_fault: Recording, healthy: Recording, settings_override: Any, organization: Any
) -> None:
    settings_override(incident_quiet_s=30)
    now_us = int(datetime.now(UTC).timestamp() * 1e6)
    subject_id = service.feed(gc_fault, ends_us=now_us - 400_000_000)
    service.diagnose(subject_id)
    [opened] = service.get("/incidents")["items"]
    # No newer data: silence does not mean quiet.
    with organization_session(organization.id) as session:
        entry = schedule.state(session, subject_id)
        assert entry is not None
        assert diagnoses.first_look(session, entry).outcome is None
    assert service.get("/incidents")["items"][0]["state"] == "open"
    # A change of its limit would be a fix to judge.
    facts = {one.key: one.facts for one in gc_fault.resources}
    quiet = changed(healthy, lambda one: replace(one, facts=facts[one.key]))
    assert service.feed(quiet, ends_us=now_us - 200_000_000) == subject_id
    service.diagnose(subject_id)
    [resolved] = service.get("/incidents")["items"]
    assert (resolved["id"], resolved["state"]) == (opened["id"], "resolved")
    assert service.feed(gc_fault, ends_us=now_us - 60_000_000) == subject_id
    service.diagnose(subject_id)
    [again] = service.get("/incidents")["items"]
    assert (again["id"], again["state"], again["resolved_at"]) == (opened["id"], "open", None)
    actions = [item["action"] for item in service.get(f"/incidents/{opened['id']}")["history"]]
    assert actions == ["opened", "resolved", "reopened"]


def test_what_people_do(service: Any, gc_fault: Recording) -> None:
    service.diagnose(service.feed(gc_fault))
    number = service.get("/incidents")["items"][0]["id"]
    assert service.post(f"/incidents/{number}/acknowledge", {"note": "mine"})["state"] == "acknowledged"
    assert service.post(f"/incidents/{number}/acknowledge")["state"] == "acknowledged"
    assert service.post(f"/incidents/{number}/unacknowledge")["state"] == "open"
    until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    muted = service.post(f"/incidents/{number}/mute", {"until": until, "reason": "known"})
    assert muted["muted"] is True
    assert service.post(f"/incidents/{number}/unmute")["muted"] is False
    assert service.post(f"/incidents/{number}/mute")["muted_until"] is None
    service.post(f"/incidents/{number}/note", {"note": "limit raised"})
    service.post(f"/incidents/{number}/pin", {"pinned": True})
    done = service.post(f"/incidents/{number}/resolve", {"note": "fixed"})
    assert (done["state"], done["pinned"]) == ("resolved", True)
    assert [item["action"] for item in done["history"]] == [
        "opened", "acknowledged", "unacknowledged", "muted", "unmuted", "muted", "noted", "pinned", "resolved",
    ]  # fmt: skip
    service.post(f"/incidents/{number}/acknowledge", status=409)
    service.post(f"/incidents/{number}/note", {"note": " "}, status=422)
    service.post(f"/incidents/{number}/mute", {"until": "2020-01-01T00:00:00Z"}, status=422)
    service.post(f"/incidents/{number}/mute", {"until": "2040-01-01T00:00:00"}, status=422)
    service.post("/incidents/999999999/resolve", status=404)
    trail = [one["action"] for one in service.get("/audit")["items"]]
    assert trail[:3] == ["incident.resolved", "incident.pinned", "incident.noted"]


def test_old_evidence_does_not_reopen_what_somebody_resolved(service: Any, gc_fault: Recording) -> None:
    subject_id = service.feed(gc_fault)
    service.diagnose(subject_id)
    number = service.get("/incidents")["items"][0]["id"]
    service.post(f"/incidents/{number}/resolve")
    service.diagnose(subject_id)
    assert [one["state"] for one in service.get("/incidents")["items"]] == ["resolved"]


def test_filters_and_pages(service: Any, gc_fault: Recording) -> None:
    for suffix in ("-a", "-b", "-c"):
        service.diagnose(service.feed(gc_fault, suffix=suffix))
    items = service.get("/incidents")["items"]
    assert len(items) == 3
    first = service.get("/incidents", limit=2)
    rest = service.get("/incidents", limit=2, cursor=first["next_cursor"])
    assert [one["id"] for one in first["items"] + rest["items"]] == [one["id"] for one in items]
    assert rest["next_cursor"] is None
    service.post(f"/incidents/{items[0]['id']}/acknowledge")
    assert [one["id"] for one in service.get("/incidents", state="acknowledged")["items"]] == [items[0]["id"]]
    assert len(service.get("/incidents", state=["open", "acknowledged"])["items"]) == 3
    subject = items[1]["subject"]
    assert [one["id"] for one in service.get("/incidents", subject=subject["resource_id"])["items"]] == [items[1]["id"]]
    assert len(service.get("/incidents", q=subject["name"].upper())["items"]) == 3
    assert service.get("/incidents", q="100%_")["items"] == []
    assert service.get("/incidents", cause="cpu/limit_too_low")["items"] == []
    service.get("/incidents", cursor="nonsense", status=400)
    service.get("/incidents", state="sleeping", status=422)


def test_nobody_elses(service: Any, gc_fault: Recording, other_organization: Any) -> None:
    subject_id = service.feed(gc_fault)
    service.diagnose(subject_id)
    number = service.get("/incidents")["items"][0]["id"]
    theirs = type(service)(service.client, other_organization)
    assert theirs.get("/incidents")["items"] == []
    for path in (f"/incidents/{number}", f"/incidents/{number}/timeline", f"/resources/{subject_id}/timeline"):
        theirs.get(path, status=404)
    theirs.post(f"/incidents/{number}/resolve", status=404)
    assert diagnoses.diagnose_subject(other_organization.id, subject_id) is None
    assert service.get(f"/incidents/{number}")["state"] == "open"


def test_causes(service: Any) -> None:
    causes = {cause["id"]: cause for cause in service.get("/causes")}
    assert "cpu/gc_throttling" in causes
    assert service.get("/causes/cpu/gc_throttling") == causes["cpu/gc_throttling"]
    service.get("/causes/cpu/none", status=404)
