"""The outbox: each transition becomes one row per channel, in the transaction that makes the transition.

`rules` decides here, once, which channels get it and when; delivery only looks for what is due.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row
from sqlalchemy.orm import Session

from jitterscope import worker
from jitterscope.db import after_commit, clock
from jitterscope.diagnosis.core.finding import Severity
from jitterscope.notify.conditions import Conditions, Place, place_of
from jitterscope.notify.kind import kinds
from jitterscope.notify.models import ChannelRow
from jitterscope.notify.payload import Payload
from jitterscope.notify.quiet_hours import QuietHours
from jitterscope.notify.rules import Event, Face, Rule, Standing, decide, held_until, state_after
from jitterscope.notify.store import channels, threads
from jitterscope.notify.store import outbox as store
from jitterscope.notify.store.outbox import sent_at as sent_at

_SUPERSEDED = "Superseded by a later message"
_CAME_AND_WENT = "The incident began and ended during quiet hours"
_MUTED = "The incident was muted before quiet hours ended"


def enqueue(
    session: Session, payload: Payload, also: Sequence[Place] = (), *, muted: bool = False, reminds: bool = False
) -> int:
    """Queue a transition for every channel that wants it, now or after its quiet hours; returns how many.

    Queuing the same transition again adds nothing. `also`: places that the incident reached besides its subject's.
    `muted`: only closes alerts that would stay open. `reminds`: see rules.Event.
    """
    organization_id: int = session.info["organization_id"]
    enabled = channels.enabled(session)
    if not enabled:
        return 0
    event = event_of(payload, also, muted=muted, reminds=reminds)
    standings = _standings(session, payload)
    content = payload.model_dump(mode="json")
    rows: list[dict[str, Any]] = []
    for channel in enabled:
        decision = decide(_rule(channel), event, standings.get(channel.id, Standing()))
        if decision.waiting != "stay":
            came_and_went = decision.message in ("none", "skip")
            store.move_on(
                session, payload, channel.id, decision.waiting, _CAME_AND_WENT if came_and_went else _SUPERSEDED
            )
        if decision.message == "none":
            continue
        skipped = decision.message == "skip"
        rows.append(
            {
                "organization_id": organization_id,
                "channel_id": channel.id,
                "incident_id": payload.incident.id,
                "transition_id": payload.transition.id,
                "key": uuid.uuid4().hex,
                "payload": content,
                "state": "skipped" if skipped else "pending",
                "attempts": 0,
                "maybe_sent": False,
                "held_until": decision.until,
                "next_attempt_at": clock() if decision.until is None else decision.until,
                "last_error": _CAME_AND_WENT if skipped else None,
            }
        )
    if rows:
        store.add(session, rows)
        deliver_soon(session)
    return sum(row["state"] == "pending" for row in rows)


def show(session: Session, payload: Payload) -> None:
    """Update existing messages that can be changed to the incident's current state.

    This notifies nobody, so it ignores the channel's filters and also happens while the incident is muted.
    """
    shows = [kind.kind for kind in kinds().values() if kind.refresh is not None]
    if threads.want(session, payload.incident.id, shows, payload.model_dump(mode="json")):
        deliver_soon(session)


def deliver_soon(session: Session) -> None:
    """After the commit, have a worker check what is due."""
    organization_id: int = session.info["organization_id"]
    # Losing this message costs only seconds: the sweep finds the rows.
    after_commit(session, lambda: worker.send("notify.deliver", organization_id=organization_id))


def withdraw(session: Session, incident_id: int) -> None:
    """Skip the incident's deliveries that wait for the end of quiet hours, because it is muted."""
    store.withdraw(session, incident_id, _MUTED)


def hold_anew(session: Session, channel: ChannelRow) -> None:
    """Reschedule what waits for the end of a channel's quiet hours, after these changed."""
    now, quiet = datetime.now(UTC), quiet_hours_of(channel.quiet_hours)
    for identity, told in store.held(session, channel.id, now):
        store.hold_until(session, identity, held_until(quiet, told, now))


def event_of(payload: Payload, also: Sequence[Place] = (), *, muted: bool = False, reminds: bool = False) -> Event:
    """A transition as rules see it."""
    incident, transition = payload.incident, payload.transition
    return Event(
        incident_id=incident.id,
        action=transition.action,
        at=transition.at,
        severity=incident.severity,
        cause=incident.cause,
        places=(place_of(incident.subject), *also),
        state=incident.state,
        muted=muted,
        reminds=reminds,
    )


def rule_of(
    kind: str, min_severity: Severity, actions: Sequence[str], conditions: Conditions, quiet_hours: QuietHours | None
) -> Rule:
    """A channel's rule: its actions without those that its kind cannot express."""
    known = kinds().get(kind)
    silent = frozenset() if known is None else known.silent
    return Rule(
        min_severity,
        frozenset(actions) - silent,
        conditions,
        quiet_hours,
        closes_alerts=known is not None and known.closes_alerts,
    )


def quiet_hours_of(stored: dict[str, Any] | None) -> QuietHours | None:
    """The quiet hours in a channel's row.

    Not validated again: an incident must not fail because a time zone has since disappeared.
    """
    return None if stored is None else QuietHours.model_construct(**stored)


def _rule(channel: Row[Any]) -> Rule:
    conditions = Conditions.model_construct(**{name: [] for name in Conditions.model_fields} | channel.conditions)
    quiet_hours = quiet_hours_of(channel.quiet_hours)
    return rule_of(channel.kind, channel.min_severity, channel.actions, conditions, quiet_hours)


def _standings(session: Session, payload: Payload) -> dict[int, Standing]:
    """By channel: what became of the incident's earlier transitions."""
    return {
        channel_id: Standing(told, waiting, _face(shown), _face(waits))
        for channel_id, told, waiting, shown, waits in store.told_before(session, payload)
    }


def _face(shown: list[str] | None) -> Face | None:
    if shown is None:
        return None
    action, state, severity, cause = shown
    return Face(state_after(action, state), severity, cause)
