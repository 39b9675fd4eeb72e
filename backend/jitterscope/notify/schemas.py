"""REST shapes of notification channels and their deliveries. Secrets go in and never come out."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from jitterscope.diagnosis.core.finding import Severity
from jitterscope.kit.schema import Schema
from jitterscope.notify.payload import DEFAULT_ACTIONS, Action

DeliveryState = Literal["pending", "sending", "sent", "dead"]


class ChannelKindInfo(Schema):
    """A kind of channel and the JSON schema of its `config`; properties with `writeOnly` are secrets."""

    kind: str
    title: str
    config_schema: dict[str, Any]


class ChannelCreate(Schema):
    kind: str = Field(max_length=40)
    name: str = Field(min_length=1, max_length=100)
    config: dict[str, Any] = Field(description="By kind: see GET /channels/kinds")
    enabled: bool = True
    min_severity: Severity = "warning"
    actions: list[Action] = Field(default_factory=lambda: list(DEFAULT_ACTIONS), max_length=20)


class ChannelUpdate(Schema):
    """What is left out stays. A new `config` replaces the old one whole: secrets cannot be read back to be merged."""

    name: str | None = Field(default=None, min_length=1, max_length=100)
    config: dict[str, Any] | None = None
    enabled: bool | None = None
    min_severity: Severity | None = None
    actions: list[Action] | None = Field(default=None, max_length=20)


class Channel(Schema):
    id: int
    kind: str
    name: str
    target: str  # where it goes, without secrets
    enabled: bool
    min_severity: Severity
    actions: list[str]
    created_at: datetime
    pending: int
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
    last_status: int | None
    last_error: str | None
    created_at: datetime
    sent_at: datetime | None


class ChannelTestResult(Schema):
    """What became of a test message, sent while you waited."""

    ok: bool
    status: int | None
    detail: str
    took_ms: float
