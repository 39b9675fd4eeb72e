"""The outbox in the database: what waits, and what each channel was told of an incident before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, func, select, type_coerce, update
from sqlalchemy.dialects.postgresql import JSONB, aggregate_order_by, insert
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import Severity
from jitterscope.notify.models import DeliveryRow
from jitterscope.notify.payload import Payload


def add(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Queue deliveries; those of a transition that is queued for a channel already add nothing."""
    session.execute(
        insert(DeliveryRow).values(rows).on_conflict_do_nothing(index_elements=["transition_id", "channel_id"])
    )


def withdraw(session: Session, incident_id: int, why: str) -> None:
    """Skip the incident's deliveries that wait for the end of quiet hours."""
    session.execute(
        update(DeliveryRow)
        .where(DeliveryRow.incident_id == incident_id, _held(datetime.now(UTC)))
        .values(state="skipped", last_error=why)
    )


def held(session: Session, channel_id: int, now: datetime) -> Sequence[Row[int, Severity]]:
    """(id, severity) of a channel's deliveries that wait for the end of quiet hours, locked."""
    severity = DeliveryRow.payload["incident"]["severity"].astext
    return session.execute(
        select(DeliveryRow.id, severity).where(DeliveryRow.channel_id == channel_id, _held(now)).with_for_update()
    ).all()


def hold_until(session: Session, delivery_id: int, until: datetime | None) -> None:
    """Send a delivery at that time; None: now."""
    session.execute(
        update(DeliveryRow)
        .where(DeliveryRow.id == delivery_id)
        .values(held_until=until, next_attempt_at=func.clock_timestamp() if until is None else until)
    )


def told_before(
    session: Session, payload: Payload
) -> Sequence[Row[int, bool, bool, list[str] | None, list[str] | None]]:
    """Of the incident's earlier transitions, per channel: whether it was told any, whether any wait, and how the
    newest of both shows the incident."""
    held = _held(payload.transition.at)
    sent = (~held) & (DeliveryRow.state != "dead")
    return session.execute(
        select(DeliveryRow.channel_id, func.bool_or(~held), func.bool_or(held), _newest(sent), _newest(held))
        .where(
            DeliveryRow.incident_id == payload.incident.id,
            DeliveryRow.transition_id < payload.transition.id,
            DeliveryRow.state != "skipped",
        )
        .group_by(DeliveryRow.channel_id)
    ).all()


def _newest(which: ColumnElement[bool]) -> ColumnElement[Any]:
    """How the newest of the matching deliveries shows the incident."""
    shown = func.jsonb_build_array(
        DeliveryRow.payload[("transition", "action")],
        *(DeliveryRow.payload[("incident", name)] for name in ("state", "severity", "cause")),
    )
    ordered = aggregate_order_by(shown, DeliveryRow.transition_id.desc())
    newest: ColumnElement[Any] = type_coerce(func.jsonb_agg(ordered).filter(which), JSONB)[0]
    return newest


def _held(at: datetime) -> ColumnElement[bool]:
    """Deliveries that wait for the end of quiet hours at that time and were not tried yet."""
    return and_(
        DeliveryRow.state == "pending", DeliveryRow.attempts == 0, func.coalesce(DeliveryRow.held_until > at, False)
    )


def move_on(session: Session, payload: Payload, channel_id: int, to: str, why: str) -> None:
    """Drop or release the channel's held deliveries about the incident."""
    values: dict[str, Any] = {"state": "skipped", "last_error": why}
    if to == "release":
        values = {"held_until": None, "next_attempt_at": func.clock_timestamp()}
    session.execute(
        update(DeliveryRow)
        .where(
            DeliveryRow.channel_id == channel_id,
            DeliveryRow.incident_id == payload.incident.id,
            DeliveryRow.transition_id < payload.transition.id,
            _held(payload.transition.at),
        )
        .values(values)
    )


def sent_at(session: Session, incident_id: int) -> list[datetime]:
    """When receivers accepted notifications of an incident: the earliest channel of each transition, oldest first."""
    taken = (
        select(func.min(DeliveryRow.sent_at).label("at"))
        .where(DeliveryRow.incident_id == incident_id, DeliveryRow.sent_at.is_not(None))
        .group_by(DeliveryRow.transition_id)
        .subquery()
    )
    return list(session.scalars(select(taken.c.at).order_by(taken.c.at)))
