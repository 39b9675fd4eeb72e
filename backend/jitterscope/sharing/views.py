"""Links as members see them, and incidents as holders of links see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from jitterscope.changes.types import Change
from jitterscope.incidents.api.schemas import Incident, Transition
from jitterscope.incidents.api.verification_schemas import Verification
from jitterscope.incidents.api.views import cause_title
from jitterscope.incidents.lifecycle import actions
from jitterscope.kit.instant import time_of
from jitterscope.settings import settings
from jitterscope.sharing import links, store
from jitterscope.sharing.models import SharedLinkRow, SharingPolicyRow
from jitterscope.sharing.schemas import (
    SharedAffected,
    SharedChange,
    SharedEvidence,
    SharedIncident,
    SharedLink,
    SharedRival,
    SharedSpan,
    SharedSubject,
    SharedTransition,
    SharedVerification,
    SharingState,
)
from jitterscope.tenancy import members
from jitterscope.tenancy.scopes import Role

Who = Literal["jitterscope", "a member"]
# For these actions the service writes the detail itself; for others a member may have.
_OWN_WORDS = (
    "opened", "escalated", "reopened", "reclassified", "spread", "verified", "did_not_help", "made_worse",
    "not_known",
)  # fmt: skip


def links_of(session: Session, organization_id: int, rows: Sequence[SharedLinkRow]) -> list[SharedLink]:
    """Links with the titles of their incidents and whether they work now."""
    roles: Mapping[int, Role] = {one.user_id: one.role for one in members.listed(session, organization_id)}
    links_allowed = store.links_allowed(session)
    ids = {row.incident_id for row in rows}
    titles = actions.titles(session, ids)
    return [
        SharedLink(
            id=row.id,
            incident_id=row.incident_id,
            incident_title=titles[row.incident_id],
            hint=row.hint,
            created_by=row.created_by,
            created_at=row.created_at,
            expires_at=row.expires_at,
            revoked_at=row.revoked_at,
            last_used_at=row.last_used_at,
            state=links.ended(row, roles, links_allowed=links_allowed) or "active",
        )
        for row in rows
    ]


def state_of(row: SharingPolicyRow | None) -> SharingState:
    if row is None:
        return SharingState(links_allowed=True, changed_by=None, changed_at=None)
    return SharingState(links_allowed=row.links_allowed, changed_by=row.changed_by, changed_at=row.changed_at)


def url_of(secret: str) -> str:
    """The URL where a browser opens a link. The part after # stays in the browser: the page sends it in a header."""
    return f"{settings().public_url.rstrip('/')}/shared#{secret}"


def shared_incident(incident: Incident, expires_at: datetime) -> SharedIncident:
    """What the holder of a link sees of an incident."""
    return SharedIncident(
        link_expires_at=expires_at,
        cause=incident.cause,
        cause_title=incident.cause_title,
        title=incident.title,
        summary=incident.summary,
        severity=incident.severity,
        harm=incident.harm,
        confidence=incident.confidence,
        state=incident.state,
        subject=SharedSubject(kind=incident.subject.kind, name=incident.subject.name, node=incident.subject.node),
        also_affected=[
            SharedAffected(
                name=one.name, node=one.node, first_at=one.first_at, last_at=one.last_at, figures=one.figures
            )
            for one in incident.also_affected
        ],
        opened_at=incident.opened_at,
        onset_at=incident.onset_at,
        last_seen_at=incident.last_seen_at,
        resolved_at=incident.resolved_at,
        window_from=incident.window_from,
        window_to=incident.window_to,
        trigger_at=incident.trigger_at,
        figures=incident.figures,
        evidence=[
            SharedEvidence(
                id=one.id,
                statement=one.statement,
                value=one.value,
                comparison=one.comparison,
                series=[SharedSpan(from_us=at.from_us, to_us=at.to_us) for at in one.series[:1]],
            )
            for one in incident.evidence
        ],
        rivals=rivals_of(incident),
        fixes=incident.fixes,
        references=incident.references,
        history=[_transition(one) for one in incident.history],
        verification=None if incident.verification is None else _verification(incident.verification),
    )


_REPORTED = {"deploy": "Deploy", "config": "Change of configuration", "scale": "Change of scale", "other": "Change"}


def shared_change(one: Change, subject: str) -> SharedChange:
    """What the holder of a link sees of a change: of one seen in facts its text, of a report that there was one."""
    if one.seen is None:
        return SharedChange(at=time_of(one.at_us), origin="reported", text=_REPORTED[one.kind], what=subject)
    return SharedChange(at=time_of(one.at_us), origin="seen", text=one.text, what=one.what)


def rivals_of(incident: Incident) -> list[SharedRival]:
    """Other causes that were considered, including those without enough data."""
    found = [
        SharedRival(cause=one.cause, title=one.title, status=one.status, reason=one.reason) for one in incident.rivals
    ]
    named = {one.cause for one in found}
    return found + [
        SharedRival(cause=one.cause, title=cause_title(one.cause), status="not_enough_data", reason=one.reason)
        for one in incident.not_enough_data
        if one.cause not in named
    ]


def _transition(one: Transition) -> SharedTransition:
    return SharedTransition(
        at=one.at, by=_who(one.actor), action=one.action, detail=one.detail if one.action in _OWN_WORDS else None
    )


def _verification(one: Verification) -> SharedVerification:
    shown = {name: getattr(one, name) for name in SharedVerification.model_fields}
    return SharedVerification.model_validate(shown | {"started_by": _who(one.started_by)})


def _who(actor: str) -> Who:
    return "jitterscope" if actor == "jitterscope" else "a member"
