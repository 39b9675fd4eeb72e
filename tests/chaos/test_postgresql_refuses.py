"""PostgreSQL refuses connections: collectors keep their batches, every program says why, all ticks arrive once."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.chaos import drill as drills
from tests.chaos.drill import Drill

# Longer than the collector's first waits, so that several of its attempts fall into each outage.
OUTAGE_S = 6.0
_TAKES_AGAIN = "the backend accepts batches again"
_OTHERS = "SELECT pid FROM pg_stat_activity WHERE datname = 'jitterscope' AND application_name = 'jitterscope'"


@pytest.mark.timeout(600)
def test_postgresql_refuses_connections(folder: Path, open_page: Callable[[str], Page]) -> None:
    with drills.running(folder) as drill:
        page = open_page(drill.stack.url)
        drills.watch(drill, page)
        told = {}
        for outage, why in (
            (_used_up, "refuses connections: all of its connections are in use"),
            (_not_allowed, "refuses connections: the database does not allow any"),
            (_stopped, "does not answer"),
        ):
            drill.mark()
            with outage(drill):
                _everybody_is_told(drill, page, why)
                time.sleep(OUTAGE_S)
            drills.wait(lambda: drill.readyz()[1]["status"] == "ready", "readiness")
            drills.calm(page)
            # The collector waits between attempts, longer the longer the outage was.
            drills.wait(lambda: drill.events("collector", _TAKES_AGAIN), "that the collector's batches are taken")
            told[why] = _told_once(drill)
        ticks = drill.every_tick_once()
        assert drill.collector("spool_dropped_total") == drill.collector("spool_quarantined_total") == 0
        print(f"{ticks} ticks, lines about the outage by program: {told}")  # noqa: T201


def _everybody_is_told(drill: Drill, page: Page, why: str) -> None:
    # A server that stops says so first.
    status, ready = drills.wait(
        lambda: answer if (answer := drill.readyz())[1]["checks"]["database"] == why else None, f"that it {why}"
    )
    assert (status, ready["status"], ready["checks"]) == (503, "not_ready", {"database": why, "valkey": "ok"})
    refused = drill.ingest()
    assert (refused.status_code, refused.headers["content-type"]) == (503, "application/problem+json")
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["detail"] == f"PostgreSQL {why}."
    drills.banner(page, f"PostgreSQL {why}. Pages show what was loaded before.")
    expect(page.get_by_role("heading", name="Fleet", exact=True)).to_be_visible()
    drills.wait(lambda: drill.collector("spool_batches") >= 2, "batches in the spool")


def _told_once(drill: Drill) -> dict[str, int]:
    """Lines about the outage by program: one per reason, however many requests and tasks failed."""
    found = {program: len(drill.events(program, "database_unavailable")) for program in ("api", "worker")}
    assert 1 <= found["api"] <= 3
    assert found["worker"] <= 3
    # A batch might get through while connections are still being used up.
    assert 1 <= len(drill.events("collector", _TAKES_AGAIN)) <= 3
    assert not [line for line in drill.events("api", "request") if line["status"] == 503]
    assert drill.complaints() == []
    return found


@contextmanager
def _used_up(drill: Drill) -> Iterator[None]:
    """Other clients hold all max_connections connections."""
    with ExitStack() as held, _superuser(drill) as superuser:
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    held.enter_context(psycopg.connect(drill.stack.database_url, application_name="hog"))
            if not superuser.execute(_OTHERS).fetchall():
                break
            superuser.execute(f"SELECT pg_terminate_backend(pid) FROM ({_OTHERS}) AS others")
        yield


@contextmanager
def _not_allowed(drill: Drill) -> Iterator[None]:
    with _superuser(drill) as superuser:
        superuser.execute("ALTER DATABASE jitterscope ALLOW_CONNECTIONS false")
        superuser.execute(f"SELECT pg_terminate_backend(pid) FROM ({_OTHERS}) AS others")
        yield
        superuser.execute("ALTER DATABASE jitterscope ALLOW_CONNECTIONS true")


@contextmanager
def _stopped(drill: Drill) -> Iterator[None]:
    drill.stack.supervisor.stop_program("postgres")
    yield
    drill.stack.supervisor.start_program("postgres")


def _superuser(drill: Drill) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(drill.stack.superuser_url, autocommit=True)
