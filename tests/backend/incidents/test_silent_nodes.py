"""Incidents of a node that sends nothing more end as not known: neither open for ever, nor as if they were fixed."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from jitterscope.db import organization_session
from jitterscope.incidents.scheduling import snapshots
from jitterscope.incidents.scheduling.plan import SILENCE
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import look, shortened, story, visit

pytestmark = pytest.mark.slow

MINUTE_US = 60_000_000
LONG_AGO_US = 25 * MINUTE_US


def age(organization: Any, **columns: timedelta | None) -> None:
    """As if no batch had come for `last_seen_at`, and looks had shown that since `silent_since`."""
    with organization_session(organization.id) as session:
        for table, name in (
            ("collectors", "last_seen_at"), ("diagnosis_schedule", "silent_since"), ("diagnosis_schedule", "looked_at"),
        ):  # fmt: skip
            if (ago := columns.get(name)) is not None:
                session.execute(text(f"UPDATE {table} SET {name} = now() - :ago"), {"ago": ago})


def silent(service: Any, organization: Any, recording: Recording) -> tuple[int, int]:
    """An incident of a node that has sent nothing for longer than SILENCE; returns the subject's and its id."""
    subject_id = service.feed(recording, ends_us=time.time_ns() // 1000 - LONG_AGO_US)
    look(organization, subject_id)
    [incident] = service.get("/incidents")["items"]
    assert look(organization, subject_id) is None, "no newer data"
    age(organization, last_seen_at=SILENCE * 1.5, silent_since=SILENCE * 1.2)
    return subject_id, incident["id"]


def test_it_ends_as_not_known(service: Any, organization: Any, gc_fault: Recording) -> None:
    webhook = {"url": "http://127.0.0.1:9/hook", "secret": "correct horse battery"}
    channel = service.post("/channels", {"kind": "webhook", "name": "ops", "config": webhook}, status=201)["id"]
    subject_id, incident_id = silent(service, organization, gc_fault)
    assert service.get("/overview")["counts"] == [{"severity": "warning", "incidents": 1}]

    look(organization, subject_id)
    incident = service.get(f"/incidents/{incident_id}")
    assert incident["state"] == "not_known"
    ended = datetime.fromisoformat(incident["resolved_at"])
    assert timedelta(0) <= ended - datetime.fromisoformat(incident["last_seen_at"]) < timedelta(minutes=1)
    assert datetime.now(UTC) - ended > SILENCE, "with the data, not when it was noticed"
    assert [one["action"] for one in incident["history"]] == ["opened", "not_known"]
    node = incident["subject"]["node"]
    assert incident["history"][-1]["detail"] == (
        f"Not known any more: no data from {node} since {ended:%Y-%m-%d %H:%M:%S} UTC."
    )
    types = [one["type"] for one in service.get(f"/channels/{channel}/deliveries")["items"]]
    assert types == ["incident.not_known", "incident.opened"]
    overview = service.get("/overview")
    assert (overview["counts"], overview["not_known"]) == ([], 1)
    [entry] = [one for one in service.get("/audit")["items"] if one["action"] == "incident.not_known"]
    assert entry["detail"]["state"] == {"from": "open", "to": "not_known"}

    look(organization, subject_id)
    assert service.get(f"/incidents/{incident_id}") == incident, "once"
    refused = service.post(f"/incidents/{incident_id}/acknowledge", status=409)
    assert refused["detail"] == "An incident whose node sends no data cannot be acknowledged."


def test_data_with_the_fault_reopens_it(service: Any, organization: Any, gc_fault: Recording) -> None:
    subject_id, incident_id = silent(service, organization, gc_fault)
    look(organization, subject_id)
    service.feed(gc_fault, ends_us=time.time_ns() // 1000)
    look(organization, subject_id)
    incident = service.get(f"/incidents/{incident_id}")
    assert (incident["state"], incident["resolved_at"]) == ("open", None)
    last = incident["history"][-1]
    assert (last["action"], last["detail"]) == (
        "reopened", "There is data again, and it shows the same symptom with the same cause.",
    )  # fmt: skip
    assert service.get("/overview")["not_known"] == 0


def test_what_spooled_batches_show_later_reopens_it(service: Any, organization: Any, gc_fault: Recording) -> None:
    """The collector could not deliver, and sends what it stored: the fault went on right after the last batch."""
    subject_id, incident_id = silent(service, organization, gc_fault)
    look(organization, subject_id)
    service.feed(gc_fault, ends_us=time.time_ns() // 1000 - LONG_AGO_US + MINUTE_US)
    look(organization, subject_id)
    assert service.get(f"/incidents/{incident_id}")["state"] == "open"


def test_data_without_the_fault_leaves_it_ended(
    service: Any, organization: Any, gc_fault: Recording, healthy: Recording
) -> None:
    subject_id, incident_id = silent(service, organization, gc_fault)
    look(organization, subject_id)
    service.feed(healthy, ends_us=time.time_ns() // 1000)
    look(organization, subject_id)
    assert service.get(f"/incidents/{incident_id}")["state"] == "not_known"
    assert service.get("/overview")["not_known"] == 0, "its node is measured again"


def test_an_outage_of_the_service_is_no_silence_of_the_node(
    service: Any, organization: Any, gc_fault: Recording
) -> None:
    """The database was down for hours: no batch came, and no look observed that."""
    subject_id, incident_id = silent(service, organization, gc_fault)
    age(organization, last_seen_at=timedelta(hours=3), silent_since=timedelta(hours=3), looked_at=timedelta(hours=2))
    look(organization, subject_id)
    assert service.get(f"/incidents/{incident_id}")["state"] == "open"
    look(organization, subject_id)
    assert service.get(f"/incidents/{incident_id}")["state"] == "open", "silence counts from the first look after it"


def test_a_clock_that_was_set_back_is_no_silence(service: Any, organization: Any, gc_fault: Recording) -> None:
    """Batches arrive, but none seems newer than what is stored."""
    subject_id, incident_id = silent(service, organization, gc_fault)
    age(organization, last_seen_at=timedelta(seconds=2))
    look(organization, subject_id)
    assert service.get(f"/incidents/{incident_id}")["state"] == "open"


def test_what_others_have_shown_since_goes_on(service: Any, organization: Any, gc_fault: Recording) -> None:
    """Another replica is still in trouble, and keeps the incident open."""
    subject_id, incident_id = silent(service, organization, gc_fault)
    service.change(incident_id, last_seen_at=datetime.now(UTC) - timedelta(minutes=1))
    look(organization, subject_id)
    assert service.get(f"/incidents/{incident_id}")["state"] == "open"


def test_a_fix_that_was_being_measured_gets_no_verdict(
    service: Any, organization: Any, fault: Recording, more_cpu: Recording
) -> None:
    incident_id = story(service, fault, shortened(more_cpu, 40))
    assert visit(service, incident_id)["state"] == "fix_applied"
    subject_id = service.get(f"/incidents/{incident_id}")["subject"]["resource_id"]
    look(organization, subject_id)
    service.change(incident_id, last_seen_at=datetime.now(UTC) - SILENCE * 1.5)
    age(organization, last_seen_at=SILENCE * 1.5, silent_since=SILENCE * 1.2)
    look(organization, subject_id)
    incident = service.get(f"/incidents/{incident_id}")
    assert incident["state"] == "not_known"
    assert incident["verification"]["state"] == "replaced"
    assert incident["verification"]["verdict"].startswith("Not known: no data from ")
    assert incident["history"][-1]["action"] == "not_known", "no verdict"


def test_without_newer_data_nothing_is_read_again(
    service: Any, organization: Any, gc_fault: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collector seals between ticks of 100 ms, and windows end on them."""
    subject_id = service.feed(gc_fault)
    with organization_session(organization.id) as session:
        session.execute(text("UPDATE collectors SET sealed_at_us = sealed_at_us + 37000"))
    look(organization, subject_id)
    monkeypatch.setattr(snapshots, "load", lambda *_: pytest.fail("it was read in full again"))
    assert look(organization, subject_id) is None
