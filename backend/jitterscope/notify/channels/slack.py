"""Slack: Block Kit messages through an incoming webhook or, with threads for updates, a bot token.

An incoming webhook returns no message id, so its updates are separate messages. With a bot token (scope chat:write;
channels:history or groups:history to look up deliveries of unknown outcome), updates are replies in the incident's
thread, whose first message is kept up to date, and a key in the message's metadata shows whether it arrived. With the
app's signing secret, messages have buttons (see slack_press.py).
"""

from __future__ import annotations

import json
import uuid
from typing import Any
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from jitterscope.notify.kind import (
    LONGEST_SECRET,
    LONGEST_URL,
    ChannelKind,
    HttpRequest,
    HttpResponse,
    Message,
    Verdict,
    judge_status,
    post_json,
)
from jitterscope.notify.slack_message import blocks, text
from jitterscope.notify.target import check_url

_EVENT_TYPE = "jitterscope_delivery"
# Transient errors of chat.postMessage (https://api.slack.com/methods/chat.postMessage).
_TRANSIENT = {"ratelimited", "rate_limited", "message_limit_exceeded", "internal_error", "fatal_error",
              "service_unavailable", "request_timeout", "team_added_to_org"}  # fmt: skip


class SlackConfig(BaseModel):
    """Either `webhook_url`, or `bot_token` and `channel`."""

    model_config = ConfigDict(extra="forbid")

    webhook_url: SecretStr | None = Field(
        default=None, description="https://hooks.slack.com/services/…", max_length=LONGEST_URL
    )
    bot_token: SecretStr | None = Field(default=None, description="xoxb-…", max_length=LONGEST_SECRET)
    channel: str | None = Field(default=None, pattern=r"^[A-Za-z0-9#_.-]{1,80}$", description="Channel id, C0123456789")
    signing_secret: SecretStr | None = Field(
        default=None,
        min_length=16,
        max_length=200,
        description="Signing secret of the app: adds buttons to acknowledge and mute; see docs/notifications.md",
    )
    api_url: str = Field(
        default="https://slack.com/api",
        max_length=LONGEST_URL,
        description="Another endpoint, for GovSlack and tests",
        json_schema_extra={"advanced": True},
    )

    @field_validator("webhook_url")
    @classmethod
    def _webhook_url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            check_url(value.get_secret_value())
        return value

    @field_validator("api_url")
    @classmethod
    def _api_url(cls, value: str) -> str:
        check_url(value)
        return value.rstrip("/")

    @model_validator(mode="after")
    def _one_way(self) -> SlackConfig:
        if (self.webhook_url is None) == (self.bot_token is None):
            raise ValueError("give either webhook_url, or bot_token and channel")
        if self.bot_token is not None and not self.channel:
            raise ValueError("a bot token needs the channel to post to")
        return self


def takes_answers(config: SlackConfig, url: str) -> bool:
    """Whether an answer to a press may go to a URL that came with it: Slack's, or of a service that the channel names.

    Whoever knows the signing secret chooses the URL. GovSlack has its hooks beside its API, as Slack does.
    """
    api = urlsplit(config.api_url)
    allowed = {("https", "hooks.slack.com"), (api.scheme, api.netloc), (api.scheme, f"hooks.{api.netloc}")}
    if config.webhook_url is not None:
        webhook = urlsplit(config.webhook_url.get_secret_value())
        allowed.add((webhook.scheme, webhook.netloc))
    try:
        check_url(url)
        asked = urlsplit(url)
    except ValueError:
        return False
    return len(url) <= LONGEST_URL and (asked.scheme, asked.netloc) in allowed


def _describe(config: SlackConfig) -> str:
    return f"bot in {config.channel}" if config.bot_token else "incoming webhook (updates are not threaded)"


def _build(config: SlackConfig, message: Message) -> HttpRequest:
    # Replies have no buttons: only the first message is kept up to date.
    is_reply = config.bot_token is not None and message.thread is not None
    answers = message.channel_id if config.signing_secret is not None and not is_reply else 0
    content: dict[str, Any] = {"text": text(message.payload), "blocks": blocks(message.payload, answers)}
    if config.bot_token is None:
        assert config.webhook_url is not None
        return post_json(config.webhook_url.get_secret_value(), content, {"Idempotency-Key": message.key})
    content |= {
        "channel": config.channel,
        "unfurl_links": False,
        # Slack accepts client_msg_id without promising to act on it; messages are looked up by their metadata.
        "client_msg_id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"jitterscope:{message.key}")),
        "metadata": {"event_type": _EVENT_TYPE, "event_payload": {"key": message.key}},
    }
    if message.thread is not None and "ts" in message.thread:
        content["channel"] = message.thread["channel"]
        content["thread_ts"] = message.thread["ts"]
        # People outside the thread should see these too.
        content["reply_broadcast"] = message.payload.transition.action in ("reopened", "escalated", "unmuted")
    headers = _authorization(config) | {"Idempotency-Key": message.key}
    return post_json(f"{config.api_url}/chat.postMessage", content, headers)


def _refresh(config: SlackConfig, message: Message) -> HttpRequest | None:
    """Update a message; for an incoming webhook, one whose button was pressed, through the URL from the press."""
    answers = message.channel_id if config.signing_secret is not None else 0
    content: dict[str, Any] = {
        "text": text(message.payload), "blocks": blocks(message.payload, answers, whole=True),
    }  # fmt: skip
    if message.thread is None:
        return None
    if config.bot_token is None:
        address = message.thread.get("response_url")
        return None if address is None else post_json(address, content | {"replace_original": True}, {})
    if "ts" not in message.thread:
        return None
    content |= {"channel": message.thread["channel"], "ts": message.thread["ts"]}
    return post_json(f"{config.api_url}/chat.update", content, _authorization(config))


def _judge(response: HttpResponse) -> Verdict:
    if response.status != 200:
        return judge_status(response)
    answer = _json(response)
    if answer is None:  # an incoming webhook says "ok" in plain text
        return Verdict("sent")
    if answer.get("ok"):
        ts, channel = answer.get("ts"), answer.get("channel")
        thread = {"channel": channel, "ts": ts} if isinstance(ts, str) and isinstance(channel, str) else None
        return Verdict("sent", thread=thread)
    error = str(answer.get("error", "no reason given"))
    return Verdict("retry" if error in _TRANSIENT else "permanent", f"Slack: {error}")


def _find_sent(config: SlackConfig, message: Message, since_s: int) -> HttpRequest | None:
    if config.bot_token is None:
        return None
    query: dict[str, str] = {"channel": config.channel or "", "oldest": f"{since_s - 60}.000000", "limit": "200",
                             "include_all_metadata": "true"}  # fmt: skip
    method = "conversations.history"
    if message.thread is not None and "ts" in message.thread:
        method = "conversations.replies"
        query |= {"channel": message.thread["channel"], "ts": message.thread["ts"]}
    headers = _authorization(config) | {"Content-Type": "application/x-www-form-urlencoded"}
    return HttpRequest(f"{config.api_url}/{method}", headers, urlencode(query).encode())


def _was_sent(config: SlackConfig, response: HttpResponse, key: str) -> Verdict | None:
    answer = _json(response) if response.status == 200 else None
    if answer is None or not answer.get("ok"):
        return None
    for item in answer.get("messages", []):
        payload = item.get("metadata", {}).get("event_payload", {}) if isinstance(item, dict) else {}
        if payload.get("key") == key and isinstance(item.get("ts"), str):
            thread = {"channel": config.channel, "ts": item["ts"]}
            return Verdict("sent", "found in the channel's history", thread=thread)
    return Verdict("retry", "not in the channel's history")


def _authorization(config: SlackConfig) -> dict[str, str]:
    assert config.bot_token is not None
    return {"Authorization": f"Bearer {config.bot_token.get_secret_value()}"}


def _json(response: HttpResponse) -> dict[str, Any] | None:
    try:
        answer = json.loads(response.body)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


CHANNEL = ChannelKind(
    kind="slack",
    title="Slack",
    config_model=SlackConfig,
    describe=_describe,
    build=_build,
    judge=_judge,
    find_sent=_find_sent,
    was_sent=_was_sent,
    refresh=_refresh,
)
