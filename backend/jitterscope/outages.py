"""Outages of what the service depends on: PostgreSQL and Valkey. Logged when they begin and end, not per request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import kombu.exceptions
import psycopg
import psycopg.errors
import redis.exceptions
import structlog
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

log = structlog.get_logger(__name__)
# An outage ends with a success after this long without a failure: a half-working server alternates between both.
QUIET_S = 10.0
# Another reason replaces one not seen for this long: a server that stops, or is full, fails in several ways.
OTHER_S = 3.0
SILENT = "does not answer"

# Parts of messages from PostgreSQL and libpq, which set no SQLSTATE on failed connections, and what they mean.
_DATABASE_REASONS = (
    ("too many clients", "refuses connections: all of its connections are in use"),
    ("connection slots are reserved", "refuses connections: all of its connections are in use"),
    ("too many connections for", "refuses connections: all connections of this role or database are in use"),
    ("not currently accepting connections", "refuses connections: the database does not allow any"),
    ("starting up", "refuses connections: it is starting"),
    ("shutting down", "refuses connections: it is shutting down"),
    ("recovery mode", "refuses connections: it is recovering"),
    ("authentication failed", "refuses the password"),
    ("no pg_hba.conf entry", "refuses the address of this service"),
    ("does not exist", "has no such database or role"),
    ("QueuePool limit", "is too slow: every connection of this process is in use"),
    ("No space left on device", "has a full disk"),
)


# Errors that psycopg classes as operational although they say nothing about the server.
_OF_A_STATEMENT = (
    psycopg.errors.QueryCanceled,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)


class Part:
    """A server that the whole service depends on. `why` is empty while it works."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self._lock = threading.Lock()
        self._why = ""
        self._began_s = self._failed_s = self._given_s = 0.0
        self._failures = 0

    @property
    def why(self) -> str:
        """Why it does not work, as a clause that follows its name; empty QUIET_S after the last failure."""
        return self._why if time.monotonic() - self._failed_s < QUIET_S else ""

    def failed(self, why: str, error: object) -> None:
        """Record a failure. The first failure of an outage and each new reason are logged."""
        now_s = time.monotonic()
        with self._lock:
            begins, differs = not self._why, why != self._why
            if begins:
                self._began_s, self._failures = now_s, 0
            recent = now_s - self._given_s < OTHER_S
            self._failed_s = now_s
            self._failures += 1
            if not begins and differs and recent:
                return
            self._why, self._given_s = why, now_s
            if not begins and not differs:
                return
        log.warning(f"{self.name}_unavailable", why=why, error=str(error).strip()[:300])

    def worked(self) -> None:
        """Record a success."""
        if not self._why:
            return
        now_s = time.monotonic()
        with self._lock:
            if not self._why or now_s - self._failed_s < QUIET_S:
                return
            self._why = ""
            after_s, failures = round(now_s - self._began_s, 1), self._failures
        log.info(f"{self.name}_available", after_s=after_s, failures=failures)


database = Part("database", "PostgreSQL")
valkey = Part("valkey", "Valkey")


def noticed(error: BaseException) -> Part | None:
    """Record an outage that the error is about and return its part; None for any other error."""
    for one in _causes(error):
        if (why := database_reason(one)) is not None:
            database.failed(why, getattr(one, "orig", None) or one)
            return database
        if (why := valkey_reason(one)) is not None:
            valkey.failed(why, one)
            return valkey
    return None


def database_reason(error: BaseException) -> str | None:
    """What an error says about PostgreSQL as a whole; None if it is about a statement."""
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, _OF_A_STATEMENT):
        return None
    gone = OperationalError | PoolTimeout | psycopg.OperationalError | psycopg.InterfaceError
    if not isinstance(error, gone) and not (isinstance(error, DBAPIError) and error.connection_invalidated):
        return None
    text = str(cause)
    return next((why for part, why in _DATABASE_REASONS if part in text), SILENT)


def valkey_reason(error: BaseException) -> str | None:
    """As `database_reason`, for Valkey."""
    if isinstance(error, redis.exceptions.OutOfMemoryError):
        return "is full: it refuses to store anything"
    if isinstance(error, redis.exceptions.AuthenticationError):
        return "refuses the password"
    if isinstance(error, redis.exceptions.BusyLoadingError):
        return "is starting"
    if isinstance(error, redis.exceptions.ReadOnlyError):
        return "is read-only"
    if isinstance(error, redis.exceptions.ResponseError):
        return "cannot write to its disk" if str(error).startswith("MISCONF") else None
    if isinstance(error, redis.exceptions.RedisError | kombu.exceptions.OperationalError):
        return SILENT
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, after the errors that caused it: the broker's client hides what the server said."""
    if error.__cause__ is not None:
        yield from _causes(error.__cause__)
    yield error
