"""Which programs looked up names that do not exist: the rows of fs.lookup_failures events, summed."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import Event, ResourceView, Snapshot


@dataclass(frozen=True, slots=True)
class Looker:
    """A program whose lookups of one pattern (digits as #) fail: how often, and in how many processes."""

    command: str
    pattern: str
    count: int
    pids: frozenset[int]
    cgroup: ResourceView | None


@dataclass(frozen=True, slots=True)
class Lookups:
    """Failed lookups that were traced: the rows by count, their total, and for how long (s)."""

    lookers: tuple[Looker, ...]
    total: int
    seconds: float

    @property
    def traced(self) -> bool:
        return self.total > 0

    @property
    def rate(self) -> float:
        """Failed lookups per second while traced."""
        return self.total / max(0.1, self.seconds)


@reading
def lookups(snapshot: Snapshot) -> Lookups:
    """The lookups from the node's events; if it has none, from its cgroups'."""
    own = _events(snapshot.node)
    views = [snapshot.node] if own else list(snapshot.cgroups)
    where = _cgroups(snapshot)
    counts: dict[tuple[str, str], int] = {}
    pids: dict[tuple[str, str], set[int]] = {}
    total, spans = 0, []
    for view in views:
        for event in _events(view):
            rows = _rows(event)
            listed = sum(count for *_, count in rows)
            total += max(listed, _whole(event.attributes.get("total")))
            spans.append((event.start_us, event.end_us))
            for command, pid, pattern, count in rows:
                counts[command, pattern] = counts.get((command, pattern), 0) + count
                pids.setdefault((command, pattern), set()).update((pid,) if pid else ())
    lookers = tuple(
        Looker(command, pattern, count, frozenset(pids[command, pattern]), where.get((command, pattern)))
        for (command, pattern), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
    return Lookups(lookers, total, _traced_us(snapshot, spans) / 1e6)


def _events(view: ResourceView) -> list[Event]:
    return [event for event in view.events if event.kind == "fs.lookup_failures"]


def _rows(event: Event) -> list[tuple[str, int, str, int]]:
    """Readable rows; a broken list counts as no rows."""
    try:
        rows = json.loads(event.attributes.get("rows", "[]"))
    except ValueError:
        return []
    return [
        (row[0], _whole(row[1]), row[2], _whole(row[3]))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, list) and len(row) == 4 and isinstance(row[0], str) and isinstance(row[2], str)
    ]


def _whole(value: object) -> int:
    try:
        return max(0, int(float(str(value))))
    except (ValueError, OverflowError):
        return 0


def _cgroups(snapshot: Snapshot) -> dict[tuple[str, str], ResourceView]:
    """The cgroup whose own events have most of a command's lookups for a pattern (pid 0 stands for many processes)."""
    counts: dict[tuple[str, str], dict[int, int]] = {}
    for number, view in enumerate(snapshot.cgroups):
        for event in _events(view):
            for command, _, pattern, count in _rows(event):
                found = counts.setdefault((command, pattern), {})
                found[number] = found.get(number, 0) + count
    return {
        key: snapshot.cgroups[max(found, key=lambda number: (found[number], -number))] for key, found in counts.items()
    }


def _traced_us(snapshot: Snapshot, spans: list[tuple[int, int]]) -> int:
    """For how long lookups were traced: the counted ticks, as storms are not always traced; else the events' spans."""
    counted = np.isfinite(series(snapshot.node, "lookup_failures", snapshot.ticks))
    return int(counted.sum()) * snapshot.step_us if counted.any() else _union_us(spans)


def _union_us(spans: list[tuple[int, int]]) -> int:
    covered, reached = 0, 0
    for low, high in sorted(spans):
        covered += max(0, high - max(low, reached))
        reached = max(reached, high)
    return covered
