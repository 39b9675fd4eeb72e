from __future__ import annotations

from fastapi.testclient import TestClient


def test_ready_with_real_servers(client: TestClient) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200, response.text
    assert response.json() == {"status": "ready", "checks": {"database": "ok", "valkey": "ok"}}


def test_audit_needs_a_caller_and_answers_one(client: TestClient, api: TestClient) -> None:
    assert api.get("/api/v1/audit").json() == {"items": [], "next_cursor": None}
    del api.headers["Authorization"]
    refused = api.get("/api/v1/audit")
    assert refused.status_code == 401
    assert refused.headers["content-type"] == "application/problem+json"
