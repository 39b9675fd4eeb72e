"""The picture of a DNS server's trouble: connections, children, backlog, and error lines, as they were sent."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from jitterscope.incidents.api.schemas import Timeline
from jitterscope.incidents.timeline.dns import MAX_ERRORS, limit_steps
from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import Recording
from tests.support.dns_node import CACHE, DNSMASQ, LIMIT, load, recorded

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chain() -> Recording:
    return recorded(load())


def fed(service: Any, chain: Recording) -> tuple[int, int]:
    """Subject ID, and where the first tick landed."""
    ends_us = time.time_ns() // 1000
    ends_us -= ends_us % 100_000
    return service.feed(chain, ends_us=ends_us), ends_us - chain.ticks * 100_000


def sent(chain: Recording, key: str, metric: str) -> list[float]:
    values: list[float] = next(one for one in chain.resources if one.key == key).series[metric].tolist()
    return values


def test_connections_children_and_backlog_as_they_were_sent(service: Any, chain: Recording) -> None:
    subject_id, start_us = fed(service, chain)
    window = {"from": str(start_us), "to": str(start_us + chain.ticks * 100_000)}
    timeline = service.get(f"/resources/{subject_id}/timeline", **window)
    Timeline.model_validate(timeline)
    lane = timeline["connections"]
    assert lane["step_us"] == 100_000
    assert lane["t_us"][0] == start_us
    assert lane["connections"] == sent(chain, DNSMASQ, "dns_tcp_connections")
    assert lane["children"] == sent(chain, "4701:1", "process_children")
    assert lane["backlog"] == sent(chain, DNSMASQ, "dns_accept_backlog")
    assert max(lane["children"]) == LIMIT
    assert max(lane["backlog"]) > 0
    assert [step["limit"] for step in timeline["child_limits"]] == [LIMIT]


def test_merged_points_keep_the_highest_tick_and_every_drop(service: Any, chain: Recording) -> None:
    subject_id, start_us = fed(service, chain)
    window = {"from": str(start_us), "to": str(start_us + chain.ticks * 100_000), "points": "10"}
    lane = service.get(f"/resources/{subject_id}/timeline", **window)["connections"]
    children = np.array(sent(chain, "4701:1", "process_children")).reshape(10, -1)
    dropped = np.array(sent(chain, DNSMASQ, "dns_listen_drops")).reshape(10, -1)
    assert lane["children"] == children.max(axis=1).tolist()
    assert lane["dropped"] == dropped.sum(axis=1).tolist()


def test_error_lines_of_the_cache(service: Any, chain: Recording) -> None:
    fed(service, chain)
    [cache] = service.get("/resources", kind="dns_server", search=CACHE)["items"]
    timeline = service.get(f"/resources/{cache['id']}/timeline")
    events = next(one for one in chain.resources if one.key == CACHE).events
    lines = [event for event in events if event.kind == "dns.error"]
    assert len(lines) > MAX_ERRORS
    assert len(timeline["errors"]) == MAX_ERRORS
    assert any(note.startswith(f"{len(lines) - MAX_ERRORS} seconds with") for note in timeline["notes"])
    assert {one["label"] for one in timeline["errors"]} == {"io_timeout"}
    assert timeline["child_limits"] == []


def test_no_lane_where_nothing_was_measured(service: Any, gc_fault: Recording) -> None:
    timeline = service.get(f"/resources/{service.feed(gc_fault)}/timeline")
    assert timeline["connections"] is None
    assert timeline["errors"] == []


def test_steps_of_the_limit() -> None:
    facts = [
        FactRow("dns.child_limit", "20", 5), FactRow("dns.child_limit", "20", 50), FactRow("dns.child_limit", "x", 60),
        FactRow("dns.child_limit", "200", 70), FactRow("dns.version", "2.90", 80),
    ]  # fmt: skip
    assert limit_steps(facts, 10) == [{"from_us": 10, "limit": 20}, {"from_us": 70, "limit": 200}]
    assert limit_steps([], 10) == []
