"""Brings the database schema to the newest version; safe to run by several processes at once."""

from __future__ import annotations

import sys

import structlog
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

from jitterscope import db
from jitterscope.settings import REPOSITORY, settings

log = structlog.get_logger(__name__)
_LOCK = 0x6A697474  # "jitt": one advisory lock number for migrations


def migrate(owner_url: str | None = None, target: str = "heads") -> None:
    """Upgrade as the schema's owner (default: JITTERSCOPE_OWNER_DATABASE_URL). Waits for a concurrent migration."""
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


def _run(engine: Engine, target: str, *, upgrade: bool) -> None:
    if str(REPOSITORY) not in sys.path:  # migrations import `migrations.helpers`
        sys.path.append(str(REPOSITORY))
    config = Config()
    config.set_main_option("script_location", str(REPOSITORY / "migrations"))
    with engine.connect() as guard, engine.connect() as connection:
        guard.execution_options(isolation_level="AUTOCOMMIT")
        guard.execute(text("SET statement_timeout = '10min'"))
        guard.execute(text("SELECT pg_advisory_lock(:number)"), {"number": _LOCK})
        try:
            config.attributes["connection"] = connection
            (command.upgrade if upgrade else command.downgrade)(config, target)
        finally:
            guard.execute(text("SELECT pg_advisory_unlock(:number)"), {"number": _LOCK})
