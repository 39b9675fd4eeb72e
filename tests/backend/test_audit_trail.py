"""Every change is in the audit trail: from the route table, with old values, rejections, and failures."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.kit.declared import Route
from jitterscope.notify.slack_press import block_id
from jitterscope.settings import Settings, override_settings, settings
from tests.backend.conftest import Organization
from tests.backend.incidents.conftest import Service, service
from tests.backend.incidents.stories import recorded
from tests.backend.notify.conftest import Outbox, receiver
from tests.backend.pulls.conftest import FACTS, MANIFEST, PATH
from tests.support.git_hosts import REPOSITORY, TOKEN, GitHub
from tests.support.mailbox import Mailbox
from tests.support.receiver import Slack

__all__ = ["receiver", "service"]  # fixtures
HERE = {"X-Requested-With": "jitterscope"}
PASSWORD = "a long enough password"
FLUX = {
    "involvedObject": {"kind": "Kustomization", "name": "cart", "namespace": "shop"}, "severity": "info",
    "reason": "ReconciliationSucceeded",
}  # fmt: skip
BENCH = {
    "name": "resolver", "sender": "go", "started_us": 1, "timeout_ms": 100, "names": 1,
    "targets": [{"name": "a", "address": "127.0.0.1", "port": 53}],
    "runs": [{"target": "a", "rate_qps": 10, "seconds": 1, "sent": 10, "answered": 10, "lost": 0, "p50_us": 90.0}],
}  # fmt: skip


class Actor:
    """Calls routes and remembers which of them changed something."""

    def __init__(self, client: TestClient, headers: dict[str, str]) -> None:
        self._client, self._headers = client, headers
        assert isinstance(client.app, FastAPI)
        self._routes: list[Route] = client.app.state.route_table
        self.called: set[str] = set()

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        headers = self._headers | more.pop("headers", {})
        response = self._client.request(method, f"/api/v1{path}", json=body, headers=headers, **more)
        assert response.status_code < 300, f"{method} {path}: {response.status_code} {response.text}"
        for row in self._routes:
            pattern = re.sub(r"\{[^}]+\}", "[^/]+", row.path)
            if row.method == method and re.fullmatch(pattern, f"/api/v1{path}"):
                self.called.add(row.name)
        json = response.content and "json" in response.headers.get("content-type", "")
        return response.json() if json else None

    def entries(self) -> list[dict[str, Any]]:
        return list(self("GET", "/audit", params={"limit": 200})["items"])


def test_entries_say_who_it_was_by_id(client: TestClient, organization: Organization) -> None:
    """Names are chosen by those who bear them."""
    login = {"email": organization.email, "password": organization.password}
    user_id = client.post("/api/v1/auth/login", json=login).json()["user_id"]
    named = {"name": "admin", "scopes": ["*:read"]}
    client.post("/api/v1/tokens", json=named, headers=organization.headers)
    items = client.get("/api/v1/audit", headers=organization.headers).json()["items"]
    by_token, by_user = (
        next(one for one in items if one["action"] == name) for name in ("token.create", "session.start")
    )
    assert (by_user["user_id"], by_user["token_id"]) == (user_id, None)
    assert by_token["user_id"] is None
    assert isinstance(by_token["token_id"], int)


@pytest.mark.slow
def test_every_change_is_recorded_as_its_route_declares(
    service: Service, receiver: Any, client: TestClient, organization: Organization
) -> None:
    act = Actor(client, organization.headers)
    _incident(act, service)
    _channel(act, receiver, organization)
    _pull_request(act, service)
    _rest(act)
    with Mailbox() as mailbox:
        _people(act, client, organization, mailbox)
    rows = [row for row in client.app.state.route_table if row.changes or row.audit is not None]  # type: ignore[attr-defined]
    silent = {row.name for row in rows if row.audit.reason is not None}
    assert {row.name for row in rows} - silent - act.called == set(), "a route that changes something is not tried here"
    recorded_actions = {entry["action"] for entry in act.entries()}
    declared = {action for row in rows for action in row.audit.actions}
    assert declared - recorded_actions == set(), "declared, but not recorded"
    print(f"\n{len(rows) - len(silent)} routes record {len(declared)} actions; {len(silent)} say why not")  # noqa: T201


def _incident(act: Actor, service: Service) -> None:
    subject = service.feed(recorded(Workload(seconds=30)))
    service.diagnose(subject)
    number = act("GET", "/incidents")["items"][0]["id"]
    until = (datetime.now(UTC) + timedelta(hours=8)).isoformat()
    mute = act("POST", "/mutes", {"reason": "night", "until": until, "incident_id": number})["id"]
    act("POST", f"/mutes/{mute}/end")
    _slack(act, number, service.organization)
    for verb, body in (
        ("acknowledge", None), ("unacknowledge", None), ("mute", {}), ("unmute", None), ("note", {"note": "seen"}),
        ("pin", {"pinned": True}), ("pin", {"pinned": False}), ("verify", {}), ("resolve", None),
    ):  # fmt: skip
        act("POST", f"/incidents/{number}/{verb}", body)
    newest = next(entry for entry in act.entries() if entry["action"] == "incident.resolved")
    assert newest["detail"]["state"] == {"from": "fix_applied", "to": "resolved"}
    note = next(one["id"] for one in act("GET", f"/incidents/{number}")["history"] if one["action"] == "noted")
    act("PUT", f"/incidents/{number}/notes/{note}", {"note": "seen twice"})
    act("DELETE", f"/incidents/{number}/notes/{note}")
    act("PUT", f"/incidents/{number}/post-mortem/edits", {"content": "# Ours", "version": 0})
    act("DELETE", f"/incidents/{number}/post-mortem/edits", params={"version": 1})
    link = act("POST", f"/incidents/{number}/links", {"expires_in_days": 1})
    for allowed in (False, True):
        act("PUT", "/links/policy", {"links_allowed": allowed})
        assert act.entries()[0]["detail"]["links_allowed"] == {"from": not allowed, "to": allowed}
    act("DELETE", f"/links/{link['link']['id']}")
    assert link["url"].rpartition("#")[2] not in str(act.entries())
    change = act("POST", "/changes", {"title": "Deploy cart", "workload": "cart"})["id"]
    act("POST", "/changes/flux", FLUX | {"timestamp": datetime.now(UTC).isoformat()})
    act("DELETE", f"/changes/{change}")
    assert act.entries()[0]["detail"]["title"] == "Deploy cart"
    act("PUT", f"/resources/{subject}/objective", {"objective": "p99<50ms"})
    act("DELETE", f"/resources/{subject}/objective")
    assert act.entries()[0]["detail"]["objective"] == {"from": "p99<50ms", "to": None}
    act(
        "GET", "/recordings", params={"resource": subject, "from": "2026-11-23T10:00:00Z", "to": "2026-11-23T10:01:00Z"}
    )


def _slack(act: Actor, number: int, organization: Organization) -> None:
    slack = Slack()
    config = {"webhook_url": f"{slack.url}/hook", "signing_secret": slack.SIGNING_SECRET}
    channel = act("POST", "/channels", {"kind": "slack", "name": "chat", "config": config})["id"]
    message = {"blocks": [{"type": "actions", "block_id": block_id(organization.id, channel, number)}]}
    for pressed in ("acknowledge", "unacknowledge"):
        body, headers = slack.press(message, pressed)
        act("POST", "/integrations/slack/interactions", content=body, headers=headers)
        assert (act.entries()[0]["actor"], act.entries()[0]["actor_kind"]) == ("ada (Slack U061F7AUR)", "slack")
    act("DELETE", f"/channels/{channel}")
    slack.close()


def _channel(act: Actor, receiver: Any, organization: Organization) -> None:
    config = {"url": f"{receiver.url}/hook", "secret": "0123456789abcdef-secret"}
    channel = act("POST", "/channels", {"kind": "webhook", "name": "ops", "config": config})["id"]
    act("PATCH", f"/channels/{channel}", {"name": "night shift", "config": config})
    act("POST", f"/channels/{channel}/test")
    outbox = Outbox(organization.id)
    outbox.queue()
    outbox.change(state="dead")
    delivery = outbox.rows()[0].id
    act("POST", f"/channels/{channel}/deliveries/{delivery}/retry")
    act("DELETE", f"/channels/{channel}")
    update = next(entry for entry in act.entries() if entry["action"] == "channel.update")
    assert update["detail"]["name"] == {"from": "ops", "to": "night shift"}
    assert "0123456789abcdef" not in str(update)


def _pull_request(act: Actor, service: Service) -> None:
    host = GitHub({PATH: MANIFEST})
    subject = service.feed(recorded(Workload(seconds=80, facts=FACTS)), suffix="-pulls")
    service.diagnose(subject)
    number = act("GET", "/incidents", params={"subject": subject})["items"][0]["id"]
    file = {"path": PATH, "format": "manifest"}
    body = {"kind": "github", "url": host.url, "repository": REPOSITORY, "token": TOKEN, "files": [file]}
    repository = act("POST", "/repositories", body)["id"]
    act("PATCH", f"/repositories/{repository}", {"token": TOKEN, "base_branch": "main"})
    act("POST", f"/repositories/{repository}/test")
    act("POST", f"/incidents/{number}/fixes/raise_cpu_limit/pull-request")
    assert act.entries()[0]["detail"]["url"].startswith(host.url)
    act("DELETE", f"/repositories/{repository}")
    assert TOKEN not in str(act.entries())
    host.close()


def _rest(act: Actor) -> None:
    file = b"Wed Oct 11 14:50:59 UTC 2023 Try: 3 DnsmasqProcess: 15\n"
    headers = {"Content-Type": "application/octet-stream"}
    made = act("POST", "/analyses", params={"name": "loop.txt"}, content=file, headers=headers)
    act("DELETE", f"/analyses/{made['id']}")
    act("POST", "/analyses/dns-bench", BENCH)
    act("PUT", "/collection", {"off": ["dns_names"]})
    assert act.entries()[0]["detail"]["off"] == {"from": [], "to": ["dns_names"]}
    view = act("POST", "/views", {"page": "/services", "name": "slow", "search": "?q=dns", "shared": False})
    act("PUT", f"/views/{view['id']}", {"name": "slow", "search": "?q=dns", "shared": True})
    assert act.entries()[0]["detail"] == {"shared": {"from": False, "to": True}}
    act("DELETE", f"/views/{view['id']}")
    before = act("GET", "/retention")
    del before["most"]
    act("PUT", "/retention", before | {"raw_days": before["raw_days"] - 1})
    retention = act.entries()[0]
    assert retention["detail"]["raw_days"] == {"from": before["raw_days"], "to": before["raw_days"] - 1}


def _verify(act: Actor, mailbox: Mailbox, organization: Organization) -> None:
    """The address of a user for whom it is unknown whether it is theirs."""
    with psycopg.connect(organization.owner_url) as owner:
        owner.execute("UPDATE users SET verified_at = NULL WHERE email = %s", (organization.email,))
    with override_settings(settings().model_copy(update=mailbox.settings())):
        act("POST", "/me/verification", headers=_none())
        act("POST", "/me/verification/confirm", {"token": mailbox.link()[1]}, headers=_none())


def _people(act: Actor, client: TestClient, organization: Organization, mailbox: Mailbox) -> None:
    for path in ("/tokens", "/collectors/tokens"):
        body = {"name": "x", "scopes": ["incidents:read"]} if path == "/tokens" else {"name": "x"}
        act("DELETE", f"{path}/{act('POST', path, body)['token']['id']}")
    withdrawn = act("POST", "/members/invitations", {"email": "late@example.org", "role": "viewer"})
    act("DELETE", f"/members/invitations/{withdrawn['invitation']['id']}")
    email = f"{secrets.token_hex(6)}@example.org"
    invited = act("POST", "/members/invitations", {"email": email, "role": "viewer"})
    joined = act(
        "POST", "/auth/accept", {"token": invited["token"], "name": "New", "password": PASSWORD}, headers=_none()
    )
    act("PATCH", f"/members/{joined['user_id']}", {"role": "editor"})
    assert act.entries()[0]["detail"] == {"role": {"from": "viewer", "to": "editor"}}
    act("DELETE", f"/members/{joined['user_id']}")
    assert act.entries()[0]["detail"]["email"] == email
    name = act("GET", "/organizations/current")["name"]
    act("PATCH", "/organizations/current", {"name": "Renamed"})
    assert act.entries()[0]["detail"] == {"name": {"from": name, "to": "Renamed"}}
    login = {"email": organization.email, "password": organization.password}
    act("POST", "/auth/login", login, headers=_none())
    second = act("POST", "/organizations", {"name": "Second"}, headers=_none())["id"]
    act("POST", "/auth/switch", {"organization_id": second}, headers=_none())
    seen = Actor(client, HERE).entries()
    assert [entry["action"] for entry in seen] == ["session.start", "organization.create"]
    act("POST", "/auth/switch", {"organization_id": organization.id}, headers=_none())
    _verify(act, mailbox, organization)
    change = {"current_password": organization.password, "new_password": PASSWORD}
    act("POST", "/me/password", change, headers=_none())
    act("POST", "/auth/logout", headers=_none())


def _none() -> dict[str, str]:
    """The session's cookie instead of the token."""
    return {"Authorization": "", **HERE}


def test_failed_sign_ins_are_told_to_the_members_organization(client: TestClient, organization: Organization) -> None:
    for email in (organization.email, organization.email, "nobody@example.org"):
        client.post("/api/v1/auth/login", json={"email": email, "password": "a wrong password"})
    found = [one for one in Actor(client, organization.headers).entries() if one["action"] == "session.refuse"]
    assert len(found) == 1, "one for each minute and address"
    assert found[0]["detail"]["email"] == organization.email
    assert found[0]["detail"]["address"]
    assert "a wrong password" not in str(found)


@pytest.mark.parametrize("reason", ["missing-scope", "cross-site", "operator-needed"])
def test_refusals_are_recorded_once_a_minute(
    client: TestClient, organization: Organization, reason: str, settings_override: Callable[..., Settings]
) -> None:
    for _ in range(3):
        match reason:
            case "missing-scope":
                client.get("/api/v1/audit", headers=organization.ingest_headers)
            case "operator-needed":
                client.post("/api/v1/organizations", json={"name": "x"}, headers=organization.headers)
            case _:
                body = {"email": organization.email, "password": organization.password}
                client.post("/api/v1/auth/login", json=body)
                client.patch(
                    "/api/v1/organizations/current", json={"name": "x"}, headers={"Origin": "https://evil.example"}
                )
                client.cookies.clear()
    found = [one for one in Actor(client, organization.headers).entries() if one["action"] == "access.refuse"]
    assert {one["detail"]["reason"] for one in found} == {reason}
    assert len(found) == (3 if reason == "cross-site" else 1)  # three sessions are three callers
