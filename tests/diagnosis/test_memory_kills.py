"""OOM kills as a collector sees that is short of CPU, and queries that pile up beside what fills memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.memory.causes import limit_oom, query_burst_oom
from jitterscope.diagnosis.areas.memory.readings import figures
from jitterscope.diagnosis.areas.memory.readings.signals import lives, read
from jitterscope.diagnosis.core.finding import Found, NotFound
from jitterscope.diagnosis.core.snapshot import Event, Snapshot
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


BURST = MemoryWorkload(seconds=40, bursts=((15, 20, 2_000.0),), record=False)


def uncounted(snapshot: Snapshot, kill: int, told: bool, of_pod: bool) -> Snapshot:
    """As of a container whose cgroup went with its kill: nothing counted it, and the next has one of its own.

    `of_pod`: the limit that is nearest is that of the pod, which stays and counts no kill.
    """
    attributes = {"uncounted_by": "kubelet", "reason": "OOMKilled", "exit_code": "137", "count": "1"}
    at_us = snapshot.start_us + kill * snapshot.step_us
    series = {name: values.copy() for name, values in snapshot.subject.series.items()}
    series["memory_oom_kills"][:] = 0
    pod = replace(snapshot.subject, id=99, series={name: values.copy() for name, values in series.items()}, events=())
    for values in series.values():
        values[kill : kill + 10] = np.nan
    events = (Event("memory.oom_kill", at_us, 0, attributes),) if told else ()
    own = replace(snapshot.subject, series=series, events=events, starts=(kill + 10,))
    if not of_pod:
        return replace(snapshot, subject=own)
    pod.series["memory_usage_bytes"][:] += MIB / 4
    return replace(snapshot, subject=own, ancestors=(pod,))


@pytest.mark.parametrize("of_pod", [False, True], ids=["limit of the container", "limit of the pod"])
def test_a_kill_that_the_kubelet_tells_is_a_kill(of_pod: bool) -> None:
    run = simulate_memory(BURST)
    kill = run.kills[0]
    snapshot = uncounted(run.snapshot, kill, told=True, of_pod=of_pod)
    memory = read(snapshot)
    assert memory is not None
    assert (memory.owner.id == 99) is of_pod
    assert np.flatnonzero(memory.kills).tolist() == [kill]
    assert [(life.killed, life.again) for life in lives(memory)][:2] == [(True, False), (False, True)]
    counted = figures.oom_kills(snapshot)
    assert counted is not None
    assert np.nansum(counted.part) == 1
    assert np.isfinite(counted.part).all()  # no kill can come while it waits for its next start
    found = query_burst_oom.detect(snapshot)
    assert isinstance(found, Found)
    assert "was OOM-killed at 170 MiB: a burst left" in found.title
    assert found.harm == "measured"
    [told] = [one for one in found.evidence if one.id == "oom_kill"]
    assert told.value == "container (kubelet: OOMKilled, exit code 137)"
    assert query_burst_oom.propose(snapshot, found)


def test_a_start_that_nobody_explains_is_no_kill() -> None:
    run = simulate_memory(BURST)
    memory = read(uncounted(run.snapshot, run.kills[0], told=False, of_pod=False))
    assert memory is not None
    assert not memory.kills.any()
    assert not any(life.killed for life in lives(memory))


def test_a_kill_that_was_counted_is_not_told_twice() -> None:
    run = simulate_memory(BURST)
    kill = run.kills[0]
    told = uncounted(run.snapshot, kill, told=True, of_pod=False).subject.events
    memory = read(replace(run.snapshot, subject=replace(run.snapshot.subject, events=told)))
    assert memory is not None
    assert memory.kills.sum() == len(run.kills)
