"""Settings of any workload whose change can be a fix, whatever slows its answers: its limits, runtime, and image."""

from __future__ import annotations

import math

from jitterscope.diagnosis.core import answers
from jitterscope.diagnosis.core.area import NEIGHBOUR, WatchedFact
from jitterscope.diagnosis.core.landing import Facts
from jitterscope.diagnosis.core.settings import versions
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.programs.gc_facts import RUNTIME


def _limit(facts: Facts, of: str = "") -> str | None:
    cpus = cpu_limit(facts, of)
    return None if cpus is None else f"{cpus:g}" if math.isfinite(cpus) else "no limit"


def cpu_limit(facts: Facts, of: str = "") -> float | None:
    """CPUs, inf: no limit; None: not known. `of`: what the names of the facts begin with."""
    quota, period = number(facts.get(f"{of}cpu.quota_us")), number(facts.get(f"{of}cpu.period_us")) or 100_000.0
    return None if quota is None else math.inf if quota <= 0 else quota / period


def _ms(value: str | None) -> str | None:
    time_us = number(value)
    return None if time_us is None else f"{time_us / 1000:g} ms"


CPU_LIMIT = (
    WatchedFact("cpu.quota_us", "CPU limit", "subject", show_of=_limit, unit="CPU"),
    WatchedFact("cpu.period_us", "CFS period", "subject", _ms),
    WatchedFact("cpu.burst_us", "CFS burst", "subject", _ms),
)
NEIGHBOUR_CPU_LIMIT = (
    WatchedFact(
        f"{NEIGHBOUR}cpu.quota_us", "CPU limit of the neighbor", "neighbours",
        show_of=lambda facts: _limit(facts, NEIGHBOUR), unit="CPU",
    ),
    WatchedFact(f"{NEIGHBOUR}cpu.period_us", "CFS period of the neighbor", "neighbours", _ms),
)  # fmt: skip
GO = (
    *(
        WatchedFact(f"go.env.{name}", name, "processes", known_by="go.version")
        for name in ("GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG")
    ),
    WatchedFact("go.version", "Go version", "processes"),
    WatchedFact("go.main_module", "Program", "processes", said=lambda old, new, _: versions(old, new, "@")),
)
WORKLOAD = (*CPU_LIMIT, answers.MEMORY_LIMIT, *GO, *RUNTIME, answers.IMAGE)
