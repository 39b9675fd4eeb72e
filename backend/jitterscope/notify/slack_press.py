"""Presses of buttons in our Slack messages: who signed one, its incident, and who pressed which button. Pure.

Slack signs each request with the secret of the app: HMAC-SHA256 over "v0:TIMESTAMP:BODY"
(https://api.slack.com/authentication/verifying-requests-from-slack). The button's block names organization, channel,
and incident; these are trusted only once that channel's secret has verified the signature.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

# How long a signature is valid.
TOLERANCE_S = 300
# Value → title and duration.
MUTES = {
    "1h": ("1 hour", timedelta(hours=1)),
    "4h": ("4 hours", timedelta(hours=4)),
    "1d": ("1 day", timedelta(days=1)),
    "1w": ("1 week", timedelta(weeks=1)),
}
ACTIONS = ("open", "acknowledge", "unacknowledge", "mute", "unmute")
_BLOCK = re.compile(r"^jitterscope:(\d{1,18}):(\d{1,18}):(\d{1,18})$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class NotAPress(ValueError):
    """The body is not a press of one of our buttons."""


@dataclass(frozen=True, slots=True)
class Press:
    """One press. `value` is that of the chosen menu option. `conversation` is Slack's id of the channel."""

    organization_id: int
    channel_id: int
    incident_id: int
    action: str
    value: str | None
    user_id: str
    user_name: str
    conversation: str | None
    response_url: str | None

    @property
    def who(self) -> str:
        """The presser's name in histories and the audit trail."""
        return f"{self.user_name} (Slack {self.user_id})"


def block_id(organization_id: int, channel_id: int, incident_id: int) -> str:
    """The id of the block with the buttons."""
    return f"jitterscope:{organization_id}:{channel_id}:{incident_id}"


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The signature that Slack sends in X-Slack-Signature."""
    digest = hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256)
    return f"v0={digest.hexdigest()}"


def is_signed(secret: str, timestamp: str, body: bytes, signature: str) -> bool:
    """Whether the holder of the secret signed it; in constant time."""
    return hmac.compare_digest(sign(secret, timestamp, body).encode(), signature.encode())


def is_fresh(timestamp: str, now_s: float) -> bool:
    """Whether a signature of that time is still valid."""
    return timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12 and (
        abs(now_s - int(timestamp)) <= TOLERANCE_S
    )  # fmt: skip


def parse(body: bytes) -> Press:
    """The contents of a request, trusted or not. Raises NotAPress."""
    try:
        [text] = parse_qs(body.decode(), max_num_fields=20)["payload"]
        content = json.loads(text)
        [action] = content["actions"]
        found = _BLOCK.match(str(action["block_id"]))
        user = content["user"]
        if content["type"] != "block_actions" or found is None or action["action_id"] not in ACTIONS:
            raise NotAPress("it is not about a Jitterscope button")
        organization_id, channel_id, incident_id = map(int, found.groups())
        return Press(
            organization_id=organization_id,
            channel_id=channel_id,
            incident_id=incident_id,
            action=str(action["action_id"]),
            value=_text(action.get("selected_option") or {}, "value"),
            user_id=_clean(user["id"]),
            user_name=_clean(user.get("username") or user.get("name") or "unknown user"),
            conversation=_text(content.get("channel") or {}, "id"),
            response_url=_text(content, "response_url"),
        )
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, NotAPress):
            raise
        raise NotAPress("it is not a Slack interaction payload") from None


def _text(content: dict[str, Any], name: str) -> str | None:
    found = content.get(name)
    return found if isinstance(found, str) else None


def _clean(value: object) -> str:
    return _CONTROL.sub("", str(value))[:80] or "unknown user"
