"""How the settings of autoscalers are shown: those of a workload's HorizontalPodAutoscaler and VerticalPodAutoscaler.

The collector lists both from the API server. What a VerticalPodAutoscaler recommends is none of its settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.area import WatchedFact
from jitterscope.diagnosis.core.json_fact import parsed

HORIZONTAL, VERTICAL = "workload.autoscaler", "workload.vertical_autoscaler"
_NONE = "none"


def horizontal(value: str | None) -> str | None:
    """ "2 to 6 replicas at cpu 80%"; "none"; None: not known."""
    told = parsed(value)
    if not told:
        return None if told is None else _NONE
    replicas = f"{told.get('min')} to {told.get('max')} replicas"
    targets = told.get("targets")
    aims = [f"{name} {targets[name]}" for name in sorted(targets)] if isinstance(targets, Mapping) else []
    return f"{replicas} at {', '.join(aims)}" if aims else replicas


def vertical(value: str | None) -> str | None:
    """ "Recreate: CPU 0.1 to 2, memory at most 512 MiB"; "none"; None: not known."""
    told = parsed(value)
    if not told:
        return None if told is None else _NONE
    cpus = _between(told.get("allowed"), "cpus", lambda amount: f"{amount:g}")
    memory = _between(told.get("allowed"), "bytes", say.mebibytes)
    bounds = [f"{what} {bound}" for what, bound in (("CPU", cpus), ("memory", memory)) if bound]
    return ": ".join(filter(None, (str(told.get("mode")), ", ".join(bounds))))


def _between(allowed: object, unit: str, show: Callable[[float], str]) -> str:
    amounts = [allowed.get(f"{end}_{unit}") if isinstance(allowed, Mapping) else None for end in ("min", "max")]
    least, most = (show(one) if isinstance(one, int | float) else None for one in amounts)
    if least and most:
        return f"{least} to {most}"
    return f"at least {least}" if least else f"at most {most}" if most else ""


WATCHED = (
    WatchedFact(HORIZONTAL, "HorizontalPodAutoscaler", "subject", horizontal, of_workload=True, late=True),
    WatchedFact(VERTICAL, "VerticalPodAutoscaler", "subject", vertical, late=True),
)
