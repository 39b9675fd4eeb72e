"""Predicts the effect of the change that was made, from the data before it, to compare the outcome with."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.landing import Facts
from jitterscope.diagnosis.core.registry import area_of
from jitterscope.diagnosis.core.snapshot import FactValue, Snapshot
from jitterscope.incidents.verification import window

# As long as a default what-if; more data would add little.
_MOST_US = 600_000_000


def predicted(
    session: Session,
    cause_id: str,
    before_subject_id: int,
    before: tuple[int, int],
    after_subject_id: int,
    after: tuple[int, int],
    seen: tuple[Facts, Facts],
) -> dict[str, Interval]:
    """By measure id, for the settings in effect in `after`, from the recording of `before` ([from_us, to_us)).

    `seen` is what only a window shows of both sides: the subjects get it as facts. Empty if one of them cannot be read,
    or if nothing that the area can replay has changed.
    """
    predict = area_of(cause_id).predict_change
    from_us, to_us = before
    if predict is None:
        return {}
    old = window.whole(session, before_subject_id, max(from_us, to_us - _MOST_US), to_us, to_us)
    new = window.whole(session, after_subject_id, *after, after[1])
    if old is None or new is None:
        return {}
    return dict(predict(_with(old, seen[0]), _with(new, seen[1])))


def _with(snapshot: Snapshot, seen: Facts) -> Snapshot:
    subject = snapshot.subject
    added = [FactValue(name, value, snapshot.start_us) for name, value in seen.items() if subject.fact(name) is None]
    return replace(snapshot, subject=replace(subject, facts=(*subject.facts, *added)))
