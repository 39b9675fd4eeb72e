"""Opsgenie, and Jira Service Management with the same API: one alert per incident, identified by its alias.

https://docs.opsgenie.com/docs/alert-api
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from jitterscope.notify import wording
from jitterscope.notify.kind import LONGEST_URL, ChannelKind, HttpRequest, Message, judge_status, post_json
from jitterscope.notify.target import check_url

# Limits of an alert's fields.
_MESSAGE_CHARACTERS, _DESCRIPTION_CHARACTERS, _ENTITY_CHARACTERS, _TAG_CHARACTERS = 130, 15_000, 512, 50
_PRIORITIES = {"critical": "P1", "warning": "P3", "info": "P5"}


class OpsgenieConfig(BaseModel):
    """The key of an API integration, and the API of its region."""

    model_config = ConfigDict(extra="forbid")

    api_key: SecretStr = Field(description="Key of an API integration", min_length=1, max_length=200)
    api_url: str = Field(
        default="https://api.opsgenie.com",
        max_length=LONGEST_URL,
        description="In the EU: https://api.eu.opsgenie.com. Jira Service Management: "
        "https://api.atlassian.com/jsm/ops/integration",
        json_schema_extra={"advanced": True},
    )

    @field_validator("api_url")
    @classmethod
    def _api_url(cls, value: str) -> str:
        check_url(value)
        return value.rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _api_key(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().isprintable() or not value.get_secret_value().isascii():
            raise ValueError("the key has characters that are not valid in a header")
        return value


def _build(config: OpsgenieConfig, message: Message) -> HttpRequest:
    payload, incident, action = message.payload, message.payload.incident, message.payload.transition.action
    alias = wording.incident_key(payload, message.key)
    description = wording.shortened(f"{wording.plain(payload)}\n\n{incident.url}", _DESCRIPTION_CHARACTERS)
    path, content = "/v2/alerts", _alert(message, alias, description)
    verb = "close" if wording.is_over(payload) else "acknowledge" if action == "acknowledged" else None
    if verb is not None:
        path = f"/v2/alerts/{quote(alias, safe='')}/{verb}?identifierType=alias"
        content = {"source": "Jitterscope", "note": description}
    headers = {
        "Authorization": f"GenieKey {config.api_key.get_secret_value()}",
        "Idempotency-Key": message.key,
    }
    return post_json(f"{config.api_url}{path}", content, headers)


def _alert(message: Message, alias: str, description: str) -> dict[str, Any]:
    incident, subject = message.payload.incident, message.payload.incident.subject
    details = {
        "incident": incident.url, "cause": incident.cause, "confidence": incident.confidence, "node": subject.node,
        "namespace": subject.namespace, "workload": subject.workload, "pod": subject.pod,
        "container": subject.container,
    }  # fmt: skip
    return {
        "message": wording.shortened(incident.title, _MESSAGE_CHARACTERS),
        "alias": alias,
        "description": description,
        "entity": wording.shortened(subject.name, _ENTITY_CHARACTERS),
        "source": "Jitterscope",
        "priority": _PRIORITIES[incident.severity],
        "tags": [wording.shortened(one, _TAG_CHARACTERS) for one in ("jitterscope", incident.cause)],
        "details": {name: value for name, value in details.items() if value},
    }


CHANNEL = ChannelKind(
    kind="opsgenie",
    title="Opsgenie",
    config_model=OpsgenieConfig,
    describe=lambda config: str(urlsplit(config.api_url).hostname),
    build=_build,
    judge=judge_status,
    # Alerts have no such states, and a message about one that was closed by hand would open another.
    closes_alerts=True,
    silent=frozenset({"unacknowledged", "fix_applied", "noted"}),
)
