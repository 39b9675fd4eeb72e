"""Writes the metric catalogue into the database after each migration, for the SQL view."""

from __future__ import annotations

from sqlalchemy import Connection

from jitterscope.series.catalogue import METRICS
from jitterscope.series.store import catalogue as store


def after_migration(connection: Connection) -> None:
    """Upsert every metric; runs as the schema's owner, inside the migration's transaction."""
    store.put(connection, [{"id": m.id, "name": m.name, "unit": m.unit, "kind": m.kind} for m in METRICS.values()])
