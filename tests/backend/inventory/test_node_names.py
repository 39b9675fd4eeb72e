"""Two nodes of one name are told apart wherever a page prints them, and filters still match the name alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from jitterscope.inventory import node_names
from jitterscope.recordings.model import Recording
from tests.backend.incidents.conftest import Service, fault, service
from tests.support.batches import CGROUP, TICK_US, BatchBuilder, now_us

__all__ = ["fault", "service"]  # fixtures
IDS = ("3f9a01", "b2c4d5")


def feed(api: TestClient, organization: Any, *nodes: tuple[str, str]) -> None:
    """Nodes by machine ID and host name, each with one container."""
    for key, name in nodes:
        builder = BatchBuilder(key)
        builder.fact(0, "node.hostname", name)
        container = builder.resource(CGROUP, "/pod/one", 0)
        builder.block({(container, "cpu_usage_us"): np.full(20, 20_000.0)}, now_us() - 20 * TICK_US)
        answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
        assert answer.status_code == 200, answer.text


def get(api: TestClient, path: str, **parameters: Any) -> Any:
    answer = api.get(f"/api/v1{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_nodes_of_one_name_have_the_start_of_their_machine_id(api: TestClient, organization: Any) -> None:
    feed(api, organization, (IDS[0], "worker"), (IDS[1], "worker"), ("77aa00", "database"))
    expected = {"worker (3f9a)", "worker (b2c4)", "database"}
    nodes = get(api, "/resources", kind="node")["items"]
    assert {one["name"] for one in nodes} == expected
    cgroups = get(api, "/resources", kind="cgroup")["items"]
    assert {one["node"]["name"] for one in cgroups} == expected
    assert {one["node"]["name"] for one in get(api, "/collectors")["items"]} == expected
    assert {one["node"]["name"] for one in get(api, "/containers")["items"]} == expected
    assert {one["node"]["name"] for one in get(api, "/fleet")["containers"]} == expected
    ancestors = [get(api, f"/resources/{one['id']}")["ancestors"][-1]["name"] for one in cgroups]
    assert set(ancestors) == expected
    # By the name alone.
    assert len(get(api, "/resources", kind="node", search="worker")["items"]) == 2


def test_names_are_read_once_for_a_page(api: TestClient, organization: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(api, organization, (IDS[0], "worker"), (IDS[1], "worker"))
    read = node_names._of_namesakes
    times: list[Session] = []

    def counted(session: Session) -> dict[int, str]:
        times.append(session)
        return read(session)

    monkeypatch.setattr(node_names, "_of_namesakes", counted)
    cgroup = get(api, "/resources", kind="cgroup")["items"][0]
    times.clear()
    page = get(api, f"/resources/{cgroup['id']}")
    assert page["node"]["name"] == page["ancestors"][-1]["name"] == cgroup["node"]["name"]
    assert len(times) == 1


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (("abcd1", "abcd2"), ("worker (abcd1)", "worker (abcd2)")),
        (("abcd", "abcdef"), ("worker (abcd)", "worker (abcde)")),
        (("0123456789ab", "0123456789ab-replay"), ("worker (56789ab)", "worker (-replay)")),
        (("m", "n"), ("worker (m)", "worker (n)")),
    ],
)
def test_machine_ids_that_start_alike_are_shown_longer(
    api: TestClient, organization: Any, keys: tuple[str, str], names: tuple[str, str]
) -> None:
    feed(api, organization, *((key, "worker") for key in keys))
    assert {one["name"] for one in get(api, "/resources", kind="node")["items"]} == set(names)


def test_a_name_that_is_unique_again_is_short_again(
    api: TestClient, organization: Any, other_organization: Any
) -> None:
    feed(api, organization, (IDS[0], "worker"), (IDS[1], "worker"))
    feed(api, organization, (IDS[1], "worker-2"))
    # The other organization's nodes do not count.
    feed(api, other_organization, ("55ee00", "worker"))
    assert {one["name"] for one in get(api, "/resources", kind="node")["items"]} == {"worker", "worker-2"}


def test_incidents_say_on_which_of_them(service: Service, fault: Recording) -> None:
    for suffix in ("-a", "-b"):
        service.diagnose(service.feed(fault, suffix=suffix))
    nodes = {one["id"]: one["name"] for one in service.get("/resources", kind="node")["items"]}
    assert len(set(nodes.values())) == 2
    found = service.get("/incidents")["items"]
    assert {one["subject"]["node"] for one in found} == set(nodes.values())
    assert {one["subject"]["node"] for one in service.get("/overview")["worst"]} == set(nodes.values())
    for one in found:
        subject = service.get(f"/resources/{one['subject']['resource_id']}")
        assert one["subject"]["node"] == subject["node"]["name"]
        assert service.get(f"/incidents/{one['id']}")["subject"] == one["subject"]
