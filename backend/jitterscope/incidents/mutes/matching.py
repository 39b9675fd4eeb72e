"""Which incidents a mute covers, and how long it is in effect. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from jitterscope.notify.conditions import Conditions, Place, matches
from jitterscope.notify.quiet_hours import WeeklyHours

# For a mute without an end: it is in effect until a user ends it.
FOREVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Muting:
    """The conditions of a mute; all that are given must match."""

    id: int
    incident_id: int | None
    resource_id: int | None
    severities: frozenset[str]
    conditions: Conditions
    hours: WeeklyHours | None
    until: datetime | None
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An incident as mutes see it. `resources`: its subject, and the subject's successor.

    `places`: its subject and the others that it reached.
    """

    incident_id: int
    resources: frozenset[int]
    severity: str
    cause: str
    places: tuple[Place, ...]


def covers(muting: Muting, one: Candidate) -> bool:
    """Whether a mute covers an incident.

    Patterns must match every place that the incident reached: a mute of one namespace must not silence trouble that
    spread to another.
    """
    return (
        muting.incident_id in (None, one.incident_id)
        and (muting.resource_id is None or muting.resource_id in one.resources)
        and (not muting.severities or one.severity in muting.severities)
        and all(matches(muting.conditions, one.cause, (place,)) for place in one.places)
    )


def holds_until(muting: Muting, at: datetime) -> datetime | None:
    """When the period around a time ends; None if the mute is not in effect then."""
    end = FOREVER if muting.until is None else muting.until
    if end <= at:
        return None
    if muting.hours is None:
        return end
    stretch = muting.hours.ends(at)
    return None if stretch is None else min(stretch, end)


@dataclass(frozen=True, slots=True)
class Cover:
    """What currently mutes an incident. `until`: None if a user must end it."""

    muting: Muting
    until: datetime | None


def longest(mutings: Iterable[Muting], one: Candidate, at: datetime) -> Cover | None:
    """Of the mutes that cover the incident at a time, the one in effect longest; among equals, the oldest."""
    held = [
        (until, muting) for muting in mutings if (until := holds_until(muting, at)) is not None and covers(muting, one)
    ]
    if not held:
        return None
    until, muting = max(held, key=lambda pair: (pair[0], -pair[1].id))
    return Cover(muting, None if until == FOREVER else until)
