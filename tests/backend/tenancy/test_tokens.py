from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from fastapi.testclient import TestClient

from tests.backend.conftest import Database, Organization


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def make(api: TestClient, *scopes: str, **more: object) -> tuple[int, str]:
    response = api.post("/api/v1/tokens", json={"name": "a token", "scopes": list(scopes), **more})
    assert response.status_code == 201, response.text
    return response.json()["token"]["id"], response.json()["secret"]


def test_a_token_is_shown_once_and_kept_as_a_hash(api: TestClient, database: Database) -> None:
    number, secret = make(api, "audit:read")
    assert secret.startswith("jsa_")
    listed = api.get("/api/v1/tokens")
    assert secret not in listed.text
    assert listed.json()["items"][0]["hint"] == secret[-4:]
    with psycopg.connect(database.owner_url) as owner:
        row = owner.execute("SELECT t::text FROM tokens t WHERE id = %s", (number,)).fetchone()
    assert row is not None
    assert secret not in row[0]
    assert secret[4:] not in row[0]


def test_a_token_does_what_its_scopes_say_and_nothing_else(api: TestClient) -> None:
    _, secret = make(api, "audit:read")
    api.headers.update(bearer(secret))
    assert api.get("/api/v1/audit").status_code == 200
    refused = api.get("/api/v1/tokens")
    assert refused.status_code == 403
    assert "tokens:read" in refused.json()["detail"]


def test_a_revoked_token_is_useless_at_once(api: TestClient, organization: Organization) -> None:
    number, secret = make(api, "audit:read")
    assert api.get("/api/v1/audit", headers=bearer(secret)).status_code == 200
    used = next(one for one in api.get("/api/v1/tokens").json()["items"] if one["id"] == number)
    assert used["last_used_at"] is not None
    assert api.delete(f"/api/v1/tokens/{number}").json()["revoked_at"] is not None
    assert api.get("/api/v1/audit", headers=bearer(secret)).status_code == 401
    assert api.delete(f"/api/v1/tokens/{number}").status_code == 200  # again: nothing changes
    actions = [entry["action"] for entry in api.get("/api/v1/audit").json()["items"]]
    assert actions == ["token.revoke", "token.revoke", "token.create"]


def test_a_token_expires(api: TestClient) -> None:
    _, fresh = make(api, "audit:read", expires_at=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    _, old = make(api, "audit:read", expires_at=(datetime.now(UTC) - timedelta(seconds=1)).isoformat())
    assert api.get("/api/v1/audit", headers=bearer(fresh)).status_code == 200
    assert api.get("/api/v1/audit", headers=bearer(old)).status_code == 401


def test_a_token_cannot_make_a_stronger_one(api: TestClient) -> None:
    _, secret = make(api, "tokens:write", "incidents:read")
    api.headers.update(bearer(secret))
    for scopes in (["*:*"], ["incidents:write"], ["ingest:write"], ["*:read"]):
        response = api.post("/api/v1/tokens", json={"name": "more", "scopes": scopes})
        assert response.status_code == 403, scopes
    assert api.post("/api/v1/tokens", json={"name": "same", "scopes": ["incidents:read"]}).status_code == 201


@pytest.mark.parametrize("scope", ["", "everything", "a:b:c", "incidents", "*", "incidents:read\n", "INCIDENTS:READ"])
def test_malformed_scopes_are_refused(api: TestClient, scope: str) -> None:
    assert api.post("/api/v1/tokens", json={"name": "x", "scopes": [scope]}).status_code == 422


def test_an_ingest_token_only_sends(api: TestClient) -> None:
    response = api.post("/api/v1/collectors/tokens", json={"name": "node 1"})
    assert response.status_code == 201
    secret = response.json()["secret"]
    assert secret.startswith("jsi_")
    assert secret in response.json()["install_command"]
    api.headers.update(bearer(secret))
    for path in ("/api/v1/audit", "/api/v1/tokens", "/api/v1/collectors/tokens", "/api/v1/members"):
        assert api.get(path).status_code == 403, path


@pytest.mark.parametrize(
    "header",
    [
        b"Bearer",
        b"Bearer ",
        b"Bearer jsa_wrong",
        b"Basic YWRtaW46YWRtaW4=",
        b"Bearer jsi_" + b"x" * 10_000,
        b"jsa_x",
        b"Bearer jsa_\xff",
    ],
)
def test_wrong_credentials_are_refused(client: TestClient, header: bytes) -> None:
    response = client.get("/api/v1/audit", headers=[(b"authorization", header)])
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.json()["what_to_do"]
