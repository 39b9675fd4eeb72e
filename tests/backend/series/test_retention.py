"""Data past an organization's retention are dropped; what an incident pins or another organization keeps stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.series import (
    compaction,
    distribution_compaction,
    external_metrics,
    partitions,
    pins,
    retention,
)
from jitterscope.series import service as series
from jitterscope.series.external_metrics import Described
from jitterscope.series.tasks import merge_closed
from tests.backend.ingest.remote_writer import every, now_ms
from tests.backend.ingest.remote_writer import send as write
from tests.support.batches import CGROUP, DNS_SERVER, TICK_US, BatchBuilder, now_us

DAY_US = 86_400_000_000


def feed(client: TestClient, organization: Any, start_us: int) -> None:
    builder = BatchBuilder()
    for key in ("/a", "/b"):
        cgroup = builder.resource(CGROUP, key, 0)
        builder.block({(cgroup, "cpu_usage_us"): np.arange(20.0)}, start_us)
        builder.batch.events.add(resource=cgroup, kind="memory.oom_kill", start_us=start_us, duration_us=0)
    answer = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text


def usage(organization: Any, start_us: int) -> dict[str, float]:
    """Sum of ticks by resource key."""
    with db.organization_session(organization.id) as session:
        keys = {row.id: row.key for row in session.execute(text("SELECT id, key FROM resources WHERE kind = 'cgroup'"))}
        found = series.read_series(session, list(keys), ["cpu_usage_us"], start_us, start_us + 20 * TICK_US)
    return {keys[resource]: float(np.nansum(values)) for (resource, _), values in found.items()}


@pytest.fixture
def pinned() -> Iterator[list[pins.PinnedWindow]]:
    """Windows that a provider pins during a test."""
    windows: list[pins.PinnedWindow] = []

    def provider(session: Session) -> list[pins.PinnedWindow]:
        return windows

    pins.register_pins(provider)
    yield windows
    pins._providers.remove(provider)


def test_old_data_go_and_pinned_data_stay(
    client: TestClient, organization: Any, other_organization: Any, pinned: list[pins.PinnedWindow]
) -> None:
    old_us = (now_us() - 6 * DAY_US) // compaction.WINDOW_US * compaction.WINDOW_US
    new_us = now_us() - 10 * 60_000_000
    for tenant in (organization, other_organization):
        for start_us in (old_us, new_us):
            feed(client, tenant, start_us)
        compaction.compact(tenant.id, now_us())
    both = {"/a": 190.0, "/b": 190.0}
    assert usage(organization, old_us) == both
    with db.organization_session(organization.id) as session:
        retention.set_policy(session, organization.id, retention.Retention(2, 3, 4))
        kept = session.execute(text("SELECT id FROM resources WHERE key = '/a'")).scalar_one()
    pinned.append(pins.PinnedWindow((kept,), old_us + 5 * TICK_US, old_us + 6 * TICK_US))
    deleted = retention.expire(organization.id, now_us())
    assert {"series_segments", "series_rollups_1s", "series_rollups_1m", "events"} <= set(deleted)
    assert usage(organization, old_us) == {"/a": 190.0}
    assert usage(organization, new_us) == both
    assert usage(other_organization, old_us) == both
    pinned.clear()
    retention.expire(organization.id, now_us())
    assert usage(organization, old_us) == {}


def test_replaced_facts_go_and_those_in_effect_stay(
    client: TestClient, organization: Any, other_organization: Any, pinned: list[pins.PinnedWindow]
) -> None:
    """What a fact was is kept as long as events: else whoever changes facts all the time fills the disk."""
    days = [6, 5, 4, 1]
    for tenant in (organization, other_organization):
        builder = BatchBuilder()
        for key in ("/a", "/b"):
            cgroup = builder.resource(CGROUP, key, 0)
            for day in days:
                builder.fact(cgroup, "cpu.quota_us", str(day), now_us() - day * DAY_US)
            builder.fact(cgroup, "cpu.period_us", "100000", now_us() - 6 * DAY_US)
        answer = client.post("/api/v1/ingest", content=builder.body(), headers=tenant.ingest_headers)
        assert answer.status_code == 200, answer.text
    with db.organization_session(organization.id) as session:
        retention.set_policy(session, organization.id, retention.Retention(2, 3, 4))
        ids = {row.key: row.id for row in session.execute(text("SELECT key, id FROM resources"))}
    pinned.append(pins.PinnedWindow((ids["/a"],), now_us() - 6 * DAY_US + 1000, now_us() - 6 * DAY_US + 2000))
    assert retention.expire(organization.id, now_us())["facts"] == 3
    assert quotas(organization, ids) == {"/a": ["6", "4", "1"], "/b": ["4", "1"]}
    pinned.clear()
    assert retention.expire(organization.id, now_us())["facts"] == 1
    assert quotas(organization, ids) == {"/a": ["4", "1"], "/b": ["4", "1"]}
    with db.organization_session(organization.id) as session:
        rows = session.execute(text("SELECT value FROM facts WHERE name = 'cpu.period_us'")).scalars().all()
    assert list(rows) == ["100000", "100000"], "in effect, however old"
    with db.organization_session(other_organization.id) as session:
        assert session.execute(text("SELECT count(*) FROM facts")).scalar_one() == 10


def quotas(organization: Any, ids: dict[str, int]) -> dict[str, list[str]]:
    """The history of a fact by the key of its cgroup."""
    with db.organization_session(organization.id) as session:
        history = text("SELECT resource_id, value FROM facts WHERE name = 'cpu.quota_us' ORDER BY since_us")
        rows = session.execute(history)
        found: dict[str, list[str]] = {}
        for row in rows:
            found.setdefault(next(key for key, one in ids.items() if one == row.resource_id), []).append(row.value)
    return found


def test_what_other_systems_no_longer_send_is_forgotten(
    client: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_MOST_AT_ONCE", 2)
    write(client, organization, [({"__name__": f"x{number}"}, every(15, [1.0], now_ms())) for number in range(5)])
    described = {name: Described("counter", "Help", "") for name in ("a", "b", "c")}
    with db.organization_session(organization.id) as session:
        external_metrics.store(session, organization.id, described)
    days = retention.Retention().second_days
    assert "external_metrics" not in retention.expire(organization.id, now_us() + days * DAY_US)
    deleted = retention.expire(organization.id, now_us() + (days + 2) * DAY_US)
    assert (deleted["external_series"], deleted["external_metrics"]) == (5, 3)


def test_only_empty_partitions_are_dropped(client: TestClient, organization: Any) -> None:
    old_us = now_us() - 5 * DAY_US
    feed(client, organization, old_us)
    retention.drop_empty_partitions(now_us())
    assert usage(organization, old_us) == {"/a": 190.0, "/b": 190.0}
    with db.organization_session(organization.id) as session:
        session.execute(text("DELETE FROM series_blocks"))
        session.execute(text("DELETE FROM events"))
    dropped = retention.drop_empty_partitions(now_us())
    assert dropped >= 1
    # Late data of that day still find a place: a process that knew the partition checks again.
    feed(client, organization, old_us)
    assert usage(organization, old_us) == {"/a": 190.0, "/b": 190.0}


def test_the_application_cannot_make_partitions_of_any_time(organization: Any) -> None:
    with pytest.raises(DBAPIError, match="out of range"), db.system_session() as session:
        session.execute(text("SELECT ensure_time_partitions(0, 0)"))


def test_a_batch_older_than_the_policy_is_refused(api: TestClient, organization: Any) -> None:
    body = {"raw_days": 1, "second_days": 1, "minute_days": 1}
    assert api.put("/api/v1/retention", json=body).status_code == 200
    assert api.get("/api/v1/retention").json() == body | {"most": MOST}
    assert api.put("/api/v1/retention", json=body | {"raw_days": 2}).status_code == 422
    builder = BatchBuilder()
    builder.block({(0, "host_idle_us"): np.zeros(2)}, now_us() - 2 * DAY_US)
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:jitterscope:problem:too-old")


MOST = {"raw_days": 30, "second_days": 180, "minute_days": 800}


def test_retention_is_administration_within_the_bounds_of_the_installation(api: TestClient, organization: Any) -> None:
    from jitterscope.tenancy.scopes import role_allows

    assert [role_allows(role, "retention:write") for role in ("viewer", "editor", "admin")] == [False, False, True]
    beyond = api.put("/api/v1/retention", json={"raw_days": 30, "second_days": 30, "minute_days": 1000})
    assert (beyond.status_code, beyond.json()["type"]) == (422, "urn:jitterscope:problem:beyond-retention-limit")
    assert "minute_days can be at most 800" in beyond.json()["detail"]
    assert api.put("/api/v1/retention", json=MOST).status_code == 200
    (entry,) = [one for one in api.get("/api/v1/audit").json()["items"] if one["action"] == "retention.change"]
    before = {"raw_days": 7, "second_days": 30, "minute_days": 400}
    assert entry["detail"] == {name: {"from": before[name], "to": days} for name, days in MOST.items()}


def partition_count() -> int:
    with db.system_session() as session:
        return int(session.execute(text("SELECT count(*) FROM pg_inherits")).scalar_one())


def test_old_samples_make_no_partitions_and_take_nothing_else_with_them(api: TestClient, organization: Any) -> None:
    assert api.put("/api/v1/retention", json=MOST).status_code == 200
    feed(api, organization, now_us() - 10 * 60_000_000)
    before = partition_count()
    builder = BatchBuilder()
    cgroup = builder.resource(CGROUP, "/c", 0)
    start_us = now_us() - 60_000_000
    builder.block({(cgroup, "cpu_usage_us"): np.arange(20.0)}, start_us)
    for days in (8, 29, 400):
        builder.block({(cgroup, "cpu_usage_us"): np.arange(20.0)}, now_us() - days * DAY_US)
        builder.batch.events.add(resource=cgroup, kind="memory.oom_kill", start_us=now_us() - days * DAY_US)
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert (answer.status_code, answer.json()) == (200, {"duplicate": False, "too_old": 6})
    assert usage(organization, start_us)["/c"] == 190.0
    assert partition_count() == before


def test_histograms_of_a_window_become_one_row(client: TestClient, organization: Any) -> None:
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 2 * compaction.WINDOW_US
    spool = None
    for number in (0, 3, 1, 2, 7):
        builder = BatchBuilder(spool=spool, sequence=number + 1)
        spool = builder.batch.spool_id
        server = builder.resource(DNS_SERVER, "10.0.0.1:53", 0)
        ticks = [{10 + number: 1, 20: number + 1}, {}, {30: 2}]
        builder.distribution(server, "dns_latency_us", start_us + number * 3 * TICK_US, ticks)
        answer = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
        assert answer.status_code == 200, answer.text

    def read() -> tuple[int, list[tuple[int, int, int]]]:
        with db.organization_session(organization.id) as session:
            server_id = session.execute(text("SELECT id FROM resources WHERE kind = 'dns_server'")).scalar_one()
            rows: int = session.execute(text("SELECT count(*) FROM distributions")).scalar_one()
            window = (start_us, start_us + 30 * TICK_US)
            found = series.read_distributions(session, [server_id], ["dns_latency_us"], *window)
            one = found[server_id, "dns_latency_us"]
        return rows, sorted(zip(one.tick.tolist(), one.bucket.tolist(), one.count.tolist(), strict=True))

    rows, before = read()
    assert rows == 5
    assert distribution_compaction.compact(organization.id, now_us()) == 1
    assert read() == (1, before)
    assert distribution_compaction.compact(organization.id, now_us()) == 0


def test_quantiles_of_a_window_read_what_compaction_summed(client: TestClient, organization: Any) -> None:
    start_us = now_us() // compaction.WINDOW_US * compaction.WINDOW_US - 3 * compaction.WINDOW_US
    spool = None
    for number in range(40):  # 20 batches of 30 s in each of two windows
        builder = BatchBuilder(spool=spool, sequence=number + 1)
        spool = builder.batch.spool_id
        server = builder.resource(DNS_SERVER, "10.0.0.1:53", 0)
        ticks = [{100 + number: 1 + tick % 3} for tick in range(300)]
        builder.distribution(server, "dns_latency_us", start_us + number * 300 * TICK_US, ticks)
        answer = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
        assert answer.status_code == 200, answer.text

    def read() -> list[Any]:
        """Of both windows, one, parts of one, and parts of both."""
        with db.organization_session(organization.id) as session:
            server_id = session.execute(text("SELECT id FROM resources WHERE kind = 'dns_server'")).scalar_one()
            spans = (
                (0, 12_000),
                (0, 6000),
                (6000, 12_000),
                (0, 1),
                (17, 4000),
                (3000, 7001),
                (5999, 6001),
                (12_000, 13_000),
            )
            return [
                series.read_quantiles(
                    session, [server_id], "dns_latency_us", (0.0, 0.1, 0.5, 0.99, 1.0),
                    start_us + first * TICK_US, start_us + end * TICK_US,
                )
                for first, end in spans
            ]  # fmt: skip

    before = read()
    assert before[-1] is None
    later_us = now_us() + 7 * 3_600_000_000  # no worker ran for hours
    assert distribution_compaction.compact(organization.id, later_us) == 0
    merge_closed(organization.id, later_us)
    assert read() == before
    # Whole rows are not read by tick: what is there does not matter. Parts of rows are.
    with db.organization_session(organization.id) as session:
        session.execute(text("UPDATE distributions SET buckets = set_byte(buckets, 0, get_byte(buckets, 0) + 100)"))
    after = read()
    assert after[:3] == before[:3]
    assert after[3] != before[3]


def test_partitions_are_made_ahead(database: Any) -> None:
    ahead_us = now_us() + 5 * DAY_US
    partitions.ensure(ahead_us, ahead_us)
    partitions.forget()
    partitions.ensure(ahead_us, ahead_us)
