"""The notification payload: what a webhook receives, and what chat messages are written from. Version 1.

Additive changes keep the version. `docs/webhooks.md` explains it; `contracts/webhooks/v1.schema.json` is generated.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from jitterscope.diagnosis.core.finding import Harm, Impact
from jitterscope.diagnosis.core.quantity import Unit

Action = Literal[
    "opened", "escalated", "acknowledged", "unacknowledged", "resolved", "reopened", "reclassified", "fix_applied",
    "verified", "did_not_help", "made_worse", "not_known", "noted", "unmuted", "muted", "test",
]  # fmt: skip
# Actions that channels are notified of; `muted` changes what they show but sends no message.
ACTIONS: tuple[Action, ...] = (
    "opened", "escalated", "acknowledged", "unacknowledged", "resolved", "reopened", "reclassified", "fix_applied",
    "verified", "did_not_help", "made_worse", "not_known", "noted", "unmuted",
)  # fmt: skip
SHOWN: frozenset[str] = frozenset({*ACTIONS, "muted"})
# The actions of a new channel unless it says otherwise.
DEFAULT_ACTIONS: tuple[Action, ...] = (
    "opened", "escalated", "acknowledged", "resolved", "reopened", "reclassified", "fix_applied", "verified",
    "did_not_help", "made_worse", "not_known", "unmuted",
)  # fmt: skip


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_serialization_defaults_required=True)


class PayloadSubject(Part):
    """The resource that stalls: a cgroup (container, pod, systemd unit) or a node. Its Kubernetes names are
    null if no collector knows them; `workload` is the controller (Deployment, StatefulSet …)."""

    kind: str
    key: str
    name: str
    node: str
    namespace: str | None = None
    workload: str | None = None
    pod: str | None = None
    container: str | None = None


class PayloadEvidence(Part):
    """One measured statement, ready to show."""

    statement: str
    value: str
    comparison: str | None


class PayloadFix(Part):
    """The fix listed first: `verdict` says whether it removes or only reduces the stall."""

    id: str
    title: str
    summary: str
    verdict: Literal["removes", "reduces", "cannot_help", "unknown"]


class PayloadMeasure(Part):
    """One figure before and after a fix. `predicted_*` is the 90 % interval for what was applied, null without one."""

    metric: str
    title: str
    unit: Unit
    before: float | None
    after: float | None
    predicted_low: float | None
    predicted_high: float | None
    inside: bool | None


class PayloadChange(Part):
    """One setting with readable values. Null: not set, or not known."""

    name: str
    title: str
    old: str | None
    new: str | None


class PayloadVerification(Part):
    """An applied fix and its result so far. `measures` is empty until there is a verdict."""

    state: Literal["waiting", "verified", "did_not_help", "made_worse", "replaced"]
    fix_id: str | None
    fix_title: str
    applied_at: datetime
    changes: list[PayloadChange]
    verdict: str | None
    measures: list[PayloadMeasure]


class PayloadMute(Part):
    """What mutes the incident. `only_this`: only this incident. `until` is null if a person has to end it."""

    until: datetime | None
    by: str
    reason: str
    only_this: bool


class PayloadIncident(Part):
    """The incident as it was after the transition."""

    id: int
    url: str
    cause: str
    cause_title: str
    title: str
    summary: str
    severity: Literal["critical", "warning", "info"]
    confidence: Literal["high", "medium", "low"]
    state: Literal[
        "open", "acknowledged", "fix_applied", "did_not_help", "made_worse", "verified", "resolved", "not_known"
    ]
    subject: PayloadSubject
    onset_at: datetime
    last_seen_at: datetime
    # Figures of the strongest window by id, units in the names (ratios are 0..1); unknown figures are left out.
    impact: Impact
    evidence: list[PayloadEvidence]
    top_fix: PayloadFix | None
    # Whether harm was measured; payloads queued without this field are about measured harm.
    harm: Harm = "measured"
    # With the transitions fix_applied, verified, did_not_help, and made_worse.
    verification: PayloadVerification | None = None
    # While it is muted: no notifications are sent, but existing messages show it.
    mute: PayloadMute | None = None


class PayloadTransition(Part):
    """What changed. `id` is unique in the service and grows; the same transition never has two ids."""

    id: int
    action: Action
    at: datetime
    actor: str
    detail: str | None


class Payload(Part):
    """One notification."""

    version: Literal[1]
    # "incident.<action>"
    type: str
    organization_id: int
    transition: PayloadTransition
    incident: PayloadIncident
