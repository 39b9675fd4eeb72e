"""Microsoft Teams: an Adaptive Card for a webhook of the Workflows app.

The workflow is "Post to a channel when a webhook request is received". Text goes into text runs, which are not parsed
as Markdown: names come from outside and must not form links.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from jitterscope.notify import wording
from jitterscope.notify.kind import LONGEST_URL, ChannelKind, HttpRequest, Message, judge_status, post_json
from jitterscope.notify.payload import Payload
from jitterscope.notify.target import check_url

# Teams accepts messages of 28 KB; the rest is for what surrounds the card.
_CARD_BYTES = 26_000
_TEXT_CHARACTERS = 2000
_COLORS = {"critical": "Attention", "warning": "Warning", "info": "Accent"}


class TeamsConfig(BaseModel):
    """The address that the workflow shows; anyone who knows it can post."""

    model_config = ConfigDict(extra="forbid")

    webhook_url: SecretStr = Field(
        description="The URL that the Workflows app gives for the webhook", max_length=LONGEST_URL
    )

    @field_validator("webhook_url")
    @classmethod
    def _webhook_url(cls, value: SecretStr) -> SecretStr:
        check_url(value.get_secret_value())
        return value


def card(payload: Payload) -> dict[str, Any]:
    """An Adaptive Card of version 1.4. The least important parts are left out if it would be too large."""
    body = _body(payload)
    while len(body) > 2 and _size(body) > _CARD_BYTES:
        del body[-2]  # the last one names the author
    return {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "fallbackText": wording.shortened(wording.headline(payload), _TEXT_CHARACTERS),
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": "Open incident", "url": payload.incident.url}],
    }


def _body(payload: Payload) -> list[dict[str, Any]]:
    incident, verification = payload.incident, payload.incident.verification
    over = "Good" if wording.is_gone(payload) else "Default"
    color = over if wording.is_over(payload) else _COLORS[incident.severity]
    body = [
        _text([_run(wording.head(payload), color=color, weight="Bolder")]),
        _text([_run(incident.title, weight="Bolder", size="Medium")]),
    ]
    if payload.transition.detail:
        body.append(_text([_run(payload.transition.detail)]))
    if verification is not None:
        if changed := wording.changes(verification):
            body += [
                _text([_run(f"Changed at {verification.applied_at:%H:%M:%SZ}", weight="Bolder")]),
                *_items(changed),
            ]
        body += [_pair(title, value) for title, value in wording.measures(verification)]
    if wording.says_all(payload):
        body += [_pair(title, value) for title, value in wording.impact(payload)]
        if incident.evidence:
            body += [_text([_run("Evidence", weight="Bolder")]), *_items(map(wording.evidence, incident.evidence))]
        if (fix := incident.top_fix) is not None:
            body += [_pair(wording.FIX_VERDICTS[fix.verdict], fix.title), _text([_run(fix.summary)])]
    body.append(_text([_run(wording.byline(payload), isSubtle=True, size="Small")]))
    return body


def _items(texts: Iterable[str]) -> list[dict[str, Any]]:
    return [_text([_run(f"• {one}")], spacing="Small") for one in texts]


def _pair(title: str, value: str) -> dict[str, Any]:
    return _text([_run(f"{title}: ", weight="Bolder"), _run(value)], spacing="Small")


def _text(runs: list[dict[str, Any]], **look: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": runs, **look}


def _run(text: str, **look: str | bool) -> dict[str, Any]:
    return {"type": "TextRun", "text": wording.shortened(text, _TEXT_CHARACTERS), **look}


def _size(body: list[dict[str, Any]]) -> int:
    return len(json.dumps(body, ensure_ascii=False).encode())


def _build(config: TeamsConfig, message: Message) -> HttpRequest:
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card(message.payload),
    }
    content = {"type": "message", "attachments": [attachment]}
    return post_json(config.webhook_url.get_secret_value(), content, {"Idempotency-Key": message.key})


CHANNEL = ChannelKind(
    kind="teams",
    title="Microsoft Teams",
    config_model=TeamsConfig,
    describe=lambda config: str(urlsplit(config.webhook_url.get_secret_value()).hostname),
    build=_build,
    judge=judge_status,
)
