"""Generic webhook: the payload as JSON, signed with HMAC-SHA256. See docs/webhooks.md."""

from __future__ import annotations

import hashlib
import hmac
import json
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from jitterscope.notify.kind import ChannelKind, HttpRequest, Message, judge_status
from jitterscope.notify.target import check_url


class WebhookConfig(BaseModel):
    """`url` may hold a token, so it is kept as a secret too."""

    model_config = ConfigDict(extra="forbid")

    url: SecretStr = Field(description="https:// address that accepts a POST")
    secret: SecretStr = Field(description="Key of the signature, at least 16 characters", min_length=16)

    @field_validator("url")
    @classmethod
    def _url(cls, value: SecretStr) -> SecretStr:
        check_url(value.get_secret_value())
        return value


def sign(secret: str, timestamp_s: int, body: bytes) -> str:
    """Value of X-Jitterscope-Signature: HMAC-SHA256 over "<timestamp>.<body>", hexadecimal."""
    digest = hmac.new(secret.encode(), str(timestamp_s).encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={timestamp_s},v1={digest}"


def verify(secret: str, header: str, body: bytes, now_s: int, tolerance_s: int = 300) -> bool:
    """What a receiver does: the signature fits and is at most `tolerance_s` old."""
    parts = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    timestamp = parts.get("t", "")
    if not timestamp.isdigit() or abs(now_s - int(timestamp)) > tolerance_s:
        return False
    return hmac.compare_digest(sign(secret, int(timestamp), body), header)


def _describe(config: WebhookConfig) -> str:
    parts = urlsplit(config.url.get_secret_value())
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def _build(config: WebhookConfig, message: Message) -> HttpRequest:
    body = json.dumps(message.payload.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")).encode()
    return HttpRequest(
        url=config.url.get_secret_value(),
        headers={
            "Content-Type": "application/json",
            "Idempotency-Key": message.key,
            "X-Jitterscope-Event": message.payload.type,
            "X-Jitterscope-Signature": sign(config.secret.get_secret_value(), message.now_s, body),
        },
        body=body,
    )


CHANNEL = ChannelKind(
    kind="webhook",
    title="Webhook",
    config_model=WebhookConfig,
    describe=_describe,
    build=_build,
    judge=judge_status,
)
