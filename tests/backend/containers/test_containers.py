"""GET /containers: what was throttled in a window, with its worst tick, in any order, page by page."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from jitterscope.series import compaction
from tests.backend.conftest import Organization
from tests.support.batches import CGROUP, TICK_US, BatchBuilder, now_us
from tests.support.tcp_servers import TICKS_PER_MINUTE, Serving, add, minute_ago

TICKS = 3 * TICKS_PER_MINUTE
# Old enough that its windows can be compacted.
MINUTES_AGO = 25
MINUTE_US = 60_000_000
# The worst tick is neither the first nor the last, and not in the minute with the most throttled time.
SHOP = Serving("shop", 8080, 41, slow={700: 90_000}, throttled={700: 42_000, 701: 18_000, 1250: 50_000})
STOCK = Serving("stock", 9090, 42, throttled={30: 7_000})
QUIET = Serving("quiet", 7070, 43)


def feed(client: TestClient, organization: Organization, node: str = "machine-1") -> int:
    """Three containers in pods, and one cgroup without a name or metrics; returns when their minutes began."""
    start_us = minute_ago(MINUTES_AGO, now_us())
    builder = BatchBuilder(node)
    builder.fact(0, "node.hostname", node, start_us)
    for serving in (SHOP, STOCK, QUIET):
        add(builder, serving, start_us, TICKS)
    builder.resource(CGROUP, "/system.slice/unknown", 0)
    answer = client.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers)
    assert answer.status_code == 200, answer.text
    return start_us


@pytest.fixture
def began_us(api: TestClient, organization: Organization) -> int:
    return feed(api, organization)


def listed(api: TestClient, **parameters: Any) -> dict[str, Any]:
    answer = api.get("/api/v1/containers", params=parameters)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def names(api: TestClient, **parameters: Any) -> list[str]:
    return [item["name"].rpartition("/")[2] for item in listed(api, **parameters)["items"]]


def check(page: dict[str, Any], began_us: int) -> None:
    by_name = {item["name"].rpartition("/")[2]: item for item in page["items"]}
    shop, quiet, unknown = by_name["shop"], by_name["quiet"], by_name["unknown"]
    assert (shop["namespace"], shop["pod"], shop["container"]) == ("shop", "shop-5d8", "shop")
    assert (shop["node"]["name"], shop["cpu_limit"], shop["active"]) == ("machine-1", 0.5, True)
    assert shop["cpu_used"] == pytest.approx((0.5 + 0.18 * (TICKS - 1)) / TICKS)
    assert shop["cpu_peak"] == pytest.approx(0.5)
    assert (shop["throttled_us"], shop["throttled_ratio"]) == (110_000, pytest.approx(3 / TICKS))
    assert shop["worst_tick"] == {"at_us": began_us + 1250 * TICK_US, "span_us": TICK_US, "throttled_us": 50_000}
    assert (quiet["throttled_us"], quiet["throttled_ratio"], quiet["worst_tick"]) == (0, 0, None)
    measured = ("cpu_limit", "cpu_used", "cpu_peak", "throttled_us", "throttled_ratio", "worst_tick")
    assert [unknown[name] for name in measured] == [None] * 6
    assert set(unknown["peaks"]) == {None}
    # One step per minute, from the minute in which the window began.
    assert page["step_us"] == MINUTE_US
    assert len(shop["peaks"]) == len(shop["throttled"]) == (page["to_us"] - page["from_us"]) // MINUTE_US
    first = (began_us - page["from_us"]) // MINUTE_US
    known = {minute - first: peak for minute, peak in enumerate(shop["peaks"]) if peak is not None}
    assert known == pytest.approx({0: 0.18, 1: 0.5, 2: 0.18})
    assert [minute - first for minute, throttled in enumerate(shop["throttled"]) if throttled] == [1, 2]


def test_figures_are_those_of_the_ticks_compacted_or_not(
    api: TestClient, organization: Organization, began_us: int
) -> None:
    check(listed(api), began_us)
    assert compaction.compact(organization.id, now_us()) > 0
    check(listed(api), began_us)


@pytest.mark.usefixtures("began_us")
def test_any_column_orders_the_list_and_what_is_unknown_comes_last(api: TestClient) -> None:
    assert names(api) == names(api, order="throttled") == ["shop", "stock", "quiet", "unknown"]
    assert names(api, order="worst", descending=False) == ["quiet", "stock", "shop", "unknown"]
    assert names(api, order="name", descending=False) == ["unknown", "quiet", "shop", "stock"]
    assert names(api, order="peak") == ["shop", "quiet", "stock", "unknown"]
    for order in ("node", "mean", "limit", "memory", "seen"):
        assert sorted(names(api, order=order)) == ["quiet", "shop", "stock", "unknown"]
    assert names(api, order="mean")[-1] == "unknown"


@pytest.mark.usefixtures("began_us")
def test_pods_are_listed_on_wish_and_the_throttled_alone_too(api: TestClient) -> None:
    assert "pod-shop" not in names(api)
    assert {"pod-shop", "pod-stock", "pod-quiet", "shop"} < set(names(api, every=True))
    page = listed(api, throttled=True)
    assert [item["container"] for item in page["items"]] == ["shop", "stock"]
    assert (page["found"], page["compared"], page["listed"]) == (4, 4, 2)


@pytest.mark.usefixtures("began_us")
def test_a_text_and_a_node_narrow_it(api: TestClient, organization: Organization) -> None:
    feed(api, organization, "machine-2")
    assert names(api, search="SHOP/stock-5d8") == ["stock", "stock"]
    assert len(names(api, search="machine-2")) == 4
    assert names(api, search="100%_") == []
    node = listed(api, search="machine-2")["items"][0]["node"]["id"]
    assert {item["node"]["name"] for item in listed(api, node=node)["items"]} == {"machine-2"}


def test_an_absolute_window_has_its_own_figures_and_those_gone_only_on_wish(api: TestClient, began_us: int) -> None:
    minute = {"from": str(began_us), "to": str(began_us + MINUTE_US)}
    page = listed(api, **minute, order="throttled")
    assert [item["container"] for item in page["items"]][:1] == ["stock"]
    assert page["items"][0]["worst_tick"]["at_us"] == began_us + 30 * TICK_US
    assert page["items"][0]["throttled_us"] == 7_000
    # An hour later they have been silent for longer than 5 min.
    later = {"from": str(began_us), "to": str(now_us() + 40 * MINUTE_US)}
    assert names(api, **later) == []
    gone = listed(api, **later, gone=True)["items"]
    assert [item["container"] for item in gone][:2] == ["shop", "stock"]
    assert {item["active"] for item in gone} == {False}


@pytest.mark.usefixtures("began_us")
def test_pages_follow_one_another_in_the_window_of_the_first(api: TestClient) -> None:
    first = listed(api, limit=3, order="name", descending=False)
    rest = listed(api, limit=3, order="name", descending=False, cursor=first["next_cursor"])
    assert len(first["items"]) + len(rest["items"]) == 4
    assert (rest["from_us"], rest["to_us"], rest["next_cursor"]) == (first["from_us"], first["to_us"], None)
    assert api.get("/api/v1/containers", params={"cursor": "nonsense"}).status_code == 400
    assert api.get("/api/v1/containers", params={"from": "0", "to": str(48 * 3_600_000_000)}).status_code == 422


@pytest.mark.usefixtures("began_us")
def test_another_organization_sees_none_of_them(api: TestClient, make_organization: Any) -> None:
    other: Organization = make_organization()
    answer = api.get("/api/v1/containers", params={"gone": True}, headers=other.headers)
    assert answer.json()["items"] == []


def test_a_day_has_as_many_steps_as_a_sparkline_has_room_for(api: TestClient, began_us: int) -> None:
    day = {"from": str(began_us - 22 * 60 * MINUTE_US), "to": str(began_us + 60 * MINUTE_US)}
    page = listed(api, **day, gone=True)
    assert page["step_us"] == 16 * MINUTE_US
    (shop,) = [item for item in page["items"] if item["container"] == "shop"]
    assert len(shop["peaks"]) == 87
    assert max(peak for peak in shop["peaks"] if peak is not None) == pytest.approx(0.5)
    assert shop["worst_tick"]["at_us"] == began_us + 1250 * TICK_US
