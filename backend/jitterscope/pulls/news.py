"""The next comment on a pull request: the verdict on its fix, or that the change was not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.landing import Seen
from jitterscope.diagnosis.core.registry import fix_of
from jitterscope.incidents.api.verification_schemas import Verification
from jitterscope.incidents.api.views import incident_url
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.verification import verifications
from jitterscope.incidents.verification.views import verification_of
from jitterscope.pulls import texts
from jitterscope.pulls.models import PullRequestRow

# A change that collectors can see is seen earlier than this, if it is deployed at all.
NOT_SEEN_AFTER = timedelta(hours=24)
_ENDS = ("verified", "did_not_help", "made_worse", "replaced")


@dataclass(frozen=True, slots=True)
class News:
    """A comment to write. `marker` is in its text; `verification_id` is None if it says that there is none."""

    text: str
    marker: str
    verification_id: int | None
    detail: Mapping[str, Any]


def of(session: Session, row: PullRequestRow) -> News | None:
    """The next comment; None if there is nothing new to say."""
    incident = actions.get(session, row.incident_id)
    made = map(verification_of, verifications.of_incident(session, incident.id))
    found = next((one for one in made if _is_of(one, row, incident.cause)), None)
    url = incident_url(incident.id)
    if found is not None:
        if found.state not in _ENDS or found.id <= (row.told_verification_id or 0):
            return None
        text = texts.comment(found, incident.id, url, row.fix_id)
        detail = {"incident": incident.id, "verification": found.id, "verdict": found.state}
        return News(text, texts.marker_of_comment(found.id), found.id, detail)
    if row.state != "merged" or row.reminded_at is not None or _may_still_land(row, incident.cause):
        return None
    text = texts.reminder(row.id, incident.id, url, fix_of(incident.cause, row.fix_id), incident.resolved_at)
    return News(text, texts.marker_of_reminder(row.id), None, {"incident": incident.id, "verdict": None})


def _is_of(verification: Verification, row: PullRequestRow, cause: str) -> bool:
    """Whether it measures what the pull request changed: the fix itself, or a change to its facts after the merge."""
    if verification.applied_at < row.opened_at:
        return False
    if verification.fix_id == row.fix_id:
        return True
    kind = fix_of(cause, row.fix_id)
    if row.merged_at is None or verification.applied_at < row.merged_at or kind is None:
        return False
    facts = kind.landing.facts if isinstance(kind.landing, Seen) else ()
    return any(step.name in facts for step in verification.changes)


def _may_still_land(row: PullRequestRow, cause: str) -> bool:
    """Whether the change may still be seen without manual action."""
    kind = fix_of(cause, row.fix_id)
    seen = kind is not None and isinstance(kind.landing, Seen)
    return seen and datetime.now(UTC) - (row.merged_at or row.opened_at) < NOT_SEEN_AFTER
