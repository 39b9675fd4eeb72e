"""GET /fleet: every container by its worst 100 ms, and for how many it is known whether their clients are harmed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from jitterscope.fleet import glance
from tests.backend.conftest import Organization
from tests.support.batches import CGROUP, TICK_US, BatchBuilder, now_us
from tests.support.tcp_servers import TCP_SERVER, TICKS_PER_MINUTE, Serving, add, minute_ago

MINUTES_AGO = 3
SHOP = Serving("shop", 8080, 41, throttled={700: 42_000, 1100: 90_000})
STOCK = Serving("stock", 9090, 42, throttled={30: 7_000})
QUIET = Serving("quiet", 7070, 43, namespace="back office")
# Uses CPU without a limit, and serves nothing that is observed.
BATCH, SILENT = "/system.slice/batch.service", "/system.slice/unknown"


def feed(client: TestClient, organization: Organization, node: str = "machine-1") -> int:
    """Three servers, a program whose answers are not timed, and an unmeasured cgroup; returns when their data began."""
    start_us = minute_ago(MINUTES_AGO, now_us())
    builder = BatchBuilder(node)
    builder.fact(0, "node.hostname", node, start_us)
    for serving in (SHOP, STOCK, QUIET):
        add(builder, serving, start_us, 2 * TICKS_PER_MINUTE)
    batch = builder.resource(CGROUP, BATCH, 0)
    builder.block({(batch, "cpu_usage_us"): np.full(TICKS_PER_MINUTE, 70_000.0)}, start_us)
    builder.resource(CGROUP, SILENT, 0)
    answer = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    return start_us


@pytest.fixture
def began_us(api: TestClient, organization: Organization) -> int:
    return feed(api, organization)


def fleet(api: TestClient, **parameters: Any) -> dict[str, Any]:
    answer = api.get("/api/v1/fleet", params=parameters)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_the_worst_come_first_each_with_its_tick(api: TestClient, began_us: int) -> None:
    found = fleet(api)
    assert [one["key"].rpartition("/")[2] for one in found["containers"]][:3] == ["shop", "stock", "quiet"]
    shop, stock, quiet, *others = found["containers"]
    assert shop["worst_tick"] == {"at_us": began_us + 1100 * TICK_US, "span_us": TICK_US, "throttled_us": 90_000}
    assert (shop["throttled_us"], shop["cpu_limit"], shop["namespace"]) == (132_000, 0.5, "shop")
    assert stock["worst_tick"]["at_us"] == began_us + 30 * TICK_US
    assert (quiet["throttled_us"], quiet["worst_tick"], quiet["namespace"]) == (0, None, "back office")
    # Not measured is not 0.
    by_key = {one["key"]: one for one in others}
    assert (by_key[BATCH]["throttled_us"], by_key[BATCH]["cpu_peak"]) == (None, pytest.approx(0.7))
    assert (by_key[SILENT]["throttled_us"], by_key[SILENT]["cpu_peak"], by_key[SILENT]["cpu_limit"]) == (None,) * 3


@pytest.mark.usefixtures("began_us")
def test_it_says_of_how_many_something_is_known(api: TestClient) -> None:
    found = fleet(api)
    assert (found["found"], found["compared"]) == (5, 5)
    assert (found["throttled"], found["unmeasured"]) == (2, 2)
    assert (found["timed"], found["timed_is_least"]) == (3, False)
    assert found["to_us"] - found["from_us"] == 3_600_000_000


@pytest.mark.usefixtures("began_us")
def test_what_is_not_shown_is_counted_all_the_same(api: TestClient) -> None:
    found = fleet(api, limit=1)
    assert [one["container"] for one in found["containers"]] == ["shop"]
    assert (found["found"], found["throttled"], found["timed"]) == (5, 2, 3)
    assert api.get("/api/v1/fleet", params={"limit": 0}).status_code == 422


def test_too_many_servers_to_look_at_are_no_claim_about_the_others(
    api: TestClient, began_us: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert began_us
    monkeypatch.setattr(glance, "_MAX_SERVERS", 2)
    found = fleet(api)
    assert (found["timed"], found["timed_is_least"]) == (2, True)


@pytest.mark.usefixtures("began_us")
def test_a_server_without_answers_in_the_hour_is_not_timed(api: TestClient, organization: Organization) -> None:
    """The listening socket is known, but nothing records its answers."""
    builder = BatchBuilder("machine-2")
    container = builder.resource(CGROUP, "/docker/silent-server", 0)
    builder.resource(TCP_SERVER, "/docker/silent-server:5432", container)
    answer = api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    found = fleet(api)
    assert (found["found"], found["timed"]) == (6, 3)


@pytest.mark.usefixtures("began_us")
def test_another_organization_sees_none_of_them(api: TestClient, other_organization: Organization) -> None:
    found = api.get("/api/v1/fleet", headers=other_organization.headers).json()
    assert (found["found"], found["timed"], found["containers"]) == (0, 0, [])
