"""Delivery to a real receiver: once, in order, and again after failures."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jitterscope.db import organization_session
from jitterscope.notify.channels.webhook import verify
from jitterscope.notify.models import ThreadRow
from jitterscope.notify.record_fate import backoff_s
from jitterscope.settings import Settings

SECRET = "0123456789abcdef"


@pytest.fixture
def webhook(outbox: Any, receiver: Any) -> int:
    return int(outbox.add_channel("webhook", {"url": f"{receiver.url}/hook?token=t", "secret": SECRET}))


def test_a_signed_payload_arrives_once(outbox: Any, receiver: Any, webhook: int) -> None:
    transition_id = outbox.queue()
    assert outbox.deliver() == 1
    assert outbox.deliver() == 0
    [request] = receiver.requests
    [row] = outbox.rows()
    assert request.path == "/hook?token=t"
    assert request.headers["idempotency-key"] == row.key
    assert verify(SECRET, request.headers["x-jitterscope-signature"], request.body, int(time.time()))
    assert not verify(SECRET, request.headers["x-jitterscope-signature"], request.body + b" ", int(time.time()))
    assert not verify("another secret 16", request.headers["x-jitterscope-signature"], request.body, int(time.time()))
    assert request.json["transition"]["id"] == transition_id
    assert request.json["type"] == "incident.opened"
    assert (row.state, row.attempts, row.last_status, row.last_error) == ("sent", 1, 200, None)
    assert row.sent_at is not None


def test_only_wanted_transitions_are_queued(outbox: Any, receiver: Any) -> None:
    outbox.add_channel(
        "webhook", {"url": receiver.url, "secret": SECRET}, min_severity="critical", actions=["opened", "resolved"]
    )
    outbox.add_channel("webhook", {"url": receiver.url, "secret": SECRET}, enabled=False)
    outbox.queue("opened", severity="warning")
    outbox.queue("acknowledged", severity="critical")
    assert outbox.rows() == []
    outbox.queue("resolved", severity="critical")
    assert len(outbox.rows()) == 1


def test_server_errors_are_retried_with_backoff(outbox: Any, receiver: Any, webhook: int) -> None:
    """Where this test gets no CPU for seconds, a delivery comes to its second attempt."""
    works, receiver.default = receiver.default, type(receiver.default)(status=503, body=b"down")
    outbox.queue()
    before = datetime.now(UTC)
    outbox.deliver()
    after = datetime.now(UTC)
    [row] = outbox.rows()
    assert (row.state, row.last_status, row.last_error) == ("pending", 503, "HTTP 503: down")
    longest_s = 7.5 * 2 ** (row.attempts - 1)
    assert before + timedelta(seconds=2.5) <= row.next_attempt_at <= after + timedelta(seconds=longest_s)
    outbox.change(next_attempt_at=after + timedelta(hours=1))
    assert outbox.deliver() == 0, "not due yet"
    receiver.default = works
    outbox.make_due()
    assert outbox.deliver() == 1
    assert len(receiver.requests) == row.attempts + 1
    assert len({one.headers["idempotency-key"] for one in receiver.requests}) == 1
    assert len({one.body for one in receiver.requests}) == 1
    assert outbox.states() == ["sent"]


def test_retry_after_is_honoured(outbox: Any, receiver: Any, webhook: int) -> None:
    receiver.answers = [type(receiver.default)(status=429, headers={"Retry-After": "120"})]
    outbox.queue()
    outbox.deliver()
    [row] = outbox.rows()
    assert row.state == "pending"
    assert 110 < (row.next_attempt_at - datetime.now(UTC)).total_seconds() <= 120


@pytest.mark.parametrize("status", [400, 401, 404, 410, 302])
def test_permanent_errors_are_dead_at_once(outbox: Any, receiver: Any, webhook: int, status: int) -> None:
    receiver.default = type(receiver.default)(status=status, headers={"Location": "http://127.0.0.1:1/"})
    outbox.queue()
    outbox.deliver()
    [row] = outbox.rows()
    assert (row.state, row.last_status) == ("dead", status)
    assert len(receiver.requests) == 1


def test_it_gives_up_after_the_last_attempt(outbox: Any, receiver: Any, webhook: int, settings_override: Any) -> None:
    settings_override(notify_max_attempts=3)
    receiver.default = type(receiver.default)(status=500)
    outbox.queue()
    for _ in range(5):
        outbox.make_due()
        outbox.deliver()
    assert outbox.states() == ["dead"]
    assert len(receiver.requests) == 3


def test_a_receiver_that_does_not_answer_is_asked_again_and_marked(
    outbox: Any, receiver: Any, webhook: int, settings_override: Any
) -> None:
    settings_override(notify_timeout_s=0.5)
    receiver.answers = [type(receiver.default)(delay_s=2.0)]
    outbox.queue()
    outbox.deliver()
    [row] = outbox.rows()
    assert (row.state, row.maybe_sent) == ("pending", True)
    assert row.last_error is not None
    assert "TimeoutError" in row.last_error


def test_an_unreachable_receiver_certainly_got_nothing(outbox: Any, receiver: Any) -> None:
    outbox.add_channel("webhook", {"url": "http://127.0.0.1:1/", "secret": SECRET})
    outbox.queue()
    outbox.deliver()
    [row] = outbox.rows()
    assert (row.state, row.maybe_sent) == ("pending", False)
    assert "cannot connect" in str(row.last_error)


def test_updates_wait_for_the_message_they_update(outbox: Any, receiver: Any, webhook: int) -> None:
    refused: list[int] = []

    def respond(request: Any) -> Any:
        first = request.json["incident"]["id"] == 1 and not refused
        refused.extend([1] if first else [])
        return type(receiver.default)(status=500 if first else 200)

    receiver.respond = respond
    outbox.queue("opened", incident_id=1)
    outbox.queue("resolved", incident_id=1)
    outbox.queue("opened", incident_id=2)
    outbox.deliver()
    assert outbox.states() == ["pending", "pending", "sent"]
    outbox.make_due()
    outbox.deliver()
    assert outbox.states() == ["sent", "sent", "sent"]
    about = [request.json for request in receiver.requests]
    assert [body["type"] for body in about if body["incident"]["id"] == 1] == [
        "incident.opened", "incident.opened", "incident.resolved",
    ]  # fmt: skip


def test_private_targets_are_refused_by_default(
    outbox: Any, receiver: Any, webhook: int, settings_override: Any
) -> None:
    settings_override(notify_allow_private_targets=False)
    outbox.queue()
    outbox.deliver()
    [row] = outbox.rows()
    assert row.state == "dead"
    assert "not a public address" in str(row.last_error)
    assert receiver.requests == []


def test_a_lost_key_kills_the_delivery_and_not_the_others(
    outbox: Any, receiver: Any, webhook: int, settings_override: Any, local: Settings
) -> None:
    from jitterscope.kit.secretbox import new_key

    outbox.queue(incident_id=1)
    settings_override(secret_key=type(local.secret_key)(new_key()))
    outbox.add_channel("webhook", {"url": receiver.url, "secret": SECRET})
    outbox.queue(incident_id=2)
    outbox.deliver()
    # The order in which channels' notices of an incident are queued does not matter.
    assert sorted(outbox.states()) == ["dead", "dead", "sent"]
    assert "another key" in str(outbox.rows()[0].last_error)


def test_backoff_grows_and_is_bounded() -> None:
    assert all(2.5 <= backoff_s(1) <= 7.5 for _ in range(50))
    assert all(450 <= backoff_s(40) <= 1350 for _ in range(50))
    assert len({backoff_s(3) for _ in range(20)}) == 20


def test_slack_updates_are_replies(outbox: Any, receiver: Any, organization: Any) -> None:
    def respond(request: Any) -> Any:
        number = len(receiver.requests)
        body = b'{"ok":true,"channel":"C1","ts":"17000.%d"}' % number
        return type(receiver.default)(body=body, headers={"Content-Type": "application/json"})

    receiver.respond = respond
    channel = outbox.add_channel("slack", {"bot_token": "xoxb-1", "channel": "C1", "api_url": f"{receiver.url}/api"})
    outbox.queue("opened")
    outbox.queue("resolved")
    outbox.deliver()
    assert outbox.states() == ["sent", "sent"]
    first, second, changed = receiver.requests
    assert first.path == second.path == "/api/chat.postMessage"
    assert (changed.path, changed.json["ts"]) == ("/api/chat.update", "17000.1")
    assert changed.json["text"].startswith("Resolved: ")
    assert first.headers["authorization"] == "Bearer xoxb-1"
    assert "thread_ts" not in first.json
    assert second.json["thread_ts"] == "17000.1"
    assert second.json["channel"] == "C1"
    assert first.json["metadata"]["event_payload"]["key"] == outbox.rows()[0].key
    with organization_session(organization.id) as session:
        thread = session.get(ThreadRow, (channel, 1))
        assert thread is not None
        assert thread.reference == {"channel": "C1", "ts": "17000.1"}


def test_slack_errors_come_with_status_200(outbox: Any, receiver: Any) -> None:
    answer = type(receiver.default)
    outbox.add_channel("slack", {"bot_token": "xoxb-1", "channel": "C1", "api_url": f"{receiver.url}/api"})
    receiver.answers = [answer(body=b'{"ok":false,"error":"internal_error"}'),
                        answer(body=b'{"ok":false,"error":"channel_not_found"}')]  # fmt: skip
    outbox.queue()
    outbox.deliver()
    assert outbox.states() == ["pending"]
    outbox.make_due()
    outbox.deliver()
    assert outbox.states() == ["dead"]
    assert outbox.rows()[0].last_error == "Slack: channel_not_found"


@pytest.mark.parametrize(("listed", "posts"), [(True, 0), (False, 1)])
def test_slack_is_asked_before_a_message_of_unknown_fate_is_repeated(
    outbox: Any, receiver: Any, listed: bool, posts: int
) -> None:
    import json

    def respond(request: Any) -> Any:
        if request.path.endswith("conversations.history"):
            key = outbox.rows()[0].key
            message = {"ts": "1.2", "metadata": {"event_type": "jitterscope_delivery", "event_payload": {"key": key}}}
            return type(receiver.default)(
                body=json.dumps({"ok": True, "messages": [message] if listed else []}).encode()
            )
        return type(receiver.default)(body=b'{"ok":true,"channel":"C1","ts":"1.3"}')

    receiver.respond = respond
    outbox.add_channel("slack", {"bot_token": "xoxb-1", "channel": "C1", "api_url": f"{receiver.url}/api"})
    outbox.queue()
    outbox.change(maybe_sent=True)
    outbox.deliver()
    assert outbox.states() == ["sent"]
    assert sum(request.path.endswith("chat.postMessage") for request in receiver.requests) == posts


def test_slack_incoming_webhook_says_ok_in_plain_text(outbox: Any, receiver: Any) -> None:
    outbox.add_channel("slack", {"webhook_url": f"{receiver.url}/services/T/B/x"})
    outbox.queue("opened")
    outbox.queue("resolved")
    outbox.deliver()
    assert outbox.states() == ["sent", "sent"]
    assert "thread_ts" not in receiver.requests[1].json
    assert receiver.requests[0].json["blocks"][0]["type"] == "section"
