"""How many calls a window had, how many were slow, and how long they took. None: not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.inventory.types import ResourceRow
from jitterscope.kit.allowance import borrowed, hold
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US, FloatArray
from jitterscope.services.callmap.paths import Path, Protocol
from jitterscope.services.callmap.places import Place

_PER_SECOND = 1_000_000 / TICK_US


@dataclass(frozen=True, slots=True)
class Names:
    """Metrics of a protocol's paths; the slowest answer of a DNS path is not recorded."""

    calls: str
    slow: str
    latency: str
    slowest: str | None


NAMES: Mapping[Protocol, Names] = {
    "tcp": Names("upstream_calls", "upstream_calls_slow", "upstream_latency_us", "upstream_latency_max_us"),
    "dns": Names("dns_queries", "dns_slow", "dns_latency_us", None),
}
# Memory limit: paths whose minutes are held at once.
_AT_ONCE = 40


@dataclass(slots=True)
class Call:
    """The paths from one place to another, added up. `by_path`: calls by the id of the path's resource.

    `ticks`: recorded ticks of each minute, of the path that has most: one that replaced another adds no time.
    """

    caller: Place
    called: Place
    protocol: Protocol
    ticks: FloatArray
    paths: list[Path] = field(default_factory=list)
    by_path: dict[int, float] = field(default_factory=dict)
    slow: float | None = None
    max_us: float | None = None

    @property
    def calls(self) -> float:
        return sum(self.by_path.values())

    @property
    def per_second(self) -> float:
        return self.calls / max(1.0, float(self.ticks.sum())) * _PER_SECOND

    @property
    def slow_ratio(self) -> float | None:
        return None if self.slow is None else min(1.0, self.slow / self.calls)

    @property
    def services(self) -> list[str]:
        """NAMESPACE/NAME of the Kubernetes Services whose addresses were called."""
        return sorted({path.service for path in self.paths if path.service is not None})

    @property
    def opens(self) -> ResourceRow:
        """The server of the path with the most calls, or the path itself if its server is not known."""
        most = max(self.paths, key=lambda path: (self.by_path[path.row.id], -path.row.id))
        return most.server or most.row


def read(session: Session, paths: Sequence[Path], from_us: int, to_us: int) -> list[Call]:
    """The calls that happened in a window of whole minutes."""
    minutes = (to_us - from_us) // 60_000_000
    found: dict[tuple[str, str, Protocol], Call] = {}
    # Paths of a node are read together: their ticks are in the same blocks.
    ordered = sorted(paths, key=lambda path: (path.protocol, path.row.node_id, path.row.id))
    for at in range(0, len(ordered), _AT_ONCE):
        part = ordered[at : at + _AT_ONCE]
        new = {path.key: path for path in part if path.key not in found}
        hold(len(new) * minutes * 8)
        for key, path in new.items():
            found[key] = Call(path.caller, path.called, path.protocol, np.zeros(minutes))
        with borrowed():
            _add(session, found, part, from_us, to_us)
    return [call for call in found.values() if call.calls > 0]


def _add(
    session: Session, found: Mapping[tuple[str, str, Protocol], Call], part: Sequence[Path], from_us: int, to_us: int
) -> None:
    protocols = {path.protocol for path in part}
    wanted = sorted({name for one in protocols for name in _minutely(NAMES[one])})
    minutes = series.read_minutes(session, [path.row.id for path in part], wanted, from_us, to_us)
    for path in part:
        names, call = NAMES[path.protocol], found[path.key]
        counted = minutes.get((path.row.id, names.calls))
        calls = 0.0 if counted is None else float(np.nansum(counted.total))
        if counted is None or calls == 0:
            continue
        call.paths.append(path)
        call.by_path[path.row.id] = calls
        np.maximum(call.ticks, counted.ticks, out=call.ticks)
        slow = minutes.get((path.row.id, names.slow))
        if slow is not None:
            call.slow = (call.slow or 0.0) + float(np.nansum(slow.total))
        slowest = None if names.slowest is None else minutes.get((path.row.id, names.slowest))
        if slowest is not None:
            call.max_us = max(call.max_us or 0.0, float(np.nanmax(slowest.high)))


def _minutely(names: Names) -> list[str]:
    return [name for name in (names.calls, names.slow, names.slowest) if name is not None]


def quantiles(session: Session, call: Call, from_us: int, to_us: int) -> tuple[float | None, float | None]:
    """p50 and p99 of its answers, µs."""
    ids = [path.row.id for path in call.paths]
    found = series.read_quantiles(session, ids, NAMES[call.protocol].latency, (0.5, 0.99), from_us, to_us)
    if found is None:
        return None, None
    # A quantile is within 2 %, the slowest answer exact.
    p50, p99 = found if call.max_us is None else (min(one, call.max_us) for one in found)
    return p50, p99
