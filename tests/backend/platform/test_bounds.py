"""Every route has a bound on memory, time, and concurrent requests, and no caller exceeds it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.testclient import TestClient
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from jitterscope import bounds, db, main
from jitterscope.bounds import CHART
from jitterscope.charts.endpoints import query_series
from jitterscope.errors import Problem, problem_for
from jitterscope.kit import allowance
from jitterscope.kit.allowance import Allowance
from jitterscope.kit.declared import anyone
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series.catalogue import METRICS
from jitterscope.series.window import Grid, Window
from jitterscope.settings import Settings
from jitterscope.slots import Bound, Caller, Slots
from jitterscope.tenancy import tokens
from jitterscope.tenancy.endpoints_install import download_collector
from tests.support.batches import CGROUP, TICK_US, BatchBuilder, now_us
from tests.support.patience import wait_for
from tests.support.peak import peak_bytes
from tests.support.serving import serving

pytestmark = pytest.mark.slow

_MIB = 1024 * 1024
NARROW = Bound("narrow", _MIB, 60, of_caller=2, of_organization=3, of_process=4, waiting=1, waits_s=0.2)


def test_an_application_with_a_route_without_a_bound_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    router = APIRouter()
    router.get("/forgotten", dependencies=[anyone("a test")])(lambda: None)
    monkeypatch.setattr(main, "import_named", lambda *_: [type("Module", (), {"router": router})])
    with pytest.raises(bounds.Unbounded, match="/forgotten"):
        main.create_app()


def test_what_one_caller_cannot_take() -> None:
    async def scenario() -> None:
        slots = Slots()
        greedy, colleague = Caller("token 1", 1), Caller("token 2", 1)
        other = Caller("token 3", 2)
        for caller in (greedy, greedy, colleague):
            await slots.take(NARROW, caller)
        refused = await asyncio.gather(*(slots.take(NARROW, greedy) for _ in range(3)), return_exceptions=True)
        assert [(one.status, one.headers["Retry-After"]) for one in refused if isinstance(one, Problem)] == [
            (429, "1")
        ] * 3
        with pytest.raises(Problem, match="At most 3 such requests of this organization"):
            await slots.take(NARROW, colleague)
        await slots.take(NARROW, other)  # the last place is not for the organization that has three
        with pytest.raises(Problem) as full:
            await slots.take(NARROW, Caller("token 4", 3))
        assert full.value.status == 503

    asyncio.run(scenario())


def test_who_waits_comes_next_and_who_left_leaves_no_slot_behind() -> None:
    async def scenario() -> None:
        slots, caller = Slots(), Caller("token 1", 1)
        patient = Bound("patient", _MIB, 60, 1, 1, 1, waiting=2, waits_s=60)
        await slots.take(patient, caller)
        gone, next_ = (asyncio.create_task(slots.take(patient, caller)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        slots.give_back(patient, caller)
        await asyncio.wait((gone, next_))
        assert gone.cancelled()
        slots.give_back(patient, caller)
        await slots.take(patient, caller)

    asyncio.run(scenario())


def test_time_ends_a_statement_and_says_so(organization: Any) -> None:
    with (
        pytest.raises(OperationalError, match="canceling statement") as ended,
        allowance.limited(Allowance.of(_MIB, 0.2)),
        db.organization_session(organization.id) as session,
    ):
        session.execute(text("SELECT pg_sleep(60)"))
    problem = problem_for(ended.value)
    assert (problem.status, problem.type) == (503, "took-too-long")


def test_memory_is_counted_where_it_is_taken() -> None:
    window = Window(0, 100_000, TICK_US)
    with allowance.limited(Allowance.of(_MIB, 60)):
        grid = Grid(window, list(range(1000)))  # nothing is filled, so nothing is taken
        grid.put_long(0, 0, np.ones(10))
        with pytest.raises(allowance.TooMuch) as refused:
            grid.put_long(1, 0, np.ones(10))
    problem = problem_for(refused.value)
    assert (problem.status, problem.type) == (422, "too-much-data")


def seeded(api: TestClient, organization: Any, cgroups: int, batches: int) -> tuple[int, int]:
    """A node with cgroups that use CPU; from the first tick to just after the last."""
    ticks = 3000
    start_us = now_us() - batches * ticks * TICK_US
    spool = None
    metrics = ("cpu_usage_us", "cpu_throttled_us", "cpu_periods", "memory_usage_bytes", "pids_current")
    values = np.arange(ticks, dtype=np.float64) % 1000
    for number in range(batches):
        builder = BatchBuilder(spool=spool, sequence=number + 1)
        spool = builder.batch.spool_id
        own = [builder.resource(CGROUP, f"/c{one}", 0) for one in range(cgroups)]
        rows = {(cgroup, metric): values for cgroup in own for metric in metrics}
        builder.block(rows, start_us + number * ticks * TICK_US, TICK_US, pb.ENCODING_I16)
        answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
        assert answer.status_code == 200, answer.text
    return start_us, start_us + batches * ticks * TICK_US


def test_slow_downloads_keep_no_probe_waiting(
    client: TestClient, tmp_path: Path, settings_override: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers that take a large file without reading it hold every slot of files, and none of anything else."""
    (tmp_path / "jitterscope-collector-linux-amd64").write_bytes(bytes(64 * _MIB))
    settings_override(collector_folder=tmp_path)
    bound = replace(bounds.FILES, of_caller=8, of_process=8, waiting=0)
    monkeypatch.setattr(download_collector, "__bound__", bound)
    with serving() as url, ExitStack() as stack:
        parts = urlsplit(url)
        for _ in range(12):
            reader = socket.create_connection((str(parts.hostname), parts.port or 80))
            stack.enter_context(reader)
            reader.sendall(b"GET /api/v1/collectors/download/amd64 HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for(lambda: httpx.get(f"{url}/api/v1/collectors/download/amd64", timeout=30).status_code == 429)
        for path, expected in (("/healthz", 200), ("/readyz", 200), ("/api/v1/auth/session", 200)):
            assert httpx.get(f"{url}{path}", timeout=60).status_code == expected, path


def test_slots_of_callers_without_credentials_count_by_network() -> None:
    """The holder of a /64 can send each request from another address."""
    scopes = [{"type": "http", "client": (f"2001:db8:0:1::{number:x}", 1), "headers": []} for number in range(1, 100)]
    assert len({bounds._network(Request(scope)) for scope in scopes}) == 1


def test_a_process_has_a_thread_for_every_slot(client: TestClient) -> None:
    """What waits for a receiver that does not answer must not keep the threads of others."""
    needed = sum(one.of_process for one in bounds.ALL if one.threads)
    assert client.portal is not None
    assert client.portal.call(lambda: to_thread.current_default_thread_limiter().total_tokens) >= needed
    declared = {bounds.bound_of(row.endpoint) for row in client.app.state.route_table}  # type: ignore[attr-defined]
    assert declared <= set(bounds.ALL)


def test_wrong_credentials_take_few_threads(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    running = most = 0

    def slowly(_: str) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.05)
        running -= 1

    monkeypatch.setattr(tokens, "principal_of", slowly)
    wrong = {"Authorization": "Bearer jsa_wrong"}
    with serving() as url, ThreadPoolExecutor(60) as crowd:
        answers = list(
            crowd.map(lambda _: httpx.get(f"{url}/api/v1/me", headers=wrong, timeout=60).status_code, range(120))
        )
    assert set(answers) == {401}
    assert most <= bounds.CREDENTIALS.of_caller


@pytest.mark.slow
def test_many_wide_recordings_at_once_take_the_memory_of_a_few_pieces(
    api: TestClient, organization: Any, other_organization: Any
) -> None:
    from_us, to_us = seeded(api, organization, cgroups=20, batches=2)
    with db.organization_session(organization.id) as session:
        node = session.execute(text("SELECT id FROM resources WHERE kind = 'node'")).scalar_one()
        ids = session.execute(text("SELECT id FROM resources WHERE kind = 'cgroup' LIMIT 20")).scalars().all()
    query: dict[str, Any] = {"resource": [node, *ids], "from": from_us, "to": to_us}
    with serving() as url, httpx.Client(base_url=f"{url}/api/v1", timeout=120) as http:

        def greedy(_: int) -> httpx.Response:
            return http.get("/recordings", params=query, headers=organization.headers)

        with ThreadPoolExecutor(24) as crowd:
            before = peak_bytes(anew=True)
            running = [crowd.submit(greedy, number) for number in range(24)]
            while not all(one.done() for one in running):
                answer = http.get("/resources", headers=other_organization.headers)
                assert answer.status_code == 200, answer.text
            taken = peak_bytes() - before
        answers = [one.result() for one in running]
    statuses = Counter(one.status_code for one in answers)
    assert statuses.keys() == {200, 429}
    assert statuses[200] >= 2
    assert all(int(one.headers["Retry-After"]) > 0 for one in answers if one.status_code == 429)
    # Two at a time, each with a piece, its protobuf, and a compressor. In one piece, a recording alone took more.
    assert taken < 200 * _MIB


def test_expensive_pages_are_refused_before_they_pile_up(api: TestClient, organization: Any) -> None:
    seeded(api, organization, cgroups=2, batches=1)
    subject = cgroup_of_any(organization)
    with serving() as url, httpx.Client(base_url=f"{url}/api/v1", timeout=120) as http:
        for path in ("/dns/path", "/dns/affected"):
            with ThreadPoolExecutor(24) as crowd:
                answers = list(
                    crowd.map(
                        lambda _, path=path: (
                            http.get(path, params={"node": subject}, headers=organization.headers).status_code
                        ),
                        range(24),
                    )
                )
            assert set(answers) <= {200, 404, 429}, path
            assert 429 in answers, path


@pytest.mark.slow
def test_wide_charts_at_once_take_the_memory_of_a_few_and_keep_nobody_waiting(
    api: TestClient, organization: Any, other_organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many metrics and points as one request may name, over the longest window, by more requests than may wait."""
    seeded(api, organization, cgroups=1, batches=2)
    bound = replace(CHART, waiting=2)  # with the 100 that are allowed, the test would take minutes
    monkeypatch.setattr(query_series, "__bound__", bound)
    query: dict[str, Any] = {
        "resource": cgroup_of_any(organization),
        "metric": [name for name, one in METRICS.items() if "cgroup" in one.resources][:20],
        "from": (datetime.now(UTC) - timedelta(days=999)).isoformat(),
        "points": 2000,
    }
    crowded = bound.of_caller + bound.waiting + 4
    with serving() as url, httpx.Client(base_url=f"{url}/api/v1", timeout=120) as http:

        def greedy(_: int) -> httpx.Response:
            return http.get("/series/query", params=query, headers=organization.headers)

        with ThreadPoolExecutor(crowded) as crowd:
            before = peak_bytes(anew=True)
            running = [crowd.submit(greedy, number) for number in range(crowded)]
            while not all(one.done() for one in running):
                answer = http.get("/resources", headers=other_organization.headers)
                assert answer.status_code == 200, answer.text
            taken = peak_bytes() - before
        answers = [one.result() for one in running]
    statuses = Counter(one.status_code for one in answers)
    assert statuses.keys() == {200, 429}, statuses
    assert taken < bound.of_caller * bound.memory_bytes, f"{taken / _MIB:.0f} MiB"
    assert http_error_of("/series/query", query | {"points": 2001}, api) == "invalid-request"


def http_error_of(path: str, query: dict[str, Any], api: TestClient) -> str:
    return str(api.get(f"/api/v1{path}", params=query).json()["type"]).rpartition(":")[2]


def cgroup_of_any(organization: Any) -> int:
    with db.organization_session(organization.id) as session:
        return int(session.execute(text("SELECT min(id) FROM resources WHERE kind = 'cgroup'")).scalar_one())
