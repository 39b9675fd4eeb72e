"""REST shapes of notification channels and their deliveries. Secrets go in and never come out."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from jitterscope.diagnosis.core.finding import Severity
from jitterscope.kit.schema import Schema
from jitterscope.notify.conditions import Conditions
from jitterscope.notify.payload import DEFAULT_ACTIONS, Action
from jitterscope.notify.quiet_hours import QuietHours

DeliveryState = Literal["pending", "sending", "sent", "dead", "skipped"]


class ChannelKindInfo(Schema):
    """A kind of channel and the JSON schema of its `config`. Properties with `writeOnly` are secrets, those with
    `multiline` take several lines, and those with `advanced` are rarely needed."""

    kind: str
    title: str
    config_schema: dict[str, Any]
    unavailable: str | None = Field(description="Why this installation cannot use it")
    silent_actions: list[Action] = Field(description="Actions that this kind never sends")


class ChannelFilter(Schema):
    """Which messages a channel gets. A channel that got a message about an incident also gets the later ones."""

    min_severity: Severity = "warning"
    actions: list[Action] = Field(default_factory=lambda: list(DEFAULT_ACTIONS), max_length=20)
    conditions: Conditions = Field(default_factory=Conditions)
    quiet_hours: QuietHours | None = None


class ChannelCreate(ChannelFilter):
    kind: str = Field(max_length=40)
    name: str = Field(min_length=1, max_length=100)
    config: dict[str, Any] = Field(description="Depends on the kind: see GET /channels/kinds")
    enabled: bool = True


class ChannelUpdate(Schema):
    """Omitted fields stay unchanged. A new `config` replaces the whole old one: secrets cannot be read back."""

    name: str | None = Field(default=None, min_length=1, max_length=100)
    config: dict[str, Any] | None = None
    enabled: bool | None = None
    min_severity: Severity | None = None
    actions: list[Action] | None = Field(default=None, max_length=20)
    conditions: Conditions | None = None
    quiet_hours: QuietHours | None = Field(default=None, description="null, if given: none")


class Channel(Schema):
    id: int
    kind: str
    name: str
    target: str  # where it goes, without secrets
    enabled: bool
    min_severity: Severity
    actions: list[str]
    conditions: Conditions
    quiet_hours: QuietHours | None
    created_at: datetime
    pending: int  # held ones included
    held: int = Field(description="Messages that wait for the end of quiet hours")
    held_back: int = Field(
        description="Messages above what the organization may send in an hour: a summary will say how many they were"
    )
    dead: int
    last_sent_at: datetime | None
    last_error: str | None


class Delivery(Schema):
    id: int
    key: str  # the Idempotency-Key that the receiver saw
    type: str
    incident_id: int
    transition_id: int
    state: DeliveryState
    attempts: int
    maybe_sent: bool  # an attempt of unknown fate was made: the receiver may have it although it is sent again
    next_attempt_at: datetime | None
    held_until: datetime | None = Field(description="End of the quiet hours that it waits, or waited, for")
    held_back: int | None = Field(description="It is the summary of this many messages that were held back")
    last_status: int | None
    last_error: str | None
    created_at: datetime
    sent_at: datetime | None


class ChannelTestResult(Schema):
    """The result of a test message, which was sent during the request."""

    ok: bool
    status: int | None
    detail: str
    took_ms: float
