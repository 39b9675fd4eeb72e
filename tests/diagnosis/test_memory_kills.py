"""OOM kills as seen by a collector that is short of CPU, and queries that pile up beside what fills memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.memory.causes import limit_oom, query_burst_oom
from jitterscope.diagnosis.areas.memory.readings import figures
from jitterscope.diagnosis.areas.memory.readings.signals import lives, read
from jitterscope.diagnosis.areas.memory.readings.waiting_queries import Burst, burst
from jitterscope.diagnosis.areas.memory.whatif.load import load_of
from jitterscope.diagnosis.areas.memory.whatif.query_burst import needed_limit
from jitterscope.diagnosis.core.finding import Found, NotFound
from jitterscope.diagnosis.core.snapshot import Distribution, Event, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.memory.simulate import MIB, MemoryWorkload, simulate_memory

LEAK = MemoryWorkload(seconds=45, leaks=((10, 100, 6.0),))


def read_once_a_second(snapshot: Snapshot, kill: int) -> Snapshot:
    """The kill comes just before a sample, which then has no process's memory."""
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


def test_what_filled_a_limit_at_once_is_not_known() -> None:
    """No sample shows it: neither that it were files, nor that it grew."""
    sudden = MemoryWorkload(seconds=40, go=False, limit_mib=48, leaks=((20, 0.1, 4_000.0),))
    found = limit_oom.detect(simulate_memory(sudden).snapshot)
    assert isinstance(found, Found)
    assert found.title.endswith("was OOM-killed at its memory limit of 48 MiB, which was filled at once")
    assert "the killed program held 48 MiB of its own" in found.summary
    assert [one.id for one in found.evidence if one.id == "growth"] == []
    files = limit_oom.detect(simulate_memory(MemoryWorkload(seconds=40, tmpfs=True, files=((5, 60, 9.0),))).snapshot)
    assert isinstance(files, Found)
    assert files.title.endswith("filled by tmpfs or shared memory")


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
    """A queue does not begin where smoothing reduces the count: each query's share would be divided by nothing."""
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
    """A container whose cgroup ended with its kill: the kill was not counted, and the next start has its own cgroup.

    `of_pod`: the nearest limit is the pod's, which stays and counts no kill.
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
    assert np.isfinite(counted.part).all()  # no kill is possible while it waits for its next start
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


# Bursts of 9 s in 10 s whose queries are never answered: CoreDNS holds each for 6 s, so 12,000 can wait.
FLOOD = MemoryWorkload(
    seconds=60, bursts=tuple((15.0 + 10 * number, 9.0, 2_000.0) for number in range(5)), wait_s=6.0, query_kib=15.0,
    restart_s=2.0,
)  # fmt: skip
BLIND_TICKS = 10


def begun_anew(snapshot: Snapshot, kills: tuple[int, ...], down_ticks: int) -> Snapshot:
    """As on Kubernetes: with its next start a server is new to the capture.

    The capture counts nothing at first and knows of no earlier query.
    """
    [server] = snapshot.dns_servers
    series = {name: values.copy() for name, values in server.series.items()}
    for kill in kills:
        first = min(kill + 1 + down_ticks + BLIND_TICKS, snapshot.ticks)
        for values in series.values():
            values[kill:first] = np.nan
        until = next((later for later in kills if later > kill), snapshot.ticks)
        asked = np.cumsum(series["dns_queries"][first:until])
        series["dns_inflight"][first:until] = asked - np.concatenate([np.zeros(50), asked])[: len(asked)]
    return replace(snapshot, dns_servers=(replace(server, series=series),))


@pytest.fixture(scope="module")
def flood() -> tuple[Snapshot, tuple[int, ...]]:
    run = simulate_memory(FLOOD)
    return begun_anew(run.snapshot, run.kills, 20), run.kills


def test_a_server_that_starts_amid_a_burst_is_filled_by_it(flood: tuple[Snapshot, tuple[int, ...]]) -> None:
    """Its growth before its queries were counted is not growth without them."""
    snapshot, kills = flood
    assert len(kills) >= 4
    told = 0
    for end in range(kills[0] + 5, snapshot.ticks, 5):
        part = until(snapshot, end)
        assert isinstance(limit_oom.detect(part), NotFound), end
        told += isinstance(query_burst_oom.detect(part), Found)
    assert told == len(range(kills[0] + 5, snapshot.ticks, 5))


def test_growth_of_a_server_whose_queries_nobody_counted_is_no_certain_leak() -> None:
    """A busy collector finds a new container's server when its memory is full."""
    run = simulate_memory(LEAK)
    [server] = run.snapshot.dns_servers
    uncounted = {name: np.full_like(values, np.nan) for name, values in server.series.items()}
    snapshot = replace(run.snapshot, dns_servers=(replace(server, series=uncounted, distributions={}),))
    counted, blind = limit_oom.detect(run.snapshot), limit_oom.detect(snapshot)
    assert isinstance(counted, Found)
    assert isinstance(blind, Found)
    assert counted.confidence != "low"
    assert "no burst of queries explains it" in counted.summary
    assert blind.confidence == "low"
    assert "whether a burst of them is the reason is not known" in blind.summary
    assert "no burst of queries explains it" not in blind.summary
    # Nor does the collector know the server at first: its program tells.
    unknown = limit_oom.detect(replace(run.snapshot, dns_servers=()))
    assert isinstance(unknown, Found)
    assert unknown.confidence == "low"
    # A program that serves no DNS has no queries to count.
    other = replace(run.snapshot, dns_servers=(), processes=())
    found = limit_oom.detect(other)
    assert isinstance(found, Found)
    assert found.confidence == counted.confidence


def test_the_limit_that_is_needed_holds_all_that_can_wait(flood: tuple[Snapshot, tuple[int, ...]]) -> None:
    """Based on any life of the server: 12,000 queries at 15 KiB, and as much garbage again."""
    snapshot, _ = flood
    memory = read(snapshot)
    assert memory is not None
    ended = [life for life in lives(memory) if life.killed]
    assert len(ended) >= 4
    for life in ended:
        found = burst(snapshot, life)
        assert isinstance(found, Burst), life
        assert found.ceiling == pytest.approx(12_000, rel=0.1)
        needed = needed_limit(load_of(found, 170.0 * MIB))
        assert needed is not None
        assert 360 * MIB < needed < 720 * MIB, life


def until(snapshot: Snapshot, end: int) -> Snapshot:
    """What was known after this many ticks."""

    def cut(view: ResourceView) -> ResourceView:
        spread = {
            name: Distribution(one.tick[one.tick < end], one.bucket[one.tick < end], one.count[one.tick < end])
            for name, one in view.distributions.items()
        }
        events = tuple(one for one in view.events if one.start_us < snapshot.start_us + end * snapshot.step_us)
        series = {name: values[:end] for name, values in view.series.items()}
        return replace(view, series=series, distributions=spread, events=events)

    return replace(
        snapshot,
        ticks=end,
        subject=cut(snapshot.subject),
        processes=tuple(map(cut, snapshot.processes)),
        dns_servers=tuple(map(cut, snapshot.dns_servers)),
    )
