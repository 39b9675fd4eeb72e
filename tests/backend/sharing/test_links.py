"""Links to one incident for people without an account: what they show, what they do not, and how they end."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from tests.backend.conftest import Database, Organization
from tests.backend.incidents.conftest import Service, fault, more_cpu, service
from tests.backend.incidents.stories import recorded, story
from tests.backend.tenancy.principals import Cast, bearer

pytestmark = pytest.mark.slow

__all__ = ["fault", "more_cpu", "service"]  # fixtures
INCIDENT, TIMELINE = "/api/v1/shared/incident", "/api/v1/shared/timeline"
CHANGES = "/api/v1/shared/changes"


@pytest.fixture
def incident_id(service: Service) -> int:
    service.diagnose(service.feed(recorded(Workload(seconds=30))))
    return int(service.get("/incidents")["items"][0]["id"])


@pytest.fixture
def cast(database: Database, organization: Organization) -> Cast:
    return Cast(database, organization)


def make(service: Service, incident_id: int, **body: Any) -> tuple[dict[str, Any], str]:
    """A link as listed, and its secret."""
    made = service.post(f"/incidents/{incident_id}/links", body, status=201)
    return made["link"], made["url"].partition("#")[2]


def opened(service: Service, secret: str, path: str = INCIDENT, status: int = 200, **params: Any) -> Any:
    response = service.client.get(path, headers=bearer(secret), params=params)
    assert response.status_code == status, response.text
    return response.json()


def why(service: Service, secret: str) -> str:
    """Why a link does not work; the same for both routes."""
    told = {opened(service, secret, path, 401)["title"] for path in (INCIDENT, TIMELINE)}
    assert len(told) == 1
    return str(told.pop())


def test_a_link_shows_its_incident_as_members_see_it(service: Service, incident_id: int) -> None:
    _, secret = make(service, incident_id)
    shown, own = opened(service, secret), service.get(f"/incidents/{incident_id}")
    same = ("title", "summary", "severity", "state", "onset_at", "figures", "fixes", "references", "trigger_at")
    assert {name: shown[name] for name in same} == {name: own[name] for name in same}
    told = [(one["statement"], one["value"], one["comparison"]) for one in own["evidence"]]
    assert [(one["statement"], one["value"], one["comparison"]) for one in shown["evidence"]] == told
    assert len(told) > 2
    assert {one["status"] for one in shown["rivals"]} >= {one["status"] for one in own["rivals"]}

    picture = opened(service, secret, TIMELINE)
    whole = service.get(f"/incidents/{incident_id}/timeline", queries=100_000)
    assert picture == {name: value for name, value in whole.items() if name != "subject"}
    assert len(picture["queries"]["t_us"]) > 1000


def test_a_link_tells_no_ids_and_nothing_that_members_wrote(
    service: Service, incident_id: int, cast: Cast, organization: Organization
) -> None:
    written = "the customer is ACME"
    service.post(f"/incidents/{incident_id}/note", {"note": written})
    service.post(f"/incidents/{incident_id}/acknowledge", {"note": written})
    # Even if a member has the same name as the service.
    impostor = cast.member("editor")
    cast.administer("UPDATE users SET name = 'jitterscope' WHERE id = %s", impostor)
    path, headers = f"/api/v1/incidents/{incident_id}/note", cast.session(impostor)
    assert service.client.post(path, headers=headers, json={"note": written}).status_code == 200
    service.post(f"/incidents/{incident_id}/verify", {"note": written})
    assert written in str(service.get(f"/incidents/{incident_id}")["history"])

    _, secret = make(service, incident_id)
    for path in (INCIDENT, TIMELINE):
        text = service.client.get(path, headers=bearer(secret)).text
        assert written not in text
        assert "token test api" not in text
        assert not re.search(r'"(\w*_)?(resource|subject|incident|organization|user|link|verification)_id"', text)
    shown = opened(service, secret)
    assert "id" not in shown
    assert shown["subject"].keys() == {"kind", "name", "node"}
    assert [one["action"] for one in shown["history"]] == ["opened", "noted", "acknowledged", "noted", "fix_applied"]
    assert {one["by"] for one in shown["history"]} <= {"jitterscope", "a member"}
    assert shown["verification"]["started_by"] == "a member"


def test_a_link_shows_no_other_time_than_the_incidents(service: Service, incident_id: int) -> None:
    _, secret = make(service, incident_id)
    whole = opened(service, secret, TIMELINE)
    wider = opened(service, secret, TIMELINE, **{"from": whole["from_us"] - 10**9, "to": whole["to_us"] + 10**9})
    assert (wider["from_us"], wider["to_us"]) == (whole["from_us"], whole["to_us"])
    part = opened(service, secret, TIMELINE, **{"from": whole["from_us"] + 10**7, "to": whole["from_us"] + 2 * 10**7})
    assert part["to_us"] - part["from_us"] == 10**7
    before = {"from": whole["from_us"] - 10**9, "to": whole["from_us"] - 10**8}
    assert opened(service, secret, TIMELINE, 422, **before)["type"].endswith("invalid-window")


def test_a_link_shows_changes_without_what_people_wrote(service: Service, incident_id: int) -> None:
    incident = service.get(f"/incidents/{incident_id}")
    subject, onset = incident["subject"]["resource_id"], datetime.fromisoformat(incident["onset_at"])
    written = {"title": "For ACME", "author": "Ada", "link": "https://ci.example.org/1", "version_to": "acme-7"}
    for minutes in (2, 60):
        at = (onset - timedelta(minutes=minutes)).isoformat()
        service.post("/changes", {**written, "at": at, "resource_id": subject}, status=201)
    _, secret = make(service, incident_id)
    shown = opened(service, secret, CHANGES)
    at = (onset - timedelta(minutes=2)).isoformat()
    assert [(datetime.fromisoformat(one.pop("at")).isoformat(), one) for one in shown["items"]] == [
        (at, {"origin": "reported", "text": "Deploy", "what": incident["subject"]["name"]})
    ]
    wider = opened(service, secret, CHANGES, **{"from": shown["from_us"] - 10**10})
    assert wider["from_us"] == shown["from_us"]


def test_a_link_shows_changes_that_facts_show(service: Service, fault: Any, more_cpu: Any) -> None:
    number = story(service, fault, more_cpu)
    service.change(number, window_to=datetime.now(UTC))
    _, secret = make(service, number)
    (shown,) = opened(service, secret, CHANGES)["items"]
    assert (shown["origin"], shown["text"]) == ("seen", "CPU limit 0.5 → 4 CPU")


def test_a_link_opens_nothing_else(service: Service, incident_id: int) -> None:
    _, secret = make(service, incident_id)
    for path in (
        f"/incidents/{incident_id}",
        "/incidents",
        "/me",
        "/links",
        f"/incidents/{incident_id}/links",
        "/resources",
    ):
        assert service.client.get(f"/api/v1{path}", headers=bearer(secret)).status_code == 401, path
    # Nor does anything else open what links open.
    others: list[dict[str, str]] = [service.organization.headers, service.organization.ingest_headers, {}]
    for headers in others:
        assert service.client.get(INCIDENT, headers=headers).json()["type"].endswith("link-unknown")
    # Only in the header: a URL ends up in logs and histories.
    for params in ({"token": secret}, {"authorization": f"Bearer {secret}"}):
        assert service.client.get(INCIDENT, params=params).status_code == 401


def test_the_secret_is_kept_nowhere(service: Service, incident_id: int, database: Database) -> None:
    link, secret = make(service, incident_id)
    assert re.fullmatch(r"jsl_[A-Za-z0-9_-]{43}", secret), "256 bits"
    assert link["hint"] == secret[-4:]
    for path in ("/links", f"/incidents/{incident_id}/links", "/audit"):
        assert secret not in str(service.get(path))
    with psycopg.connect(database.superuser_url) as superuser:
        (row,) = superuser.execute("SELECT l::text FROM shared_links l WHERE id = %s", (link["id"],)).fetchone() or (
            "",
        )
    assert link["hint"] in row
    assert secret[4:] not in row


def test_answers_are_not_indexed_and_their_address_is_not_told(service: Service, incident_id: int) -> None:
    _, secret = make(service, incident_id)
    for path in (INCIDENT, TIMELINE, "/shared"):
        headers = service.client.get(path, headers=bearer(secret)).headers
        assert headers["referrer-policy"] == "no-referrer", path
        assert "noindex" in headers["x-robots-tag"], path
    assert service.client.get(INCIDENT, headers=bearer(secret)).headers["cache-control"] == "no-store"


def test_a_link_expires(service: Service, incident_id: int, cast: Cast) -> None:
    link, secret = make(service, incident_id)
    days = datetime.fromisoformat(link["expires_at"]) - datetime.fromisoformat(link["created_at"])
    assert days == timedelta(days=7)
    longest, _ = make(service, incident_id, expires_in_days=90)
    assert longest["state"] == "active"
    service.post(f"/incidents/{incident_id}/links", {"expires_in_days": 91}, status=422)
    service.post(f"/incidents/{incident_id}/links", {"expires_in_days": 0}, status=422)
    cast.administer("UPDATE shared_links SET expires_at = now() WHERE id = %s", link["id"])
    assert why(service, secret) == "This link has expired"
    states = {one["id"]: one["state"] for one in service.get(f"/incidents/{incident_id}/links")["items"]}
    assert states == {link["id"]: "expired", longest["id"]: "active"}


def test_a_revoked_link_ends_at_once_and_stays_so(service: Service, incident_id: int) -> None:
    link, secret = make(service, incident_id)
    _, other_secret = make(service, incident_id)
    assert link["last_used_at"] is None
    opened(service, secret)
    used = next(one for one in service.get("/links")["items"] if one["id"] == link["id"])
    assert datetime.now(UTC) - datetime.fromisoformat(used["last_used_at"]) < timedelta(minutes=1)
    path = f"/api/v1/links/{link['id']}"
    revoked = service.client.delete(path, headers=service.organization.headers).json()
    assert (revoked["state"], revoked["revoked_at"] is None) == ("revoked", False)
    assert why(service, secret) == "This link was revoked"
    assert service.client.delete(path, headers=service.organization.headers).json() == revoked  # nothing changes
    opened(service, other_secret)
    actions = [one["action"] for one in service.get("/audit")["items"]]
    assert actions == ["link.revoke", "link.create", "link.create", "incident.opened"]


def test_an_organization_may_forbid_links(service: Service, incident_id: int) -> None:
    _, secret = make(service, incident_id)
    put = {"headers": service.organization.headers, "json": {"links_allowed": False}}
    assert service.get("/links/policy") == {"links_allowed": True, "changed_by": None, "changed_at": None}
    assert service.client.put("/api/v1/links/policy", **put).json()["changed_by"] == "token test api"
    assert why(service, secret) == "This link does not work now"
    assert service.get("/links")["items"][0]["state"] == "forbidden"
    refused = service.post(f"/incidents/{incident_id}/links", {}, status=403)
    assert refused["type"].endswith("links-forbidden")
    assert service.client.put("/api/v1/links/policy", **put).status_code == 200  # again: nothing changes
    service.client.put("/api/v1/links/policy", headers=put["headers"], json={"links_allowed": True})
    opened(service, secret)
    changes = [
        one["detail"]["links_allowed"] for one in service.get("/audit")["items"] if one["action"] == "sharing.change"
    ]
    assert changes == [{"from": False, "to": True}, {"from": True, "to": False}]


@pytest.mark.parametrize("how", ["leaves", "may not any more", "is disabled"])
def test_a_link_ends_with_the_right_of_its_maker(service: Service, incident_id: int, cast: Cast, how: str) -> None:
    maker = cast.member("editor")
    path = f"/api/v1/incidents/{incident_id}/links"
    made = service.client.post(path, headers=cast.session(maker)).json()
    secret = made["url"].partition("#")[2]
    opened(service, secret)
    member = f"/api/v1/members/{maker}"
    match how:
        case "leaves":
            assert service.client.delete(member, headers=service.organization.headers).status_code == 204
            assert why(service, secret) == "This link was revoked"
            cast.administer(
                "INSERT INTO memberships (organization_id, user_id, role) VALUES (%s, %s, 'editor')",
                service.organization.id, maker,
            )  # fmt: skip
            assert why(service, secret) == "This link was revoked", "it does not come back with the member"
        case "may not any more":
            demoted = service.client.patch(member, headers=service.organization.headers, json={"role": "viewer"})
            assert demoted.status_code == 204
            assert why(service, secret) == "This link does not work now"
            assert service.get("/links")["items"][0]["state"] == "owner_may_not"
        case _:
            cast.administer("UPDATE users SET disabled_at = now() WHERE id = %s", maker)
            assert why(service, secret) == "This link does not work now"


def test_a_link_ends_with_the_token_that_made_it(service: Service, incident_id: int, cast: Cast) -> None:
    ends = datetime.now(UTC) + timedelta(hours=1)
    token = cast.token(cast.member("admin"), "links:write", expires_at=ends)
    made = service.client.post(f"/api/v1/incidents/{incident_id}/links", headers=bearer(token)).json()
    assert datetime.fromisoformat(made["link"]["expires_at"]) == ends
    secret = made["url"].partition("#")[2]
    opened(service, secret)
    cast.administer("UPDATE tokens SET revoked_at = now() WHERE hint = %s", token[-4:])
    assert why(service, secret) == "This link was revoked"


@pytest.mark.usefixtures("early_in_a_minute")
def test_who_holds_a_link_cannot_use_up_what_members_may_ask(service: Service, incident_id: int) -> None:
    _, secret = make(service, incident_id)

    def used() -> int:
        limits = service.get("/organizations/current/limits")
        return int(next(one["used"] for one in limits if one["name"] == "requests"))

    before = used()
    statuses = [service.client.get(INCIDENT, headers=bearer(secret)).status_code for _ in range(250)]
    assert statuses[:200] == [200] * 200
    assert statuses[-1] == 429
    assert used() <= before + 2, "two by this test"


def test_links_of_another_organization_are_not_listed_or_ended(
    service: Service, incident_id: int, other_organization: Organization
) -> None:
    link, secret = make(service, incident_id)
    headers = other_organization.headers
    assert service.client.get("/api/v1/links", headers=headers).json()["items"] == []
    assert service.client.delete(f"/api/v1/links/{link['id']}", headers=headers).status_code == 404
    assert service.client.get(f"/api/v1/incidents/{incident_id}/links", headers=headers).status_code == 404
    assert service.client.post(f"/api/v1/incidents/{incident_id}/links", headers=headers).status_code == 404
    service.client.put("/api/v1/links/policy", headers=headers, json={"links_allowed": False})
    opened(service, secret)


def test_links_are_listed_a_page_at_a_time(service: Service, incident_id: int) -> None:
    made = [make(service, incident_id)[0]["id"] for _ in range(3)]
    for path in ("/links", f"/incidents/{incident_id}/links"):
        first = service.get(path, limit=2)
        rest = service.get(path, limit=2, cursor=first["next_cursor"])
        assert [one["id"] for one in first["items"] + rest["items"]] == made[::-1]
        assert rest["next_cursor"] is None
    assert service.get("/links", 400, cursor="nonsense")["type"].endswith("invalid-cursor")
