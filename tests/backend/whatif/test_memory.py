"""The what-if of a burst of queries over REST: when memory would have been full under a cap, a limit, more replicas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jitterscope.diagnosis.simulate_memory import MIB, MemoryWorkload, simulate_memory
from jitterscope.recordings.snapshots import recording_of
from jitterscope.whatif.memory_schemas import MemoryWhatIf

BURST = MemoryWorkload(seconds=22.4, bursts=((20, 30, 4000),))


def ask(service: Any, resource_id: int, settings: list[dict[str, int]]) -> MemoryWhatIf:
    return MemoryWhatIf.model_validate(
        service.post("/whatif/memory", {"resource_id": resource_id, "settings": settings})
    )


@pytest.fixture
def server_id(service: Any) -> int:
    """A server that a burst killed 2 s after it began."""
    return int(service.feed(recording_of(simulate_memory(BURST).snapshot)))


def test_caps_limits_and_replicas(service: Any, server_id: int) -> None:
    tried: list[dict[str, int]] = [{}, {"max_concurrent": 1000}, {"limit_bytes": 1 << 30}, {"replicas": 4}]
    said = ask(service, server_id, tried)
    assert said.burst is not None
    # What a query holds, and the garbage that came with it.
    assert 18.5 * 1024 <= said.burst.per_query_bytes.expected <= 1.4 * 18.5 * 1024
    as_it_was, capped, larger, spread = said.predictions
    killed_s = simulate_memory(BURST).kills[0] / 10 - 20
    assert as_it_was.outcome == "killed"
    assert as_it_was.seconds_to_oom is not None
    assert as_it_was.seconds_to_oom.expected == pytest.approx(killed_s, rel=0.3)
    assert (capped.outcome, capped.seconds_to_oom) == ("survives", None)
    assert larger.outcome == "survives"
    # A quarter of the queries joins four times as slowly.
    assert spread.seconds_to_oom is None or spread.seconds_to_oom.expected > 3 * killed_s
    real = simulate_memory(replace(BURST, seconds=60, max_concurrent=1000)).net.max()
    assert capped.peak_bytes is not None
    assert capped.peak_bytes.low <= real <= capped.peak_bytes.high


def test_what_it_recommends_survives(service: Any, server_id: int) -> None:
    said = ask(service, server_id, [])
    assert said.recommended_max_concurrent is not None
    assert said.recommended_limit_bytes is not None
    longer = replace(BURST, seconds=60)
    assert not simulate_memory(replace(longer, max_concurrent=said.recommended_max_concurrent)).kills
    assert not simulate_memory(replace(longer, limit_mib=said.recommended_limit_bytes / MIB)).kills


def test_without_a_burst_it_cannot_tell(service: Any) -> None:
    calm = service.feed(recording_of(simulate_memory(MemoryWorkload(seconds=20.0)).snapshot))
    said = ask(service, calm, [{"max_concurrent": 10}])
    assert (said.burst, said.predictions) == (None, [])
    assert said.cannot_tell


def test_bad_requests_are_refused(service: Any, server_id: int) -> None:
    service.post("/whatif/memory", {"resource_id": 10**12}, status=404)
    service.post("/whatif/memory", {"resource_id": server_id, "settings": [{"max_concurrent": 0}]}, status=422)
    service.post("/whatif/memory", {"resource_id": server_id, "from": "yesterday"}, status=422)
