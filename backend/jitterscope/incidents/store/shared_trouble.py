"""Active incidents that a finding could be part of, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, Float, Select, and_, cast, or_, select
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.impact import SLOW_QUERIES
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.incidents.models import IncidentRow, lives_on
from jitterscope.kit.instant import time_of

# Troubles of two subjects are the same if they overlap, or are no further apart than a retry takes.
SAME_TIME = timedelta(seconds=10)


def _blames() -> ColumnElement[bool]:
    blamed: ColumnElement[bool] = IncidentRow.finding["upstream"].astext.is_not(None)
    return blamed


def _is_explained() -> ColumnElement[bool]:
    return IncidentRow.cause.not_in([one.id for one in all_causes().values() if one.is_residual])


def _simultaneous(subject_id: int, found: Found) -> Select[IncidentRow]:
    """Active incidents of others at the time of a finding, and those that the subject is already part of."""
    same_time = and_(
        IncidentRow.onset_at <= time_of(found.last_us) + SAME_TIME,
        IncidentRow.last_seen_at >= time_of(found.onset_us) - SAME_TIME,
    )
    return (
        select(IncidentRow)
        .where(IncidentRow.resolved_at.is_(None), lives_on != subject_id, or_(same_time, _lists(subject_id)))
        .order_by(IncidentRow.id)
        .with_for_update()
    )


def _lists(subject_id: int) -> ColumnElement[bool]:
    return IncidentRow.also_affected.contains([{"resource_id": subject_id}])


def host(
    session: Session, subject_id: int, found: Found, *, same_cause: bool, asked: Sequence[int], node_id: int | None
) -> IncidentRow | None:
    """The active incident of another subject that a finding is part of, locked; the oldest if there are several.

    Any of these: one with the same cause; one about a server that the finding blames (`asked`), or that lists it, with
    a cause of its own; one of the node (`node_id`), if its trouble delayed answers.
    """
    ways: list[ColumnElement[bool]] = []
    if same_cause:
        ways.append(IncidentRow.cause == found.cause)
    ways += [and_(or_(lives_on == one, _lists(one)), _is_explained()) for one in asked]
    if node_id is not None:
        slow = cast(IncidentRow.finding["impact"][SLOW_QUERIES.id].astext, Float)
        ways.append(and_(lives_on == node_id, slow > 0))
    if not ways:
        return None
    simultaneous = _simultaneous(subject_id, found).where(or_(*ways))
    # The blamed server's own incident, before any that only lists the server.
    own_first = simultaneous.order_by(None).order_by(lives_on.not_in(asked), IncidentRow.id)
    return session.scalars(own_first.limit(1)).first()


def others_of_cause(session: Session, subject_id: int, cause: str, limit: int) -> list[tuple[int, int]]:
    """(incident, subject) of active incidents of other subjects with a cause, oldest first."""
    others = select(IncidentRow.id, lives_on).where(_goes_on(cause), lives_on != subject_id).order_by(IncidentRow.id)
    return [(incident, subject) for incident, subject in session.execute(others.limit(limit))]


def oldest(session: Session, cause: str, ids: Sequence[int]) -> IncidentRow | None:
    """The oldest of these incidents that is still active with the cause, locked."""
    query = select(IncidentRow).where(_goes_on(cause), IncidentRow.id.in_(ids)).order_by(IncidentRow.id)
    return session.scalars(query.with_for_update().limit(1)).first()


def blaming(session: Session, subject_id: int, found: Found) -> Sequence[IncidentRow]:
    """Active incidents of others at the time of a finding that blame a server, locked."""
    return session.scalars(_simultaneous(subject_id, found).where(_blames())).all()


def blaming_or_unexplained(session: Session, subject_id: int, found: Found) -> Sequence[IncidentRow]:
    """As `blaming`, with those that have no cause of their own."""
    return session.scalars(_simultaneous(subject_id, found).where(or_(_blames(), ~_is_explained()))).all()


def is_told(session: Session, subject_id: int, lives: Sequence[int], found: Found, *, any_cause: bool) -> bool:
    """Whether an incident that is over already covers the subject's newest symptom: it lists the subject, or has the
    same cause and is about another of its `lives`. `any_cause`: one that lists it can have another cause."""
    same = IncidentRow.cause == found.cause
    reached = _lists(subject_id) if any_cause else and_(same, _lists(subject_id))
    ways = or_(reached, and_(same, IncidentRow.subject_id.in_(lives)))
    over = select(IncidentRow.id).where(IncidentRow.resolved_at >= time_of(found.last_us), ways)
    return session.scalar(over.limit(1)) is not None


def _goes_on(cause: str) -> ColumnElement[bool]:
    return and_(IncidentRow.resolved_at.is_(None), IncidentRow.cause == cause)
