"""What a channel would have sent, from actual past incidents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from sqlalchemy import select

from jitterscope.db import organization_session
from jitterscope.incidents.api import last_week
from jitterscope.notify.models import DeliveryRow
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import moved, without_facts

KUBE = {"conditions": {"namespaces": ["kube-system"]}, "min_severity": "info"}


def preview(service: Any, **asked: Any) -> dict[str, Any]:
    return dict(service.post("/channels/preview", asked))


def hook(service: Any, **more: Any) -> int:
    config = {"url": "http://127.0.0.1:9/hook", "secret": "0123456789abcdef"}
    content = {"kind": "webhook", "name": "ops", "config": config, **more}
    return int(service.post("/channels", content, status=201)["id"])


def queued(service: Any, channel: int) -> list[str]:
    return [one["type"] for one in reversed(service.get(f"/channels/{channel}/deliveries")["items"])]


def incident(service: Any, recording: Recording) -> int:
    """The ID of the incident that a recording makes."""
    service.diagnose(service.feed(recording))
    [opened] = service.get("/incidents")["items"]
    return int(opened["id"])


def test_nothing_happened(service: Any) -> None:
    told = preview(service)
    assert (told["messages"], told["incidents"], told["by_action"], told["last"]) == (0, 0, {}, [])
    assert told["complete"] is True


def test_a_channel_and_its_preview_agree(service: Any, gc_fault: Recording) -> None:
    """Namespace, pod, and workload are those from the collector's facts."""
    kube, other = hook(service, **KUBE), hook(service, conditions={"namespaces": ["default"]})
    coredns = hook(service, conditions={"resources": ["coredns"]}, min_severity="info")
    number = incident(service, moved(gc_fault, "/kubepods/p1/c1", "coredns-7c9d8bb6f4-x2x9q"))
    service.post(f"/incidents/{number}/acknowledge")
    service.post(f"/incidents/{number}/note", {"note": "seen"})
    service.post(f"/incidents/{number}/resolve")
    expected = ["incident.opened", "incident.acknowledged", "incident.resolved"]
    assert queued(service, kube) == queued(service, coredns) == expected
    assert queued(service, other) == []
    told = preview(service, **KUBE)
    assert (told["messages"], told["incidents"], told["held"]) == (3, 1, 0)
    assert told["by_action"] == {"opened": 1, "acknowledged": 1, "resolved": 1}
    assert [one["action"] for one in told["last"]] == ["resolved", "acknowledged", "opened"]
    assert {one["incident_id"] for one in told["last"]} == {number}
    assert preview(service, conditions={"namespaces": ["default"]})["messages"] == 0
    assert preview(service, **KUBE, kind="pagerduty", actions=["opened", "noted"])["messages"] == 1
    assert preview(service, **KUBE, actions=["noted"])["by_action"] == {"noted": 1}


def test_the_payload_says_what_kubernetes_calls_it(service: Any, gc_fault: Recording, organization: Any) -> None:
    hook(service, **KUBE)
    incident(service, moved(gc_fault, "/kubepods/p1/c1", "coredns-7c9d8bb6f4-x2x9q"))
    with organization_session(organization.id) as session:
        [payload] = session.scalars(select(DeliveryRow.payload))
    subject = payload["incident"]["subject"]
    assert (subject["namespace"], subject["workload"]) == ("kube-system", "coredns")
    assert (subject["pod"], subject["container"]) == ("coredns-7c9d8bb6f4-x2x9q", "coredns")


def test_where_no_namespace_is_known_no_pattern_of_one_matches(service: Any, gc_fault: Recording) -> None:
    number = incident(service, without_facts(gc_fault, "workload.namespace"))
    assert number
    assert preview(service, min_severity="info")["messages"] == 1
    assert preview(service, min_severity="info", conditions={"namespaces": ["*"]})["messages"] == 0


def test_severity_is_that_of_the_time(service: Any, gc_fault: Recording) -> None:
    number = incident(service, gc_fault)
    service.change(number, severity="info")
    assert preview(service, min_severity="warning")["by_action"].get("opened") == 1


def test_what_was_muted_would_not_have_been_sent(service: Any, gc_fault: Recording) -> None:
    number = incident(service, gc_fault)
    service.post(f"/incidents/{number}/mute", {"reason": "known"})
    service.post(f"/incidents/{number}/acknowledge")
    assert preview(service, min_severity="info")["by_action"] == {"opened": 1}


def test_quiet_hours_delay(service: Any, gc_fault: Recording) -> None:
    number = incident(service, gc_fault)
    service.change(number)
    now = datetime.now(UTC)
    hours = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "time_zone": "UTC", "critical_passes": False,
             "start": f"{now - timedelta(hours=2):%H:%M}", "end": f"{now + timedelta(hours=2):%H:%M}"}  # fmt: skip
    told = preview(service, min_severity="info", quiet_hours=hours)
    assert (told["messages"], told["held"]) == (1, 1)
    assert datetime.fromisoformat(told["last"][0]["held_until"]) > now
    service.post(f"/incidents/{number}/resolve")
    assert preview(service, min_severity="info", quiet_hours=hours)["messages"] == 0


def test_it_looks_back_a_week_and_at_so_many_changes(
    service: Any, gc_fault: Recording, organization: Any, monkeypatch: Any
) -> None:

    number = incident(service, gc_fault)
    for _ in range(3):
        service.post(f"/incidents/{number}/acknowledge")
        service.post(f"/incidents/{number}/unacknowledge")
    asked = {"min_severity": "info", "actions": ["opened", "acknowledged", "unacknowledged"]}
    assert preview(service, **asked)["messages"] == 7
    monkeypatch.setattr(last_week, "MOST_CHANGES", 2)
    told = preview(service, **asked)
    assert (told["messages"], told["complete"]) == (2, False)
    assert told["since"] == told["last"][-1]["at"]


def test_who_may_not_read_incidents_learns_of_none(service: Any, organization: Any) -> None:
    made = service.post("/tokens", {"name": "t", "scopes": ["channels:read"]}, status=201)
    headers = {"Authorization": f"Bearer {made['secret']}"}
    assert service.client.post("/api/v1/channels/preview", json={}, headers=headers).status_code == 403


def test_older_changes_are_told_by_what_their_incident_is(service: Any, gc_fault: Recording, database: Any) -> None:
    """Rows from earlier rules have no severity; the application itself never rewrites history."""

    number = incident(service, gc_fault)
    with psycopg.connect(database.superuser_url) as superuser:
        superuser.execute(
            "UPDATE incident_transitions SET severity = NULL, cause = NULL, muted = NULL WHERE incident_id = %s",
            (number,),
        )
    service.change(number, severity="info")
    assert preview(service, min_severity="warning")["messages"] == 0
    assert preview(service, min_severity="info")["messages"] == 1
