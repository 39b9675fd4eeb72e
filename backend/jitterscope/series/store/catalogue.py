"""The metric catalogue in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, text


def put(connection: Connection, metrics: Sequence[dict[str, object]]) -> None:
    """Store metrics by `id`, with `name`, `unit`, and `kind`. Does nothing where the schema has no table for them."""
    if connection.execute(text("SELECT to_regclass('metrics')")).scalar() is None:
        return
    connection.execute(
        text(
            "INSERT INTO metrics (id, name, unit, kind) VALUES (:id, :name, :unit, :kind) "
            "ON CONFLICT (id) DO UPDATE SET name = excluded.name, unit = excluded.unit, kind = excluded.kind"
        ),
        list(metrics),
    )
