"""Which change came shortly before an incident began: one line of evidence, presented as a coincidence in time.

It is looked up when the incident is shown, not stored: a pipeline reports when it is done, which is often after the
incident was opened.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope.changes import service as changes
from jitterscope.changes.types import Change
from jitterscope.diagnosis.core.finding import Evidence
from jitterscope.incidents.models import IncidentRow
from jitterscope.inventory import service as inventory
from jitterscope.kit.instant import us_of

SHORTLY_US = 10 * 60 * 1_000_000
_DAY_US = 24 * 3600 * 1_000_000
_MOST_CHARACTERS = 160


def before_onset(session: Session, row: IncidentRow) -> list[Evidence]:
    """At most one line: the newest change of the subject, its workload, or its node in the 10 min before the onset.

    Changes after the onset are not mentioned.
    """
    subject = inventory.resource(session, row.subject_id)
    if subject is None:
        return []
    onset_us = us_of(row.onset_at)
    day, complete = changes.of_subject(session, subject, onset_us - _DAY_US, onset_us)
    shortly = [one for one in day if one.at_us >= onset_us - SHORTLY_US]
    if not shortly:
        return []
    newest, others = shortly[0], len(shortly) - 1
    after_s = (onset_us - newest.at_us) / 1e6
    more = f", and {others} more in the 10 min before" if others else ""
    often = f"{'' if complete else 'at least '}{len(day)} {'change' if len(day) == 1 else 'changes'} in the 24 h before"
    return [
        Evidence(
            id="changes.before",
            statement=f"Change before the onset ({newest.what})",
            value=f"Began {_seconds(after_s)} after {_short(newest)}{more}",
            comparison=f"coincidence in time, not proof; {often}",
            numbers={"after_s": after_s, "changes_24h": float(len(day))},
        )
    ]


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"


def _short(change: Change) -> str:
    return change.text if len(change.text) <= _MOST_CHARACTERS else f"{change.text[: _MOST_CHARACTERS - 1]}…"
