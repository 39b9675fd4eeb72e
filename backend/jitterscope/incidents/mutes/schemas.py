"""REST shapes of mutes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from jitterscope.diagnosis.core.finding import Severity
from jitterscope.incidents.api.schemas import IncidentState
from jitterscope.kit.schema import Schema
from jitterscope.notify.conditions import Conditions
from jitterscope.notify.quiet_hours import WeeklyHours

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class MuteFilter(Schema):
    """What a mute covers: all given conditions must match. Patterns must match every place that an incident reached; a
    resource is compared only with the incident's subject."""

    incident_id: int | None = Field(default=None, description="This incident only")
    resource_id: int | None = Field(default=None, description="Incidents whose subject is this resource")
    severities: list[Severity] = Field(default_factory=list, max_length=3, description="Empty: all")
    conditions: Conditions = Field(default_factory=Conditions)
    hours: WeeklyHours | None = Field(default=None, description="The mute applies only in these hours; null: always")


class MuteCreate(MuteFilter):
    until: datetime | None = Field(
        default=None, description="With a time zone, at most 366 days ahead. Required without `hours` or `incident_id`"
    )
    reason: Reason


class Mute(MuteFilter):
    id: int
    incident_title: str | None
    resource_name: str | None = Field(description="Null if the resource is no longer stored")
    until: datetime | None
    reason: str
    created_by: str
    created_at: datetime
    ended_at: datetime | None = Field(description="When it was ended or expired")
    ended_by: str | None = Field(description="Null if it expired")
    state: Literal["holds", "waits", "ended"] = Field(description="waits: outside its weekly hours")
    holds_until: datetime | None = Field(
        description="End of the current period; null: it has no end, or is not in effect"
    )
    incidents: list[int] = Field(description="Open incidents that it mutes now")


class PreviewIncident(Schema):
    id: int
    title: str
    severity: Severity
    state: IncidentState
    first_at: datetime = Field(description="When the first message would have been muted")
    messages: int


class MutePreview(Schema):
    """As if the mute had existed since `since`, whatever its `until`: 7 days ago or, if `complete` is false, since the
    first of the last 5,000 changes of incidents. Messages are changes that a channel could have been notified of."""

    since: datetime
    complete: bool
    incidents: int
    messages: int
    open: int = Field(description="Open incidents that it would mute now")
    last: list[PreviewIncident] = Field(description="The last 20 incidents, newest first")
