"""Reads what the CPU causes need out of a snapshot: the quota that bites, CPU use, DNS load, GC of each Go process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.snapshot import Event, FloatArray, IntArray, ResourceView, Snapshot

GC_EVENT = "go.gc_cycle"


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU of the cgroup whose quota applies: the subject, or its nearest ancestor with one.

    Arrays have one value a tick. `quota_us` is the CPU time one tick may use on average (+inf: no limit).
    """

    owner: ResourceView
    quota_us: FloatArray
    period_us: int
    burst_us: float | None
    usage_us: FloatArray
    throttled: FloatArray
    periods: FloatArray
    throttled_us: FloatArray
    step_us: int

    @property
    def limit(self) -> float:
        """CPUs, at the end of the window; inf: no limit."""
        return float(self.quota_us[-1]) / self.step_us

    @property
    def period_quota_us(self) -> float:
        return self.limit * self.period_us

    @property
    def lag(self) -> int:
        """Ticks by which a counter that moves at the end of a period can trail what it counts."""
        return max(1, math.ceil(self.period_us / self.step_us))


@dataclass(frozen=True, slots=True)
class Dns:
    """All DNS servers of the subject added up, per tick; NaN where nothing was captured."""

    queries: FloatArray
    answers: FloatArray
    slow: FloatArray


@dataclass(frozen=True, slots=True)
class Cycles:
    """GC cycles in time order: parallel arrays of µs since the epoch."""

    start_us: IntArray
    end_us: IntArray

    def overlapping(self, low_us: int, high_us: int) -> Cycles:
        """Those that ran at some time in [low_us, high_us)."""
        chosen = (self.end_us > low_us) & (self.start_us < high_us)
        return Cycles(self.start_us[chosen], self.end_us[chosen])

    def ended(self, low_us: int, high_us: int) -> int:
        """How many ended in (low_us, high_us]."""
        return int(((self.end_us > low_us) & (self.end_us <= high_us)).sum())

    def __len__(self) -> int:
        return len(self.start_us)


@dataclass(frozen=True, slots=True)
class GoProcess:
    """GC of one Go process. `active_us`: wall time of each tick inside a cycle, NaN where nobody looked."""

    view: ResourceView
    source: Literal["uprobe", "metrics", "threads", "unknown"]
    active_us: FloatArray
    cycles: Cycles


def series(view: ResourceView, metric: str, ticks: int) -> FloatArray:
    """The metric of a resource, all NaN where it was never recorded."""
    values = view.series.get(metric)
    return np.full(ticks, np.nan) if values is None else np.asarray(values, dtype=np.float64)


def has(view: ResourceView, metric: str) -> bool:
    values = view.series.get(metric)
    return values is not None and bool(np.isfinite(values).any())


def number(text: str | None) -> float | None:
    """A fact as a number, None where it is absent or not one."""
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is None or math.isfinite(value) else None


def fact_series(snapshot: Snapshot, view: ResourceView, name: str, missing: float) -> FloatArray:
    """A numeric fact as one value a tick; before its first observation the first value holds."""
    history = sorted((fact for fact in view.facts if fact.name == name), key=lambda fact: fact.since_us)
    known = [(fact.since_us, value) for fact in history if (value := number(fact.value)) is not None]
    out = np.full(snapshot.ticks, missing if not known else known[0][1])
    for since_us, value in known[1:]:
        first = max(0, math.ceil((since_us - snapshot.start_us) / snapshot.step_us))
        out[first:] = value
    return out


def read_cpu(snapshot: Snapshot) -> Cpu:
    """CPU signals of whoever owns the quota; the subject itself where no quota is known anywhere."""
    owner = snapshot.subject
    for view in (snapshot.subject, *snapshot.ancestors):
        if (number(view.fact("cpu.quota_us")) or -1) > 0 and (number(view.fact("cpu.period_us")) or 0) > 0:
            owner = view
            break
    n, step = snapshot.ticks, snapshot.step_us
    quota = fact_series(snapshot, owner, "cpu.quota_us", -1.0)
    period = fact_series(snapshot, owner, "cpu.period_us", 100_000.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        quota_tick = np.where((quota > 0) & (period > 0), quota * step / period, np.inf)
    return Cpu(
        owner=owner,
        quota_us=quota_tick,
        period_us=int(period[-1]) if period[-1] > 0 else 100_000,
        burst_us=number(owner.fact("cpu.burst_us")),
        usage_us=series(owner, "cpu_usage_us", n),
        throttled=series(owner, "cpu_throttled_periods", n),
        periods=series(owner, "cpu_periods", n),
        throttled_us=series(owner, "cpu_throttled_us", n),
        step_us=step,
    )


def read_dns(snapshot: Snapshot) -> Dns:
    return Dns(*(_summed(snapshot, name) for name in ("dns_queries", "dns_answers", "dns_slow")))


def _summed(snapshot: Snapshot, metric: str) -> FloatArray:
    rows = [series(server, metric, snapshot.ticks) for server in snapshot.dns_servers]
    if not rows:
        return np.full(snapshot.ticks, np.nan)
    stack = np.stack(rows)
    return np.where(np.isfinite(stack).any(axis=0), np.nansum(stack, axis=0), np.nan)


def is_go(view: ResourceView) -> bool:
    return any(fact.name.startswith("go.") for fact in view.facts) or any(
        event.kind == GC_EVENT for event in view.events
    )


def read_go(snapshot: Snapshot) -> list[GoProcess]:
    """Go processes of the subject whose GC somebody observed, busiest collector first."""
    found = []
    for view in snapshot.processes:
        events = [event for event in view.events if event.kind == GC_EVENT]
        if not has(view, "go_gc_active_us") and not events:
            continue
        # A cycle's event comes when it has ended; the series may already show the ticks it ran in, or not yet.
        cycles = _cycles(events)
        recorded, spans = series(view, "go_gc_active_us", snapshot.ticks), _active(snapshot, cycles)
        active = np.fmax(recorded, np.where((spans > 0) | ~np.isfinite(recorded).any(), spans, np.nan))
        found.append(GoProcess(view, _source(view, events), active, cycles))
    return sorted(found, key=lambda process: (-float(np.nansum(process.active_us)), process.view.id))


def _source(view: ResourceView, events: list[Event]) -> Literal["uprobe", "metrics", "threads", "unknown"]:
    named = view.fact("go.gc_source") or next((event.attributes.get("source", "") for event in events), "")
    for known in ("uprobe", "metrics", "threads"):
        if named == known:
            return known
    return "unknown"


def _cycles(events: list[Event]) -> Cycles:
    spans = np.array(sorted((event.start_us, event.end_us) for event in events) or np.zeros((0, 2)), dtype=np.int64)
    return Cycles(spans[:, 0], spans[:, 1])


def _active(snapshot: Snapshot, cycles: Cycles) -> FloatArray:
    """Wall time of each tick inside a cycle, µs."""
    if not len(cycles):
        return np.zeros(snapshot.ticks)
    # A process runs one cycle at a time; estimated spans may overlap a little, and count once.
    ends = np.maximum.accumulate(cycles.end_us)
    starts = np.maximum(cycles.start_us, np.concatenate([cycles.start_us[:1], ends[:-1]]))
    ends = np.maximum(ends, starts)
    edges = snapshot.start_us + np.arange(snapshot.ticks + 1) * snapshot.step_us
    times = np.stack([starts, ends], axis=1).ravel() - snapshot.start_us
    passed = np.cumsum(np.stack([np.zeros(len(starts)), ends - starts], axis=1).ravel())
    return np.diff(np.interp(edges - snapshot.start_us, times, passed))
