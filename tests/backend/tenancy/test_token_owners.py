"""Nobody grants more than they have, in rights and in time, and no grant outlives its grantor."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from jitterscope.tenancy import tokens
from tests.backend.conftest import Database, Organization
from tests.backend.tenancy.principals import Cast, bearer

HERE = {"X-Requested-With": "jitterscope"}


@pytest.fixture
def cast(client: TestClient, database: Database, organization: Organization) -> Cast:
    return Cast(database, organization)


def make(client: TestClient, headers: dict[str, str], path: str = "tokens", status: int = 201, **body: Any) -> Any:
    body = {"name": "made", **({"scopes": ["*:*"]} if path == "tokens" else {}), **body}
    response = client.post(f"/api/v1/{path}", json=body, headers=headers)
    assert response.status_code == status, response.text
    return response.json()


def status(client: TestClient, secret: str, path: str = "/api/v1/members") -> int:
    return client.get(path, headers=bearer(secret)).status_code


def test_tokens_end_with_the_membership_and_do_not_come_back(
    client: TestClient, cast: Cast, organization: Organization
) -> None:
    leaving = cast.member("admin")
    headers = cast.session(leaving)
    first = make(client, headers)["secret"]
    child = make(client, bearer(first), expires_at=None)["secret"]
    assert [status(client, one) for one in (first, child)] == [200, 200]
    assert client.delete(f"/api/v1/members/{leaving}", headers=organization.headers).status_code == 204
    assert [status(client, one) for one in (first, child)] == [401, 401]
    cast.administer(
        "INSERT INTO memberships (organization_id, user_id, role) VALUES (%s, %s, 'admin')", organization.id, leaving
    )
    assert [status(client, one) for one in (first, child)] == [401, 401]


def test_a_token_holds_no_more_than_its_owner_does_now(
    client: TestClient, cast: Cast, organization: Organization
) -> None:
    demoted = cast.member("admin")
    secret = make(client, cast.session(demoted))["secret"]
    assert status(client, secret, "/api/v1/audit") == 200
    path = f"/api/v1/members/{demoted}"
    assert client.patch(path, json={"role": "viewer"}, headers=organization.headers).status_code == 204
    assert (status(client, secret, "/api/v1/audit"), status(client, secret)) == (403, 200)
    assert "audit:read" not in client.get("/api/v1/me", headers=bearer(secret)).json()["scopes"]


def test_what_an_expiring_token_makes_does_not_outlive_it(client: TestClient, cast: Cast) -> None:
    headers = cast.session(cast.member("admin"))
    ends = datetime.now(UTC) + timedelta(hours=1)
    expiring = bearer(make(client, headers, expires_at=ends.isoformat())["secret"])
    for path in ("tokens", "collectors/tokens"):
        assert datetime.fromisoformat(make(client, expiring, path)["token"]["expires_at"]) == ends
    later = (ends + timedelta(seconds=1)).isoformat()
    assert make(client, expiring, status=403, expires_at=later)["type"].endswith("expiry-not-held")
    assert make(client, headers, status=422, expires_at="2030-01-01T00:00:00")["type"].endswith("no-time-zone")


def test_revoking_a_token_ends_what_was_made_with_it(client: TestClient, cast: Cast) -> None:
    headers = cast.session(cast.member("admin"))
    first = make(client, headers)
    second = make(client, bearer(first["secret"]))
    third = make(client, bearer(second["secret"]))["secret"]
    ingest = make(client, bearer(second["secret"]), "collectors/tokens")["secret"]
    assert client.delete(f"/api/v1/tokens/{first['token']['id']}", headers=headers).status_code == 200
    assert [status(client, one) for one in (second["secret"], third, ingest)] == [401, 401, 401]


@pytest.mark.parametrize("path", ["tokens", "collectors/tokens"])
def test_an_organization_has_so_many_valid_tokens_and_no_more(
    client: TestClient, cast: Cast, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(tokens, "MOST", 3)
    monkeypatch.setattr(tokens, "_MOST_ENDED", 2)
    headers = cast.session(cast.member("admin"))

    def listed() -> list[int]:
        return [one["id"] for one in client.get(f"/api/v1/{path}", headers=headers).json()["items"]]

    for one in listed():  # made with the organization
        client.delete(f"/api/v1/{path}/{one}", headers=headers)
    made = [make(client, headers, path)["token"]["id"] for _ in range(3)]
    assert make(client, headers, path, status=409)["type"].endswith("too-many-tokens")
    for one in made:
        assert client.delete(f"/api/v1/{path}/{one}", headers=headers).status_code == 200
    newest = make(client, headers, path)["token"]["id"]
    assert listed() == [newest, made[2], made[1]], "of those that have ended, only the newest"


def test_members_write_alone_gives_and_takes_no_role(client: TestClient, cast: Cast) -> None:
    secret = cast.token(cast.member("admin"), "members:read", "members:write")
    viewer, admin = cast.member("viewer"), cast.member("admin")
    invite = {"email": f"{secrets.token_hex(4)}@example.org", "role": "admin"}
    for method, path, body in (
        ("POST", "/members/invitations", invite),
        ("PATCH", f"/members/{viewer}", {"role": "admin"}),
        ("PATCH", f"/members/{admin}", {"role": "viewer"}),
        ("DELETE", f"/members/{admin}", None),
    ):
        response = client.request(method, f"/api/v1{path}", json=body, headers=bearer(secret))
        assert (response.status_code, response.json()["type"]) == (403, "urn:jitterscope:problem:role-not-held"), path
    readers = cast.token(cast.member("admin"), "*:read", "views:write", "members:write")
    invited = client.post("/api/v1/members/invitations", json=invite | {"role": "viewer"}, headers=bearer(readers))
    assert invited.status_code == 201, "with all the rights of a viewer it may invite one"


@pytest.mark.parametrize("choice", ["take_over", "revoke"])
@pytest.mark.parametrize("how", ["remove", "demote"])
def test_ingest_tokens_need_a_decision(
    client: TestClient, cast: Cast, organization: Organization, choice: str, how: str
) -> None:
    leaving = cast.member("editor")
    secret = make(client, cast.session(leaving), "collectors/tokens", name="node 1")["secret"]
    path = f"/api/v1/members/{leaving}"

    def settle(more: dict[str, str]) -> Any:
        if how == "remove":
            return client.delete(path, params=more, headers=organization.headers)
        return client.patch(path, json={"role": "viewer", **more}, headers=organization.headers)

    undecided = settle({})
    assert (undecided.status_code, undecided.json()["type"]) == (409, "urn:jitterscope:problem:ingest-tokens")
    assert "node 1" in undecided.json()["detail"]
    assert settle({"ingest_tokens": choice}).status_code == 204
    # An ingest token may only send: an empty batch is rejected as empty, not because of its sender.
    sent = client.post("/api/v1/ingest", content=b"", headers=bearer(secret)).status_code
    assert (sent == 401) == (choice == "revoke")
    listed = client.get("/api/v1/collectors/tokens", headers=organization.headers).json()["items"]
    (token,) = (one for one in listed if one["name"] == "node 1")
    if choice == "take_over":
        admin = client.get("/api/v1/members", headers=organization.headers).json()["items"][0]
        assert token["owner"] == admin["name"]
