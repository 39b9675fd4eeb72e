"""How long data is kept, per organization and level, and the deletion of what is older."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.series import partitions, pins
from jitterscope.settings import settings
from jitterscope.trusted import Trusted

log = structlog.get_logger(__name__)

DAY_US = 86_400_000_000
_TRUST_S = 60.0


@dataclass(frozen=True, slots=True)
class Retention:
    """How many days ticks, 1 s rollups, and 1 min rollups are kept."""

    raw_days: int = 7
    second_days: int = 30
    minute_days: int = 400


# table: (policy field, resource of a row, end of a row)
_TABLES = {
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


def of(session: Session) -> Retention:
    """The policy of the session's organization, or the default; never more than the installation allows."""
    row = session.execute(text("SELECT raw_days, second_days, minute_days FROM retention_policies")).one_or_none()
    own = Retention() if row is None else Retention(row.raw_days, row.second_days, row.minute_days)
    limit = most()
    return Retention(
        min(own.raw_days, limit.raw_days),
        min(own.second_days, limit.second_days),
        min(own.minute_days, limit.minute_days),
    )


_policies = Trusted(of, _TRUST_S)


def most() -> Retention:
    """The longest retention that an organization of this installation can set."""
    given = settings()
    return Retention(given.retention_max_raw_days, given.retention_max_second_days, given.retention_max_minute_days)


def accepted_us(organization_id: int) -> int:
    """How old arriving data may be to be accepted, in µs; cached for up to a minute.

    The horizon of the installation limits it: older data would create partitions of every table for each of its days.
    """
    return min(_policies.of(organization_id).raw_days, settings().ingest_oldest_days) * DAY_US


def set_policy(session: Session, organization_id: int, policy: Retention) -> None:
    """Change the policy of the session's organization. Raises IntegrityError if ticks would outlive rollups."""
    session.execute(
        text(
            "INSERT INTO retention_policies VALUES (:organization, :raw, :second, :minute) "
            "ON CONFLICT (organization_id) DO UPDATE SET raw_days = excluded.raw_days, "
            "second_days = excluded.second_days, minute_days = excluded.minute_days"
        ),
        {
            "organization": organization_id, "raw": policy.raw_days, "second": policy.second_days,
            "minute": policy.minute_days,
        },
    )  # fmt: skip
    _policies.changed(session, organization_id)


def expire(organization_id: int, now_us: int) -> dict[str, int]:
    """Delete an organization's rows past its retention, except pinned ones; returns the number of rows by table."""
    deleted: dict[str, int] = {}
    for table in _TABLES:
        with db.organization_session(organization_id) as session:
            policy = of(session)
            deleted[table] = _expire_table(session, table, policy, now_us)
            if table == "series_blocks":
                deleted |= _expire_ledger(session, policy, now_us)
    deleted |= _expire_by_parts(organization_id, now_us)
    return {table: count for table, count in deleted.items() if count}


def _expire_table(session: Session, table: str, policy: Retention, now_us: int) -> int:
    field, resource, end = _TABLES[table]
    cutoff_us = now_us - getattr(policy, field) * DAY_US
    kept = _pinned(session, cutoff_us)
    pinned = "" if resource is None else (
        f" AND NOT EXISTS (SELECT FROM unnest(:resources, :froms, :tos) AS pin (resource, from_us, to_us) "
        f"WHERE pin.resource = {resource} AND {table}.start_us < pin.to_us AND {end} > pin.from_us)"
    )  # fmt: skip
    statement = text(f"DELETE FROM {table} WHERE start_us < :cutoff AND {end} < :cutoff{pinned}")  # noqa: S608
    parameters: dict[str, object] = {"cutoff": cutoff_us}
    if resource is not None:
        names = ("resources", "froms", "tos")
        statement = statement.bindparams(*(bindparam(name, type_=ARRAY(BIGINT)) for name in names))
        for position, name in enumerate(names):
            parameters[name] = [pin[position] for pin in kept]
    return _rows(session.execute(statement, parameters))


def _expire_ledger(session: Session, policy: Retention, now_us: int) -> dict[str, int]:
    # A day longer than batches are accepted, so that none can arrive again after its row is deleted.
    batches = session.execute(
        text("DELETE FROM ingest_batches WHERE sealed_at_us < :cutoff"),
        {"cutoff": now_us - (policy.raw_days + 1) * DAY_US},
    )
    unused = session.execute(
        text(
            "DELETE FROM series_layouts l WHERE used_at < now() - interval '1 day' "
            "AND NOT EXISTS (SELECT FROM series_blocks b WHERE b.layout_id = l.id)"
        )
    )
    return {"ingest_batches": _rows(batches), "series_layouts": _rows(unused)}


# A day longer than their samples: when a series was last seen is known to the hour.
_UNSEEN = "last_seen_at < to_timestamp((:cutoff - :day) / 1e6)"
# Tables without partitions, whose rows a sender can make many of: deleted in parts, each in its own transaction.
_BY_PARTS = {
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
_MOST_AT_ONCE = 20_000


def _expire_by_parts(organization_id: int, now_us: int) -> dict[str, int]:
    deleted = dict.fromkeys(_BY_PARTS, 0)
    for table in _BY_PARTS:
        while True:
            with db.organization_session(organization_id) as session:
                part = _expire_part(session, table, now_us)
            deleted[table] += part
            if part < _MOST_AT_ONCE:
                break
    return deleted


def _expire_part(session: Session, table: str, now_us: int) -> int:
    cutoff_us = now_us - of(session).second_days * DAY_US
    parameters: dict[str, object] = {"cutoff": cutoff_us, "most": _MOST_AT_ONCE}
    statement = _BY_PARTS[table]
    if table == "facts":
        names = ("resources", "froms", "tos")
        statement = statement.bindparams(*(bindparam(name, type_=ARRAY(BIGINT)) for name in names))
        kept = _pinned(session, cutoff_us)
        parameters |= {name: [pin[position] for pin in kept] for position, name in enumerate(names)}
    else:
        parameters["day"] = DAY_US
    return _rows(session.execute(statement, parameters))


def _pinned(session: Session, cutoff_us: int) -> list[tuple[int, int, int]]:
    """(resource, from, to) of pinned windows that began before the cutoff, in µs."""
    return [
        (resource_id, window.from_us, window.to_us)
        for window in pins.pinned_windows(session)
        for resource_id in window.resource_ids
        if window.from_us < cutoff_us
    ]


def delete_resources(session: Session, resource_ids: Sequence[int]) -> None:
    """Delete every row of removed resources; landing blocks, which hold many series, expire with time."""
    if not resource_ids:
        return
    for table, (_, resource, _) in _TABLES.items():
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


def drop_empty_partitions(now_us: int) -> int:
    """Drop empty partitions that ended at least a day ago; returns how many."""
    with db.system_session() as session:
        dropped: int = session.execute(
            text("SELECT drop_empty_time_partitions(:before)"), {"before": now_us - DAY_US}
        ).scalar_one()
    if dropped:
        partitions.forget()
    return dropped
