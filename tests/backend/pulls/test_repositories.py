"""Repositories: who may set them up, what is stored and shown of a token, and that they stay in their organization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from jitterscope.kit.secretbox import new_key
from jitterscope.notify.tasks import reseal_organization
from jitterscope.recordings.model import Recording
from jitterscope.settings import settings
from tests.backend.conftest import Database, Organization
from tests.backend.pulls.conftest import MANIFEST, PATH, Opener
from tests.backend.tenancy.principals import Cast
from tests.support.git_hosts import REPOSITORY, TOKEN


def test_a_token_is_stored_sealed_and_shown_nowhere(
    opener: Opener, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    made = opener.connect()
    assert made["base_branch"] == "main"
    service = opener.service
    shown = str(
        [
            made,
            service.get("/repositories"),
            service.get(f"/repositories/{made['id']}"),
            service.get("/audit"),
        ]
    )
    assert TOKEN not in shown
    assert TOKEN not in caplog.text
    with psycopg.connect(database.superuser_url) as superuser:
        row = superuser.execute("SELECT t::text FROM repositories t WHERE id = %s", (made["id"],)).fetchone()
    assert row is not None
    assert TOKEN not in row[0]
    assert service.post(f"/repositories/{made['id']}/test")["ok"]


def test_it_is_tried_changed_and_removed(opener: Opener) -> None:
    made = opener.connect(
        {"path": PATH, "format": "manifest"},
        {"path": "gone.yaml", "format": "helm_values"},
    )
    service, path = opener.service, f"/api/v1/repositories/{made['id']}"
    headers = service.organization.headers
    tried = service.post(f"/repositories/{made['id']}/test")
    assert (tried["ok"], tried["missing"]) == (False, ["gone.yaml"])
    files = [
        {
            "path": PATH,
            "format": "manifest",
            "namespaces": [],
            "workloads": [],
            "values_key": "",
        }
    ]
    changed = service.client.patch(path, json={"files": files, "base_branch": "prod"}, headers=headers).json()
    assert (changed["files"], changed["base_branch"]) == (files, "prod")
    entry = service.get("/audit")["items"][0]
    assert entry["action"] == "repository.update"
    assert entry["detail"]["base_branch"] == {"from": "main", "to": "prod"}
    tried = service.post(f"/repositories/{made['id']}/test")
    assert (tried["ok"], tried["detail"]) == (False, "There is no branch prod.")
    assert service.client.patch(path, json={"token": "another-token"}, headers=headers).status_code == 200
    refused = service.post(f"/repositories/{made['id']}/test")
    assert not refused["ok"]
    assert "401" in refused["detail"]
    assert "another-token" not in str(service.get("/audit"))
    assert service.client.delete(path, headers=headers).status_code == 204
    assert service.get("/repositories") == []


def test_a_token_goes_to_no_other_host(opener: Opener) -> None:
    """A user who may change settings, but does not know the token, must not have it sent to their own address."""
    made = opener.connect()
    path = f"/api/v1/repositories/{made['id']}"
    for change in ({"url": "https://evil.example"}, {"repository": "evil/deploy"}):
        refused = opener.service.client.patch(path, json=change, headers=opener.service.organization.headers)
        assert refused.status_code == 422
        assert refused.json()["type"].endswith(":token-needed")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"repository": "deploy"}, "repository"),
        ({"repository": "a/../b"}, "repository"),
        ({"repository": "a/b?x"}, "repository"),
        ({"url": "ftp://git.example.org"}, "url"),
        ({"url": "https://user:secret@git.example.org"}, "url"),
        ({"url": "https://git.example.org/?a=b"}, "url"),
        ({"base_branch": "a..b"}, "base_branch"),
        ({"base_branch": "-x"}, "base_branch"),
        ({"token": "short"}, "token"),
        ({"files": []}, "files"),
        ({"files": [{"path": "/etc/passwd", "format": "manifest"}]}, "path"),
        ({"files": [{"path": "../x", "format": "manifest"}]}, "path"),
        ({"files": [{"path": ".git/config", "format": "manifest"}]}, "path"),
        ({"files": [{"path": "x", "format": "terraform"}]}, "format"),
        ({"token": "with\nline-break"}, "token"),
    ],
)
def test_what_cannot_be_right_is_refused(github: Opener, change: dict[str, Any], says: str) -> None:
    refused = github.connect(status=422, **change)
    assert says in refused["detail"]


def test_only_administrators_set_them_up(github: Opener, database: Database, kubernetes_fault: Recording) -> None:
    made = github.connect()
    incident = github.incident(kubernetes_fault)
    client, cast = github.service.client, Cast(database, github.service.organization)
    headers = {role: cast.session(cast.member(role)) for role in ("viewer", "editor", "admin")}
    preview = f"/api/v1/incidents/{incident}/fixes/raise_cpu_limit/pull-request/preview"
    allowed = {}
    for role, one in headers.items():
        allowed[role] = (
            client.get("/api/v1/repositories", headers=one).status_code,
            client.patch(
                f"/api/v1/repositories/{made['id']}",
                json={"base_branch": "main"},
                headers=one,
            ).status_code,
            client.get(f"/api/v1/incidents/{incident}/pull-requests", headers=one).status_code,
            client.post(preview, headers=one).status_code,
            client.post(preview.removesuffix("/preview"), headers=one).status_code,
        )
    assert allowed == {
        "viewer": (403, 403, 200, 403, 403),
        "editor": (403, 403, 200, 200, 200),
        "admin": (200, 200, 200, 200, 200),
    }
    assert len(github.host.pulls) == 1


def test_another_organization_sees_and_uses_none_of_it(
    opener: Opener, kubernetes_fault: Recording, other_organization: Organization
) -> None:
    made = opener.connect()
    incident = opener.incident(kubernetes_fault)
    opener.open(incident)
    client, headers = opener.service.client, other_organization.headers
    asked = len(opener.host.requests)
    assert client.get("/api/v1/repositories", headers=headers).json() == []
    for method, path in (
        ("GET", f"/repositories/{made['id']}"),
        ("PATCH", f"/repositories/{made['id']}"),
        ("DELETE", f"/repositories/{made['id']}"),
        ("POST", f"/repositories/{made['id']}/test"),
        ("GET", f"/incidents/{incident}/pull-requests"),
        ("POST", f"/incidents/{incident}/fixes/raise_cpu_limit/pull-request"),
        ("POST", f"/incidents/{incident}/fixes/raise_cpu_limit/pull-request/preview"),
    ):
        body: dict[str, Any] | None = {} if method == "PATCH" else None
        answer = client.request(method, f"/api/v1{path}", json=body, headers=headers)
        assert answer.status_code == 404, f"{method} {path}: {answer.text}"
    assert len(opener.host.requests) == asked


def test_a_new_key_takes_tokens_along(
    opener: Opener, kubernetes_fault: Recording, settings_override: Callable[..., Any]
) -> None:
    opener.connect()
    incident = opener.incident(kubernetes_fault)
    old, new = settings().secret_key.get_secret_value(), new_key()
    settings_override(secret_key=SecretStr(f"{new},{old}"))
    resealed = reseal_organization(opener.service.organization.id)
    assert (resealed.done, resealed.unreadable) == (1, 0)
    settings_override(secret_key=SecretStr(new))
    assert opener.preview(incident)["files"]
    settings_override(secret_key=SecretStr(new_key()))
    assert opener.preview(incident, status=409)["type"].endswith(":repository-unusable")
    (made,) = opener.service.get("/repositories")  # whose token no later test could read
    opener.service.client.delete(f"/api/v1/repositories/{made['id']}", headers=opener.service.organization.headers)


def test_the_first_file_that_fits_is_taken(github: Opener, kubernetes_fault: Recording, client: TestClient) -> None:
    github.host.branches["main"] = github.host.add_commit({PATH: MANIFEST, "b.yaml": MANIFEST}, "two")
    github.connect(
        {"namespaces": ["shop"], "path": "c.yaml", "format": "manifest"},
        {"workloads": ["core*"], "path": "core.conf", "format": "corefile"},
        {"workloads": ["Deployment/COREDNS"], "path": "b.yaml", "format": "manifest"},
        {"path": PATH, "format": "manifest"},
    )
    github.connect({"path": PATH, "format": "manifest"}, repository=REPOSITORY)
    assert github.preview(github.incident(kubernetes_fault))["files"][0]["path"] == "b.yaml"
