"""Every route of the API, called by organization A with the IDs of organization B: nothing leaks, nothing changes."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.backend.conftest import Database, Organization
from tests.support.requests import Filler, Operation, operations
from tests.support.seeding import FIRST_ID, SENTINEL, Seeded, fingerprint, seed

# These end the session itself, which the walk needs.
NOT_WALKED_WITH_A_SESSION = {"POST /api/v1/auth/logout"}


@pytest.fixture
def seeded(database: Database, other_organization: Organization) -> Seeded:
    return seed(database.superuser_url, other_organization.id)


def call(client: TestClient, document: dict[str, Any], operation: Operation, number: int) -> Any:
    """One request; every ID in path, query, and body is `number`. The audit trail may contain the words of its body."""
    filler = Filler(document, number, SENTINEL)
    path = re.sub(r"\{[^}]+\}", str(number), operation.path)
    query = {
        one["name"]: filler.value(one["schema"], one["name"])
        for one in operation.parameters
        if one["in"] == "query" and (one.get("required") or one["name"].endswith(("_id", "_ids", "resource")))
    }
    body = Filler(document, number, "said-by-the-caller").value(operation.body) if operation.body is not None else None
    return client.request(operation.method, path, params=query, json=body, headers={"X-Requested-With": "jitterscope"})


@pytest.mark.slow
@pytest.mark.parametrize("credentials", ["token", "session"])
def test_no_route_shows_or_changes_another_organization(
    client: TestClient,
    organization: Organization,
    seeded: Seeded,
    database: Database,
    credentials: str,
) -> None:
    application = client.app
    assert isinstance(application, FastAPI)
    document = application.openapi()
    if credentials == "token":
        client.headers.update(organization.headers)
    else:
        login = {"email": organization.email, "password": organization.password}
        assert client.post("/api/v1/auth/login", json=login).status_code == 200
    with psycopg.connect(database.superuser_url) as superuser:
        row = superuser.execute(
            "SELECT user_id FROM memberships WHERE organization_id = %s AND user_id < %s",
            (seeded.organization_id, FIRST_ID),
        ).fetchone()
    assert row is not None
    user_id = int(row[0])
    before = fingerprint(database.superuser_url, seeded.organization_id)
    walked: dict[str, set[int]] = {}
    for operation in operations(document):
        if operation.streams or (credentials == "session" and operation.name in NOT_WALKED_WITH_A_SESSION):
            continue
        has_ids = "{" in operation.path
        numbers = sorted(seeded.ids.values()) if has_ids else [FIRST_ID, seeded.organization_id]
        # User IDs are the installation's, not the organization's: B's make sense only where a user is meant.
        for number in [user_id, *numbers] if "{user_id}" in operation.path else numbers:
            response = call(client, document, operation, number)
            sent = response.request.content.decode(errors="replace") + str(response.request.url)
            walked.setdefault(operation.name, set()).add(response.status_code)
            assert response.status_code < 500, f"{operation.name} {number}: {response.text}"
            if SENTINEL not in sent:
                assert SENTINEL not in response.text, f"{operation.name} {number} shows another organization's data"
            if has_ids and "{cause_id}" not in operation.path:
                assert response.status_code >= 400, f"{operation.name} {number}: {response.text[:300]}"
    assert fingerprint(database.superuser_url, seeded.organization_id) == before
    assert len(walked) > 25
    not_reached = sorted(name for name, statuses in walked.items() if statuses == {422} and "{" in name)
    assert not_reached == [], "the filler makes no valid request for these: teach tests/support/requests.py"


def test_every_route_but_the_doors_needs_a_caller(client: TestClient) -> None:
    application = client.app
    assert isinstance(application, FastAPI)
    document = application.openapi()
    doors = {
        "POST /api/v1/auth/login",
        "POST /api/v1/auth/logout",
        "POST /api/v1/auth/accept",
        "POST /api/v1/auth/invitation",
        "GET /api/v1/auth/session",
    }
    for operation in operations(document):
        if operation.name not in doors:
            response = call(client, document, operation, 1)
            assert response.status_code == 401, f"{operation.name}: {response.status_code}"
            assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.slow
def test_the_walk_would_notice_a_leak(client: TestClient, other_organization: Organization, seeded: Seeded) -> None:
    """The control: for their own organization, the same requests show the seeded rows."""
    application = client.app
    assert isinstance(application, FastAPI)
    document = application.openapi()
    client.headers.update(other_organization.headers)
    shown = set()
    for operation in operations(document):
        if operation.method != "get" or operation.streams:
            continue
        for number in sorted(seeded.ids.values()) if "{" in operation.path else [FIRST_ID]:
            response = call(client, document, operation, number)
            if SENTINEL in response.text and SENTINEL not in str(response.request.url):
                shown.add(operation.name)
    assert {"GET /api/v1/tokens", "GET /api/v1/audit"} <= shown
