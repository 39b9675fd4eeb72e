"""Objectives of resources: set, changed, and removed by users or by a pod's annotation; which one applies to what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from jitterscope.db import organization_session
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.incidents.scheduling import diagnoses, signs, snapshots
from jitterscope.inventory import service as inventory
from jitterscope.tenancy import scopes
from tests.backend.conftest import Organization
from tests.backend.incidents.conftest import Service, service
from tests.backend.incidents.stories import recorded
from tests.backend.services.test_services import TICKS, listed
from tests.support.batches import BatchBuilder, now_us
from tests.support.tcp_servers import Serving, add, minute_ago

__all__ = ["service"]
CART = Serving("cart", 8080, 41, usual_us=900.0, slow=dict.fromkeys(range(700, 730), 90_000))


def feed(api: TestClient, organization: Organization, *served: Serving, node: str = "machine-1", **facts: str) -> None:
    """Servers with the facts of their containers."""
    start_us = minute_ago(3, now_us())
    builder = BatchBuilder(node)
    builder.fact(0, "node.hostname", node, start_us)
    for serving in served:
        container, _ = add(builder, serving, start_us, TICKS)
        for name, value in facts.items():
            builder.fact(container, f"workload.{name}", value, start_us)
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text


def served(api: TestClient, name: str = "cart :8080", node: str = "machine-1") -> dict[str, Any]:
    (found,) = (one for one in listed(api)["items"] if one["name"] == name and one["node"]["name"] == node)
    return dict(found)


def objective(api: TestClient, resource_id: int) -> dict[str, Any]:
    answer = api.get(f"/api/v1/resources/{resource_id}/objective")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def put(api: TestClient, resource_id: int, text: str) -> Any:
    return api.put(f"/api/v1/resources/{resource_id}/objective", json={"objective": text})


def remove(api: TestClient, resource_id: int) -> Any:
    return api.delete(f"/api/v1/resources/{resource_id}/objective")


def test_it_is_set_changed_and_taken_back(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART)
    cart = served(api)
    assert cart["objective"] is None
    before = objective(api, cart["id"])
    assert (before["objective"], before["origin"], before["own"]) == (None, None, False)
    assert before["applies_to"] == "every pod of cart-5d8 in shop, container cart, port 8080"
    answer = put(api, cart["id"], " p99 < 50 ms")
    assert answer.status_code == 200, answer.text
    assert answer.json() == objective(api, cart["id"])
    set_now = answer.json()
    assert (set_now["objective"], set_now["origin"], set_now["limit_us"], set_now["own"]) == (
        "p99<50ms", "server", 50_000, True,
    )  # fmt: skip
    assert put(api, cart["id"], "p99.9<80ms").json()["objective"] == "p99.9<80ms"
    assert remove(api, cart["id"]).json()["objective"] is None
    assert remove(api, cart["id"]).json()["objective"] is None, "nothing is left to be taken back"
    entries = api.get("/api/v1/audit").json()["items"]
    told = [(one["action"], one["detail"]["objective"]) for one in entries if one["action"].startswith("objective.")]
    assert told == [
        ("objective.remove", {"from": "p99.9<80ms", "to": None}),
        ("objective.set", {"from": "p99<50ms", "to": "p99.9<80ms"}),
        ("objective.set", {"from": None, "to": "p99<50ms"}),
    ]


def test_what_is_no_objective_is_refused_in_words(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART)
    cart = served(api)
    for text in ("p99<50", "p98<50ms", "p99<=50ms", "p99<1000s", ""):
        answer = put(api, cart["id"], text)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        assert f'"{text}" is not an objective. Write p50, p90, p95, p99, or p99.9' in str(answer.json()["errors"])
    assert objective(api, cart["id"])["objective"] is None
    node = put(api, cart["node"]["id"], "p99<50ms")
    assert (node.status_code, node.json()["title"]) == (409, "Not a server")
    assert put(api, 10**12, "p99<50ms").status_code == 404


def test_the_nearest_comes_first_and_people_before_the_annotation(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART, objective="p95<300ms")
    cart = served(api)
    container = cart["container"]["id"]
    assert (cart["objective"]["objective"], cart["objective"]["origin"]) == ("p95<300ms", "annotation")
    put(api, container, "p99<100ms")
    assert objective(api, cart["id"])["origin"] == "workload"
    put(api, cart["id"], "p99<50ms")
    own = objective(api, cart["id"])
    assert (own["objective"], own["origin"], own["annotation"]) == ("p99<50ms", "server", "p95<300ms")
    assert objective(api, container)["objective"] == "p99<100ms"
    assert remove(api, cart["id"]).json()["objective"] == "p99<100ms"
    left = remove(api, container).json()
    assert (left["objective"], left["origin"], left["own"]) == ("p95<300ms", "annotation", False)


def test_a_bad_annotation_is_told_and_holds_for_nothing(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART, objective="p99 under 50ms")
    found = objective(api, served(api)["id"])
    assert (found["objective"], found["annotation"]) == (None, "p99 under 50ms")
    assert found["annotation_problem"].startswith('"p99 under 50ms" is not an objective.')


def test_an_annotation_that_was_removed_holds_no_longer(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART, objective="p99<50ms")
    start_us = now_us()
    builder = BatchBuilder("machine-1", sequence=2)
    container, _ = add(builder, CART.part(0, 10), start_us - start_us % 100_000, 10)
    builder.fact(container, "workload.objective", "", start_us)
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    found = objective(api, served(api)["id"])
    assert (found["objective"], found["annotation"]) == (None, None)


def test_it_outlives_the_pods_of_a_workload_and_no_more(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART, owner="Deployment/cart")
    put(api, served(api)["id"], "p99<50ms")
    put(api, served(api)["container"]["id"], "p90<30ms")
    feed(api, organization, CART, node="machine-2", owner="Deployment/cart")
    feed(api, organization, CART, node="machine-3", owner="Deployment/basket")
    assert served(api, node="machine-2")["objective"]["objective"] == "p99<50ms"
    assert served(api, node="machine-3")["objective"] is None
    other = Serving("cart", 9090, 41, usual_us=900.0)
    feed(api, organization, other, node="machine-4", owner="Deployment/cart")
    assert served(api, "cart :9090", "machine-4")["objective"]["objective"] == "p90<30ms"


def test_what_has_no_controller_is_known_on_its_node_alone(api: TestClient, organization: Organization) -> None:
    unit = Serving("nginx", 80, 41, usual_us=900.0, namespace="")
    for node in ("machine-1", "machine-2"):
        feed(api, organization, unit, node=node, container="nginx.service")
    put(api, served(api, "nginx :80")["id"], "p99<50ms")
    assert served(api, "nginx :80")["objective"]["objective"] == "p99<50ms"
    assert served(api, "nginx :80", "machine-2")["objective"] is None
    assert objective(api, served(api, "nginx :80")["id"])["applies_to"] == "nginx.service on its node, port 80"


def test_the_list_compares_the_window_with_it(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART)
    cart = served(api)["id"]
    # 90 of 36,000 answers are slow: 0.25 %.
    for text, met in (("p99<50ms", True), ("p99.9<50ms", False), ("p99.9<100ms", True), ("p50<1ms", True)):
        put(api, cart, text)
        found = served(api)["objective"]
        assert (found["objective"], found["met"]) == (text, met)
    put(api, cart, "p99.9<50ms")
    assert served(api)["objective"]["value_us"] == pytest.approx(90_000, rel=0.02)


def test_the_rules_see_it(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART)
    cart = served(api)
    put(api, cart["id"], "p99<5ms")
    with organization_session(organization.id) as session:
        subject = inventory.resource(session, cart["container"]["id"])
        assert subject is not None
        whole = snapshots.load(session, subject.id, 300_000_000)
        [narrow] = signs.load(session, [subject], now_us(), 300_000_000).values()
        visited = diagnoses.visited_subjects(session)
    assert whole is not None
    for seen in (whole.snapshot, narrow):
        (server,) = seen.tcp_servers
        assert str(server.objective) == "p99<5ms"
        assert np.isfinite(server.series["requests"]).any()
    assert subject.id in visited, "no collector triggers for what takes 5 ms"
    put(api, cart["id"], "p99<50ms")
    with organization_session(organization.id) as session:
        assert subject.id not in diagnoses.visited_subjects(session)


def test_an_annotation_below_20_ms_is_visited_too(api: TestClient, organization: Organization) -> None:
    feed(api, organization, CART, objective="p99<5ms")
    with organization_session(organization.id) as session:
        assert served(api)["container"]["id"] in diagnoses.visited_subjects(session)


def test_an_objective_decides_whether_a_fault_is_an_incident(service: Service) -> None:
    """Answers take up to 90 ms, 0.5 % of them over 50 ms."""
    subject = service.feed(recorded(Workload(serves="http", qps=300, seed=16, seconds=60)))
    api = service.client
    api.headers.update(service.organization.headers)
    assert put(api, subject, "p99<50ms").status_code == 200
    service.diagnose(subject)
    assert service.get("/incidents")["items"] == []
    (risk,) = service.get("/risks")["items"]
    assert (risk["cause"], risk["harm"]) == ("cpu/gc_throttling", "none")
    put(api, subject, "p99.9<50ms")
    service.diagnose(subject)
    (incident,) = service.get("/incidents")["items"]
    whole = service.get(f"/incidents/{incident['id']}")
    assert (whole["cause"], whole["harm"]) == ("cpu/gc_throttling", "measured")
    assert "took over the objective of 50 ms" in whole["summary"]
    slow = next(one for one in whole["figures"] if one["id"] == "slow_ratio")
    assert slow["detail"].endswith(", over the objective of 50 ms")
    shown = service.get(f"/resources/{subject}/timeline", **{"from": whole["window_from"], "to": whole["window_to"]})
    assert shown["slow_threshold_us"] == 50_000


def test_other_organizations_have_their_own(
    client: TestClient, api: TestClient, organization: Organization, other_organization: Organization
) -> None:
    feed(api, organization, CART)
    cart = served(api)["id"]
    put(api, cart, "p99<50ms")
    theirs = client.get(f"/api/v1/resources/{cart}/objective", headers=other_organization.headers)
    assert theirs.status_code == 404


def test_who_may_read_and_who_may_set() -> None:
    assert [role for role in ("viewer", "editor", "admin") if scopes.role_allows(role, "resources:write")] == [
        "editor", "admin",
    ]  # fmt: skip
    assert scopes.role_allows("viewer", "resources:read")
