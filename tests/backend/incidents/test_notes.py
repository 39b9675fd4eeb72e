"""Notes of an incident: their authors may change or delete them, and the history records it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.incidents.lifecycle import transitions
from tests.backend.conftest import Database, Organization
from tests.backend.incidents.conftest import Service
from tests.backend.incidents.stories import recorded
from tests.backend.tenancy.principals import Cast


class Writer:
    """A signed-in member."""

    def __init__(self, service: Service, cast: Cast, role: str, incident_id: int) -> None:
        self._client, self._path = service.client, f"/api/v1/incidents/{incident_id}"
        self.user = cast.member(role)
        self._headers = cast.session(self.user)

    def __call__(self, method: str, path: str, note: str | None = None, status: int = 200) -> Any:
        body = None if note is None else {"note": note}
        answer = self._client.request(method, f"{self._path}{path}", json=body, headers=self._headers)
        assert answer.status_code == status, answer.text
        return answer.json()


def test_a_history_has_so_many_entries_of_users_and_no_more(
    service: Service, incident_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transitions, "MOST_BY_USERS", 4)
    monkeypatch.setattr(transitions, "MOST_NOTES", 2)
    for number in range(2):
        service.post(f"/incidents/{incident_id}/note", {"note": f"note {number}"})
    full = service.post(f"/incidents/{incident_id}/note", {"note": "too much"}, status=409)
    assert full["type"] == "urn:jitterscope:problem:history-full"
    service.post(f"/incidents/{incident_id}/acknowledge")
    service.post(f"/incidents/{incident_id}/resolve")
    assert service.post(f"/incidents/{incident_id}/pin", {"pinned": True}, status=409)["type"] == full["type"]


@pytest.fixture
def cast(database: Database, organization: Organization) -> Cast:
    return Cast(database, organization)


@pytest.fixture
def incident_id(service: Service) -> int:
    service.diagnose(service.feed(recorded(Workload(seconds=30))))
    return int(service.get("/incidents")["items"][0]["id"])


def test_an_author_edits_and_deletes_a_note_and_nobody_else_does(
    service: Service, cast: Cast, incident_id: int
) -> None:
    ada, bob, admin = (Writer(service, cast, role, incident_id) for role in ("editor", "editor", "admin"))
    note = ada("POST", "/note", "limit rised")["history"][-1]
    assert (note["author_id"], note["edited_at"], note["deleted"]) == (ada.user, None, False)
    path = f"/notes/{note['id']}"
    for other in (bob, admin):
        assert other("PUT", path, "mine", 403)["title"] == "Not your note"
        other("DELETE", path, status=403)
    ada("PUT", path, " ", 422)
    edited = ada("PUT", path, "limit raised")["history"][-1]
    assert (edited["id"], edited["detail"], edited["deleted"]) == (note["id"], "limit raised", False)
    assert edited["edited_at"] > edited["at"]
    assert ada("PUT", path, "limit raised")["history"][-1] == edited  # nothing changes
    deleted = ada("DELETE", path)["history"][-1]
    assert (deleted["action"], deleted["detail"], deleted["deleted"]) == ("noted", None, True)
    ada("PUT", path, "again", 404)
    trail = [one for one in service.get("/audit")["items"] if one["action"].startswith("incident.note_")]
    assert [(one["action"], one["detail"]["from"], one["detail"]["to"]) for one in trail] == [
        ("incident.note_deleted", "limit raised", None), ("incident.note_edited", "limit rised", "limit raised"),
    ]  # fmt: skip
    assert "No notes." in service.client.get(
        f"/api/v1/incidents/{incident_id}/post-mortem", headers=service.organization.headers
    ).text  # fmt: skip


def test_a_token_changes_what_its_owner_wrote(service: Service, cast: Cast, incident_id: int) -> None:
    written = service.post(f"/incidents/{incident_id}/note", {"note": "by token"})["history"][-1]
    answer = service.client.put(
        f"/api/v1/incidents/{incident_id}/notes/{written['id']}", json={"note": "x"},
        headers=service.organization.headers,
    )  # fmt: skip
    assert answer.json()["history"][-1]["detail"] == "x"


def test_what_is_no_note_of_the_incident_is_not_found(service: Service, cast: Cast, incident_id: int) -> None:
    ada = Writer(service, cast, "editor", incident_id)
    opened = service.get(f"/incidents/{incident_id}")["history"][0]["id"]
    ada("PUT", f"/notes/{opened}", "x", 404)
    note = ada("POST", "/note", "here")["history"][-1]["id"]
    service.diagnose(service.feed(recorded(Workload(seconds=30)), suffix="-b"))
    other = next(one["id"] for one in service.get("/incidents")["items"] if one["id"] != incident_id)
    headers = service.organization.headers
    assert service.client.delete(f"/api/v1/incidents/{other}/notes/{note}", headers=headers).status_code == 404


def test_no_other_entry_of_the_history_can_be_changed(
    service: Service, incident_id: int, database: Database, organization: Organization
) -> None:
    """The database refuses, whatever the application requests."""
    with psycopg.connect(database.url) as app:
        app.execute("SELECT set_config('jitterscope.organization_id', %s, false)", (str(organization.id),))
        changed = app.execute("UPDATE incident_transitions SET detail = 'x' WHERE incident_id = %s", (incident_id,))
        assert changed.rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("UPDATE incident_transitions SET actor = 'x'")
