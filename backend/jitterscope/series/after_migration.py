"""Writes the metric catalogue into the database after each migration, for the SQL view."""

from __future__ import annotations

from sqlalchemy import Connection, text

from jitterscope.series.catalogue import METRICS


def after_migration(connection: Connection) -> None:
    """Upsert every metric; runs as the schema's owner, inside the migration's transaction."""
    if connection.execute(text("SELECT to_regclass('metrics')")).scalar() is None:
        return
    connection.execute(
        text(
            "INSERT INTO metrics (id, name, unit, kind) VALUES (:id, :name, :unit, :kind) "
            "ON CONFLICT (id) DO UPDATE SET name = excluded.name, unit = excluded.unit, kind = excluded.kind"
        ),
        [{"id": m.id, "name": m.name, "unit": m.unit, "kind": m.kind} for m in METRICS.values()],
    )
