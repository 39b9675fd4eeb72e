"""Stored data is counted as it is read: an organization with much of it gets 422, and the process stays small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import counted, db
from jitterscope.bounds import CHART
from jitterscope.captures import service as captures
from jitterscope.charts.endpoints import list_resource_events
from jitterscope.inventory.endpoints import get_resource, list_resources
from jitterscope.inventory.store import facts
from jitterscope.kit import allowance
from jitterscope.kit.allowance import Allowance, TooMuch
from jitterscope.series import external, external_search
from jitterscope.series import service as series
from jitterscope.series.external_selection import Match, Selection
from tests.backend.ingest.remote_writer import every, now_ms
from tests.backend.ingest.remote_writer import send as write
from tests.support.batches import CGROUP, BatchBuilder, now_us
from tests.support.captures import capture
from tests.support.peak import peak_bytes

_MIB = 1024 * 1024


def send(api: TestClient, organization: Any, builder: BatchBuilder) -> Any:
    return api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)


def filled(api: TestClient, organization: Any, batches: int = 4) -> int:
    """A cgroup with 4 MB of facts and 6 MB of attributes of events, and captures of its node; returns its id."""
    spool = None
    for number in range(batches):
        builder = BatchBuilder(spool=spool, sequence=number + 1)
        spool = builder.batch.spool_id
        cgroup = builder.resource(CGROUP, "/a", 0)
        for fact in range(16):
            builder.fact(cgroup, f"made.up{number * 16 + fact}", str(fact).zfill(64_000))
        for event in range(100):
            builder.batch.events.add(
                resource=cgroup, kind="go.gc_cycle", start_us=now_us() - event,
                attributes=dict.fromkeys("abcd", "x" * 4000),
            )  # fmt: skip
        builder.batch.captures.append(capture(now_us() - 60_000_000, seconds=30))
        answer = send(api, organization, builder)
        assert answer.status_code == 200, answer.text
    with db.organization_session(organization.id) as session:
        return int(session.execute(text("SELECT id FROM resources WHERE kind = 'cgroup'")).scalar_one())


def test_a_result_that_is_too_large_never_arrives_as_a_whole(organization: Any) -> None:
    statement = "SELECT repeat('x', 100000) FROM generate_series(1, 5000)"
    before = peak_bytes(anew=True)
    with (
        pytest.raises(TooMuch),
        allowance.limited(Allowance.of(4 * _MIB, 60)),
        db.organization_session(organization.id) as session,
        counted.rows(session, statement, ()) as rows,
    ):
        assert [len(one) for (one,) in rows] == []
    assert peak_bytes() - before < 64 * _MIB
    with db.organization_session(organization.id) as session:
        assert session.execute(text("SELECT 1")).scalar_one() == 1, "the connection is still of use"


def test_facts_events_and_captures_are_counted(api: TestClient, organization: Any) -> None:
    cgroup = filled(api, organization)
    now = now_us()
    with db.organization_session(organization.id) as session:
        node = int(session.execute(text("SELECT id FROM resources WHERE kind = 'node'")).scalar_one())
    reads: list[Callable[[Session], object]] = [
        lambda session: facts.history(session, cgroup),
        lambda session: series.read_events(session, [cgroup], now - 60_000_000, now),
        lambda session: captures.contents(session, [node], now - 3_600_000_000, now, 16, lambda _: True),
    ]
    for read in reads:
        with (
            pytest.raises(TooMuch),
            allowance.limited(Allowance.of(_MIB // 2, 60)),
            db.organization_session(organization.id) as session,
        ):
            read(session)
        with allowance.measured() as taken, db.organization_session(organization.id) as session:
            assert read(session)
        assert taken.held > _MIB // 2


def test_pages_that_would_load_too_much_say_so(
    api: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cgroup = filled(api, organization)
    for endpoint, path in (
        (list_resources, "/resources"),
        (get_resource, f"/resources/{cgroup}"),
        (list_resource_events, f"/resources/{cgroup}/events?limit=5000"),
    ):
        assert api.get(f"/api/v1{path}").status_code == 200
        monkeypatch.setattr(endpoint, "__bound__", replace(CHART, memory_bytes=2 * _MIB))
        answer = api.get(f"/api/v1{path}")
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:jitterscope:problem:too-much-data"), path


def test_a_batch_has_no_more_of_one_thing_than_a_page_can_show(api: TestClient, organization: Any) -> None:
    large = BatchBuilder()
    large.batch.events.add(
        resource=0, kind="go.gc_cycle", start_us=now_us(), attributes=dict.fromkeys(map(str, range(5)), "x" * 4000)
    )
    many, long = BatchBuilder(), BatchBuilder()
    for number in range(501):
        many.fact(0, f"made.up{number}", "x")
    for number in range(20):
        long.fact(0, f"made.up{number}", "x" * 60_000)
    expected = ((large, "bytes of attributes"), (many, "facts of one resource"), (long, "characters of facts"))
    for builder, why in expected:
        answer = send(api, organization, builder)
        assert answer.status_code == 400
        assert why in answer.json()["detail"]


def test_a_histogram_with_countless_buckets_is_cut(
    api: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_search, "_MOST_BUCKETS", 10)
    monkeypatch.setattr(external_search, "_MOST_PAIRS", 5)
    samples = every(15, [1.0], now_ms())
    write(api, organization, [({"__name__": "x_bucket", "le": str(at), "job": "a"}, samples) for at in range(50)])
    with db.organization_session(organization.id) as session:
        ((found,), count) = external_search.label_sets(session, Selection(name="x_bucket"), 0, 10, histogram=True)
        assert (len(found.buckets), count) == (10, 1)
        labels = external_search.labels(session, Selection(matches=(Match("job", "=", "a"),)))
        assert [(one.name, one.found) for one in labels] == [("job", 1), ("le", 50)]
        assert sum(len(one.values) for one in labels) == 5


def test_hours_of_other_systems_are_compacted_in_parts(
    api: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "_PART_BYTES", 40)
    hour_ms = 3_600_000
    at_ms = (now_ms() // hour_ms - 2) * hour_ms
    for second in range(3):
        at = [(at_ms + 1000 * (second * 2 + part), 1.0) for part in range(2 if second else 1)]
        write(api, organization, [({"__name__": f"x{number}"}, at[: 1 + (number == 9)]) for number in range(10)])
    with db.organization_session(organization.id) as session:
        ids = list(session.execute(text("SELECT id FROM external_series ORDER BY name")).scalars())
    hour_us = at_ms * 1000
    parts = external._short(organization.id, hour_us)
    assert sorted(one for part in parts for one in part) == sorted(ids)
    assert max(map(len, parts)) == 1, "24 bytes of times each"
    assert external.compact(organization.id, now_us()) == 10
    with db.organization_session(organization.id) as session:
        found = external.read(session, ids, hour_us, hour_us + 10**7)
    assert {one: len(times) for one, (times, _) in found.items()} == {one: 5 if one == ids[9] else 3 for one in ids}
