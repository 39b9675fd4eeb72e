"""Settings of any workload whose change can be a fix, whatever slows its answers: its limits, runtime, and image."""

from __future__ import annotations

from jitterscope.diagnosis.core import answers
from jitterscope.diagnosis.core.area import WatchedFact
from jitterscope.diagnosis.core.landing import Facts
from jitterscope.diagnosis.core.settings import versions
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.programs.gc_facts import RUNTIME


def _limit(facts: Facts) -> str | None:
    quota, period = number(facts.get("cpu.quota_us")), number(facts.get("cpu.period_us")) or 100_000.0
    if quota is None:
        return None
    return "no limit" if quota <= 0 else f"{quota / period:g}"


def _ms(value: str | None) -> str | None:
    time_us = number(value)
    return None if time_us is None else f"{time_us / 1000:g} ms"


CPU_LIMIT = (
    WatchedFact("cpu.quota_us", "CPU limit", "subject", show_of=_limit, unit="CPU"),
    WatchedFact("cpu.period_us", "CFS period", "subject", _ms),
    WatchedFact("cpu.burst_us", "CFS burst", "subject", _ms),
)
GO = (
    *(
        WatchedFact(f"go.env.{name}", name, "processes", known_by="go.version")
        for name in ("GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG")
    ),
    WatchedFact("go.version", "Go version", "processes"),
    WatchedFact("go.main_module", "Program", "processes", said=lambda old, new, _: versions(old, new, "@")),
)
WORKLOAD = (*CPU_LIMIT, answers.MEMORY_LIMIT, *GO, *RUNTIME, answers.IMAGE)
