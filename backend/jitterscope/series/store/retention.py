"""Retention in the database: policies, and the deletion of what is older."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

# table: (policy field, resource of a row, end of a row)
TABLES = {
    "series_blocks": ("raw_days", None, "start_us + tick_count::bigint * step_us"),
    "series_segments": ("raw_days", "series_id >> 12", "start_us + tick_count::bigint * step_us"),
    "distributions": ("raw_days", "series_id >> 12", "start_us + tick_count::bigint * step_us"),
    "query_blocks": ("raw_days", "server_id", "end_us"),
    "captures": ("raw_days", "resource_id", "end_us"),
    "events": ("second_days", "resource_id", "start_us + duration_us"),
    "external_samples": ("second_days", None, "end_us"),
    "series_rollups_1s": ("second_days", "series_id >> 12", "start_us + tick_count * 1000000::bigint"),
    "series_rollups_5s": ("second_days", "series_id >> 12", "start_us + tick_count * 5000000::bigint"),
    "series_rollups_1m": ("minute_days", "series_id >> 12", "start_us + tick_count * 60000000::bigint"),
}
_UNSEEN = "last_seen_at < to_timestamp(:before / 1e6)"
# Tables without partitions, whose rows a sender can make many of: deleted in parts, each in its own transaction.
BY_PARTS = {
    "external_series": text(
        "DELETE FROM external_series WHERE id = ANY(ARRAY(SELECT id FROM external_series "  # noqa: S608
        f"WHERE {_UNSEEN} LIMIT :most))"
    ),
    "external_metrics": text(
        "DELETE FROM external_metrics WHERE name = ANY(ARRAY(SELECT name FROM external_metrics "  # noqa: S608
        f"WHERE {_UNSEEN} LIMIT :most)) AND {_UNSEEN}"
    ),
    # What a later value replaced before the cutoff. The value in effect stays as long as its resource.
    "facts": text(
        """
        DELETE FROM facts USING (
            SELECT resource_id, name, since_us FROM (
                SELECT resource_id, name, since_us,
                       lead(since_us) OVER (PARTITION BY resource_id, name ORDER BY since_us) AS until_us
                  FROM facts WHERE since_us < :cutoff
            ) AS past
             WHERE until_us IS NOT NULL AND NOT EXISTS (
                   SELECT FROM unnest(:resources, :froms, :tos) AS pin (resource, from_us, to_us)
                    WHERE pin.resource = resource_id AND since_us < pin.to_us AND until_us > pin.from_us)
             LIMIT :most
        ) AS gone
         WHERE facts.resource_id = gone.resource_id AND facts.name = gone.name AND facts.since_us = gone.since_us
        """
    ),
}
# (resource, from, to) of windows that are kept, in µs.
Pins = Sequence[tuple[int, int, int]]
_PINS = ("resources", "froms", "tos")


def delete_resources(session: Session, resource_ids: Sequence[int]) -> None:
    """Delete every row of removed resources; landing blocks, which hold many series, expire with time."""
    if not resource_ids:
        return
    for table, (_, resource, _) in TABLES.items():
        if resource is not None:
            of_resource = (
                f"{table}.series_id BETWEEN gone.id << 12 AND (gone.id << 12) + 4095"
                if resource.startswith("series_id")
                else f"{table}.{resource} = gone.id"
            )
            statement = text(f"DELETE FROM {table} USING unnest(:ids) AS gone (id) WHERE {of_resource}")  # noqa: S608
            session.execute(statement.bindparams(bindparam("ids", type_=ARRAY(BIGINT))), {"ids": list(resource_ids)})


def _rows(result: object) -> int:
    return int(getattr(result, "rowcount", 0))


def policy(session: Session) -> tuple[int, int, int] | None:
    """Days of ticks, 1 s rollups, and 1 min rollups; None if the organization has set none."""
    row = session.execute(text("SELECT raw_days, second_days, minute_days FROM retention_policies")).one_or_none()
    return None if row is None else (row.raw_days, row.second_days, row.minute_days)


def set_policy(session: Session, organization_id: int, raw_days: int, second_days: int, minute_days: int) -> None:
    """Raises IntegrityError if ticks would outlive rollups."""
    session.execute(
        text(
            "INSERT INTO retention_policies VALUES (:organization, :raw, :second, :minute) "
            "ON CONFLICT (organization_id) DO UPDATE SET raw_days = excluded.raw_days, "
            "second_days = excluded.second_days, minute_days = excluded.minute_days"
        ),
        {"organization": organization_id, "raw": raw_days, "second": second_days, "minute": minute_days},
    )


def expire(session: Session, table: str, cutoff_us: int, pins: Pins) -> int:
    """Delete rows of one of TABLES that ended before a time and are in no pinned window; returns how many."""
    _, resource, end = TABLES[table]
    pinned = "" if resource is None else (
        f" AND NOT EXISTS (SELECT FROM unnest(:resources, :froms, :tos) AS pin (resource, from_us, to_us) "
        f"WHERE pin.resource = {resource} AND {table}.start_us < pin.to_us AND {end} > pin.from_us)"
    )  # fmt: skip
    statement = text(f"DELETE FROM {table} WHERE start_us < :cutoff AND {end} < :cutoff{pinned}")  # noqa: S608
    parameters: dict[str, object] = {"cutoff": cutoff_us}
    if resource is not None:
        statement, parameters = _with_pins(statement), parameters | _pinned(pins)
    return _rows(session.execute(statement, parameters))


def expire_batches(session: Session, cutoff_us: int) -> int:
    """Delete the ledger's rows of batches that were sealed before a time; returns how many."""
    statement = text("DELETE FROM ingest_batches WHERE sealed_at_us < :cutoff")
    return _rows(session.execute(statement, {"cutoff": cutoff_us}))


def expire_layouts(session: Session) -> int:
    """Delete layouts that no block has and that were not used for a day; returns how many."""
    unused = session.execute(
        text(
            "DELETE FROM series_layouts l WHERE used_at < now() - interval '1 day' "
            "AND NOT EXISTS (SELECT FROM series_blocks b WHERE b.layout_id = l.id)"
        )
    )
    return _rows(unused)


def expire_unseen(session: Session, table: str, before_us: int, most: int) -> int:
    """Delete at most so many rows of a table that were not seen since a time; returns how many."""
    return _rows(session.execute(BY_PARTS[table], {"before": before_us, "most": most}))


def expire_facts(session: Session, cutoff_us: int, pins: Pins, most: int) -> int:
    """Delete at most so many values replaced before a time, outside of pinned windows; returns how many."""
    parameters = {"cutoff": cutoff_us, "most": most} | _pinned(pins)
    return _rows(session.execute(_with_pins(BY_PARTS["facts"]), parameters))


def _with_pins(statement: TextClause) -> TextClause:
    return statement.bindparams(*(bindparam(name, type_=ARRAY(BIGINT)) for name in _PINS))


def _pinned(pins: Pins) -> dict[str, object]:
    return {name: [pin[position] for pin in pins] for position, name in enumerate(_PINS)}
