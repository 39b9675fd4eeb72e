"""Generic webhook: the payload, or a body made of its fields, as JSON signed with HMAC-SHA256. See docs/webhooks.md."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from jitterscope.notify import body_template
from jitterscope.notify.kind import (
    AT_SAVE,
    LONGEST_SECRET,
    LONGEST_URL,
    ChannelKind,
    HttpRequest,
    Message,
    judge_status,
)
from jitterscope.notify.sample import sample_payload
from jitterscope.notify.target import check_url

_MOST_HEADERS, _LONGEST_VALUE = 20, 4096
# RFC 9110: a token, then visible characters with spaces and tabs between them.
_NAME, _VALUE = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}"), re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
# Set by us: they frame the request, or receivers rely on them.
_OURS = frozenset({
    "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "upgrade", "te",
    "trailer", "expect", "idempotency-key", "proxy-authorization", "proxy-connection", "keep-alive",
})  # fmt: skip


class WebhookConfig(BaseModel):
    """`url` may hold a token, so it is kept as a secret too."""

    model_config = ConfigDict(extra="forbid")

    url: SecretStr = Field(description="https:// address that accepts a POST", max_length=LONGEST_URL)
    secret: SecretStr = Field(
        description="Key of the signature, at least 16 characters", min_length=16, max_length=LONGEST_SECRET
    )
    headers: SecretStr | None = Field(
        default=None,
        max_length=8000,
        description="Additional headers, one per line: Authorization: Bearer …",
        json_schema_extra={"advanced": True, "multiline": True},
    )
    template: str | None = Field(
        default=None,
        max_length=body_template.MOST_CHARACTERS,
        description="Another body, as JSON with fields of the payload: "
        '{"text": "{{ incident.title }}", "id": {{ incident.id }}}. Empty: the whole payload',
        json_schema_extra={"advanced": True, "multiline": True},
    )

    @field_validator("url")
    @classmethod
    def _url(cls, value: SecretStr) -> SecretStr:
        check_url(value.get_secret_value())
        return value

    @field_validator("headers")
    @classmethod
    def _headers(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            own_headers(value.get_secret_value())
        return value

    @field_validator("template")
    @classmethod
    def _template(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None or not value.strip():
            return None
        # A stored one stays in use even if a later version no longer has a figure that it names.
        if info.context == AT_SAVE:
            body_template.check(value)
            json.loads(body_template.render(value, sample_payload(0, "jitterscope").model_dump(mode="json")))
        return value


def own_headers(text: str) -> dict[str, str]:
    """Parse headers from "Name: value" lines. Raises ValueError without quoting values, which are secrets."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or _NAME.fullmatch(name) is None:
            raise ValueError(f"line {number} is not a header: write Name: value")
        if name.lower() in _OURS or name.lower().startswith("x-jitterscope-"):
            raise ValueError(f"{name} is set by Jitterscope")
        if _VALUE.fullmatch(value) is None or len(value) > _LONGEST_VALUE:
            raise ValueError(f"the value of {name} must be 1 to {_LONGEST_VALUE} visible ASCII characters")
        if name.lower() in (one.lower() for one in found):
            raise ValueError(f"{name} is given twice")
        found[name] = value
    if len(found) > _MOST_HEADERS:
        raise ValueError(f"at most {_MOST_HEADERS} headers")
    return found


def sign(secret: str, timestamp_s: int, body: bytes) -> str:
    """The value of X-Jitterscope-Signature: HMAC-SHA256 over "<timestamp>.<body>", hexadecimal."""
    digest = hmac.new(secret.encode(), str(timestamp_s).encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={timestamp_s},v1={digest}"


def verify(secret: str, header: str, body: bytes, now_s: int, tolerance_s: int = 300) -> bool:
    """The check that a receiver makes: the signature matches and is at most `tolerance_s` old."""
    parts = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    timestamp = parts.get("t", "")
    if not timestamp.isdigit() or abs(now_s - int(timestamp)) > tolerance_s:
        return False
    return hmac.compare_digest(sign(secret, int(timestamp), body), header)


def _describe(config: WebhookConfig) -> str:
    parts = urlsplit(config.url.get_secret_value())
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def _build(config: WebhookConfig, message: Message) -> HttpRequest:
    content = message.payload.model_dump(mode="json")
    if config.template is None:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    else:
        text = body_template.render(config.template, content)
    body = text.encode()
    return HttpRequest(
        url=config.url.get_secret_value(),
        headers={
            "Content-Type": "application/json",
            "Idempotency-Key": message.key,
            "X-Jitterscope-Event": message.payload.type,
            "X-Jitterscope-Signature": sign(config.secret.get_secret_value(), message.now_s, body),
        }
        | ({} if config.headers is None else own_headers(config.headers.get_secret_value())),
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
