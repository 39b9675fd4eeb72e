"""Mutes as the API shows them, and what a mute would have muted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from jitterscope.incidents.api.last_week import Week
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.mutes import covering, store
from jitterscope.incidents.mutes.matching import FOREVER, Candidate, Muting, covers, holds_until
from jitterscope.incidents.mutes.models import MuteRow
from jitterscope.incidents.mutes.schemas import Mute, MuteFilter, MutePreview, PreviewIncident
from jitterscope.inventory import service as inventory
from jitterscope.notify.payload import ACTIONS

_LISTED = 20


def mutes_of(session: Session, rows: Sequence[MuteRow]) -> list[Mute]:
    """Mutes in the order of the rows."""
    now = datetime.now(UTC)
    titles = actions.titles(session, {row.incident_id for row in rows if row.incident_id is not None})
    resources = inventory.resources(session, [row.resource_id for row in rows if row.resource_id is not None])
    muted = store.muted_by(session, [row.id for row in rows])
    return [_view(row, now, titles, {one: found.name for one, found in resources.items()}, muted) for row in rows]


def _view(
    row: MuteRow, now: datetime, titles: dict[int, str], names: dict[int, str], muted: dict[int, list[int]]
) -> Mute:
    muting = store.muting_of(row)
    passed = row.until is not None and row.until <= now
    ended_at = row.ended_at or (row.until if passed else None)
    until = None if ended_at is not None else holds_until(muting, now)
    return Mute(
        id=row.id,
        incident_id=row.incident_id,
        incident_title=None if row.incident_id is None else titles.get(row.incident_id),
        resource_id=row.resource_id,
        resource_name=None if row.resource_id is None else names.get(row.resource_id),
        severities=row.severities,
        conditions=muting.conditions,
        hours=muting.hours,
        until=row.until,
        reason=row.reason,
        created_by=row.created_by,
        created_at=row.created_at,
        ended_at=ended_at,
        ended_by=row.ended_by,
        state="ended" if ended_at is not None else "waits" if until is None else "holds",
        holds_until=None if until == FOREVER else until,
        incidents=muted.get(row.id, []),
    )


def preview(week: Week, asked: MuteFilter) -> MutePreview:
    """Apply the same matching to past incidents."""
    muting = Muting(
        id=0,
        incident_id=asked.incident_id,
        resource_id=asked.resource_id,
        severities=frozenset(asked.severities),
        conditions=asked.conditions,
        hours=asked.hours,
        until=None,
        reason="",
        by="",
    )
    kept, first_at = Counter[int](), dict[int, datetime]()
    for event in week.events:
        if event.action not in ACTIONS or holds_until(muting, event.at) is None:
            continue
        row = week.incidents[event.incident_id]
        resources = frozenset({row.subject_id, row.lives_on})
        if covers(muting, Candidate(row.id, resources, event.severity, event.cause, event.places)):
            kept[row.id] += 1
            first_at.setdefault(row.id, event.at)
    places = {event.incident_id: event.places for event in week.events}
    now = datetime.now(UTC)
    is_open = [
        one.id
        for one in week.incidents.values()
        if one.resolved_at is None
        and holds_until(muting, now) is not None
        and covers(muting, covering.candidate_of(one, places.get(one.id, ())))
    ]
    return MutePreview(
        since=week.since,
        complete=week.complete,
        incidents=len(kept),
        messages=kept.total(),
        open=len(is_open),
        last=[
            PreviewIncident.model_validate(
                {
                    "id": one,
                    "title": week.incidents[one].title,
                    "severity": week.incidents[one].severity,
                    "state": week.incidents[one].state,
                    "first_at": first_at[one],
                    "messages": kept[one],
                }
            )
            for one in sorted(kept, reverse=True)[:_LISTED]
        ],
    )
