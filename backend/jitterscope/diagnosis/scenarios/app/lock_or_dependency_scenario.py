"""Scenarios of app/lock_or_dependency: servers that wait for another one, and look-alikes that do not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.app.simulate import asking
from jitterscope.diagnosis.scenarios.cpu import (
    event_loop_blocked_scenario,
    gc_throttling_scenario,
    limit_too_low_scenario,
    neighbours_scenario,
)
from jitterscope.diagnosis.scenarios.runtime import gc_pause_scenario
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.unexplained.simulate import Hold, Kind, Service, simulate

ID = "app/lock_or_dependency"
LENGTHS = (0.3, 0.15, 0.6, 0.2)


def _held(kind: Kind, *seconds: float, seed: int = 1, rate: float = 200.0) -> Snapshot:
    holds = tuple(Hold(12.03 + 8 * i, length, kind) for i, length in enumerate(seconds))
    return simulate(Service(holds=holds, seed=seed, rate=rate))


def _waits(seed: int = 1, rate: float = 200.0, **how: object) -> Snapshot:
    """Its upstream stalls now and then."""
    return asking(_held("peer", *LENGTHS, seed=seed, rate=rate), True, seed=seed, **how)  # type: ignore[arg-type]


def _heavy() -> Snapshot:
    """Some of its calls take long."""
    return asking(simulate(Service(heavy_ratio=0.03, heavy_us=150_000.0, seed=6)), True)


def _own(kind: Kind) -> Snapshot:
    """It waits for something of its own, and its upstream answers at once."""
    return asking(_held(kind, *LENGTHS), False)


def _healthy() -> Snapshot:
    return asking(simulate(Service(seed=9)), False)


def _network() -> Snapshot:
    """Answers from its upstream arrive late, although that server answers at once."""
    return asking(_held("peer", *LENGTHS, seed=8), True, answers_at_once=True)


def _quick(other: Scenario) -> Snapshot:
    """A server with its own trouble that calls a quick server."""
    return asking(other.build(), False)


def _near_miss(name: str, among: tuple[Scenario, ...], which: str) -> Scenario:
    other = next(one for one in among if one.name.endswith(which))
    return replace(other, name=f"lock_or_dependency/near miss: {name}", build=partial(_quick, other))


SCENARIOS = (
    Scenario("lock_or_dependency/a lock in the database", ID, _waits),
    Scenario("lock_or_dependency/the database is stopped", ID, partial(_waits, unread=0.98, seed=2)),
    Scenario("lock_or_dependency/a server elsewhere", ID, partial(_waits, on_node=False, seed=3)),
    Scenario("lock_or_dependency/a few connections for all", ID, partial(_waits, connections=4, seed=4)),
    Scenario("lock_or_dependency/three of four requests ask", ID, partial(_waits, ratio=0.75, seed=5)),
    Scenario("lock_or_dependency/some of what it asks takes long", ID, _heavy),
    Scenario("lock_or_dependency/look-alike: a lock of its own", "unexplained/slow_answers", partial(_own, "lock")),
    Scenario("lock_or_dependency/look-alike: it is stopped", "unexplained/slow_answers", partial(_own, "stopped")),
    Scenario("lock_or_dependency/look-alike: the way to the database", "unexplained/slow_answers", _network),
    Scenario("lock_or_dependency/healthy", None, _healthy),
    _near_miss("it computes", event_loop_blocked_scenario.SCENARIOS, "Node.js, long functions"),
    _near_miss("GC uses up its limit", gc_throttling_scenario.SCENARIOS, "/HTTP"),
    _near_miss("its limit is too low", limit_too_low_scenario.SCENARIOS, "/JVM"),
    _near_miss("others have the CPUs", neighbours_scenario.SCENARIOS, "HTTP, moments"),
    _near_miss("GC stops it", gc_pause_scenario.SCENARIOS, "/JVM"),
)
