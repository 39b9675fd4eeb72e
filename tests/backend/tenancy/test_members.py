from __future__ import annotations

import secrets

import pytest
from fastapi.testclient import TestClient

from tests.backend.conftest import Organization

HERE = {"X-Requested-With": "jitterscope"}
PASSWORD = "a long enough password"


def invite(api: TestClient, role: str, email: str) -> str:
    response = api.post("/api/v1/members/invitations", json={"email": email, "role": role})
    assert response.status_code == 201, response.text
    assert response.json()["token"] in response.json()["accept_url"]
    return str(response.json()["token"])


def join(api: TestClient, role: str) -> str:
    """A new member; `api` continues with its session instead of the token."""
    email = f"{secrets.token_hex(6)}@example.org"
    token = invite(api, role, email)
    del api.headers["Authorization"]
    response = api.post("/api/v1/auth/accept", json={"token": token, "name": "Newcomer", "password": PASSWORD})
    assert response.status_code == 200, response.text
    assert response.json()["role"] == role
    api.headers.update(HERE)
    return email


def test_an_invited_person_joins_once(api: TestClient, organization: Organization) -> None:
    email = f"{secrets.token_hex(6)}@example.org"
    token = invite(api, "viewer", email)
    body = {"token": token, "name": "Newcomer", "password": PASSWORD}
    assert api.post("/api/v1/auth/accept", json=body).status_code == 200
    assert api.post("/api/v1/auth/accept", json=body).status_code == 404
    items = api.get("/api/v1/members").json()["items"]
    assert [one["email_verified"] for one in items] == [True, False]
    members = {member["email"]: member["role"] for member in items}
    assert members == {organization.email: "admin", email: "viewer"}
    assert api.get("/api/v1/members/invitations").json()["items"] == []


def test_a_known_person_joins_with_its_own_session(
    api: TestClient, organization: Organization, other_organization: Organization
) -> None:
    token = invite(api, "editor", other_organization.email)
    login = {"email": other_organization.email, "password": other_organization.password}
    assert api.post("/api/v1/auth/accept", json={"token": token}).status_code == 401, "nobody is signed in"
    assert api.post("/api/v1/auth/login", json=login).status_code == 200
    assert api.post("/api/v1/auth/accept", json={"token": token}).status_code == 403, "from another site"
    joined = api.post("/api/v1/auth/accept", json={"token": token}, headers=HERE)
    assert joined.status_code == 200, joined.text
    assert joined.json()["organization"]["id"] == organization.id
    assert {one["id"] for one in joined.json()["organizations"]} == {organization.id, other_organization.id}
    del api.headers["Authorization"]
    switched = api.post("/api/v1/auth/switch", json={"organization_id": other_organization.id}, headers=HERE)
    assert (switched.status_code, switched.json()["role"]) == (200, "admin")
    assert api.get("/api/v1/me").json()["organization"]["id"] == other_organization.id


def test_inviting_says_nothing_about_other_organizations(api: TestClient, other_organization: Organization) -> None:
    answers = [
        api.post("/api/v1/members/invitations", json={"email": email, "role": "viewer"}).json()["invitation"]
        for email in (other_organization.email, "nobody-knows@example.org")
    ]
    for answer in answers:
        for varying in ("id", "email", "created_at", "expires_at"):
            del answer[varying]
    assert answers[0] == answers[1]


def test_a_withdrawn_invitation_is_useless(api: TestClient) -> None:
    token = invite(api, "viewer", "late@example.org")
    number = api.get("/api/v1/members/invitations").json()["items"][0]["id"]
    assert api.delete(f"/api/v1/members/invitations/{number}").status_code == 204
    body = {"token": token, "name": "Late", "password": PASSWORD}
    assert api.post("/api/v1/auth/accept", json=body).status_code == 404


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("viewer", {"members:read": True, "incidents:read": True, "incidents:write": False, "channels:read": True}),
        ("editor", {"members:read": True, "incidents:write": True, "channels:write": False, "tokens:read": False}),
        ("admin", {"members:write": True, "tokens:write": True, "audit:read": True}),
    ],
)
def test_roles(api: TestClient, role: str, allowed: dict[str, bool]) -> None:
    join(api, role)
    scopes = set(api.get("/api/v1/me").json()["scopes"])
    assert {scope: scope in scopes for scope in allowed} == allowed
    expected = 200 if role == "admin" else 403
    assert api.get("/api/v1/audit").status_code == expected
    assert api.get("/api/v1/tokens").status_code == expected
    assert api.get("/api/v1/members").status_code == 200


def test_the_last_administrator_stays(api: TestClient) -> None:
    (only,) = api.get("/api/v1/members").json()["items"]
    path = f"/api/v1/members/{only['user_id']}"
    for response in (api.delete(path), api.patch(path, json={"role": "viewer"})):
        assert (response.status_code, response.json()["type"]) == (409, "urn:jitterscope:problem:last-administrator")


def test_a_removed_member_is_out_at_once(api: TestClient, organization: Organization) -> None:
    email = join(api, "editor")
    assert api.get("/api/v1/members").status_code == 200
    number = next(one["user_id"] for one in api.get("/api/v1/members").json()["items"] if one["email"] == email)
    removed = api.delete(f"/api/v1/members/{number}", headers=organization.headers)
    assert removed.status_code == 204
    assert api.get("/api/v1/members").status_code == 401
    again = api.post("/api/v1/auth/login", json={"email": email, "password": PASSWORD})
    assert again.status_code == 401, "its address meant something only here"


def test_only_operators_make_organizations(api: TestClient, organization: Organization) -> None:
    assert api.post("/api/v1/organizations", json={"name": "By token"}).status_code == 403
    del api.headers["Authorization"]
    api.post("/api/v1/auth/login", json={"email": organization.email, "password": organization.password})
    created = api.post("/api/v1/organizations", json={"name": "Second"}, headers=HERE)
    assert created.status_code == 201
    assert {one["name"] for one in api.get("/api/v1/me").json()["organizations"]} >= {"Second"}
