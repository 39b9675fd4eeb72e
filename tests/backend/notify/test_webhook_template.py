"""A webhook's own body: fields of the payload in a template, escaped, checked when it is saved, and signed."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from jitterscope import sealed
from jitterscope.db import organization_session
from jitterscope.notify import body_template
from jitterscope.notify.channels import webhook
from jitterscope.notify.sample import sample_payload

SECRET = "0123456789abcdef-very-secret"
TEMPLATE = """{
  "text": "{{ incident.severity }}: {{incident.title}} on {{ incident.subject.node }}",
  "id": {{ incident.id }},
  "slow": {{ incident.impact.slow_ratio }},
  "fix": {{ incident.top_fix.title }},
  "mute": "{{ incident.mute.by }}",
  "until": {{ incident.mute.until }},
  "evidence": {{ incident.evidence }}
}"""


def config(receiver: Any, template: str | None = TEMPLATE) -> dict[str, str]:
    given = {"url": f"{receiver.url}/hook", "secret": SECRET}
    return given if template is None else given | {"template": template}


def content(**incident: Any) -> dict[str, Any]:
    made = sample_payload(7, "jitterscope").model_dump(mode="json")
    made["incident"] |= incident
    return made


def test_the_body_is_the_template_with_the_fields_of_the_payload(outbox: Any, receiver: Any) -> None:
    outbox.add_channel("webhook", config(receiver))
    outbox.queue(title='Stalls of 90 ms: "GC"\n\\ends')
    outbox.deliver()
    [request] = receiver.requests
    assert request.json == {
        "text": 'critical: Stalls of 90 ms: "GC"\n\\ends on example',
        "id": 1,
        "slow": 0.015,
        "fix": "Set GOGC=off with GOMEMLIMIT",
        "mute": "",
        "until": None,
        "evidence": [
            {"statement": "Throttled ticks inside a GC cycle", "value": "19 of 19", "comparison": "by chance: 6.5 %"}
        ],
    }
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-jitterscope-event"] == "incident.opened"
    assert webhook.verify(SECRET, request.headers["x-jitterscope-signature"], request.body, int(time.time()))
    assert not webhook.verify(SECRET, request.headers["x-jitterscope-signature"], request.body + b" ", int(time.time()))


def test_without_a_template_the_body_is_the_payload(outbox: Any, receiver: Any) -> None:
    for template in (None, "", " \n"):
        outbox.add_channel("webhook", config(receiver, template))
    outbox.queue()
    outbox.deliver()
    assert len(receiver.requests) == 3
    assert {request.body for request in receiver.requests} == {receiver.requests[0].body}
    assert receiver.requests[0].json["version"] == 1


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ('{"a": "{{ incident.tittle }}"}', "line 1: the payload has no field 'incident.tittle', but incident.title"),
        (
            '{\n"a": {{ incident.impact.slow_ration }}}',
            "line 2: the payload has no field 'incident.impact.slow_ration'",
        ),
        ('{"a": "{{ }}"}', "line 1: the payload has no field ''"),
        ('{"a": "{{ incident.__class__ }}"}', "the payload has no field 'incident.__class__'"),
        ('{"a": "{{ incident.title.upper }}"}', "the payload has no field 'incident.title.upper'"),
        ('{"a": "{{ 7 * 7 }}"}', "the payload has no field '7 * 7'"),
        ('{"a": {{ incident }}}', "the payload has no field 'incident'"),
        (
            '{\n\n"a": "{{ incident.evidence }}"}',
            "line 3: incident.evidence is a list, which cannot be inside a string",
        ),
        ('{"a": "{{ incident.impact }}"}', "incident.impact is a map"),
        ('{"a": "{{ incident.title }"}', "line 1: {{ begins no placeholder"),
        ('{"a": "x"\n"b": 1}', "line 2, column 1: not JSON: Expecting ',' delimiter"),
        ('{"a": {{ incident.id }}\n {{ incident.id }}: 1}', "line 2, column 2: not JSON"),
        ("{{{ incident.title }}: 1}", "line 1"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("{{ incident.title }} {{ incident.title }}", "line 1, column 22: not JSON: Extra data"),
        ('{"a": "{% for x in y %}{{ incident.id }}{% endfor %}"', "not JSON"),
        ("[" * 8000, "too many levels"),
        ("[" + ",".join(["{{ incident.id }}"] * 101) + "]", "at most 100 placeholders"),
        ('{"a": "' + "x" * 8192 + '"}', "at most 8192 characters"),
    ],
)
def test_what_cannot_be_rendered_is_refused_with_its_place(api: Any, local: Any, template: str, says: str) -> None:
    given = {"url": "http://127.0.0.1:9/", "secret": SECRET, "template": template}
    answer = api.post("/api/v1/channels", json={"kind": "webhook", "name": "x", "config": given})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"].endswith(":invalid-channel-config")
    assert answer.json()["detail"].startswith("template: ")
    assert says in answer.json()["detail"]


def test_a_change_of_the_template_is_in_the_audit_trail(api: Any, local: Any, receiver: Any) -> None:
    made = api.post("/api/v1/channels", json={"kind": "webhook", "name": "x", "config": config(receiver)}).json()
    other = '{"other": {{ incident.id }}}'
    for template in (other, None):
        answer = api.patch(f"/api/v1/channels/{made['id']}", json={"config": config(receiver, template)})
        assert answer.status_code == 200, answer.text
    removed, changed = (one["detail"] for one in api.get("/api/v1/audit").json()["items"][:2])
    secret = {"from": "(secret)", "to": "(another)"}
    assert changed == {"config": secret, "config.template": {"from": TEMPLATE, "to": other}}
    assert removed == {"config": secret, "config.template": {"from": other, "to": None}}
    assert "/hook" not in api.get("/api/v1/audit").text, "the address can hold a token"


def test_a_figure_that_a_later_version_lacks_is_null(outbox: Any, receiver: Any, organization: Any) -> None:
    channel = outbox.add_channel("webhook", config(receiver))
    stored = config(receiver, '{"a": {{ incident.impact.of_before }}, "b": "{{ incident.impact.of_before }}"}')
    with organization_session(organization.id) as session:
        session.execute(
            text("UPDATE channels SET config_sealed = :config WHERE id = :id"),
            {"config": sealed.seal(json.dumps(stored)), "id": channel},
        )
    outbox.queue()
    outbox.deliver()
    assert receiver.requests[0].json == {"a": None, "b": ""}


@given(title=st.text(), node=st.none() | st.text(), value=st.floats(allow_nan=False, allow_infinity=False))
def test_a_template_that_is_valid_makes_json_of_everything(title: str, node: str | None, value: float) -> None:
    made = content(title=title, impact={"slow_ratio": value}, top_fix=None, evidence=[])
    made["incident"]["subject"]["node"] = node
    rendered = json.loads(body_template.render(TEMPLATE, made))
    assert rendered["text"] == f"info: {title} on {node or ''}"
    assert (rendered["slow"], rendered["fix"], rendered["evidence"]) == (value, None, [])


def test_every_field_can_be_named() -> None:
    names = body_template.fields()
    assert {"type", "transition.detail", "incident.subject.pod", "incident.verification.verdict"} <= names.keys()
    outside = "[" + ",".join(f"{{{{ {name} }}}}" for name in names) + "]"
    assert len(names) > body_template.MOST_PLACEHOLDERS // 2
    assert len(json.loads(body_template.render(outside, content()))) == len(names)
