"""Reported changes in the database."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope.changes.models import ChangeRow


@dataclass(frozen=True, slots=True)
class Place:
    """What identifies a resource: its id, those around and inside it, and the names that selectors can use."""

    resource_ids: Collection[int]
    nodes: Collection[str]
    namespace: str | None
    workloads: Collection[str]
    container: str | None


def add(session: Session, values: dict[str, Any]) -> ChangeRow | None:
    """Store a report; None if one with its external id exists."""
    statement = insert(ChangeRow).values(organization_id=session.info["organization_id"], **values)
    added = statement.on_conflict_do_nothing(index_elements=["organization_id", "external_id"]).returning(ChangeRow)
    return session.scalars(added).one_or_none()


def with_external_id(session: Session, external_id: str) -> ChangeRow | None:
    return session.scalar(select(ChangeRow).where(ChangeRow.external_id == external_id))


def with_id(session: Session, change_id: int) -> ChangeRow | None:
    return session.get(ChangeRow, change_id)


def remove(session: Session, change_id: int) -> None:
    session.execute(delete(ChangeRow).where(ChangeRow.id == change_id))


def between(
    session: Session, from_at: datetime, to_at: datetime, place: Place | None, limit: int
) -> tuple[list[ChangeRow], int]:
    """Reports of a period (both ends included): the newest, at most `limit`, and how many there are.

    `place`: only those about it.
    """
    chosen = [ChangeRow.at >= from_at, ChangeRow.at <= to_at, *(() if place is None else _of(place))]
    rows = session.execute(
        select(ChangeRow, func.count().over().label("found"))
        .where(*chosen)
        .order_by(ChangeRow.at.desc(), ChangeRow.id.desc())
        .limit(limit)
    ).all()
    return [row[0] for row in rows], rows[0].found if rows else 0


def _of(place: Place) -> list[ColumnElement[bool]]:
    return [
        or_(ChangeRow.resource_id.is_(None), ChangeRow.resource_id.in_(place.resource_ids)),
        or_(ChangeRow.node.is_(None), ChangeRow.node.in_(place.nodes)),
        or_(ChangeRow.namespace.is_(None), ChangeRow.namespace == place.namespace),
        or_(ChangeRow.workload.is_(None), ChangeRow.workload.in_(place.workloads)),
        or_(ChangeRow.container.is_(None), ChangeRow.container == place.container),
    ]


def drop_before(session: Session, at: datetime) -> int:
    """Delete reports of changes before a time; returns how many."""
    return len(session.scalars(delete(ChangeRow).where(ChangeRow.at < at).returning(ChangeRow.id)).all())
