"""The pause of dropping dentries over REST: the node's own figures, its earlier incidents, and what is not known."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from jitterscope.diagnosis.areas.kernel.whatif.dentry_drop import FREE_EXPONENT, FREE_US
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.kernel.node import Loss, Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.recordings.snapshots import recording_of
from jitterscope.whatif.schemas import WhatIf


def ask(service: Any, resource_id: int, **settings: Any) -> WhatIf:
    return WhatIf.model_validate(service.post("/whatif/dentries", {"resource_id": resource_id, "settings": [settings]}))


def pause_s(said: WhatIf) -> Interval:
    interval = next(one.interval for one in said.tried[0].figures if one.id == "pause_ms")
    assert interval is not None
    return Interval(low=interval.low / 1000, high=interval.high / 1000, expected=interval.expected / 1000)


def each_us(said: WhatIf) -> float | None:
    return next(one.value for one in said.tried[0].figures if one.id == "each_us")


@pytest.fixture
def node_id(service: Any) -> int:
    """Two minutes of a node whose negative dentries grow to 4 million, at 2.4 µs each."""
    return int(service.feed(recording_of(simulate(Node(storms=(Storm(20, 120, 40_000),))))))


def test_all_that_the_node_holds_and_so_many(service: Any, node_id: int) -> None:
    all_of_it = ask(service, node_id)
    assert all_of_it.resource_id == node_id
    assert all_of_it.settings["negative_dentries"] == pytest.approx(4.02e6, rel=0.02)
    assert all_of_it.settings["positive_dentries"] == 60_000
    assert pause_s(all_of_it).low < 2.6 < pause_s(all_of_it).high
    assert all_of_it.tried[0].good is False
    million = ask(service, node_id, negative_dentries=1_000_000)
    assert pause_s(million).expected == pytest.approx(FREE_US * 2.4**FREE_EXPONENT, rel=0.05)
    tried = million.tried[0].settings
    assert (tried["positive_dentries"], tried["inodes"]) == (0, 0)
    assert "2.4" in million.tried[0].notes[0]


def test_asked_about_anything_on_the_node_it_is_the_nodes(service: Any, node_id: int) -> None:
    children = service.get(f"/resources/{node_id}")["children"]
    assert children
    assert ask(service, int(children[0]["id"]), negative_dentries=10**6).resource_id == node_id


def test_an_incident_of_the_past_tells_what_the_next_drop_takes(service: Any) -> None:
    dropped = simulate(Node(negative=4e6, free_us=1.2, losses=(Loss(60, "drop"),)))
    now_us = time.time_ns() // 1000
    node_id = service.feed(recording_of(dropped), ends_us=now_us - 600_000_000)
    # As if that had been the newest data.
    outcome = service.diagnose(node_id)
    assert outcome is not None
    [incident] = service.get("/incidents")["items"]
    assert incident["cause"] == "kernel/dentry_reclaim_contention"
    assert service.feed(recording_of(simulate(Node(negative=2e6, seed=9))), ends_us=now_us) == node_id
    said = ask(service, node_id, negative_dentries=1_000_000)
    assert each_us(said) == pytest.approx(1.2, rel=0.1)


def test_a_node_without_dentry_counts_cannot_tell(service: Any) -> None:
    snapshot: Snapshot = simulate(Node(seconds=30.0))
    node = replace(snapshot.node, series={"host_system_us": snapshot.node.series["host_system_us"]})
    node_id = service.feed(recording_of(replace(snapshot, subject=node, node=node)))
    said = ask(service, node_id)
    assert said.tried == []
    assert said.cannot_tell is not None
    assert "dentry_state" in said.cannot_tell


def test_bad_requests_are_refused(service: Any, node_id: int) -> None:
    service.post("/whatif/dentries", {"resource_id": 10**12}, status=404)
    service.post("/whatif/dentries", {"resource_id": node_id, "settings": [{"negative_dentries": -1}]}, status=422)
    service.post("/whatif/dentries", {"resource_id": node_id, "to": "yesterday"}, status=422)
