"""Reads what the CPU causes need from a snapshot: the effective quota, and CPU use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot

# Longest gap between once-a-second samples of a collector short of CPU, including late ones.
SHED_TICKS = 20


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU of the cgroup whose quota applies: the subject, or an ancestor (see `read_cpu`).

    Arrays have one value per tick. `quota_us` is the CPU time that one tick can use on average (+inf: no limit).
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
        """Ticks by which a counter that is updated at the end of a period can trail what it counts."""
        return max(1, math.ceil(self.period_us / self.step_us))


def series(view: ResourceView, metric: str, ticks: int) -> FloatArray:
    """The metric of a resource, all NaN if it was never recorded."""
    values = view.series.get(metric)
    return np.full(ticks, np.nan) if values is None else np.asarray(values, dtype=np.float64)


def added_up(views: Sequence[ResourceView], metric: str, ticks: int) -> FloatArray:
    """The metric summed over resources, per tick; NaN where none has a value."""
    if not views:
        return np.full(ticks, np.nan)
    stack = np.stack([series(view, metric, ticks) for view in views])
    return np.where(np.isfinite(stack).any(axis=0), np.nansum(stack, axis=0), np.nan)


def has(view: ResourceView, metric: str) -> bool:
    values = view.series.get(metric)
    return values is not None and bool(np.isfinite(values).any())


def spans(values: FloatArray) -> FloatArray:
    """Number of ticks that each sample of a counter covers, NaN where there is no sample.

    A collector short of CPU reads some counters only once a second: such a sample covers everything since the previous
    one. After a longer gap it covers only its own tick.
    """
    at = np.flatnonzero(np.isfinite(values))
    apart = np.diff(at, prepend=at[:1] - 1).astype(np.float64)
    found = np.full(len(values), np.nan)
    found[at] = np.where(apart <= SHED_TICKS, apart, 1.0)
    return found


def number(text: str | None) -> float | None:
    """A fact as a number, None if it is absent or not one."""
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is None or math.isfinite(value) else None


def program(view: ResourceView) -> str | None:
    """The name of a process: its executable, else its command."""
    return view.fact("process.executable") or view.fact("process.command")


def runs(view: ResourceView, software: str) -> bool:
    """Whether the process is this software; "coredns-v1.12.0" is also "coredns"."""
    name = program(view) or ""
    return name.startswith(software) and not name[len(software) : len(software) + 1].isalpha()


def serving(snapshot: Snapshot) -> set[int]:
    """Ids of the processes that serve: DNS servers as far as their names show, TCP servers by the listening process."""
    software = [name for server in snapshot.dns_servers if (name := server.fact("dns.software"))]
    listening = {fact.value for server in snapshot.tcp_servers for fact in server.facts if fact.name == "tcp.process"}
    return {
        view.id for view in snapshot.processes if view.key in listening or any(runs(view, name) for name in software)
    }


def fact_series(snapshot: Snapshot, view: ResourceView, name: str, missing: float) -> FloatArray:
    """A numeric fact as one value per tick; before its first observation, the first value holds."""
    history = sorted((fact for fact in view.facts if fact.name == name), key=lambda fact: fact.since_us)
    known = [(fact.since_us, value) for fact in history if (value := number(fact.value)) is not None]
    out = np.full(snapshot.ticks, missing if not known else known[0][1])
    for since_us, value in known[1:]:
        first = max(0, math.ceil((since_us - snapshot.start_us) / snapshot.step_us))
        out[first:] = value
    return out


def quota_of(view: ResourceView) -> float | None:
    """CPUs of the newest quota of a cgroup; None: no quota, or not known."""
    quota, period = number(view.fact("cpu.quota_us")), number(view.fact("cpu.period_us"))
    return quota / period if quota and quota > 0 and period and period > 0 else None


def own_limit(snapshot: Snapshot) -> float:
    """CPUs of the subject's own quota, inf without one. Most programs read that alone, not those above.

    Go: runtime/cgroup_linux.go.
    """
    return quota_of(snapshot.subject) or math.inf


@reading
def read_cpu(snapshot: Snapshot) -> Cpu:
    """CPU signals of the cgroup that owns the quota; of the subject itself if no quota is known.

    Of several quotas on the way up, the nearest that throttles (at least half as often as any); if none does, the
    smallest.
    """
    limits = {
        view.id: limit for view in (snapshot.subject, *snapshot.ancestors) if (limit := quota_of(view)) is not None
    }
    limited = [view for view in (snapshot.subject, *snapshot.ancestors) if view.id in limits]
    periods = {view.id: float(np.nansum(view.series.get("cpu_throttled_periods", 0.0))) for view in limited}
    most = max(periods.values(), default=0.0)
    owner = snapshot.subject
    if most > 0:
        owner = next(view for view in limited if 2 * periods[view.id] >= most)
    elif limited:
        owner = min(limited, key=lambda view: limits[view.id])
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
