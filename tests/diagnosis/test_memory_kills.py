"""OOM kills as a collector sees that is short of CPU, and queries that pile up beside what fills memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.areas.memory.causes import limit_oom, query_burst_oom
from jitterscope.diagnosis.areas.memory.readings.signals import lives, read
from jitterscope.diagnosis.core.finding import Found, NotFound
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.memory.simulate import MIB, MemoryWorkload, simulate_memory

LEAK = MemoryWorkload(seconds=45, leaks=((10, 100, 6.0),))


def read_once_a_second(snapshot: Snapshot, kill: int) -> Snapshot:
    """The kill comes just before a reading, which has the memory of nobody."""
    usage = snapshot.subject.series["memory_usage_bytes"].copy()
    ticks = np.arange(len(usage))
    usage[(ticks - kill) % 10 != 0] = np.nan
    usage[kill] = MIB / 5
    series = {**snapshot.subject.series, "memory_usage_bytes": usage}
    return replace(snapshot, subject=replace(snapshot.subject, series=series))


def test_a_kill_between_two_readings_ends_with_the_last_one() -> None:
    run = simulate_memory(LEAK)
    [kill] = run.kills
    snapshot = read_once_a_second(run.snapshot, kill)
    memory = read(snapshot)
    assert memory is not None
    first = lives(memory)[0]
    assert (first.killed, first.end) == (True, kill - 9)
    found = limit_oom.detect(snapshot)
    assert isinstance(found, Found)
    assert "after growing by" in found.title  # and not filled by files


def test_the_fall_after_a_kill_alone_is_no_life() -> None:
    run = simulate_memory(LEAK)
    [kill] = run.kills
    usage = run.snapshot.subject.series["memory_usage_bytes"].copy()
    usage[:kill] = np.nan
    series = {**run.snapshot.subject.series, "memory_usage_bytes": usage}
    snapshot = replace(run.snapshot, subject=replace(run.snapshot.subject, series=series))
    memory = read(snapshot)
    assert memory is not None
    assert not any(life.killed for life in lives(memory))


def test_as_many_wait_as_in_a_single_tick_before() -> None:
    """What smoothing takes away is no beginning of a queue: the share of each query would be divided by nothing."""
    snapshot = simulate_memory(replace(LEAK, seconds=27)).snapshot
    waiting = np.zeros(snapshot.ticks)
    waiting[250] = 300
    waiting[252:] = 300
    [server] = snapshot.dns_servers
    server = replace(server, series={**server.series, "dns_inflight": waiting})
    found = query_burst_oom.detect(replace(snapshot, dns_servers=(server,)))
    assert isinstance(found, NotFound)
    assert found.reason.startswith("Queries do not pile up")
