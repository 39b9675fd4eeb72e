"""Buttons in Slack's messages, against a stand-in for Slack that signs as Slack does."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from jitterscope.db import organization_session
from jitterscope.notify.channels.slack import SlackConfig, takes_answers
from jitterscope.notify.delivery import deliver_due
from jitterscope.notify.models import ChannelRow
from jitterscope.notify.slack_press import NotAPress, is_fresh, is_signed, parse, sign
from jitterscope.notify.tasks import say_in_slack
from jitterscope.recordings.model import Recording
from tests.backend.incidents.test_channel_preview import incident
from tests.support.receiver import Slack

pytestmark = pytest.mark.slow

PATH = "/api/v1/integrations/slack/interactions"


@pytest.fixture
def slack() -> Iterator[Slack]:
    running = Slack()
    yield running
    running.close()


def bot(service: Any, slack: Slack, **more: Any) -> int:
    config = {
        "bot_token": slack.TOKEN, "channel": slack.CHANNEL, "api_url": f"{slack.url}/api",
        "signing_secret": slack.SIGNING_SECRET, **more,
    }  # fmt: skip
    return channel(service, {name: value for name, value in config.items() if value is not None})


def channel(service: Any, config: dict[str, Any]) -> int:
    made = {"kind": "slack", "name": "ops", "config": config, "min_severity": "info"}
    return int(service.post("/channels", made, status=201)["id"])


def pressed(service: Any, sent: tuple[bytes, dict[str, str]]) -> tuple[int, str]:
    body, headers = sent
    answer = service.client.post(PATH, content=body, headers=headers)
    return answer.status_code, "" if answer.status_code == 200 else answer.json()["type"].rpartition(":")[2]


def buttons(message: dict[str, Any]) -> list[str]:
    return [one["action_id"] for block in message["blocks"] if block["type"] == "actions" for one in block["elements"]]


def head(message: dict[str, Any]) -> str:
    return str(message["blocks"][0]["text"]["text"].partition("\n")[0])


@pytest.fixture
def told(service: Any, slack: Slack, gc_fault: Recording) -> int:
    """The ID of an incident that Slack was notified of."""
    bot(service, slack)
    number = incident(service, gc_fault)
    deliver_due(service.organization.id)
    return number


def test_acknowledge_mute_and_unmute_from_the_message(service: Any, slack: Slack, told: int) -> None:
    [message] = slack.messages
    assert buttons(message) == ["open", "acknowledge", "mute"]
    assert pressed(service, slack.press(message, "acknowledge")) == (200, "")
    assert service.get(f"/incidents/{told}")["state"] == "acknowledged"
    deliver_due(service.organization.id)
    shown = slack.shown[message["ts"]]
    assert "*Acknowledged*" in head(shown)
    assert buttons(shown) == ["open", "unacknowledge", "mute"]
    assert "by ada (Slack U061F7AUR)" in shown["blocks"][-1]["elements"][0]["text"]
    reply = slack.messages[-1]
    assert (reply["thread_ts"], buttons(reply)) == (message["ts"], ["open"])

    assert pressed(service, slack.press(shown, "mute", "4h")) == (200, "")
    muted = service.get(f"/incidents/{told}")
    assert (muted["mute"]["by"], muted["mute"]["only_this"]) == ("ada (Slack U061F7AUR)", True)
    deliver_due(service.organization.id)
    shown = slack.shown[message["ts"]]
    assert buttons(shown) == ["open", "unacknowledge", "unmute"]
    assert "Muted until" in shown["blocks"][1]["text"]["text"]
    assert len(slack.messages) == 2, "muting changes the message and sends none"

    assert pressed(service, slack.press(shown, "unmute")) == (200, "")
    assert service.get(f"/incidents/{told}")["muted"] is False
    entries = [one for one in service.get("/audit")["items"] if one["actor"] == "ada (Slack U061F7AUR)"]
    assert {one["action"] for one in entries} == {"incident.acknowledged", "incident.muted", "incident.unmuted"}
    assert {one["target"] for one in entries} == {f"incident {told}"}


def test_an_incident_is_one_message_that_is_kept_up_to_date(service: Any, slack: Slack, told: int) -> None:
    for verb in ("acknowledge", "unacknowledge", "acknowledge", "resolve"):
        service.post(f"/incidents/{told}/{verb}")
    deliver_due(service.organization.id)
    first, *replies = slack.messages
    assert [one["text"].partition(":")[0] for one in replies] == ["Acknowledged", "Resolved"], "not acknowledged twice"
    assert {one["thread_ts"] for one in replies} == {first["ts"]}
    shown = slack.shown[first["ts"]]
    assert "*Resolved*" in head(shown)
    assert buttons(shown) == ["open"]


def test_a_message_of_a_webhook_is_changed_by_the_url_of_the_press(
    service: Any, slack: Slack, gc_fault: Recording
) -> None:
    channel(service, {"webhook_url": f"{slack.url}/response", "signing_secret": slack.SIGNING_SECRET})
    number = incident(service, gc_fault)
    slack.respond = None
    deliver_due(service.organization.id)
    message = slack.requests[0].json
    slack.respond = slack._answer
    assert pressed(service, slack.press(message, "acknowledge")) == (200, "")
    deliver_due(service.organization.id)
    assert "*Acknowledged*" in head(slack.replaced[-1])
    assert service.get(f"/incidents/{number}")["state"] == "acknowledged"


def test_a_message_is_changed_again_where_slack_was_away(service: Any, slack: Slack, told: int) -> None:
    answers, slack.respond = slack.respond, None
    slack.default = type(slack.default)(status=503, headers={"Retry-After": "0"})
    service.post(f"/incidents/{told}/mute", {"reason": "known"})
    deliver_due(service.organization.id)
    slack.respond = answers
    deliver_due(service.organization.id)
    assert "Muted by" in slack.shown[slack.messages[0]["ts"]]["blocks"][1]["text"]["text"]


def test_pressing_again_changes_nothing_and_a_replay_is_refused(service: Any, slack: Slack, told: int) -> None:
    [message] = slack.messages
    sent = slack.press(message, "acknowledge")
    assert pressed(service, sent) == (200, "")
    assert pressed(service, sent) == (409, "repeated")
    assert pressed(service, slack.press(message, "acknowledge")) == (200, "")
    history = [one["action"] for one in service.get(f"/incidents/{told}")["history"]]
    assert history == ["opened", "acknowledged"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"secret": "another secret of an app"}, (401, "bad-signature")),
        ({"at": time.time() - 3600}, (401, "request-expired")),
        ({"at": time.time() + 3600}, (401, "request-expired")),
        ({"conversation": "C0OTHER"}, (403, "another-conversation")),
    ],
)
def test_what_slack_did_not_sign_for_this_channel_changes_nothing(
    service: Any, slack: Slack, told: int, given: dict[str, Any], expected: tuple[int, str]
) -> None:
    [message] = slack.messages
    assert pressed(service, slack.press(message, "acknowledge", **given)) == expected
    assert service.get(f"/incidents/{told}")["state"] == "open"


def test_a_changed_body_is_refused(service: Any, slack: Slack, told: int) -> None:
    body, headers = slack.press(slack.messages[0], "acknowledge")
    assert pressed(service, (body.replace(b"U061F7AUR", b"U061F7AUS"), headers)) == (401, "bad-signature")
    del headers["X-Slack-Signature"]
    assert pressed(service, (body, headers)) == (401, "bad-signature")


def test_another_organizations_secret_opens_nothing(
    service: Any, slack: Slack, told: int, make_organization: Any
) -> None:
    """Its admin knows the signing secret of their own channel, and the names in this organization."""
    other, secret = make_organization(), "the secret of another organization"
    made = {"kind": "slack", "name": "x", "config": {"webhook_url": f"{slack.url}/x", "signing_secret": secret}}
    answer = service.client.post("/api/v1/channels", json=made, headers=other.headers)
    theirs = answer.json()["id"]
    [message] = slack.messages
    [block] = [one for one in message["blocks"] if one["type"] == "actions"]
    ours = block["block_id"]
    assert pressed(service, slack.press(message, "acknowledge", secret=secret)) == (401, "bad-signature")
    organization, number, incident_id = ours.split(":")[1:]
    for name, expected in (
        (f"jitterscope:{organization}:{theirs}:{incident_id}", (401, "bad-signature")),
        (f"jitterscope:{other.id}:{number}:{incident_id}", (401, "bad-signature")),
        (f"jitterscope:{other.id}:{theirs}:{incident_id}", (404, "not-found")),
    ):
        block["block_id"] = name
        assert pressed(service, slack.press(message, "acknowledge", secret=secret)) == expected
    assert service.get(f"/incidents/{told}")["state"] == "open"


def test_who_presses_too_late_is_told_why(service: Any, slack: Slack, told: int) -> None:
    [message] = slack.messages
    service.post(f"/incidents/{told}/resolve")
    assert pressed(service, slack.press(message, "acknowledge")) == (409, "already-resolved")
    say_in_slack(
        service.organization.id,
        f"{slack.url}/response",
        "Already resolved. A resolved incident <cannot> be acknowledged.",
    )
    assert slack.whispers == ["Already resolved. A resolved incident &lt;cannot&gt; be acknowledged."]


def at(sent: tuple[bytes, dict[str, str]], secret: str, url: str) -> tuple[bytes, dict[str, str]]:
    """The same press with another URL for its answer, signed by whoever knows the secret."""
    body, headers = sent
    content = json.loads(parse_qs(body.decode())["payload"][0]) | {"response_url": url}
    body = urlencode({"payload": json.dumps(content)}).encode()
    timestamp = headers["X-Slack-Request-Timestamp"]
    return body, headers | {"X-Slack-Signature": sign(secret, timestamp, body)}


@pytest.mark.parametrize(
    "url", ["https://tarpit.example/hook", "http://127.0.0.1:9/response", "https://hooks.slack.com@x.org/"]
)
def test_no_answer_goes_to_an_address_that_only_the_press_names(
    service: Any, slack: Slack, told: int, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr("jitterscope.worker.send", lambda name, **more: sent.append({"name": name, **more}))
    service.post(f"/incidents/{told}/resolve")
    sent.clear()
    [message] = [one for one in slack.messages if "thread_ts" not in one]
    press = slack.press(message, "acknowledge")
    assert pressed(service, press) == (409, "already-resolved")
    assert [one["name"] for one in sent] == ["notify.say_in_slack"]
    assert (sent[0]["organization_id"], sent[0]["expires_s"]) == (service.organization.id, 30)
    sent.clear()
    assert pressed(service, at(slack.press(message, "acknowledge"), slack.SIGNING_SECRET, url)) == (
        409, "already-resolved",
    )  # fmt: skip
    assert sent == []


def test_slack_and_govslack_are_answered_at_their_hooks() -> None:
    slack = SlackConfig.model_validate({"bot_token": "x", "channel": "C1"})
    gov = SlackConfig.model_validate({"bot_token": "x", "channel": "C1", "api_url": "https://slack-gov.com/api"})
    assert takes_answers(slack, "https://hooks.slack.com/actions/T1/2/3")
    assert takes_answers(gov, "https://hooks.slack-gov.com/actions/T1/2/3")
    for url in (
        "http://hooks.slack.com/a", "https://hooks.slack.com:444/a", "https://hooks.slack.com.evil.example/a",
        "https://user@hooks.slack.com/a", "https://hooks.slack-gov.com/a", "https://[", "",
    ):  # fmt: skip
        assert not takes_answers(slack, url), url


def test_presses_of_a_channel_are_limited_and_count_for_the_organization(
    service: Any, slack: Slack, told: int, early_in_a_minute: None
) -> None:
    [message] = slack.messages
    before = requests_used(service)
    answers = [pressed(service, slack.press(message, "acknowledge"))[0] for _ in range(61)]
    assert answers == [200] * 60 + [429]
    assert requests_used(service) >= before + 60
    wrong = slack.press(message, "acknowledge", secret="another secret of an app")
    assert pressed(service, wrong) == (401, "bad-signature"), "a stranger's presses count for nobody"


def requests_used(service: Any) -> int:
    return next(int(one["used"]) for one in service.get("/organizations/current/limits") if one["name"] == "requests")


def test_one_answer_at_a_time_is_under_way_for_an_organization(
    service: Any, slack: Slack, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def meanwhile(post: Any) -> Any:
        said.append(post.url)
        if len(said) == 1:
            say_in_slack(service.organization.id, f"{slack.url}/second", "Second.")
            say_in_slack(service.organization.id + 1, f"{slack.url}/other", "Of another organization.")
        return 200, {}, b""

    monkeypatch.setattr("jitterscope.notify.tasks.perform", meanwhile)
    say_in_slack(service.organization.id, f"{slack.url}/first", "First.")
    assert said == [f"{slack.url}/first", f"{slack.url}/other"]


def test_without_a_signing_secret_there_are_no_buttons(service: Any, slack: Slack, gc_fault: Recording) -> None:
    bot(service, slack, signing_secret=None)
    incident(service, gc_fault)
    deliver_due(service.organization.id)
    assert buttons(slack.messages[0]) == ["open"]
    assert pressed(service, slack.press(slack.messages[0], "open")) == (400, "no-press")


def test_the_signing_secret_is_sealed_and_never_shown(service: Any, slack: Slack) -> None:
    number = bot(service, slack)
    with organization_session(service.organization.id) as session:
        row = session.get(ChannelRow, number)
        assert row is not None
        assert slack.SIGNING_SECRET not in row.config_sealed
    assert slack.SIGNING_SECRET not in str(service.get("/channels"))
    assert slack.SIGNING_SECRET not in str(service.get("/audit"))


def test_the_signature_is_the_one_of_slacks_documentation() -> None:
    """https://api.slack.com/authentication/verifying-requests-from-slack"""
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&"
        b"channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&"
        b"response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F"
        b"96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    assert is_signed("8f742231b10e8888abcd99yyyzzz85a5", "1531420618", body, signature)
    assert not is_signed("8f742231b10e8888abcd99yyyzzz85a5", "1531420619", body, signature)


@pytest.mark.parametrize("timestamp", ["", "x", "-1", "1e9", "١٢٣", "9" * 400, "100"])
def test_times_that_are_none_are_not_fresh(timestamp: str) -> None:
    assert not is_fresh(timestamp, 1531420618.0)
    assert is_fresh("1531420618", 1531420618.0 + 300)
    assert not is_fresh("1531420618", 1531420618.0 + 301)


@pytest.mark.parametrize(
    "body", [b"", b"payload=", b"payload=1", b"payload={}", b"payload=[]", b"\xff", b"payload=" + b"[" * 100_000]
)
def test_bodies_that_are_no_press(body: bytes) -> None:
    with pytest.raises(NotAPress):
        parse(body)
