"""The post-mortem of an incident as Markdown: written from the data, or as members edited it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from jitterscope.answers import refuses
from jitterscope.bounds import QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.finding import Found
from jitterscope.incidents.api import views, whole
from jitterscope.incidents.api.harm_words import harm_reason
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.verification import verifications
from jitterscope.incidents.verification.views import verification_of
from jitterscope.kit.declared import audited
from jitterscope.notify.outbox import sent_at
from jitterscope.sharing import post_mortems
from jitterscope.sharing.post_mortem import Told, markdown
from jitterscope.sharing.schemas import PostMortem, PostMortemEdit
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["sharing"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]
Writer = Annotated[Principal, Depends(require("incidents:write"))]
_MEANWHILE = "Another member edited or discarded the text in the meantime."


@router.get(
    "/incidents/{incident_id}/post-mortem",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}, "description": "Markdown"}},
)
@bounded(QUICK)
def get_post_mortem(
    principal: Reader,
    incident_id: int,
    from_data: Annotated[bool, Query(description="Generate it from the data, even if members edited it")] = False,
) -> Response:
    """The text as members edited it or, if never edited, one generated from the data: timeline, harm, cause, evidence,
    fixes, verification, and notes of members. `ETag` is its version, 0 if it is generated."""
    with organization_session(principal.organization_id) as session:
        row = actions.get(session, incident_id)
        kept = None if from_data else post_mortems.stored(session, row.id)
        if kept is not None:
            return _answer(incident_id, kept.content, kept.version)
        made = verifications.of_incident(session, row.id)
        told = Told(
            incident=whole.incident(session, row),
            harm=harm_reason(Found.model_validate(row.finding)),
            verifications=[verification_of(one) for one in made],
            notified=sent_at(session, row.id),
            url=views.incident_url(row.id),
            at=datetime.now(UTC),
        )
    return _answer(incident_id, markdown(told), 0)


@router.get("/incidents/{incident_id}/post-mortem/edits")
@bounded(QUICK)
def get_post_mortem_edits(principal: Reader, incident_id: int) -> PostMortem:
    """Whether members edited the post-mortem, who did last, and the edited text."""
    with organization_session(principal.organization_id) as session:
        actions.get(session, incident_id)
        return post_mortems.shown(post_mortems.stored(session, incident_id))


@router.put("/incidents/{incident_id}/post-mortem/edits", dependencies=[audited("post_mortem.edited")])
@bounded(QUICK)
@refuses(409, _MEANWHILE)
def edit_post_mortem(principal: Writer, incident_id: int, request: PostMortemEdit) -> PostMortem:
    """Save an edited text. `version` is the version that was edited, so that no edit silently overwrites another."""
    with organization_session(principal.organization_id) as session:
        row = post_mortems.keep(session, principal, incident_id, request.content, request.version)
        session.flush()
        return post_mortems.shown(row)


@router.delete("/incidents/{incident_id}/post-mortem/edits", dependencies=[audited("post_mortem.discarded")])
@bounded(QUICK)
@refuses(409, _MEANWHILE)
def discard_post_mortem(
    principal: Writer, incident_id: int, version: Annotated[int, Query(ge=0, description="Version to discard")]
) -> PostMortem:
    """Discard the edited text: the post-mortem is generated from the data again."""
    with organization_session(principal.organization_id) as session:
        post_mortems.discard(session, principal, incident_id, version)
    return post_mortems.shown(None)


def _answer(incident_id: int, content: str, version: int) -> Response:
    headers = {"Content-Disposition": f'inline; filename="post-mortem-{incident_id}.md"', "ETag": f'"{version}"'}
    return Response(content, media_type="text/markdown; charset=utf-8", headers=headers)
