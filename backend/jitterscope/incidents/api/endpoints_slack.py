"""Presses of buttons in Slack messages. Slack signs them; the channel's signing secret is their credential."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from jitterscope import bounds
from jitterscope.answers import refuses
from jitterscope.bounds import PRESS, bounded
from jitterscope.db import organization_session
from jitterscope.errors import Problem, not_found
from jitterscope.incidents.api.views import payload_of
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.lifecycle.reach import reach_of
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.mutes import service as mutes
from jitterscope.kit.declared import anyone, audited
from jitterscope.notify import slack_press, slack_service
from jitterscope.notify.payload import SHOWN
from jitterscope.notify.slack_press import MUTES, NotAPress, Press

router = APIRouter(prefix="/integrations/slack", tags=["channels"])
_CONTENT = {"application/x-www-form-urlencoded": {"schema": {"type": "string"}}}
_REASON = "Muted from Slack"


@dataclass(frozen=True, slots=True)
class SlackUser:
    """A user who pressed a button in Slack, as histories and the audit trail name them."""

    organization_id: int
    actor: str
    kind: str = "slack"
    user_id: int | None = None
    token_id: int | None = None


@router.post(
    "/interactions",
    response_class=Response,
    openapi_extra={"requestBody": {"required": True, "content": _CONTENT}},
    dependencies=[
        anyone("Slack signs it with the secret of the channel's app"),
        audited("incident.acknowledged", "incident.unacknowledged", "incident.muted", "incident.unmuted"),
    ],
)
@bounded(PRESS)
@refuses(400, "The request is not a press of a Jitterscope button.")
@refuses(401, "The signature does not match, or is too old.")
@refuses(403, "The message is not in the channel's conversation.")
@refuses(404, "The incident no longer exists in this organization.")
@refuses(409, "The request was already handled, the incident is resolved, or its history is full.")
async def slack_interactions(request: Request) -> Response:
    """Acknowledge or mute an incident with a button in a Slack message. The message is updated afterwards."""
    body = await request.body()
    await bounds.enter_by_network(request)
    headers = request.headers
    await run_in_threadpool(
        _press, body, headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    )
    return Response(status_code=200)


def _press(body: bytes, timestamp: str, signature: str) -> None:
    if not timestamp or not signature:
        raise Problem(
            401, "bad-signature", "Not signed", "X-Slack-Request-Timestamp and X-Slack-Signature are missing.",
            "Slack sends this request and signs it.",
        )  # fmt: skip
    try:
        press = slack_press.parse(body)
    except NotAPress as error:
        raise Problem(
            400, "no-press", "Not understood", f"The request is not valid: {error}.",
            "Set this address as the Request URL under Interactivity & Shortcuts of the Slack app.",
        ) from None  # fmt: skip
    refused: Problem | None = None
    with organization_session(press.organization_id) as session:
        slack_service.check(session, press, body, timestamp, signature, time.time())
        slack_service.count(press)
        if press.action == "open":
            return  # the browser follows the link; Slack still sends the press
        slack_service.once(session, hashlib.sha256(signature.encode()).digest())
        user = SlackUser(press.organization_id, press.who)
        try:
            _show(session, _do(session, user, press), press)
        except Problem as problem:
            slack_service.say(session, press, f"{problem.title}. {problem.detail}")
            refused = problem
    if refused is not None:
        raise refused


def _do(session: Session, user: SlackUser, press: Press) -> IncidentRow:
    number = press.incident_id
    match press.action:
        case "acknowledge":
            return actions.acknowledge(session, user, number, None)
        case "unacknowledge":
            return actions.unacknowledge(session, user, number)
        case "unmute":
            return mutes.unmute(session, user, number)
    title, duration = MUTES.get(press.value or "", (None, None))
    if title is None or duration is None:
        raise not_found("choice", press.value or "")
    return mutes.mute(session, user, number, datetime.now(UTC) + duration, _REASON)


def _show(session: Session, row: IncidentRow, press: Press) -> None:
    """Show the incident's current state in the message, even if the press changed nothing: it was outdated."""
    history = actions.history(session, row.id)
    last = next((one for one in reversed(history) if one.action in SHOWN), None)
    if last is not None:
        named = reach_of(session, [row])[row.id].subject
        slack_service.show(session, press, payload_of(row, last, named))
