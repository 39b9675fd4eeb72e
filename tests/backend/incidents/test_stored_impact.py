"""Findings stored when every impact had the fields of case 1 can be read as today's, and back."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from jitterscope.diagnosis.core.finding import Found
from jitterscope.notify.payload import Payload
from jitterscope.notify.sample import sample_payload
from jitterscope.schema import bootstrap, runner
from tests.backend.conftest import Database

BEFORE, AFTER = "20261123_1320", "20261123_1600"
FIELDS = (
    "queries", "slow_queries", "slow_ratio", "p50_ms", "p99_ms", "max_ms", "throttled_ratio", "throttled_ms",
    "cpu_mean", "cpu_limit", "cpu_peak_100ms", "gc_cycles",
)  # fmt: skip
DNS = dict.fromkeys(FIELDS) | {"queries": 1000, "slow_queries": 0, "slow_ratio": 0.0, "p50_ms": 0.2, "p99_ms": 61.5}
PODS = dict.fromkeys(FIELDS) | {"p50_ms": 1200.0, "p99_ms": 7000.0, "max_ms": 9000.0}
SENT = {name: DNS[name] for name in FIELDS if name not in ("p50_ms", "cpu_mean", "gc_cycles")}
MEMBER = {"resource_id": 2, "kind": "cgroup", "key": "/b", "name": "b", "node": "n", "first_us": 1, "last_us": 2}


@pytest.fixture
def scratch(database: Database) -> Iterator[str]:
    """The owner's URL of a database with the old schema."""
    name = f"scratch_{secrets.token_hex(4)}"
    parts, app = (psycopg.conninfo.conninfo_to_dict(url) for url in (database.owner_url, database.url))
    owner_url, _ = bootstrap.bootstrap(database.superuser_url, name, str(parts["password"]), str(app["password"]))
    runner.migrate(owner_url, BEFORE)
    yield owner_url
    with psycopg.connect(database.superuser_url, autocommit=True) as superuser:
        superuser.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def finding(cause: str, impact: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "found", "cause": cause, "score": 0.9, "confidence": "high", "severity": None, "harm": "none",
        "title": "t", "summary": "s", "onset_us": 1, "last_us": 2, "upstream": None, "impact": impact, "evidence": [],
        "rivals": [], "fixes": [],
    }  # fmt: skip


def store(url: str) -> None:
    """Rows of every table that holds an impact, with whatever else their columns require."""
    payload = sample_payload(1, "somebody").model_dump(mode="json")
    payload["incident"]["impact"] = SENT
    members = [
        MEMBER | {"slow_queries": 40, "max_ms": 900.0}, MEMBER | {"slow_queries": None, "max_ms": None},
    ]  # fmt: skip
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO organizations (name) VALUES ('one')")
        for cause, impact in (("dns/slow_upstream", DNS), ("pods/pod_slo", PODS)):
            insert(connection, "incidents", cause=cause, finding=finding(cause, impact), also_affected=members)
            insert(connection, "risks", cause=cause, finding=finding(cause, impact))
        insert(connection, "analyses", report={"findings": [finding("dns/slow_upstream", DNS)]})
        insert(connection, "analyses", report=None)
        channel = insert(connection, "channels")
        insert(connection, "deliveries", channel_id=channel, payload=payload)


def insert(connection: psycopg.Connection[Any], table: str, **values: Any) -> int:
    """Insert a row with the values, and something in every other required column."""
    columns = connection.execute(
        "SELECT column_name, data_type FROM information_schema.columns"
        " WHERE table_name = %s AND table_schema = 'public' AND is_nullable = 'NO'"
        " AND column_default IS NULL AND is_identity = 'NO'",
        (table,),
    ).fetchall()
    anything = {
        "bigint": 1, "integer": 1, "text": "open", "boolean": False, "double precision": 0.0, "jsonb": "{}",
        "timestamp with time zone": "2026-11-23T10:00:00Z", "ARRAY": [],
    }  # fmt: skip
    row = {name: anything[kind] for name, kind in columns} | {
        name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in values.items()
    }
    accepted = {"severity": "warning", "min_severity": "info", "confidence": "high", "kind": "webhook"}
    row |= {name: value for name, value in accepted.items() if name in row}
    if table == "analyses":
        row |= {"state": "done", "finished_at": "2026-11-23T10:00:00Z"}
    if table == "deliveries":
        row["state"] = "pending"
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    found = connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks}) RETURNING id", list(row.values()))
    return int(found.fetchall()[0][0])


def stored(url: str, table: str, column: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return [value for (value,) in connection.execute(f"SELECT {column} FROM {table} ORDER BY id").fetchall()]


def test_stored_impacts_are_rewritten_and_back(scratch: str) -> None:
    store(scratch)
    runner.migrate(scratch, AFTER)
    known = {"queries": 1000, "slow_queries": 0, "slow_ratio": 0.0, "p50_ms": 0.2, "p99_ms": 61.5}
    for table in ("incidents", "risks"):
        dns, pods = (Found.model_validate(one) for one in stored(scratch, table, "finding"))
        assert dns.impact == known
        assert isinstance(dns.impact["queries"], int)
        assert pods.impact == {"start_p50_ms": 1200.0, "start_p99_ms": 7000.0, "start_max_ms": 9000.0}
    assert [one["impact"] for one in stored(scratch, "incidents", "also_affected")[0]] == [
        {"slow_queries": 40, "max_ms": 900.0}, {},
    ]  # fmt: skip
    report, none = stored(scratch, "analyses", "report")
    assert Found.model_validate(report["findings"][0]).impact == known
    assert none is None
    [payload] = stored(scratch, "deliveries", "payload")
    assert Payload.model_validate(payload).incident.impact == {
        name: value for name, value in known.items() if name != "p50_ms"
    }

    runner.downgrade(scratch, BEFORE)
    for table in ("incidents", "risks"):
        assert [one["impact"] for one in stored(scratch, table, "finding")] == [DNS, PODS]
    assert stored(scratch, "incidents", "also_affected")[0] == [
        MEMBER | {"slow_queries": 40, "max_ms": 900.0}, MEMBER | {"slow_queries": None, "max_ms": None},
    ]  # fmt: skip
    assert stored(scratch, "deliveries", "payload")[0]["incident"]["impact"] == SENT
