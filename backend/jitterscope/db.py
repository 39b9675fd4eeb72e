"""The only way to the database: one transaction per block, bound to one organization by row-level security."""

from __future__ import annotations

import math
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import psycopg
import structlog
from prometheus_client import Counter
from sqlalchemy import ColumnElement, Connection, Engine, MetaData, create_engine, event, func, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.pool import ConnectionPoolEntry

from jitterscope import outages
from jitterscope.kit import allowance
from jitterscope.kit.allowance import Allowance
from jitterscope.settings import settings, when_replaced

log = structlog.get_logger(__name__)

# The GUC that every policy compares organization_id with.
ORGANIZATION_GUC = "jitterscope.organization_id"
_HOOKS = "jitterscope.after_commit"
FAILED = Counter("jitterscope_work_failed_total", "Work for one organization that failed and is tried again", ["what"])


class Base(DeclarativeBase):
    """Base of every model. Constraint names are fixed so that migrations can drop them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


_engine: Engine | None = None
_engine_lock = threading.Lock()


def engine() -> Engine:
    """The process-wide engine, connected as the application role."""
    global _engine
    with _engine_lock:
        if _engine is None:
            _engine = make_engine(settings().database_url.get_secret_value(), settings().database_pool_size)
        return _engine


def make_engine(url: str, pool_size: int = 5) -> Engine:
    """An engine for a postgresql:// URL. Connections are checked before use, so a server restart causes no errors.

    Connecting may take 10 s, or `connect_timeout` of the URL.
    """
    if not url:
        raise RuntimeError("JITTERSCOPE_DATABASE_URL is not set: give the URL of the PostgreSQL database")
    timeout_ms = int(settings().database_statement_timeout_s * 1000)
    server = make_url(url).set(drivername="postgresql+psycopg")
    server = server.update_query_dict({"connect_timeout": "10", **server.query})
    created = create_engine(
        server,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_recycle=1800,
        connect_args={
            "application_name": "jitterscope",
            "options": f"-c timezone=UTC -c statement_timeout={timeout_ms}"
            " -c idle_in_transaction_session_timeout=120000",
        },
    )
    event.listen(created, "checkin", _note_use)
    event.listen(created, "checkout", _check_idle)
    return created


# A connection idle for this long is checked with a query even if its socket is quiet: the server's machine may have
# vanished without closing it.
_TRUST_S = 10.0


def _note_use(_connection: object, record: ConnectionPoolEntry) -> None:
    record.info["used"] = time.monotonic()


def _check_idle(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Check before use that the server is still there, so that no caller gets a dead connection after a restart.

    A server that exited has closed the socket, which is then readable: asking the kernel costs no round trip.
    """
    used = record.info.get("used")
    if used is None:
        return
    try:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        if poll.poll(0) or time.monotonic() - used > _TRUST_S:
            connection.cursor().execute("SELECT 1")
            connection.rollback()
    except (psycopg.Error, OSError) as error:
        raise InvalidatePoolError("the server was restarted") from error  # the pool opens new connections


def dispose() -> None:
    """Close all connections; the next use reconnects. The statements compiled so far are kept."""
    with _engine_lock:
        if _engine is not None:
            _engine.dispose()


def _forget() -> None:
    global _engine
    dispose()
    _engine = None


when_replaced(_forget)


def forget_after_fork() -> None:
    """In a forked child, drop the parent's connections without closing the parent's sockets."""
    global _engine
    if _engine is not None:
        _engine.dispose(close=False)
    _engine = None


@contextmanager
def organization_session(organization_id: int) -> Iterator[Session]:
    """One transaction that reads and writes rows of this organization only. Commits at the end of the block."""
    with _transaction() as session:
        enter_organization(session, organization_id)
        yield session


def enter_organization(session: Session, organization_id: int) -> None:
    """Bind the rest of a transaction to an organization, or to another that a SECURITY DEFINER function returned."""
    session.info["organization_id"] = organization_id
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    with connection.pipeline():  # BEGIN and this travel together
        connection.execute("SELECT set_config(%s, %s, true)", (ORGANIZATION_GUC, str(organization_id)))
        left_s = allowance.left_s()
        if left_s is not None and left_s < settings().database_statement_timeout_s:
            # 0 would be no limit at all.
            connection.execute("SELECT set_config('statement_timeout', %s, true)", (str(max(1, round(left_s * 1000))),))


@contextmanager
def system_session() -> Iterator[Session]:
    """One transaction that belongs to no organization: tenant tables look empty, SECURITY DEFINER lookups work."""
    with _transaction() as session:
        yield session


@contextmanager
def lookup_connection() -> Iterator[Connection]:
    """For single statements that find out who is calling: each commits by itself, without extra round trips."""
    with engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        yield connection


def has_schema() -> bool:
    """Whether the tables exist: the database may be there before they are."""
    with system_session() as session:
        return bool(session.execute(text("SELECT to_regclass('organizations') IS NOT NULL")).scalar_one())


def clock() -> ColumnElement[datetime]:
    """The database's clock, as a value of a column: the clocks of hosts differ."""
    return func.clock_timestamp()


def organization_ids() -> list[int]:
    """Every organization, for periodic work that visits each in its own scoped session."""
    with system_session() as session:
        return list(session.execute(text("SELECT organization_id FROM system_organization_ids()")).scalars())


@contextmanager
def isolated(what: str, **details: object) -> Iterator[None]:
    """Log an exception in the block and carry on after it.

    Rows of one organization that cannot be handled must not keep others waiting. An unavailable database affects every
    organization, so that error is raised.
    """
    try:
        yield
    except Exception as error:
        if outages.database_reason(error) is not None:
            raise
        FAILED.labels(what).inc()
        if isinstance(error, allowance.TooMuch):
            log.warning("work_too_large", what=what, most_bytes=error.most_bytes, **details)
        else:
            log.exception("work_failed", what=what, **details)


def task_allowance(seconds: float = math.inf) -> Allowance:
    """What one task of a worker may hold for one organization, and how long it may take besides its statements."""
    ends = math.inf if seconds == math.inf else time.monotonic() + seconds
    return Allowance(settings().task_max_memory_bytes, seconds, ends)


def each_organization(what: str, work: Callable[[int], object]) -> None:
    """Run periodic work for every organization; a failure for one, or too much data, does not stop the others."""
    for organization_id in organization_ids():
        with isolated(what, organization=organization_id), allowance.limited(task_allowance()):
            work(organization_id)


def after_commit(session: Session, hook: Callable[[], object]) -> None:
    """Call `hook` once the surrounding transaction is committed; never if it rolls back.

    A hook that fails is logged, not raised: the data is committed and the caller must not undo or repeat it.
    """
    session.info.setdefault(_HOOKS, []).append(hook)


@contextmanager
def _transaction() -> Iterator[Session]:
    with Session(engine(), expire_on_commit=False) as session:
        with session.begin():
            yield session
        outages.database.worked()
        hooks: list[Callable[[], object]] = session.info.pop(_HOOKS, [])
    for hook in hooks:
        try:
            hook()
        except Exception as error:
            if outages.noticed(error) is None:
                log.exception("after_commit_hook_failed", hook=getattr(hook, "__qualname__", repr(hook)))
