"""Sentences of a what-if: what it cannot predict and why, and what the numbers mean."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.cpu.whatif.demand import Demand, cpus_of
from jitterscope.diagnosis.areas.cpu.whatif.types import Setting, Trace

_HARDLY = 0.4
_FEW_LOST = 0.01


def unsupported(trace: Trace, demand: Demand, setting: Setting) -> str | None:
    """Why nothing can be predicted for a setting."""
    if setting.gomaxprocs is not None and setting.gomaxprocs != trace.setting.gomaxprocs and not trace.is_go:
        return "No Go program was seen here, so GOMAXPROCS has no known effect."
    if setting.gomaxprocs is not None and setting.gomaxprocs < 1:
        return "GOMAXPROCS is at least 1."
    if setting.replicas != 1.0 and demand.per_query_us <= 0:
        return "Requests are not counted here, so the part of the CPU use that more replicas share is unknown."
    return None


def no_latency(trace: Trace) -> str:
    if trace.latency_histogram is None and trace.sent_us is None:
        return "Answer latency is not measured here."
    return "Too few answers were measured to say how long they take."


def shared(trace: Trace, demand: Demand, setting: Setting) -> tuple[str, ...]:
    """What the figures of one of several replicas rest on."""
    if setting.replicas == 1.0:
        return ()
    found = [
        f"Figures are of one replica, if the {trace.noun} spread evenly. A Service spreads connections and UDP flows: "
        "few clients spread less evenly."
    ]
    if demand.lost_us.sum() > _FEW_LOST * demand.base_us.sum():
        found.append(f"Includes the recorded {trace.noun} that got no answer, at the usual CPU time of one that did.")
    return tuple(found)


def notes(trace: Trace, demand: Demand, setting: Setting, remains: float) -> tuple[str, ...]:
    """`remains`: predicted over recorded throttling. A setting is only called ineffective if it hardly helps."""
    found: list[str] = []
    hardly = remains > _HARDLY
    quota, limit = setting.quota_us, setting.cpu_limit
    cost = max((one.cost_us for one in demand.bursts), default=0.0)
    what = "cycle" if any(one.is_gc for one in demand.bursts) else "burst"
    if quota is None or limit is None or cost <= 0:
        return ()
    needs = cost / quota
    if hardly and setting.burst_us and needs > 1 + setting.burst_us / quota:
        adds = _times(setting.burst_us / quota)
        found.append(f"Burst cannot help enough: one {what} needs {needs:.1f} quotas, burst adds {adds}.")
    cpus = cpus_of(trace, setting)
    if setting.gomaxprocs is not None and setting.gomaxprocs != trace.setting.gomaxprocs:
        if hardly and cpus > limit + 1e-9 and setting.gomaxprocs == 1:
            found.append(f"GOMAXPROCS=1 cannot help enough here: the limit is {_cpus(limit)}.")
        elif cpus <= limit + 1e-9:
            found.append(
                f"With GOMAXPROCS={setting.gomaxprocs} the program cannot use more than its limit of {_cpus(limit)}."
            )
    peak = min(cpus, cost / trace.setting.period_us) if math.isfinite(cpus) else cost / trace.setting.period_us
    if setting.cpu_limit != trace.setting.cpu_limit and limit < peak:
        found.append(f"One {what} needs {peak:.1f} concurrent CPUs, more than the limit of {_cpus(limit)}.")
    return tuple(found)


def _cpus(limit: float) -> str:
    return "half a CPU" if abs(limit - 0.5) < 0.005 else "1 CPU" if abs(limit - 1) < 0.005 else f"{limit:g} CPUs"


def _times(ratio: float) -> str:
    return "one" if abs(ratio - 1) < 0.01 else f"{ratio:.1f}"
