"""Receivers of Alertmanager webhooks: payload version 4, one group with one alert for each incident.

https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from jitterscope.notify import wording
from jitterscope.notify.kind import (
    LONGEST_SECRET,
    LONGEST_URL,
    ChannelKind,
    HttpRequest,
    Message,
    judge_status,
    post_json,
)
from jitterscope.notify.payload import Payload
from jitterscope.notify.target import check_url

# Go's zero time, which Alertmanager sends while an alert fires.
_NOT_OVER = "0001-01-01T00:00:00Z"


class AlertmanagerConfig(BaseModel):
    """`url` may hold a token, so it is kept as a secret too."""

    model_config = ConfigDict(extra="forbid")

    url: SecretStr = Field(description="https:// address that accepts Alertmanager webhooks", max_length=LONGEST_URL)
    bearer_token: SecretStr | None = Field(
        default=None, description="Sent as Authorization: Bearer, if set", max_length=LONGEST_SECRET
    )
    receiver: str = Field(
        default="jitterscope",
        max_length=200,
        description="`receiver` in the payload",
        json_schema_extra={"advanced": True},
    )

    @field_validator("url")
    @classmethod
    def _url(cls, value: SecretStr) -> SecretStr:
        check_url(value.get_secret_value())
        return value


def labels(payload: Payload, name: str) -> dict[str, str]:
    """The alert's labels. `incident` makes them unique to one incident; unknown ones are left out."""
    incident, subject = payload.incident, payload.incident.subject
    known = {
        "alertname": incident.cause, "severity": incident.severity, "incident": name, "node": subject.node,
        "resource": subject.name, "namespace": subject.namespace, "workload": subject.workload, "pod": subject.pod,
        "container": subject.container,
    }  # fmt: skip
    return {label: value for label, value in known.items() if value}


def _build(config: AlertmanagerConfig, message: Message) -> HttpRequest:
    payload, incident = message.payload, message.payload.incident
    name, over = wording.incident_key(payload, message.key), wording.is_over(payload)
    status = "resolved" if over else "firing"
    annotations = {
        "summary": incident.title,
        "description": wording.plain(payload),
        "title": wording.headline(payload),
    }
    alert = {
        "status": status,
        "labels": labels(payload, name),
        "annotations": annotations,
        "startsAt": incident.onset_at.isoformat(),
        "endsAt": payload.transition.at.isoformat() if over else _NOT_OVER,
        "generatorURL": incident.url,
        "fingerprint": wording.fingerprint(name),
    }
    parts = urlsplit(incident.url)
    content = {
        "version": "4",
        "groupKey": f'{{}}:{{incident="{name}"}}',
        "truncatedAlerts": 0,
        "status": status,
        "receiver": config.receiver,
        "groupLabels": {"incident": name},
        "commonLabels": alert["labels"],
        "commonAnnotations": annotations,
        "externalURL": f"{parts.scheme}://{parts.netloc}",
        "alerts": [alert],
    }
    headers = {"Idempotency-Key": message.key}
    if config.bearer_token is not None:
        headers["Authorization"] = f"Bearer {config.bearer_token.get_secret_value()}"
    return post_json(config.url.get_secret_value(), content, headers)


def _describe(config: AlertmanagerConfig) -> str:
    parts = urlsplit(config.url.get_secret_value())
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


CHANNEL = ChannelKind(
    kind="alertmanager",
    title="Alertmanager webhook",
    config_model=AlertmanagerConfig,
    describe=_describe,
    build=_build,
    judge=judge_status,
    # An alert is firing or resolved: it has no other states.
    closes_alerts=True,
    silent=frozenset({"acknowledged", "unacknowledged", "fix_applied", "noted"}),
)
