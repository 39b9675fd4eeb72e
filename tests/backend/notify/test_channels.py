"""Channels over REST: secrets go in and never come out; targets inside the service's network are rejected."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from jitterscope.bounds import REMOTE, bound_of
from jitterscope.cli import app
from jitterscope.db import organization_session
from jitterscope.kit.secretbox import SecretUnreadable, new_key, unseal
from jitterscope.notify import channels_service, endpoints, target, tasks
from jitterscope.notify.kind import kinds
from jitterscope.notify.payload import Payload, PayloadChange, PayloadMeasure, PayloadVerification
from jitterscope.notify.sample import sample_payload
from jitterscope.notify.slack_message import blocks
from jitterscope.notify.special_purpose import NETWORKS
from jitterscope.notify.wire import Post, PostFailed, perform
from jitterscope.settings import REPOSITORY
from tests.support.receiver import Receiver

SECRET = "0123456789abcdef-very-secret"


@pytest.fixture
def rest(api: Any, local: Any) -> Any:
    return api


def create(rest: Any, receiver: Any, **more: Any) -> dict[str, Any]:
    config = {"url": f"{receiver.url}/hook?key=hidden-in-url", "secret": SECRET}
    response = rest.post("/api/v1/channels", json={"kind": "webhook", "name": "ops", "config": config, **more})
    assert response.status_code == 201, response.text
    return dict(response.json())


def test_a_channel_from_birth_to_death(rest: Any, receiver: Any, organization: Any) -> None:
    made = create(rest, receiver)
    assert made["target"] == receiver.url
    assert (made["enabled"], made["min_severity"], made["pending"], made["dead"]) == (True, "warning", 0, 0)
    path = f"/api/v1/channels/{made['id']}"
    renamed = rest.patch(path, json={"name": "night shift", "enabled": False, "actions": ["opened"]}).json()
    assert (renamed["name"], renamed["enabled"], renamed["actions"]) == ("night shift", False, ["opened"])
    everything = rest.get("/api/v1/channels").text + rest.get(path).text + rest.get("/api/v1/audit").text
    assert SECRET not in everything
    assert "hidden-in-url" not in everything
    with organization_session(organization.id) as session:
        stored = session.execute(text("SELECT config_sealed FROM channels")).scalar_one()
    assert SECRET not in stored
    assert rest.delete(path).status_code == 204
    assert rest.get(path).status_code == 404
    trail = [entry["action"] for entry in rest.get("/api/v1/audit").json()["items"]]
    assert trail == ["channel.delete", "channel.update", "channel.create"]


def test_tests_of_a_channel_are_calls_to_the_outside_and_limited(
    rest: Any, receiver: Any, early_in_a_minute: None
) -> None:
    assert bound_of(endpoints.test_channel) is REMOTE
    path = f"/api/v1/channels/{create(rest, receiver)['id']}/test"
    answers = [rest.post(path).status_code for _ in range(21)]
    assert answers == [200] * 20 + [429]
    assert len(receiver.requests) == 20


def test_an_organization_has_so_many_channels_and_no_more(
    rest: Any, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels_service, "MOST", 3)
    config = {"url": f"{receiver.url}/hook", "secret": SECRET}
    answers = [
        rest.post("/api/v1/channels", json={"kind": "webhook", "name": "ops", "config": config}) for _ in range(4)
    ]
    assert [one.status_code for one in answers] == [201] * 3 + [409]
    assert answers[-1].json()["type"].endswith("too-many-channels")


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_text_of_a_configuration_has_a_longest_length(kind: str) -> None:
    schema = kinds()[kind].config_model.model_json_schema()
    for name, field in schema["properties"].items():
        texts = [one for one in (field, *field.get("anyOf", ())) if one.get("type") == "string"]
        assert texts, name
        assert all("maxLength" in one or "pattern" in one for one in texts), name


def test_the_test_button(rest: Any, receiver: Any) -> None:
    path = f"/api/v1/channels/{create(rest, receiver)['id']}/test"
    result = rest.post(path).json()
    assert (result["ok"], result["status"]) == (True, 200)
    assert receiver.requests[0].json["type"] == "incident.test"
    receiver.default.status, receiver.default.body = 403, b"bad key"
    result = rest.post(path).json()
    assert (result["ok"], result["status"], result["detail"]) == (False, 403, "HTTP 403: bad key")


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        ("pigeon", {}, "pigeon"),
        ("webhook", {"url": "ftp://example.org/", "secret": SECRET}, "https://"),
        ("webhook", {"url": "https://user:pass@example.org/", "secret": SECRET}, "user info"),
        ("webhook", {"url": "https://example.org/", "secret": "short"}, "secret"),
        ("webhook", {"url": "https://example.org/"}, "secret"),
        ("webhook", {"url": "https://example.org/\r\nX: y", "secret": SECRET}, "control characters"),
        ("slack", {}, "either"),
        ("slack", {"bot_token": "xoxb-1"}, "channel"),
        ("slack", {"webhook_url": "https://hooks.slack.com/x", "bot_token": "xoxb-1", "channel": "C1"}, "either"),
    ],
)
def test_bad_configurations_are_explained(rest: Any, kind: str, config: dict[str, str], message: str) -> None:
    response = rest.post("/api/v1/channels", json={"kind": kind, "name": "x", "config": config})
    assert response.status_code == 422, response.text
    assert message in response.json()["detail"]
    assert SECRET not in response.text
    assert "pass@" not in response.text


def test_dead_deliveries_are_seen_and_retried(rest: Any, receiver: Any, outbox: Any) -> None:
    number = create(rest, receiver)["id"]
    receiver.default.status = 404
    outbox.queue()
    outbox.deliver()
    path = f"/api/v1/channels/{number}/deliveries"
    [dead] = rest.get(path, params={"state": "dead"}).json()["items"]
    assert (dead["state"], dead["last_status"], dead["attempts"]) == ("dead", 404, 1)
    assert rest.get(f"/api/v1/channels/{number}").json()["dead"] == 1
    receiver.default.status = 200
    assert rest.post(f"{path}/{dead['id']}/retry").status_code == 202
    outbox.deliver()
    [sent] = rest.get(path).json()["items"]
    assert (sent["state"], sent["key"]) == ("sent", dead["key"])
    assert rest.post(f"{path}/{dead['id']}/retry").status_code == 409
    keys = [request.headers["idempotency-key"] for request in receiver.requests]
    assert keys == [dead["key"], dead["key"]]


def test_nobody_elses(rest: Any, receiver: Any, other_organization: Any) -> None:
    number = create(rest, receiver)["id"]
    headers = other_organization.headers
    assert rest.get("/api/v1/channels", headers=headers).json() == []
    for method, path in (("get", ""), ("patch", ""), ("delete", ""), ("post", "/test"), ("get", "/deliveries")):
        sent: dict[str, Any] = {"json": {}} if method == "patch" else {}
        assert getattr(rest, method)(f"/api/v1/channels/{number}{path}", headers=headers, **sent).status_code == 404
    assert receiver.requests == []


def test_every_kind_describes_itself(rest: Any) -> None:
    listed = {kind["kind"]: kind for kind in rest.get("/api/v1/channels/kinds").json()}
    assert set(listed) == set(kinds()) >= {"slack", "webhook"}
    assert listed["webhook"]["config_schema"]["properties"]["secret"]["writeOnly"] is True


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
        "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "ff02::1", "192.0.0.192", "::127.0.0.1", "64:ff9b:1::a00:1", "fec0::1",
        "5f00::1", "3fff::1", "100:0:0:1::1", "192.88.99.1", "2001:db8::1", "2002:808:808::1", "4000::1",
    ],
)  # fmt: skip
def test_addresses_inside(address: str) -> None:
    assert not target.is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::101:101"])
def test_addresses_outside(address: str) -> None:
    assert target.is_public(address)


def test_every_block_that_iana_does_not_call_reachable_is_inside() -> None:
    for network, reachable in NETWORKS:
        if not reachable and network not in ("2001::/23", "192.0.0.0/24", "::ffff:0:0/96"):  # with exceptions inside
            assert not target.is_public(network.split("/")[0]), network


def test_names_inside_look_like_names_that_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        if host == "vault.internal":
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.9.8.7", port))]
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    told = []
    for host in ("vault.internal", "absent.internal"):
        with pytest.raises(PostFailed) as refused:
            perform(Post(f"https://{host}/", {}, b""))
        told.append((refused.value.detail.replace(host, "HOST"), refused.value.permanent, refused.value.failure))
    assert told[0] == told[1]
    assert "10.9.8.7" not in told[0][0]
    for literal in ("http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://[::1]/"):
        with pytest.raises(PostFailed, match="not a public address"):
            perform(Post(literal, {}, b"", proxy="http://127.0.0.1:9"))


def test_everything_goes_through_the_egress_proxy(receiver: Receiver) -> None:
    proxy = receiver.url.replace("http://", "http://user:p%40ss@")
    assert perform(Post("http://hooks.example/in?a=1", {}, b"{}", proxy=proxy))[0] == 200
    (request,) = receiver.requests
    assert request.path == "http://hooks.example/in?a=1"
    assert request.headers["host"] == "hooks.example"
    assert request.headers["proxy-authorization"] == "Basic dXNlcjpwQHNz"
    with pytest.raises(PostFailed, match="through the egress proxy: OSError: it answered 501"):
        perform(Post("https://hooks.example/", {}, b"", proxy=proxy))


def test_the_address_that_was_checked_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that would resolve differently the second time (DNS rebinding) is resolved only once."""
    asked: list[str] = []
    connected: list[str] = []

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = "93.184.216.34" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(_self: socket.socket, address: Any) -> None:
        connected.append(address[0])
        raise OSError("not from a test")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(PostFailed, match="not from a test"):
        perform(Post("http://rebind.example/", {}, b""))
    assert (asked, connected) == (["rebind.example"], ["93.184.216.34"])


def test_slack_text_cannot_mention_or_link() -> None:
    content = sample_payload(1, "jitterscope").model_dump()
    content["incident"]["title"] = "<!channel> & <https://evil|x>"
    content["incident"]["subject"]["name"] = "<@U1>"
    rendered = json.dumps(blocks(Payload.model_validate(content)), ensure_ascii=False)
    assert "<!channel>" not in rendered
    assert "<@U1>" not in rendered
    assert "&lt;!channel&gt; &amp; " in rendered


def test_slack_tells_the_figures_of_whatever_area_it_is() -> None:
    content = sample_payload(1, "jitterscope").model_dump()
    told = json.dumps(blocks(Payload.model_validate(content)), ensure_ascii=False)
    for field in (
        r"*Slow answers*\n1.5 % (900 of 60,000)", r"*p99 latency*\n61 ms",
        r"*Throttled periods*\n6 % (4,200 ms total)", r"*Peak CPU in 100 ms*\n0.95 CPU",
    ):  # fmt: skip
        assert field in told
    content["incident"] |= {"cause": "pods/pod_slo", "impact": {"late_start_ratio": 0.25, "start_p99_ms": 7000.0}}
    told = json.dumps(blocks(Payload.model_validate(content)), ensure_ascii=False)
    assert r"*Pods that took over 5 s to start*\n25 %" in told
    assert r"*p99 pod start time*\n7,000 ms" in told


def test_slack_messages_keep_to_slacks_limits() -> None:
    content = sample_payload(1, "jitterscope").model_dump()
    content["incident"]["title"] = "x" * 5000
    content["incident"]["summary"] = "y" * 5000
    content["transition"]["detail"] = "z" * 5000
    made = blocks(Payload.model_validate(content))
    assert len(made) <= 50
    assert all(len(block["text"]["text"]) <= 3000 for block in made if block["type"] == "section" and "text" in block)


def test_slack_shows_before_and_after() -> None:
    sample = sample_payload(1, "somebody")
    measure = PayloadMeasure(
        metric="slow_ratio", title="Slow queries", unit="ratio", before=0.0153, after=0.0002, predicted_low=0.0,
        predicted_high=0.0001, inside=False,
    )  # fmt: skip
    verification = PayloadVerification(
        state="verified",
        fix_id="raise_cpu_limit",
        fix_title="Raise the CPU limit",
        applied_at=sample.transition.at,
        changes=[PayloadChange(name="cpu_limit", title="CPU <limit>", old="0.5", new=None)],
        verdict="The fix helped.",
        measures=[measure],
    )
    done = sample.model_copy(
        update={
            "transition": sample.transition.model_copy(update={"action": "verified"}),
            "incident": sample.incident.model_copy(update={"verification": verification}),
        }
    )
    text = json.dumps(blocks(done), ensure_ascii=False)
    assert ":white_check_mark: *Fix verified*" in text
    assert "CPU &lt;limit&gt;: 0.5 → *not set*" in text
    assert "1.5 % → *0.02 %*" in text
    assert "predicted 0 % to 0.01 %: missed" in text
    assert Payload.model_validate_json(done.model_dump_json()) == done


def test_payloads_of_before_verifications_are_still_sent() -> None:
    content = sample_payload(1, "somebody").model_dump(mode="json")
    del content["incident"]["verification"]
    assert Payload.model_validate(content).incident.verification is None


def test_the_published_schema_is_the_real_one() -> None:
    path: Path = REPOSITORY / "contracts" / "webhooks" / "v1.schema.json"
    assert json.loads(path.read_text()) == Payload.model_json_schema(mode="serialization"), "run: make gen"


def test_the_key_is_rotated_without_a_gap(
    rest: Any, receiver: Any, organization: Any, settings_override: Any, local: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests leave organizations with secrets of other keys.
    for module in ("cli", "tasks"):
        monkeypatch.setattr(f"jitterscope.notify.{module}.organization_ids", lambda: [organization.id])
    number = create(rest, receiver)["id"]
    old, new = local.secret_key.get_secret_value(), new_key()

    def keys(*order: str) -> None:
        settings_override(secret_key=type(local.secret_key)(",".join(order)))

    def works() -> bool:
        return bool(rest.post(f"/api/v1/channels/{number}/test").json().get("ok"))

    keys(new, old)
    assert works()
    resealed = CliRunner().invoke(app, ["reseal-secrets"])
    assert "every secret needs only the first key" in resealed.output, resealed.output
    keys(new)
    assert works()
    keys(new_key())
    assert not works()
    lost = CliRunner().invoke(app, ["reseal-secrets"])
    assert lost.exit_code == 1
    assert "none of the keys" in lost.output
    keys(new_key(), new)
    tasks.reseal()  # the task does the same eventually
    with organization_session(organization.id) as session:
        (sealed,) = session.execute(text("SELECT config_sealed FROM channels")).scalars()
    with pytest.raises(SecretUnreadable):
        unseal(new, sealed)
