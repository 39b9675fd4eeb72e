from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from argon2.low_level import hash_secret
from fastapi.testclient import TestClient
from psycopg import sql

from jitterscope.settings import Settings
from jitterscope.tenancy import secrets
from tests.backend.conftest import Database, Organization

HERE = {"X-Requested-With": "jitterscope"}


def sign_in(client: TestClient, organization: Organization) -> None:
    response = client.post("/api/v1/auth/login", json={"email": organization.email, "password": organization.password})
    assert response.status_code == 200, response.text


def test_a_session_starts_with_a_protected_cookie_and_ends_with_it(
    client: TestClient, organization: Organization
) -> None:
    response = client.post(
        "/api/v1/auth/login", json={"email": organization.email.upper(), "password": organization.password}
    )
    assert response.status_code == 200, response.text
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert response.json()["organization"]["id"] == organization.id
    me = client.get("/api/v1/me").json()
    assert (me["kind"], me["email"], me["role"]) == ("session", organization.email, "admin")
    assert client.get("/api/v1/auth/session").json() == me
    kept = client.cookies["jitterscope_session"]
    assert client.post("/api/v1/auth/logout", headers=HERE).status_code == 204
    again = client.get("/api/v1/me", headers={"Cookie": f"jitterscope_session={kept}"})
    assert again.status_code == 401  # ended on the server too
    for cookies in ({}, {"Cookie": f"jitterscope_session={kept}"}, {"Cookie": "jitterscope_session=made-up"}):
        nobody = client.get("/api/v1/auth/session", headers=cookies)
        assert (nobody.status_code, nobody.json()) == (200, None)


def test_cookies_are_secure_where_the_service_has_tls(
    client: TestClient, organization: Organization, settings_override: Callable[..., Settings]
) -> None:
    settings_override(public_url="https://jitterscope.example.org")
    response = client.post("/api/v1/auth/login", json={"email": organization.email, "password": organization.password})
    assert "secure" in response.headers["set-cookie"].lower()


def test_wrong_password_and_unknown_user_look_the_same(
    client: TestClient, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs: list[dict[str, object]] = []

    def counted(password: bytes, salt: bytes, **cost: object) -> bytes:
        costs.append(cost)
        return hash_secret(password, salt, **cost)  # type: ignore[arg-type]

    monkeypatch.setattr(secrets, "hash_secret", counted)
    bodies = []
    for email in (organization.email, "nobody@example.org"):
        response = client.post("/api/v1/auth/login", json={"email": email, "password": "not the password"})
        assert response.status_code == 401
        bodies.append({**response.json(), "request_id": None})
    assert bodies[0] == bodies[1]
    # Otherwise a fast answer would reveal the unknown user.
    assert len(costs) == 2, "both pay for one argon2 hash"
    assert costs[0] == costs[1]


@pytest.mark.usefixtures("early_in_a_minute")
def test_guessing_is_slowed_down(client: TestClient, organization: Organization) -> None:
    answers = [
        client.post("/api/v1/auth/login", json={"email": organization.email, "password": f"guess {n}"})
        for n in range(11)
    ]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    right = client.post("/api/v1/auth/login", json={"email": organization.email, "password": organization.password})
    assert right.status_code == 429


def test_changes_with_a_cookie_must_come_from_this_site(client: TestClient, organization: Organization) -> None:
    sign_in(client, organization)
    body = {"name": "renamed"}
    path = "/api/v1/organizations/current"
    refused = client.patch(path, json=body, headers={"Origin": "https://evil.example"})
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:jitterscope:problem:cross-site")
    assert client.patch(path, json=body).status_code == 403  # an old browser without Origin
    assert client.patch(path, json=body, headers={"Origin": "http://testserver"}).status_code == 200
    assert client.patch(path, json=body, headers=HERE).json()["name"] == "renamed"


def test_sessions_end(client: TestClient, organization: Organization, database: Database) -> None:
    sign_in(client, organization)
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("UPDATE sessions SET expires_at = now() WHERE organization_id = %s", (organization.id,))
    assert client.get("/api/v1/me").status_code == 401


def test_disabled_users_are_out_at_once(client: TestClient, organization: Organization, database: Database) -> None:
    sign_in(client, organization)
    with psycopg.connect(database.owner_url) as owner:
        owner.execute("UPDATE users SET disabled_at = now() WHERE email = %s", (organization.email,))
    assert client.get("/api/v1/me").status_code == 401
    again = client.post("/api/v1/auth/login", json={"email": organization.email, "password": organization.password})
    assert again.status_code == 401


def test_changing_the_password_ends_other_sessions(client: TestClient, organization: Organization) -> None:
    sign_in(client, organization)
    other = client.cookies["jitterscope_session"]
    client.cookies.clear()
    sign_in(client, organization)
    body = {"current_password": "wrong one", "new_password": "a new long password"}
    assert client.post("/api/v1/me/password", json=body, headers=HERE).status_code == 401
    body["current_password"] = organization.password
    assert client.post("/api/v1/me/password", json=body, headers=HERE).status_code == 204
    assert client.get("/api/v1/me").status_code == 200
    client.cookies.clear()
    assert client.get("/api/v1/me", headers={"Cookie": f"jitterscope_session={other}"}).status_code == 401
    for password, status in ((organization.password, 401), ("a new long password", 200)):
        response = client.post("/api/v1/auth/login", json={"email": organization.email, "password": password})
        assert response.status_code == status


def test_changing_the_password_ends_sessions_in_other_organizations(
    client: TestClient, organization: Organization
) -> None:
    sign_in(client, organization)
    second = client.post("/api/v1/organizations", json={"name": "Second"}, headers=HERE).json()["id"]
    body = {"email": organization.email, "password": organization.password, "organization_id": second}
    assert client.post("/api/v1/auth/login", json=body).status_code == 200
    there = {"Cookie": f"jitterscope_session={client.cookies['jitterscope_session']}"}
    client.cookies.clear()
    sign_in(client, organization)
    change = {"current_password": organization.password, "new_password": "a new long password"}
    assert client.post("/api/v1/me/password", json=change, headers=HERE).status_code == 204
    assert client.get("/api/v1/me").status_code == 200
    client.cookies.clear()
    assert client.get("/api/v1/me", headers=there).status_code == 401


def test_no_secret_is_stored_or_echoed(client: TestClient, organization: Organization, database: Database) -> None:
    sign_in(client, organization)
    cookie = client.cookies["jitterscope_session"]
    with psycopg.connect(database.owner_url) as owner:
        stored = str(owner.execute("SELECT s.*, u.* FROM sessions s JOIN users u ON u.id = s.user_id").fetchall())
    assert cookie not in stored
    assert organization.password not in stored
    assert "$argon2id$" in stored
    refused = client.post("/api/v1/auth/login", json={"email": "no address", "password": "my-secret-password"})
    assert refused.status_code == 422
    assert "my-secret-password" not in refused.text
    assert refused.json()["errors"][0]["location"] == "body.email"


@pytest.mark.parametrize("change", ["sign in", "switch", "join"])
def test_what_cannot_be_recorded_does_not_happen(
    client: TestClient, organization: Organization, other_organization: Organization, change: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The session or membership and its entry in the audit trail are one transaction."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the audit trail does not take it")

    def count(table: str) -> tuple[int, ...]:
        query = sql.SQL("SELECT count(*) FROM {} WHERE organization_id = %s").format(sql.Identifier(table))
        with psycopg.connect(organization.owner_url) as owner:
            return tuple(owner.execute(query, (one.id,)).fetchall()[0][0] for one in (organization, other_organization))

    login = {"email": organization.email, "password": organization.password}
    invited = client.post(
        "/api/v1/members/invitations",
        json={"email": organization.email, "role": "viewer"},
        headers=other_organization.headers,
    ).json()["token"]
    calls = {
        "sign in": ("login", login),
        "switch": ("switch", {"organization_id": other_organization.id}),
        "join": ("accept", {"token": invited}),
    }
    if change != "sign in":
        assert client.post("/api/v1/auth/login", json=login).status_code == 200
    if change == "switch":
        with psycopg.connect(organization.owner_url) as owner:
            owner.execute(
                "INSERT INTO memberships (organization_id, user_id, role) "
                "SELECT %s, id, 'viewer' FROM users WHERE email = %s",
                (other_organization.id, organization.email),
            )
    before = count("sessions"), count("memberships")
    monkeypatch.setattr("jitterscope.audit.service.record", fail)
    path, body = calls[change]
    assert client.post(f"/api/v1/auth/{path}", json=body, headers=HERE).status_code == 500
    assert (count("sessions"), count("memberships")) == before
