"""What each kind of channel sends, as its receiver gets it, in the formats from the receivers' own documentation."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from jitterscope.notify.channels import email, teams, webhook
from jitterscope.notify.kind import HttpResponse, MailRequest, Message, kinds
from jitterscope.notify.payload import ACTIONS, Payload
from jitterscope.notify.sample import sample_payload
from jitterscope.notify.smtp_wire import Mail, hand_over
from jitterscope.notify.wire import PostFailed
from tests.support.mailbox import Mailbox

LIFE = ("opened", "acknowledged", "escalated", "fix_applied", "verified", "reopened", "resolved")
KEY = "0123456789abcdef0123456789abcdef"


def deliver(outbox: Any, *actions: str, **more: Any) -> None:
    for action in actions:
        outbox.queue(action, **more)
    outbox.deliver()


def test_pagerduty(outbox: Any, receiver: Any) -> None:
    """https://developer.pagerduty.com/docs/events-api-v2/trigger-events/"""
    receiver.default.status = 202
    outbox.add_channel(
        "pagerduty", {"routing_key": KEY, "events_url": f"{receiver.url}/v2/enqueue"}, actions=list(ACTIONS)
    )
    deliver(outbox, *LIFE, "noted")
    bodies = [one.json for one in receiver.requests]
    assert [one["event_action"] for one in bodies] == [
        "trigger", "acknowledge", "trigger", "resolve", "trigger", "resolve",
    ]  # fmt: skip
    assert {one["routing_key"] for one in bodies} == {KEY}
    [dedup_key] = {one["dedup_key"] for one in bodies}
    assert len(dedup_key) <= 255
    first = bodies[0]
    assert set(first["payload"]) == {
        "summary", "source", "severity", "timestamp", "component", "group", "class", "custom_details",
    }  # fmt: skip
    assert (first["payload"]["severity"], first["payload"]["source"]) == ("critical", "example")
    assert (first["payload"]["class"], first["payload"]["group"]) == ("cpu/gc_throttling", "kube-system")
    assert first["links"][0]["href"] == first["client_url"]
    assert "payload" not in bodies[1]
    assert KEY not in json.dumps([row.payload for row in outbox.rows()])
    deliver(outbox, "opened", incident_id=2)
    assert receiver.requests[-1].json["dedup_key"] != dedup_key


def test_pagerduty_that_is_busy_is_asked_again(outbox: Any, receiver: Any) -> None:
    outbox.add_channel("pagerduty", {"routing_key": KEY, "events_url": receiver.url})
    receiver.answers = [type(receiver.default)(status=429), type(receiver.default)(status=400, body=b"invalid event")]
    deliver(outbox, "opened")
    assert outbox.states() == ["pending"]
    outbox.make_due()
    outbox.deliver()
    [row] = outbox.rows()
    assert (row.state, row.last_error) == ("dead", "HTTP 400: invalid event")


def texts(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["text"]] if node.get("type") == "TextRun" else []
        return own + [text for part in node.values() for text in texts(part)]
    return [text for part in node for text in texts(part)] if isinstance(node, list) else []


def test_teams(outbox: Any, receiver: Any) -> None:
    receiver.default.status = 202
    outbox.add_channel("teams", {"webhook_url": f"{receiver.url}/workflows/x?sig=hidden"})
    deliver(outbox, "opened", "resolved")
    opened, resolved = (one.json for one in receiver.requests)
    for one in (opened, resolved):
        [attachment] = one["attachments"]
        assert (one["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
        card = attachment["content"]
        assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
        assert card["actions"] == [
            {"type": "Action.OpenUrl", "title": "Open incident", "url": card["actions"][0]["url"]}
        ]
    said = texts(opened)
    assert "New incident · critical · kube-system/coredns" in said
    assert "• Throttled ticks inside a GC cycle: 19 of 19 (by chance: 6.5 %)" in said
    assert "Resolved · critical · kube-system/coredns" in texts(resolved)
    assert not [text for text in texts(resolved) if "Throttled ticks" in text]


def test_teams_cards_keep_to_their_size_and_are_no_markdown() -> None:
    content = sample_payload(1, "jitterscope").model_dump()
    content["incident"]["title"] = "[click](https://evil) " + "x" * 5000
    content["incident"]["evidence"] = [{"statement": "ü" * 5000, "value": "1", "comparison": None}] * 40
    card = teams.card(Payload.model_validate(content))
    assert len(json.dumps(card, ensure_ascii=False).encode()) < 28_000
    assert {part["type"] for part in card["body"]} == {"RichTextBlock"}, "text blocks would be read as Markdown"
    assert any("[click](https://evil)" in text for text in texts(card))


def test_alertmanager(outbox: Any, receiver: Any) -> None:
    """https://prometheus.io/docs/alerting/latest/configuration/#webhook_config, version 4."""
    outbox.add_channel(
        "alertmanager", {"url": receiver.url, "bearer_token": "token-1", "receiver": "ops"}, actions=list(ACTIONS)
    )
    deliver(outbox, *LIFE)
    bodies = [one.json for one in receiver.requests]
    assert [one["status"] for one in bodies] == ["firing", "firing", "resolved", "firing", "resolved"]
    assert {one.headers["authorization"] for one in receiver.requests} == {"Bearer token-1"}
    for body in bodies:
        assert set(body) == {
            "version", "groupKey", "truncatedAlerts", "status", "receiver", "groupLabels", "commonLabels",
            "commonAnnotations", "externalURL", "alerts",
        }  # fmt: skip
        [alert] = body["alerts"]
        assert set(alert) == {
            "status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint",
        }  # fmt: skip
        assert (body["version"], body["truncatedAlerts"], body["receiver"]) == ("4", 0, "ops")
        assert alert["status"] == body["status"]
        assert (alert["endsAt"] == "0001-01-01T00:00:00Z") == (body["status"] == "firing")
        assert all(isinstance(value, str) for value in alert["labels"].values())
        assert all(re.fullmatch(r"[a-z]+", name) for name in alert["labels"])
    assert len({one["groupKey"] for one in bodies}) == len({one["alerts"][0]["fingerprint"] for one in bodies}) == 1
    labels = bodies[0]["alerts"][0]["labels"]
    assert (labels["alertname"], labels["severity"], labels["namespace"]) == (
        "cpu/gc_throttling", "critical", "kube-system",
    )  # fmt: skip


def test_opsgenie(outbox: Any, receiver: Any) -> None:
    """https://docs.opsgenie.com/docs/alert-api"""
    receiver.default.status = 202
    outbox.add_channel("opsgenie", {"api_key": "genie-1", "api_url": f"{receiver.url}/"}, actions=list(ACTIONS))
    deliver(outbox, "opened", "acknowledged", "resolved", "noted")
    created, acknowledged, closed = receiver.requests
    assert {one.headers["authorization"] for one in receiver.requests} == {"GenieKey genie-1"}
    assert created.path == "/v2/alerts"
    assert (created.json["priority"], created.json["source"]) == ("P1", "Jitterscope")
    assert len(created.json["message"]) <= 130
    assert all(isinstance(value, str) for value in created.json["details"].values())
    name = re.escape(created.json["alias"]).replace("/", "%2F").replace(":", "%3A")
    assert re.fullmatch(f"/v2/alerts/{name}/acknowledge[?]identifierType=alias", acknowledged.path)
    assert re.fullmatch(f"/v2/alerts/{name}/close[?]identifierType=alias", closed.path)


@pytest.fixture
def mailbox(settings_override: Any, local: Any) -> Iterator[Mailbox]:
    with Mailbox() as running:
        settings_override(**running.settings(), mail_from="Jitterscope <alerts@example.org>")
        yield running


def test_mail(outbox: Any, mailbox: Mailbox) -> None:
    outbox.add_channel("email", {"to": "ada@example.org, ops@example.org,ada@example.org"})
    deliver(outbox, "opened", "resolved")
    assert outbox.states() == ["sent", "sent"]
    assert [row.last_status for row in outbox.rows()] == [250, 250]
    first, second = mailbox.mails
    assert first["To"] == "ada@example.org, ops@example.org"
    assert first["From"] == "Jitterscope <alerts@example.org>"
    assert first["Subject"].startswith("New incident: Test: kube-system/coredns stalls up to")
    assert second["Subject"].startswith("Resolved: ")
    assert first["References"] == second["References"], "one conversation"
    assert first["Message-ID"] != second["Message-ID"]
    assert outbox.rows()[0].key in first["Message-ID"]
    text = first.get_content()
    for part in ("New incident · critical · kube-system/coredns", "- Throttled ticks inside a GC cycle: 19 of 19",
                 "Fix that removes it: Set GOGC=off with GOMEMLIMIT"):  # fmt: skip
        assert part in text
    assert "Evidence" not in second.get_content()


def test_a_mail_that_is_refused_is_dead_and_one_that_finds_nobody_waits(outbox: Any, mailbox: Mailbox) -> None:
    outbox.add_channel("email", {"to": "nobody@example.org"})
    mailbox.refuse = True
    deliver(outbox, "opened")
    [row] = outbox.rows()
    assert (row.state, row.last_status) == ("dead", 550)
    assert row.last_error == "The mail server: 550 no such mailbox"


def test_a_mail_server_that_is_away_got_nothing(outbox: Any, settings_override: Any, local: Any) -> None:
    settings_override(smtp_host="127.0.0.1", smtp_port=1, smtp_security="none")
    outbox.add_channel("email", {"to": "ada@example.org"})
    deliver(outbox, "opened")
    [row] = outbox.rows()
    assert (row.state, row.maybe_sent) == ("pending", False)
    assert "cannot use the mail server 127.0.0.1:1" in str(row.last_error)


def test_some_of_the_addresses_are_refused(outbox: Any, mailbox: Mailbox) -> None:
    mailbox.unknown = {"gone@example.org"}
    outbox.add_channel("email", {"to": "gone@example.org, ada@example.org"})
    deliver(outbox, "opened")
    [row] = outbox.rows()
    assert (row.state, row.last_error) == ("sent", "taken; refused gone@example.org: no such mailbox")
    assert len(mailbox.mails) == 1
    mailbox.unknown.add("ada@example.org")
    deliver(outbox, "resolved")
    assert outbox.rows()[1].state == "dead"
    assert len(mailbox.mails) == 1


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "mail.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(made.public_bytes(Encoding.PEM) + private)
    return file


@pytest.mark.parametrize(
    ("security", "password", "trusted", "said"),
    [
        ("starttls", "secret", True, "250"),
        ("starttls", "wrong", True, "SMTPAuthenticationError"),
        ("starttls", "secret", False, "SSLCertVerificationError"),
        ("none", "secret", True, "cannot use the mail server"),
    ],
)
def test_a_mail_server_with_tls_and_a_password(
    certificate: Path, security: Literal["starttls", "none"], password: str, trusted: bool, said: str
) -> None:
    """Mail is sent only after TLS with a trusted certificate and a correct password; otherwise nothing leaves."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with Mailbox(context) as server:
        mail = Mail(
            "127.0.0.1", server.port, security, "jitterscope", password, "a@example.org", ("b@example.org",),
            b"Subject: x\r\n\r\ny\r\n", ca_file=str(certificate) if trusted else None,
        )  # fmt: skip
        assert "secret" not in repr(mail)
        written: list[bool] = []
        if said == "250":
            assert hand_over(mail, lambda: written.append(True))[0] == 250
        else:
            with pytest.raises(PostFailed, match=said) as failed:
                hand_over(mail, lambda: written.append(True))
            assert failed.value.failure == "not_sent"
        assert len(server.mails) == len(written) == (1 if said == "250" else 0)


def test_mail_needs_a_mail_server(api: Any, local: Any) -> None:
    listed = {one["kind"]: one for one in api.get("/api/v1/channels/kinds").json()}
    assert "JITTERSCOPE_SMTP_HOST" in listed["email"]["unavailable"]
    assert listed["slack"]["unavailable"] is None
    refused = api.post("/api/v1/channels", json={"kind": "email", "name": "x", "config": {"to": "a@example.org"}})
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:jitterscope:problem:kind-unavailable")


def test_the_test_button_sends_a_mail(api: Any, mailbox: Mailbox) -> None:
    made = api.post("/api/v1/channels", json={"kind": "email", "name": "x", "config": {"to": "a@example.org"}}).json()
    assert made["target"] == "a@example.org"
    result = api.post(f"/api/v1/channels/{made['id']}/test").json()
    assert (result["ok"], result["status"]) == (True, 250)
    assert mailbox.mails[0]["Subject"].startswith("Test message: ")


@pytest.mark.parametrize(
    ("code", "outcome"), [(250, "sent"), (421, "retry"), (451, "retry"), (550, "permanent"), (554, "permanent")]
)
def test_replies_of_mail_servers(code: int, outcome: str) -> None:
    assert email.CHANNEL.judge(HttpResponse(code, {}, b"because")).outcome == outcome


@pytest.mark.parametrize(
    "wrong",
    ["nobody", "a@example.org, @x", "", ",", "a@b\r\nBcc: c@d", ", ".join(f"u{n}@x.org" for n in range(21))],
)
def test_addresses_that_are_none(wrong: str) -> None:
    with pytest.raises(ValueError, match="to"):
        email.EmailConfig(to=wrong)


def test_own_headers_of_a_webhook(outbox: Any, receiver: Any, organization: Any) -> None:
    lines = "Authorization: Bearer hidden-1\n\nX-Scope-OrgID: team-a"
    config = {"url": receiver.url, "secret": "0123456789abcdef", "headers": lines}
    outbox.add_channel("webhook", config)
    deliver(outbox, "opened")
    [request] = receiver.requests
    assert request.headers["authorization"] == "Bearer hidden-1"
    assert request.headers["x-scope-orgid"] == "team-a"
    assert request.headers["idempotency-key"] == outbox.rows()[0].key


@pytest.mark.parametrize(
    "wrong",
    ["no colon", "Host: x", "content-length: 1", "Idempotency-Key: x", "X-Jitterscope-Event: x", "A: ", "A: \x00",
     "A B: x", "A: ü", "A: 1\na: 2", "\n".join(f"H{n}: x" for n in range(21)), "A: " + "x" * 5000],
)  # fmt: skip
def test_headers_that_cannot_be(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"line|set by|value|twice|most"):
        webhook.own_headers(wrong)


def test_secrets_of_every_kind_stay_inside(api: Any, mailbox: Mailbox) -> None:
    """No answer of the API contains what a kind keeps as a secret."""
    given = {
        "slack": {"webhook_url": "https://hooks.slack.com/hidden"},
        "webhook": {"url": "https://example.org/hidden", "secret": "hidden-0123456789", "headers": "A: hidden"},
        "pagerduty": {"routing_key": "hidden".ljust(32, "0")},
        "teams": {"webhook_url": "https://example.org/hidden"},
        "alertmanager": {"url": "https://example.org/hidden", "bearer_token": "hidden"},
        "opsgenie": {"api_key": "hidden"},
        "email": {"to": "a@example.org"},
    }  # fmt: skip
    assert set(given) == set(kinds())
    for kind, config in given.items():
        answer = api.post("/api/v1/channels", json={"kind": kind, "name": kind, "config": config})
        assert answer.status_code == 201, answer.text
        assert "hidden" not in answer.text
    assert "hidden" not in api.get("/api/v1/channels").text + api.get("/api/v1/audit").text


@pytest.mark.parametrize("action", [*ACTIONS, "test"])
@pytest.mark.parametrize("kind", ["slack", "webhook", "pagerduty", "teams", "alertmanager", "opsgenie", "email"])
def test_every_kind_has_words_for_every_action(kind: str, action: str, mailbox: Mailbox) -> None:
    content = sample_payload(1, "ada@example.org").model_dump()
    content["transition"] |= {"action": action, "detail": "Because.\nSecond line."}
    known = kinds()[kind]
    config = {
        "slack": {"webhook_url": "https://x.org/"}, "webhook": {"url": "https://x.org/", "secret": KEY},
        "pagerduty": {"routing_key": KEY}, "teams": {"webhook_url": "https://x.org/"},
        "alertmanager": {"url": "https://x.org/"}, "opsgenie": {"api_key": "k"}, "email": {"to": "a@x.org"},
    }[kind]  # fmt: skip
    made = known.build(
        known.config_model.model_validate(config), Message("k", Payload.model_validate(content), None, 1)
    )
    sent = made.content if isinstance(made, MailRequest) else made.body
    assert len(sent) > 50


@pytest.mark.slow
def test_mails_above_the_hours_limit_are_held_back_and_told_in_one_summary(
    outbox: Any, mailbox: Mailbox, settings_override: Any, api: Any, receiver: Any
) -> None:
    settings_override(notify_emails_per_hour=2)
    channel = outbox.add_channel("email", {"to": "ada@example.org"})
    hook = outbox.add_channel("webhook", {"url": receiver.url, "secret": "0123456789abcdef"})
    for incident_id in range(1, 21):
        outbox.queue(incident_id=incident_id)
    outbox.queue("resolved", incident_id=3)
    outbox.deliver()
    mine = [row for row in outbox.rows() if row.channel_id == channel]
    assert [row.state for row in mine] == ["sent"] * 2 + ["pending"] + ["skipped"] * 18
    assert {row.last_error for row in mine[2:]} == {
        "Held back: the organization sends at most 2 messages by Email an hour"
    }
    assert len(mailbox.mails) == 2
    assert {row.state for row in outbox.rows() if row.channel_id == hook} == {"sent"}, "only emails are limited"
    told = {one["id"]: one["held_back"] for one in api.get("/api/v1/channels").json()}
    assert told == {channel: 19, hook: 0}
    summary = api.get(f"/api/v1/channels/{channel}/deliveries?state=pending").json()["items"][0]
    assert (summary["held_back"], summary["incident_id"]) == (19, 3)
    outbox.make_due()
    assert outbox.deliver() == 1, "the summary does not count"
    text = mailbox.mails[2].get_content()
    assert mailbox.mails[2]["Subject"] == "19 messages were not sent: too many emails in an hour"
    assert "19 messages were above that" in text
    assert "kube-system/coredns stalls up to" in text
    assert api.get(f"/api/v1/channels/{channel}").json()["held_back"] == 0
    outbox.queue(incident_id=30)
    outbox.deliver()
    assert api.get(f"/api/v1/channels/{channel}").json()["held_back"] == 1, "the next summary"
