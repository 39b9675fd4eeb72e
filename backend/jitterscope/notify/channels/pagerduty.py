"""PagerDuty: Events API v2. One alert per incident: triggered, acknowledged, and resolved with the same key.

https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from jitterscope.notify import wording
from jitterscope.notify.kind import LONGEST_URL, ChannelKind, HttpRequest, Message, judge_status, post_json
from jitterscope.notify.target import check_url

# Limit of a summary.
_SUMMARY_CHARACTERS = 1024


class PagerDutyConfig(BaseModel):
    """The integration key of a service, and the Events API of its region."""

    model_config = ConfigDict(extra="forbid")

    routing_key: SecretStr = Field(
        description="Integration key of an Events API v2 integration, 32 characters", min_length=32, max_length=32
    )
    events_url: str = Field(
        default="https://events.pagerduty.com/v2/enqueue",
        max_length=LONGEST_URL,
        description="In the EU: https://events.eu.pagerduty.com/v2/enqueue",
        json_schema_extra={"advanced": True},
    )

    @field_validator("events_url")
    @classmethod
    def _events_url(cls, value: str) -> str:
        check_url(value)
        return value


def _build(config: PagerDutyConfig, message: Message) -> HttpRequest:
    payload, incident = message.payload, message.payload.incident
    content: dict[str, Any] = {
        "routing_key": config.routing_key.get_secret_value(),
        "event_action": _action(message),
        "dedup_key": wording.incident_key(payload, message.key),
    }
    if content["event_action"] == "trigger":
        subject = incident.subject
        content |= {
            "payload": {
                "summary": wording.shortened(wording.headline(payload), _SUMMARY_CHARACTERS),
                "source": subject.node or subject.name,
                "severity": incident.severity,
                "timestamp": payload.transition.at.isoformat(),
                "component": subject.name,
                "group": subject.namespace or subject.node,
                "class": incident.cause,
                "custom_details": _details(message),
            },
            "links": [{"href": incident.url, "text": "Open incident"}],
            "client": "Jitterscope",
            "client_url": incident.url,
        }
    return post_json(config.events_url, content, {"Idempotency-Key": message.key})


def _action(message: Message) -> str:
    if wording.is_over(message.payload):
        return "resolve"
    return "acknowledge" if message.payload.transition.action == "acknowledged" else "trigger"


def _details(message: Message) -> dict[str, str]:
    payload, incident = message.payload, message.payload.incident
    details = {"summary": incident.summary, "confidence": incident.confidence, **dict(wording.impact(payload))}
    details |= {one.statement: f"{one.value}" + (f" ({one.comparison})" if one.comparison else "")
                for one in incident.evidence}  # fmt: skip
    if incident.top_fix is not None:
        details[wording.FIX_VERDICTS[incident.top_fix.verdict]] = incident.top_fix.title
    return details


CHANNEL = ChannelKind(
    kind="pagerduty",
    title="PagerDuty",
    config_model=PagerDutyConfig,
    describe=lambda config: config.events_url.split("/")[2],
    build=_build,
    judge=judge_status,
    # An alert has no other states, and an event about one that was closed by hand would page again.
    closes_alerts=True,
    silent=frozenset({"unacknowledged", "fix_applied", "noted"}),
)
