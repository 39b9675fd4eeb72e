"""REST shapes of links, and of what their holders see.

Those are lists of what is shown, not of what is left out: a field that incidents get later is not shared unasked.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from jitterscope.diagnosis.core.finding import Confidence, Fix, Harm, Severity
from jitterscope.diagnosis.core.shown import ImpactFigure
from jitterscope.incidents.api.schemas import IncidentState
from jitterscope.incidents.api.verification_schemas import (
    BlockSeries,
    SettingStep,
    VerificationState,
    VerifiedMeasure,
)
from jitterscope.kit.schema import Schema

DEFAULT_DAYS, MOST_DAYS = 7, 90
MOST_CHARACTERS = 200_000
# It cannot be stored.
_NO_NUL = r"^[^\x00]*$"


class SharedLinkRequest(Schema):
    expires_in_days: Annotated[int, Field(ge=1, le=MOST_DAYS)] = DEFAULT_DAYS


class SharedLink(Schema):
    """A link as members see it, without its secret. `state` says whether it works and, if not, why.

    owner_may_not: its creator has left, or may no longer share.
    """

    id: int
    incident_id: int
    incident_title: str
    hint: str = Field(description="The last four characters of the secret")
    created_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To within 10 s; null: never")
    state: Literal["active", "revoked", "expired", "forbidden", "owner_may_not"]


class NewSharedLink(Schema):
    """`url` is shown once: its secret is not stored. The secret follows #, so browsers do not send it to any server."""

    link: SharedLink
    url: str


class SharingPolicy(Schema):
    links_allowed: bool


class SharingState(SharingPolicy):
    """Whether links can be created and work, and who last changed that; null if it was never changed."""

    changed_by: str | None
    changed_at: datetime | None


class PostMortemEdit(Schema):
    content: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS, pattern=_NO_NUL, description="Markdown")]
    version: Annotated[int, Field(ge=0, description="Of the text that was edited; 0: the one generated from the data")]


class PostMortem(Schema):
    """A post-mortem as members edited it. Version 0: it was never edited and is generated from the data on request."""

    version: int
    content: str | None = Field(description="Markdown; null with version 0")
    edited_by: str | None
    edited_at: datetime | None


class SharedSpan(Schema):
    from_us: int
    to_us: int


class SharedSubject(Schema):
    kind: str
    name: str
    node: str


class SharedAffected(Schema):
    name: str
    node: str
    first_at: datetime
    last_at: datetime
    figures: list[ImpactFigure]


class SharedEvidence(Schema):
    id: str
    statement: str
    value: str
    comparison: str | None
    series: list[SharedSpan]  # where to look in the picture


class SharedRival(Schema):
    cause: str
    title: str
    status: Literal["ruled_out", "not_ruled_out", "not_enough_data"]
    reason: str


class SharedTransition(Schema):
    """One entry of the incident's history, without names of members and without what people wrote."""

    at: datetime
    by: Literal["jitterscope", "a member"]
    action: str
    detail: str | None


class SharedChange(Schema):
    """A change around the incident. A reported one has only its kind and time: people and pipelines wrote the rest."""

    at: datetime
    origin: Literal["reported", "seen"]
    text: str
    what: str


class SharedChanges(Schema):
    from_us: int
    to_us: int
    items: list[SharedChange] = Field(description="Newest first")


class SharedVerification(Schema):
    state: VerificationState
    started_by: Literal["jitterscope", "a member"]
    applied_at: datetime
    fix_title: str
    changes: list[SettingStep]
    subject_name: str
    before_from: datetime
    before_to: datetime
    after_from: datetime | None
    after_to: datetime | None
    waiting_for: str | None
    needed_s: float | None
    collected_s: float | None
    verdict: str | None
    measures: list[VerifiedMeasure]
    before: BlockSeries | None
    after: BlockSeries | None
    notes: list[str]
    finished_at: datetime | None


class SharedIncident(Schema):
    """One incident as the holder of a link sees it: without resource ids, names of members, or their notes."""

    link_expires_at: datetime
    cause: str
    cause_title: str
    title: str
    summary: str
    severity: Severity
    harm: Harm
    confidence: Confidence
    state: IncidentState
    subject: SharedSubject
    also_affected: list[SharedAffected]
    opened_at: datetime
    onset_at: datetime
    last_seen_at: datetime
    resolved_at: datetime | None
    window_from: datetime
    window_to: datetime
    trigger_at: datetime
    figures: list[ImpactFigure]
    evidence: list[SharedEvidence]
    rivals: list[SharedRival]
    fixes: list[Fix]
    references: list[str]
    history: list[SharedTransition]
    verification: SharedVerification | None
