"""What an error says about PostgreSQL or Valkey as a whole, and that the log reports an outage once."""

from __future__ import annotations

import psycopg
import psycopg.errors
import pytest
import redis.exceptions
import structlog
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from jitterscope import outages


@pytest.mark.parametrize(
    ("error", "database", "valkey"),
    [
        (psycopg.OperationalError("FATAL:  sorry, too many clients already"), "all of its connections", None),
        (psycopg.OperationalError("FATAL:  the database system is starting up"), "is starting", None),
        (psycopg.errors.AdminShutdown("terminating connection due to administrator command"), "does not answer", None),
        (psycopg.InterfaceError("the connection is closed"), "does not answer", None),
        (psycopg.errors.QueryCanceled("statement timeout"), None, None),
        (psycopg.errors.LockNotAvailable("could not obtain lock"), None, None),
        (psycopg.errors.UniqueViolation("duplicate key"), None, None),
        (redis.exceptions.OutOfMemoryError("command not allowed"), None, "is full"),
        (redis.exceptions.ConnectionError("Connection refused"), None, "does not answer"),
        (redis.exceptions.ResponseError("WRONGTYPE"), None, None),
        (KeyError("x"), None, None),
    ],
)
def test_what_an_error_says(error: Exception, database: str | None, valkey: str | None) -> None:
    for found, expected in ((outages.database_reason(error), database), (outages.valkey_reason(error), valkey)):
        assert (found is None) == (expected is None)
        assert expected is None or expected in str(found)


def test_an_error_in_the_clothes_of_another_is_seen() -> None:
    inner = psycopg.OperationalError('database "x" is not currently accepting connections')
    assert outages.database_reason(OperationalError("SELECT 1", {}, inner)) is not None
    outer = RuntimeError("could not send")
    outer.__cause__ = redis.exceptions.OutOfMemoryError("used memory > 'maxmemory'")
    assert outages.noticed(outer) is outages.valkey


def test_an_outage_is_told_when_it_begins_and_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr("jitterscope.outages.time.monotonic", lambda: now_s)
    monkeypatch.setattr("jitterscope.outages.log", structlog.get_logger())  # the other one might be bound already
    part = outages.Part("thing", "Thing")
    with capture_logs() as lines:
        for _ in range(500):
            part.failed("is full", "no room")
            part.worked()  # others keep failing: the outage continues
        now_s += outages.OTHER_S
        part.failed("does not answer", "gone")
        assert part.why == "does not answer"
        now_s += outages.QUIET_S
        assert part.why == ""
        part.worked()
        part.worked()
    told = [(line["event"], line.get("why"), line.get("failures")) for line in lines]
    assert told == [
        ("thing_unavailable", "is full", None),
        ("thing_unavailable", "does not answer", None),
        ("thing_available", None, 501),
    ]


def test_requests_that_go_on_failing_do_not_keep_the_first_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr("jitterscope.outages.time.monotonic", lambda: now_s)
    part = outages.Part("thing", "Thing")
    part.failed("is shutting down", "so it said once")
    for _ in range(16):
        now_s += 0.25
        part.failed("does not answer", "gone")
    assert part.why == "does not answer"
    for _ in range(16):  # half full: some requests wait too long, others are rejected
        now_s += 0.5
        part.failed("does not answer", "gone")
        part.failed("is full", "no room")
    assert part.why == "does not answer"
