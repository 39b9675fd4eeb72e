"""Resources in the database, for lists and single pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import or_, select, tuple_
from sqlalchemy.orm import Session

from jitterscope.inventory.models import Resource

ACTIVE = timedelta(minutes=5)
THROTTLED = timedelta(minutes=15)


def page(
    session: Session,
    *,
    kind: str | None,
    search: str | None,
    node_id: int | None,
    throttled: bool,
    gone: bool,
    after_id: int | None,
    limit: int,
) -> list[Resource]:
    """Resources by name, after the one with `after_id`."""
    now = datetime.now(UTC)
    query = select(Resource).order_by(Resource.name, Resource.id).limit(limit)
    if kind:
        query = query.where(Resource.kind == kind)
    if search:
        pattern = "%" + search.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = query.where(or_(Resource.name.ilike(pattern), Resource.key.ilike(pattern)))
    if node_id is not None:
        query = query.where(or_(Resource.node_id == node_id, Resource.id == node_id))
    if throttled:
        query = query.where(Resource.throttled_at > now - THROTTLED)
    if not gone:
        query = query.where(Resource.last_seen_at > now - ACTIVE)
    if after_id is not None:
        last = select(Resource.name, Resource.id).where(Resource.id == after_id).subquery()
        query = query.where(tuple_(Resource.name, Resource.id) > select(last.c.name, last.c.id).scalar_subquery())
    return list(session.scalars(query))


def with_id(session: Session, resource_id: int) -> Resource | None:
    return session.scalar(select(Resource).where(Resource.id == resource_id))


def with_ids(session: Session, ids: Collection[int]) -> Sequence[Resource]:
    return session.scalars(select(Resource).where(Resource.id.in_(ids))).all()
