"""What currently mutes an incident, kept in its row so that lists need no other table."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from jitterscope.incidents.lifecycle.reach import reach_of
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.mutes import store
from jitterscope.incidents.mutes.matching import Candidate, Cover, longest
from jitterscope.notify.conditions import Place


def candidate_of(row: IncidentRow, places: tuple[Place, ...]) -> Candidate:
    """The incident as mutes see it."""
    resources = frozenset({row.subject_id, row.lives_on})
    return Candidate(row.id, resources, row.severity, row.cause, places)


def cover_of(session: Session, row: IncidentRow) -> Cover | None:
    """What currently mutes the incident; None if nothing does."""
    now = datetime.now(UTC)
    mutings = store.mutings(session, now, row.id)
    if not mutings:
        return None
    places = reach_of(session, [row])[row.id].places
    return longest(mutings, candidate_of(row, places), now)


def put(row: IncidentRow, cover: Cover | None) -> None:
    """Record in the row what mutes it, or that nothing does."""
    if cover is None:
        row.muted, row.muted_until, row.mute = False, None, None
        return
    muting = cover.muting
    row.muted, row.muted_until = True, cover.until
    row.mute = {
        "id": muting.id,
        "by": muting.by,
        "reason": muting.reason,
        "only_this": muting.incident_id is not None,
        "recurs": muting.hours is not None,
    }


def in_words(cover: Cover, *, by: bool = True) -> str:
    """ "Until 2026-11-25 18:00:00Z, by Ada: known, fixed on Monday"."""
    until = "Until unmuted" if cover.until is None else f"Until {cover.until.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
    return f"{until}{f', by {cover.muting.by}' if by else ''}: {cover.muting.reason}"
