"""Reported changes: stored once, rejected with a reason, and listed by subject with those that facts show."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from jitterscope.changes import reports, tasks
from jitterscope.changes.models import ChangeRow
from jitterscope.db import organization_session
from jitterscope.settings import Settings
from jitterscope.tenancy import founding
from tests.backend.changes.node import Node
from tests.backend.conftest import Organization
from tests.support.batches import CGROUP

CART = {"title": "Deploy cart", "version_from": "1.2.0", "version_to": "1.3.0", "namespace": "shop", "workload": "cart"}


@pytest.fixture
def node(api: TestClient, organization: Organization) -> Node:
    return Node(api, organization)


def report(api: TestClient, status: int = 201, /, **values: Any) -> dict[str, Any]:
    answer = api.post("/api/v1/changes", json=values)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def listed(api: TestClient, **parameters: Any) -> list[dict[str, Any]]:
    answer = api.get("/api/v1/changes", params=parameters)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


def resource(api: TestClient, name: str, kind: str = "cgroup") -> int:
    found = api.get("/api/v1/resources", params={"kind": kind, "search": name, "gone": True}).json()["items"]
    return int(found[0]["id"])


def test_a_report_is_listed_audited_and_deleted(api: TestClient) -> None:
    made = report(api, **CART, author="Ada", link="https://ci.example.org/runs/42")
    assert (made["text"], made["what"], made["origin"]) == ("Deploy cart 1.2.0 → 1.3.0", "shop/cart", "reported")
    assert listed(api) == [made]
    assert (made["author"], made["link"]) == ("Ada", "https://ci.example.org/runs/42")
    assert api.delete(f"/api/v1/changes/{made['id']}").status_code == 204
    assert listed(api) == []
    assert api.delete(f"/api/v1/changes/{made['id']}").status_code == 404
    entries = api.get("/api/v1/audit").json()["items"]
    assert [one["action"] for one in entries if one["action"].startswith("change.")] == [
        "change.delete", "change.report"
    ]  # fmt: skip


def test_a_report_that_is_repeated_is_stored_once(api: TestClient) -> None:
    made = report(api, **CART, external_id="run 42")
    assert report(api, 200, **CART, external_id="run 42") == made
    other = report(api, 409, **CART | {"version_to": "1.4.0"}, external_id="run 42")
    assert other["title"] == "External id already used"
    at = datetime.now(UTC).isoformat()
    assert report(api, 409, **CART, external_id="run 42", at=at)["status"] == 409
    assert len(listed(api)) == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"title": "Deploy"}, "name what changed with at least one of resource_id, namespace, workload, node"),
        ({"title": "", "node": "a"}, "at least 1 character"),
        ({"title": "a\nb", "node": "a"}, "pattern"),
        ({"title": "Deploy", "node": "a", "link": "javascript:alert(1)"}, "pattern"),
        ({"title": "Deploy", "node": "a", "at": "2026-11-25T10:00:00"}, "timezone"),
        ({"title": "Deploy", "node": "a", "at": "2001-01-01T00:00:00Z"}, "in the last 90 days"),
        ({"title": "Deploy", "node": "a", "at": "2999-01-01T00:00:00Z"}, "not in the future"),
        ({"title": "Deploy", "node": "a", "kind": "party"}, "'deploy'"),
        ({"title": "Deploy", "node": "a", "cluster": "b"}, "Extra inputs"),
    ],
)
def test_what_is_no_report_is_refused_in_words(api: TestClient, values: dict[str, str], said: str) -> None:
    answer = api.post("/api/v1/changes", json=values)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert said in answer.text


def test_a_resource_that_there_is_not_is_refused(api: TestClient) -> None:
    assert report(api, 404, title="Deploy", resource_id=7_000_000_000)["title"] == "resource not found"
    assert listed(api) == []


def test_a_token_for_pipelines_can_report_and_nothing_else(api: TestClient, organization: Organization) -> None:
    token = founding.make_token(organization.owner_url, organization.id, "api", "ci", ("changes:write",))
    headers = {"Authorization": f"Bearer {token}"}
    assert api.post("/api/v1/changes", json=CART, headers=headers).status_code == 201
    for path in ("/api/v1/changes", "/api/v1/incidents", "/api/v1/resources"):
        assert api.get(path, headers=headers).status_code == 403
    assert listed(api)[0]["reported_by"] == "token ci"


@pytest.mark.usefixtures("early_in_a_minute")
def test_an_organization_reports_no_more_than_its_limit(
    api: TestClient, settings_override: Callable[..., Settings]
) -> None:
    settings_override(limit_changes_per_min=2)
    for number in range(2):
        report(api, title=f"Deploy {number}", node="a")
    answer = api.post("/api/v1/changes", json={"title": "Deploy", "node": "a"})
    assert (answer.status_code, answer.json()["title"]) == (429, "Limit of the organization reached")


def test_a_resource_has_the_changes_that_are_of_it(api: TestClient, node: Node) -> None:
    node.tell(30, 0, "", node_hostname="worker-1")
    node.pod(30, "cart-1", "cart:1")
    node.pod(2, "cart-2", "cart:2")
    node.tell(30, CGROUP, "/kubepods/other/api", workload_namespace="shop", workload_owner="Deployment/api",
              workload_pod="api-1", workload_container="api", cpu_quota__us="50000")  # fmt: skip
    node.tell(1, CGROUP, "/kubepods/other/api", cpu_quota__us="100000")
    cart, other = resource(api, "cart-1"), resource(api, "api-1")
    for selectors in (
        {"workload": "cart"}, {"workload": "Deployment/cart", "namespace": "shop"}, {"namespace": "shop"},
        {"node": "worker-1"}, {"resource_id": cart}, {"workload": "cart", "container": "cart", "node": "worker-1"},
        {"workload": "cart", "namespace": "elsewhere"}, {"node": "worker-2"}, {"workload": "cart", "container": "x"},
    ):  # fmt: skip
        report(api, title=", ".join(selectors.values() if "resource_id" not in selectors else ["by id"]), **selectors)  # type: ignore[arg-type]
    told = [one["text"] for one in listed(api, resource=cart)]
    assert told == [
        "cart, cart, worker-1", "by id", "worker-1", "shop", "Deployment/cart, shop", "cart", "cart 1 → 2",
    ]  # fmt: skip
    assert [one["text"] for one in listed(api, resource=other)] == ["worker-1", "shop", "CPU limit 0.5 → 1 CPU"]
    assert [one["text"] for one in listed(api, resource=resource(api, "worker-1", "node"))] == ["worker-1"]
    assert api.get("/api/v1/changes", params={"resource": 10**12}).status_code == 404
    assert len(listed(api)) == 11


def test_several_resources_are_asked_for_at_once(api: TestClient, node: Node) -> None:
    node.tell(30, 0, "", node_hostname="worker-1")
    node.pod(30, "cart-1", "cart:1")
    node.tell(30, CGROUP, "/kubepods/other/api", workload_namespace="shop", workload_owner="Deployment/api",
              workload_pod="api-1", workload_container="api")  # fmt: skip
    cart, other = resource(api, "cart-1"), resource(api, "api-1")
    for selectors in ({"namespace": "shop"}, {"workload": "cart"}, {"workload": "api"}, {"workload": "elsewhere"}):
        report(api, title=next(iter(selectors.values())), **selectors)
    told = {one["text"]: one["of"] for one in listed(api, resource=[cart, other])}
    assert told == {"api": [other], "cart": [cart], "shop": sorted([cart, other])}
    assert listed(api)[0]["of"] == []
    assert api.get("/api/v1/changes", params={"resource": [cart, 10**12]}).status_code == 404
    assert api.get("/api/v1/changes", params={"resource": [cart] * 21}).status_code == 422


def test_a_target_of_remote_write_has_the_reports_that_name_it(api: TestClient, organization: Organization) -> None:
    with psycopg.connect(organization.owner_url) as owner:
        row = owner.execute(
            "INSERT INTO resources (organization_id, kind, key, name) VALUES (%s, 'external', 'a', 'a') RETURNING id",
            (organization.id,),
        ).fetchone()
        assert row is not None
    report(api, title="Move the database", resource_id=row[0])
    report(api, title="Deploy", workload="cart")
    assert [one["text"] for one in listed(api, resource=row[0])] == ["Move the database"]


def test_reports_of_long_ago_are_forgotten(api: TestClient, organization: Organization) -> None:
    old, new = report(api, title="Old", node="a"), report(api, title="New", node="a")
    with organization_session(organization.id) as session:
        at = datetime.now(UTC) - reports.KEPT - timedelta(hours=1)
        session.execute(update(ChangeRow).where(ChangeRow.id == old["id"]).values(at=at))
    tasks.drop_old_of(organization.id)
    assert api.delete(f"/api/v1/changes/{old['id']}").status_code == 404
    assert listed(api) == [new]


def test_another_organization_sees_no_reports(api: TestClient, other_organization: Organization) -> None:
    made = report(api, **CART, external_id="run 42")
    headers = other_organization.headers
    assert api.get("/api/v1/changes", headers=headers).json()["items"] == []
    assert api.delete(f"/api/v1/changes/{made['id']}", headers=headers).status_code == 404
    assert api.post("/api/v1/changes", json={**CART, "external_id": "run 42"}, headers=headers).status_code == 201
