"""Resources that are no longer seen: left out of lists at once, dropped after the retention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.inventory import expiry
from jitterscope.series import compaction
from tests.support.batches import CGROUP, PROCESS, TICK_US, BatchBuilder, now_us

DAY_US = 86_400_000_000
KEYS = ("/short", "/long", "/kept")


@pytest.fixture
def fed(api: TestClient, other_organization: Any, organization: Any) -> TestClient:
    """Two organizations with the same resources and ten minutes of data each."""
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 2 * compaction.WINDOW_US
    for tenant in (organization, other_organization):
        builder = BatchBuilder("machine-1")
        for number, key in enumerate(KEYS):
            cgroup = builder.resource(CGROUP, key, 0)
            builder.resource(PROCESS, f"{number}:1", cgroup)
            builder.fact(cgroup, "cpu.quota_us", "50000")
            builder.block({(cgroup, "cpu_usage_us"): np.arange(600.0)}, start_us)
            builder.batch.events.add(resource=cgroup, kind="memory.oom_kill", start_us=start_us, duration_us=0)
        answer = api.post("/api/v1/ingest", content=builder.body(), headers=tenant.ingest_headers)
        assert answer.status_code == 200, answer.text
        compaction.compact(tenant.id, start_us + 2 * compaction.WINDOW_US)
    return api


@pytest.fixture
def referred() -> Iterator[list[int]]:
    """The resources that the test's provider refers to."""
    ids: list[int] = []

    def provider(session: Session) -> list[int]:
        return ids

    expiry.register_referrer(provider)
    yield ids
    expiry._providers.remove(provider)


def age(organization: Any, days: float, key: str = "", lived: str = "5 minutes") -> None:
    """Set the last-seen time of resources this far back; all of them without a key."""
    with db.organization_session(organization.id) as session:
        session.execute(
            text(
                "UPDATE resources SET last_seen_at = now() - :days * interval '1 day', "
                "first_seen_at = now() - :days * interval '1 day' - CAST(:lived AS interval) "
                "WHERE :key IN ('', key) OR parent_id IN (SELECT id FROM resources WHERE key = :key)"
            ),
            {"days": days, "key": key, "lived": lived},
        )


def kept(organization: Any) -> set[str]:
    with db.organization_session(organization.id) as session:
        return set(session.execute(text("SELECT key FROM resources")).scalars())


def rows_of(organization: Any, resource_id: int) -> dict[str, int]:
    with db.organization_session(organization.id) as session:
        return {
            table: int(session.execute(text(f"SELECT count(*) FROM {table} WHERE {which} = :id"), {"id": resource_id})
                       .scalar_one())
            for table, which in (
                ("facts", "resource_id"), ("events", "resource_id"), ("series_segments", "series_id >> 12"),
                ("series_rollups_1s", "series_id >> 12"), ("series_rollups_1m", "series_id >> 12"),
            )
        }  # fmt: skip


def identity(organization: Any, key: str) -> int:
    with db.organization_session(organization.id) as session:
        return int(session.execute(text("SELECT id FROM resources WHERE key = :key"), {"key": key}).scalar_one())


def test_the_gone_are_dropped_with_all_that_is_theirs(
    fed: TestClient, organization: Any, other_organization: Any
) -> None:
    short, long = identity(organization, "/short"), identity(organization, "/long")
    everything = kept(organization)
    assert expiry.drop_gone(organization.id, now_us()) == 0
    for tenant in (organization, other_organization):
        age(tenant, 31, "/short")
        age(tenant, 31, "/long", lived="2 hours")
    assert min(rows_of(organization, short).values()) > 0
    assert expiry.drop_gone(organization.id, now_us()) == 2
    assert kept(organization) == everything - {"/short", "0:1"}
    assert set(rows_of(organization, short).values()) == {0}
    assert min(rows_of(organization, long).values()) > 0
    assert expiry.drop_gone(organization.id, now_us() + 370 * DAY_US) == len(everything) - 2
    assert kept(organization) == set()
    assert kept(other_organization) == everything


def test_what_is_referred_to_stays_with_its_parents(fed: TestClient, organization: Any, referred: list[int]) -> None:
    referred.append(identity(organization, "2:1"))
    age(organization, 500)
    assert expiry.drop_gone(organization.id, now_us()) == 4
    assert kept(organization) == {"machine-1", "/kept", "2:1"}
    referred.clear()
    assert expiry.drop_gone(organization.id, now_us()) == 3


def test_many_go_in_several_transactions(fed: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "_AT_ONCE", 3)
    age(organization, 500)
    assert expiry.drop_gone(organization.id, now_us()) == 7
    assert kept(organization) == set()


def test_a_dropped_resource_that_comes_back_is_made_anew(fed: TestClient, organization: Any) -> None:
    age(organization, 500)
    expiry.drop_gone(organization.id, now_us())
    builder = BatchBuilder("machine-1")
    builder.batch.sealed_at_us += 61_000_000  # the cached IDs are requested again
    cgroup = builder.resource(CGROUP, "/short", 0)
    builder.block({(cgroup, "cpu_usage_us"): np.ones(5)}, now_us() - 5 * TICK_US)
    answer = fed.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    assert kept(organization) == {"machine-1", "/short"}


def test_lists_leave_the_gone_out_unless_asked(fed: TestClient, organization: Any) -> None:
    age(organization, 6 / 1440, "/short")

    def keys(**parameters: Any) -> set[str]:
        return {item["key"] for item in fed.get("/api/v1/resources", params=parameters).json()["items"]}

    assert "/long" in keys()
    assert "/short" not in keys()
    assert "/short" in keys(gone=True)
    detail = fed.get(f"/api/v1/resources/{identity(organization, '/short')}").json()
    assert detail["active"] is False
