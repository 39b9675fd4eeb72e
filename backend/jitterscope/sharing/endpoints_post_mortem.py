"""The post-mortem of an incident as Markdown, to edit elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from jitterscope.bounds import QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.finding import Found
from jitterscope.incidents.api import views, whole
from jitterscope.incidents.api.harm_words import harm_reason
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.verification import verifications
from jitterscope.incidents.verification.views import verification_of
from jitterscope.notify.outbox import sent_at
from jitterscope.sharing.post_mortem import Told, markdown
from jitterscope.tenancy.auth import Principal, require

router = APIRouter(tags=["sharing"])


@router.get(
    "/incidents/{incident_id}/post-mortem",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}, "description": "Markdown"}},
)
@bounded(QUICK)
def get_post_mortem(principal: Annotated[Principal, Depends(require("incidents:read"))], incident_id: int) -> Response:
    """A post-mortem with timeline, harm, cause, evidence, fixes, verification and the notes of members."""
    with organization_session(principal.organization_id) as session:
        row = actions.get(session, incident_id)
        made = verifications.of_incident(session, row.id)
        told = Told(
            incident=whole.incident(session, row),
            harm=harm_reason(Found.model_validate(row.finding)),
            verifications=[verification_of(one) for one in made],
            notified=sent_at(session, row.id),
            url=views.incident_url(row.id),
            at=datetime.now(UTC),
        )
    headers = {"Content-Disposition": f'inline; filename="post-mortem-{incident_id}.md"'}
    return Response(markdown(told), media_type="text/markdown; charset=utf-8", headers=headers)
