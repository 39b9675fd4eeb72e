"""Brings the database schema to the newest version; safe to run in several processes at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from jitterscope import db
from jitterscope.settings import REPOSITORY, settings

log = structlog.get_logger(__name__)
_LOCK = 0x6A697474  # "jitt": one advisory lock number for migrations


class NewerSchema(RuntimeError):
    """The database schema is newer than this version, which must not change it."""

    def __init__(self, revisions: Sequence[str]) -> None:
        super().__init__(
            f"The schema is from a newer version of Jitterscope (revision {', '.join(revisions)}) and was not changed."
        )


def migrate(owner_url: str | None = None, target: str = "heads") -> None:
    """Upgrade as the schema's owner (default: JITTERSCOPE_OWNER_DATABASE_URL). Waits for a concurrent migration.

    Raises NewerSchema if a newer version has already upgraded it.
    """
    engine = db.make_engine(owner_url or settings().owner_database_url.get_secret_value(), pool_size=2)
    try:
        _run(engine, target, upgrade=True)
    finally:
        engine.dispose()


def downgrade(owner_url: str, target: str = "base") -> None:
    """Undo migrations down to `target`. Drops data; for tests and development."""
    engine = db.make_engine(owner_url, pool_size=2)
    try:
        _run(engine, target, upgrade=False)
    finally:
        engine.dispose()


def heads() -> list[str]:
    """The newest revisions that this version knows."""
    return ScriptDirectory.from_config(_config()).get_heads()


def _config() -> Config:
    if str(REPOSITORY) not in sys.path:  # migrations import `migrations.helpers`
        sys.path.append(str(REPOSITORY))
    config = Config()
    config.set_main_option("script_location", str(REPOSITORY / "migrations"))
    return config


def _run(engine: Engine, target: str, *, upgrade: bool) -> None:
    config = _config()
    with engine.connect() as guard, engine.connect() as connection:
        guard.execution_options(isolation_level="AUTOCOMMIT")
        guard.execute(text("SET statement_timeout = '10min'"))
        guard.execute(text("SELECT pg_advisory_lock(:number)"), {"number": _LOCK})
        try:
            _refuse_newer(connection, config)
            config.attributes["connection"] = connection
            (command.upgrade if upgrade else command.downgrade)(config, target)
        finally:
            guard.execute(text("SELECT pg_advisory_unlock(:number)"), {"number": _LOCK})


def _refuse_newer(connection: Connection, config: Config) -> None:
    known = {one.revision for one in ScriptDirectory.from_config(config).walk_revisions()}
    unknown = sorted(set(MigrationContext.configure(connection).get_current_heads()) - known)
    connection.rollback()
    if unknown:
        raise NewerSchema(unknown)
