"""The what-if of a query burst over REST: when memory would have been full under a cap, a limit, or more replicas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.scenarios.memory.simulate import MIB, MemoryWorkload, simulate_memory
from jitterscope.recordings.snapshots import recording_of
from jitterscope.whatif.schemas import WhatIf, WhatIfFigure

BURST = MemoryWorkload(seconds=22.4, bursts=((20, 30, 4000),))


def ask(service: Any, resource_id: int, settings: list[dict[str, int]]) -> WhatIf:
    return WhatIf.model_validate(service.post("/whatif/memory", {"resource_id": resource_id, "settings": settings}))


@pytest.fixture
def server_id(service: Any) -> int:
    """A server that a burst killed 2 s after it began."""
    return int(service.feed(recording_of(simulate_memory(BURST).snapshot)))


def figure(figures: list[WhatIfFigure], name: str) -> Interval | None:
    return next(one.interval for one in figures if one.id == name)


def test_caps_limits_and_replicas(service: Any, server_id: int) -> None:
    tried: list[dict[str, int]] = [{}, {"max_concurrent": 1000}, {"limit_bytes": 1 << 30}, {"replicas": 4}]
    said = ask(service, server_id, tried)
    # What a query holds, including its garbage.
    per_query = figure(said.figures, "per_query_bytes")
    assert per_query is not None
    assert 18.5 * 1024 <= per_query.expected <= 1.4 * 18.5 * 1024
    as_it_was, capped, larger, spread = said.tried
    killed_s = simulate_memory(BURST).kills[0] / 10 - 20
    assert (as_it_was.outcome or "").startswith("killed after")
    assert as_it_was.good is False
    seconds = figure(as_it_was.figures, "seconds_to_oom")
    assert seconds is not None
    assert seconds.expected == pytest.approx(killed_s, rel=0.3)
    assert (capped.outcome, figure(capped.figures, "seconds_to_oom")) == ("survives", None)
    assert larger.outcome == "survives"
    # With a quarter of the queries, they join four times as slowly.
    slower = figure(spread.figures, "seconds_to_oom")
    assert slower is None or slower.expected > 3 * killed_s
    real = simulate_memory(replace(BURST, seconds=60, max_concurrent=1000)).net.max()
    peak = figure(capped.figures, "peak_bytes")
    assert peak is not None
    assert peak.low <= real <= peak.high


def test_what_it_suggests_survives(service: Any, server_id: int) -> None:
    said = ask(service, server_id, [])
    suggested = {name: value for one in said.suggestions for name, value in one.settings.items()}
    cap, limit = suggested["max_concurrent"], suggested["limit_bytes"]
    assert isinstance(cap, float)
    assert isinstance(limit, float)
    longer = replace(BURST, seconds=60)
    assert not simulate_memory(replace(longer, max_concurrent=int(cap))).kills
    assert not simulate_memory(replace(longer, limit_mib=limit / MIB)).kills


def test_without_a_burst_it_cannot_tell(service: Any) -> None:
    calm = service.feed(recording_of(simulate_memory(MemoryWorkload(seconds=20.0)).snapshot))
    said = ask(service, calm, [{"max_concurrent": 10}])
    assert (said.figures, said.tried) == ([], [])
    assert said.cannot_tell


def test_bad_requests_are_refused(service: Any, server_id: int) -> None:
    service.post("/whatif/memory", {"resource_id": 10**12}, status=404)
    service.post("/whatif/memory", {"resource_id": server_id, "settings": [{"max_concurrent": 0}]}, status=422)
    service.post("/whatif/memory", {"resource_id": server_id, "from": "yesterday"}, status=422)
