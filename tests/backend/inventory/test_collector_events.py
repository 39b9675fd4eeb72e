"""Subscribers to collectors are notified when one falls silent and when it comes back."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db
from jitterscope.ingest import service
from jitterscope.inventory import tasks
from tests.support.batches import BatchBuilder

Told = list[tuple[int, str, dict[str, Any]]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, organization: Any, other_organization: Any) -> Told:
    """What is published about these two; delivery to listeners is covered by the stream's test."""
    events: Told = []

    def publish(organization_id: int, type: str, id: int, **details: Any) -> None:
        # Collectors of earlier tests fall silent in the meantime.
        if organization_id in (organization.id, other_organization.id):
            events.append((organization_id, type, details))

    monkeypatch.setattr(service, "publish", publish)
    monkeypatch.setattr(tasks, "publish", publish)
    return events


def deliver(client: TestClient, organization: Any) -> None:
    answer = client.post("/api/v1/ingest", content=BatchBuilder().body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text


def seen_ago(organization: Any, seconds: float) -> None:
    """In the future if negative: not silent, however long the next steps take."""
    with db.organization_session(organization.id) as session:
        session.execute(text("UPDATE collectors SET last_seen_at = now() - :s * interval '1 s'"), {"s": seconds})


def test_silence_and_return_are_told_once(
    client: TestClient, organization: Any, other_organization: Any, told: Told
) -> None:
    deliver(client, organization)
    seen_ago(organization, -3600)
    deliver(client, organization)
    deliver(client, other_organization)
    for one in (organization, other_organization):
        seen_ago(one, -3600)
    assert told == [(organization.id, "first_data", {}), (other_organization.id, "first_data", {})]
    told.clear()
    tasks.tell_silent()
    assert told == []
    seen_ago(organization, 20)
    tasks.tell_silent()
    tasks.tell_silent()
    assert told == [(organization.id, "collector", {"state": "silent"})]
    deliver(client, organization)
    seen_ago(organization, -3600)
    deliver(client, organization)
    assert told[1:] == [(organization.id, "collector", {"state": "receiving"})]
    told.clear()
    seen_ago(organization, 3600)  # from long ago: no news
    tasks.tell_silent()
    assert told == []
