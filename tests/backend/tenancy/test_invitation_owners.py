"""An invitation gives no more than its inviter still has: it ends with the membership, the role, and the token."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.backend.conftest import Database, Organization
from tests.backend.tenancy.principals import Cast, bearer

PASSWORD = "a long enough password"


@pytest.fixture
def cast(client: TestClient, database: Database, organization: Organization) -> Cast:
    return Cast(database, organization)


def invite(client: TestClient, headers: dict[str, str], role: str = "admin") -> Any:
    body = {"email": f"{secrets.token_hex(6)}@example.org", "role": role}
    response = client.post("/api/v1/members/invitations", json=body, headers=headers)
    assert response.status_code == 201, response.text
    return response.json()


def accept(client: TestClient, token: str) -> int:
    body = {"token": token, "name": "Second self", "password": PASSWORD}
    client.cookies.clear()
    return client.post("/api/v1/auth/accept", json=body).status_code


def test_a_removed_administrator_does_not_come_back_by_their_own_invitation(
    client: TestClient, cast: Cast, organization: Organization
) -> None:
    leaving = cast.member("admin")
    made = invite(client, cast.session(leaving))
    assert client.delete(f"/api/v1/members/{leaving}", headers=organization.headers).status_code == 204
    assert accept(client, made["token"]) == 404
    assert client.get("/api/v1/members/invitations", headers=organization.headers).json()["items"] == []
    entry = client.get("/api/v1/audit", headers=organization.headers).json()["items"][0]
    assert (entry["action"], entry["detail"]["invitations_ended"]) == ("member.remove", made["invitation"]["email"])
    # Not even when the membership comes back.
    cast.administer(
        "INSERT INTO memberships (organization_id, user_id, role) VALUES (%s, %s, 'admin')", organization.id, leaving
    )
    assert accept(client, made["token"]) == 404


@pytest.mark.parametrize("role", ["editor", "viewer"])
def test_invitations_end_with_the_role_that_could_make_them(
    client: TestClient, cast: Cast, organization: Organization, role: str
) -> None:
    demoted = cast.member("admin")
    made = invite(client, cast.session(demoted), "viewer")
    path = f"/api/v1/members/{demoted}"
    assert client.patch(path, json={"role": role}, headers=organization.headers).status_code == 204
    assert accept(client, made["token"]) == 404
    assert client.patch(path, json={"role": "admin"}, headers=organization.headers).status_code == 204
    assert accept(client, made["token"]) == 404


def test_a_disabled_inviter_invites_nobody(client: TestClient, cast: Cast) -> None:
    inviter = cast.member("admin")
    made = invite(client, cast.session(inviter))
    cast.administer("UPDATE users SET disabled_at = now() WHERE id = %s", inviter)
    assert accept(client, made["token"]) == 404
    assert client.post("/api/v1/auth/invitation", json={"token": made["token"]}).status_code == 404


def test_an_invitation_ends_with_the_token_that_made_it(client: TestClient, cast: Cast) -> None:
    owner = cast.session(cast.member("admin"))
    first = client.post("/api/v1/tokens", json={"name": "first", "scopes": ["*:*"]}, headers=owner).json()
    child = client.post("/api/v1/tokens", json={"name": "x", "scopes": ["*:*"]}, headers=bearer(first["secret"])).json()
    made = [invite(client, bearer(one["secret"])) for one in (first, child)]
    assert client.delete(f"/api/v1/tokens/{first['token']['id']}", headers=owner).status_code == 200
    assert [accept(client, one["token"]) for one in made] == [404, 404]


def test_an_invitation_lasts_no_longer_than_the_token_that_made_it(client: TestClient, cast: Cast) -> None:
    owner = cast.member("admin")
    ends = datetime.now(UTC) + timedelta(hours=1)
    made = invite(client, bearer(cast.token(owner, "*:*", expires_at=ends)))
    assert datetime.fromisoformat(made["invitation"]["expires_at"]) == ends
    cast.administer("UPDATE tokens SET expires_at = now() WHERE owner_id = %s", owner)
    assert accept(client, made["token"]) == 404


def test_what_was_accepted_in_time_stays(client: TestClient, cast: Cast, organization: Organization) -> None:
    inviter = cast.member("admin")
    made = invite(client, cast.session(inviter), "editor")
    assert accept(client, made["token"]) == 200
    cookies = dict(client.cookies)
    assert client.delete(f"/api/v1/members/{inviter}", headers=organization.headers).status_code == 204
    client.cookies.update(cookies)
    assert client.get("/api/v1/me").json()["role"] == "editor"
