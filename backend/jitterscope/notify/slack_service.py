"""Presses of Slack buttons: verify the signature, handle each one once, and answer the presser."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from sqlalchemy.orm import Session

from jitterscope import worker
from jitterscope.db import after_commit
from jitterscope.errors import Problem
from jitterscope.notify.channels.slack import SlackConfig, takes_answers
from jitterscope.notify.channels_service import ChannelUnusable, open_config
from jitterscope.notify.models import ChannelRow, ThreadRow
from jitterscope.notify.outbox import deliver_soon
from jitterscope.notify.payload import Payload
from jitterscope.notify.slack_press import TOLERANCE_S, Press, is_fresh, is_signed
from jitterscope.notify.store import presses
from jitterscope.tenancy import limits
from jitterscope.tenancy.attempts import per_minute

# Whoever pressed waits no longer for an answer.
_ANSWERED_WITHIN_S = 30.0
# More than people press, and far less than the worker carries.
_PRESSES_PER_MINUTE = 60
# Compared if there is no secret, so that a channel that does not exist takes as long.
_NO_SECRET = hashlib.sha256(b"no channel").hexdigest()


def check(session: Session, press: Press, body: bytes, timestamp: str, signature: str, now_s: float) -> None:
    """Check that Slack sent the press for the app of the channel that it names. Raises Problem 401, 403.

    A channel that the organization does not have, one without buttons, and a wrong secret look the same.
    """
    if not is_fresh(timestamp, now_s):
        raise Problem(
            401, "request-expired", "Request too old",
            f"X-Slack-Request-Timestamp is not within {TOLERANCE_S // 60} minutes of the server's clock.",
            "Press the button again. If this repeats, set the server's clock.",
        )  # fmt: skip
    config = _config(session, press.channel_id)
    secret = None if config is None or config.signing_secret is None else config.signing_secret.get_secret_value()
    if not is_signed(secret or _NO_SECRET, timestamp, body, signature) or config is None or secret is None:
        raise Problem(
            401, "bad-signature", "Wrong signature",
            "X-Slack-Signature does not match the signing secret of the channel's app.",
            "Set the app's signing secret in the channel's configuration.",
        )  # fmt: skip
    # Names (#ops) are not compared: Slack sends ids.
    if config.channel and config.channel[0] in "CGD" and press.conversation not in (None, config.channel):
        raise Problem(
            403, "another-conversation", "Another conversation",
            f"The message is in {press.conversation}, but the channel posts to {config.channel}.",
            "Press the button in the conversation where Jitterscope posts.",
        )  # fmt: skip


def count(press: Press) -> None:
    """Count a press that `check` has accepted, as a request of its organization. Raises Problem 429."""
    per_minute(_PRESSES_PER_MINUTE, "presses", str(press.organization_id), str(press.channel_id)).take("presses")
    limits.spend(press.organization_id, {"requests": 1})


def _config(session: Session, channel_id: int) -> SlackConfig | None:
    row = session.get(ChannelRow, channel_id)
    if row is None:
        return None
    try:
        _, config = open_config(row)
    except ChannelUnusable:
        return None
    return config if isinstance(config, SlackConfig) else None


def once(session: Session, digest: bytes) -> None:
    """Record a signed request, in the transaction of its action. Raises Problem 409 if it was handled before."""
    if not presses.add(session, digest, forget_after=timedelta(seconds=3 * TOLERANCE_S)):
        raise Problem(409, "repeated", "Already handled", "This request was handled before.", "Press the button again.")


def show(session: Session, press: Press, payload: Payload) -> None:
    """Update the pressed message to the incident's current state.

    A message of an incoming webhook has no name and is changed through the URL that came with the press.
    """
    config = _config(session, press.channel_id)
    if config is None:
        return
    response_url = _response_url(config, press)
    wanted = payload.model_dump(mode="json")
    found = session.get(ThreadRow, (press.channel_id, press.incident_id), with_for_update=True)
    if found is None and config.bot_token is None and response_url is not None:
        found = ThreadRow(
            organization_id=press.organization_id,
            channel_id=press.channel_id,
            incident_id=press.incident_id,
            attempts=0,
        )
        session.add(found)
    if found is None:
        return
    if config.bot_token is None and response_url is not None:
        found.reference = {"response_url": response_url}
    found.wanted, found.attempts = wanted, 0
    session.flush()
    deliver_soon(session)


def say(session: Session, press: Press, text: str) -> None:
    """Tell only the presser what went wrong."""
    config = _config(session, press.channel_id)
    url = None if config is None else _response_url(config, press)
    if url is None:
        return
    organization_id = press.organization_id
    task = "notify.say_in_slack"
    after_commit(
        session,
        lambda: worker.send(task, expires_s=_ANSWERED_WITHIN_S, organization_id=organization_id, url=url, text=text),
    )


def _response_url(config: SlackConfig, press: Press) -> str | None:
    url = press.response_url
    return url if url is not None and takes_answers(config, url) else None
