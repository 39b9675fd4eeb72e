"""Bursts that fill memory: before and after the kill, with and without bounds; and other growth at the same time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.scenarios.memory.runs import run, until
from jitterscope.diagnosis.scenarios.memory.simulate import MemoryWorkload
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "memory/query_burst_oom"
CASE = MemoryWorkload(seconds=40, bursts=((20, 30, 4000),))


def _fault(name: str, load: MemoryWorkload, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"query_burst_oom/{name}", ID, partial(run, load), hurts, note)


def _fine(name: str, load: MemoryWorkload) -> Scenario:
    return Scenario(f"query_burst_oom/healthy: {name}", None, partial(run, load))


SCENARIOS = (
    _fault("half a second after it began", until(CASE, 20.6)),
    _fault("a second after it began", until(CASE, 21.1)),
    _fault("killed", until(replace(CASE, seed=2), 24)),
    _fault("killed again and again", replace(CASE, seconds=45, seed=3)),
    _fault("64 MiB at 1,500 queries/s", until(replace(CASE, limit_mib=64, bursts=((20, 30, 1500),), seed=4), 21.0)),
    _fault("1 GiB at 15,000 queries/s", until(replace(CASE, limit_mib=1024, bursts=((20, 30, 15000),), seed=5), 22)),
    _fault("an upstream that turns slow", MemoryWorkload(
        seconds=21.5, qps=2500, wait_s=0.002, waits=((20, 30, 5.0),), seed=6)),
    _fault("a larger query", until(replace(CASE, query_kib=90, bursts=((20, 30, 1200),), seed=7), 20.8)),
    _fault("seen from its beginning", MemoryWorkload(seconds=1.2, bursts=((0.2, 30, 3500),), seed=8)),
    _fault("max_concurrent is too high", until(
        replace(CASE, max_concurrent=20_000, forwards=True, seed=9), 20.9)),
    _fault("a server that cannot say where it forwards", until(
        replace(CASE, forwards=False, software="resolver", go=False, seed=10), 22.1)),
    _fault("with gaps", until(replace(CASE, seen_ratio=0.7, seed=11), 21.3)),
    _fault("beside page cache", until(replace(CASE, files=((2, 10, 6.0),), seed=12), 21.2)),
    _fault("the kernel tells nothing about the kill", until(replace(CASE, record=False, seed=13), 25)),
    _fault("it passed", MemoryWorkload(
        seconds=35, limit_mib=170, bursts=((20, 1.5, 4000),), seed=14), hurts=False),
    _fine("max_concurrent", replace(CASE, max_concurrent=1000, seed=20)),
    _fine("max_concurrent, just after it began", until(replace(CASE, max_concurrent=1000, seed=21), 20.7)),
    _fine("a limit that holds it", replace(CASE, limit_mib=1024, seed=22)),
    _fine("a limit that holds it, just after it began", until(replace(CASE, limit_mib=700, seed=23), 20.8)),
    _fine("a quick upstream", replace(CASE, wait_s=0.0, seed=24)),
    _fine("an upstream that takes 300 ms", replace(CASE, wait_s=0.3, seed=25)),
    _fine("an upstream that takes 300 ms, just after it began", until(replace(CASE, wait_s=0.3, seed=26), 20.6)),
    _fine("no limit", replace(CASE, limit_mib=None, seed=27)),
    _fine("many queries all the time", MemoryWorkload(seconds=40, qps=1200, wait_s=1.0, seed=28)),
    Scenario(
        "query_burst_oom/near miss: a leak",
        "memory/limit_oom",
        partial(run, MemoryWorkload(seconds=30, leaks=((15, 60, 8.0),), seed=30)),
        note="as many queries as ever",
    ),
    Scenario(
        "query_burst_oom/near miss: a leak under a load that began with it",
        "memory/limit_oom",
        partial(run, MemoryWorkload(seconds=21, qps=25, bursts=((5, 60, 150),), leaks=((5, 60, 8.0),), seed=31)),
        note="queries wait too, but stay as many while memory grows on",
    ),
    Scenario(
        "query_burst_oom/near miss: a leak long before the burst",
        "memory/limit_oom",
        partial(run, MemoryWorkload(
            seconds=26, qps=25, bursts=((24, 30, 300),), leaks=((5, 60, 7.0),), seed=32)),
    ),
)  # fmt: skip
