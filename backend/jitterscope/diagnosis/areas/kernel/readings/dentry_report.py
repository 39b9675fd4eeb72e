"""Texts that the kernel causes share: who looks names up, what is cached, when it does harm, how long a drop takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jitterscope.diagnosis.areas.kernel.readings import kernel_memory
from jitterscope.diagnosis.areas.kernel.readings.dentry_growth import PAUSE_S, Growth
from jitterscope.diagnosis.areas.kernel.readings.lookups import Looker, Lookups
from jitterscope.diagnosis.areas.kernel.whatif.dentry_drop import Pause
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence, Interval
from jitterscope.diagnosis.core.snapshot import Snapshot


def maker(looker: Looker) -> str:
    """ "curl in shop/web-5d8f-x2x9q/app", or "curl"."""
    where = looker.cgroup
    if where is None:
        return looker.command
    name = where.fact("workload.container") or where.name or where.key
    space, pod = where.fact("workload.namespace"), where.fact("workload.pod")
    inside = f"{pod}/{name}" if pod and where.fact("workload.container") else name
    return f"{looker.command} in {space + '/' if space else ''}{shortened(inside, 64)}"


def shortened(text: str, length: int) -> str:
    """The end of a text, which is what distinguishes names."""
    return text if len(text) <= length else "…" + text[-(length - 1) :]


def span(interval: Interval) -> str:
    """ "1.2 s (0.9 to 1.6)"."""
    return f"{_s(interval.expected)} s ({_s(interval.low)} to {_s(interval.high)})"


def _s(value: float) -> str:
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 20 else f"{value:,.0f}"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:,.0f} min"
    return f"{seconds / 3_600:,.0f} h" if seconds < 172_800 else f"{seconds / 86_400:,.0f} days"


def hurts_when(grown: Growth) -> str:
    """When it will cause harm, or what it already costs: a clause for the title."""
    pause = grown.pause
    if grown.now and grown.margin_s is not None and grown.margin_s < 3_600:
        return "memory is full" if grown.margin_s < 1 else f"memory is full in {duration(grown.margin_s)}"
    if pause is not None and pause.seconds.expected >= PAUSE_S:
        return f"freeing them stalls a CPU for {_s(pause.seconds.expected)} s"
    if grown.now and grown.pause_s is not None:
        return f"in {duration(grown.pause_s)} freeing them stalls a CPU for {PAUSE_S:.0f} s"
    return f"{grown.total:,.0f} are cached"


def stock(snapshot: Snapshot, negative: float, size: float) -> Evidence:
    memory = kernel_memory.memory_bytes(snapshot)
    share = size / memory if math.isfinite(memory) and memory > 0 else float("nan")
    return Evidence(
        id="stock",
        statement="Negative dentries that the kernel holds, and their memory",
        value=f"{negative:,.0f}, {say.mebibytes(size)}",
        comparison=f"{say.percent(share)} of the node's memory" if math.isfinite(share) else None,
        numbers={"negative": negative, "bytes": size} | ({"memory_ratio": share} if math.isfinite(share) else {}),
        series=kernel_memory.refs(snapshot, "dentries_negative", "slab_dentry_bytes"),
    )


def horizon(snapshot: Snapshot, grown: Growth) -> Evidence | None:
    """When free memory reaches the low watermark, and when dropping the dentries takes a second."""
    if not grown.now:
        return None
    numbers: dict[str, float] = {}
    parts = []
    if grown.margin_s is not None:
        numbers["margin_s"] = grown.margin_s
        parts.append(f"reclaim starts in {duration(grown.margin_s)}")
    if grown.pause_s is not None:
        numbers["pause_s"] = grown.pause_s
        parts.append("a drop takes over 1 s " + (f"in {duration(grown.pause_s)}" if grown.pause_s > 0 else "now"))
    if not parts:
        return None
    return Evidence(
        id="horizon",
        statement="Time to harm at this rate",
        value="; ".join(parts),
        comparison=f"{say.mebibytes(grown.rate * grown.bytes_each * 60)}/min",
        numbers=numbers,
        series=kernel_memory.refs(snapshot, "vm_low_margin_bytes", "memory_free_bytes"),
    )


def pause_evidence(snapshot: Snapshot, pause: Pause | None) -> Evidence | None:
    """How long dropping all dentries will take, and the source of the cost of one."""
    if pause is None:
        return None
    return Evidence(
        id="pause",
        statement="Predicted kernel time to free them",
        value=span(pause.seconds),
        comparison=f"{pause.cost.each_us:.2f} µs each: {pause.cost.basis}",
        numbers={
            "seconds": pause.seconds.expected,
            "low_s": pause.seconds.low,
            "high_s": pause.seconds.high,
            "each_us": pause.cost.each_us,
            "negative": pause.negative,
            "positive": pause.positive,
            "inodes": pause.inodes,
        },
        series=kernel_memory.refs(snapshot, "dentries_negative", "host_system_us", "vm_drop_slab"),
    )


def who_evidence(snapshot: Snapshot, who: Lookups, lookers: Sequence[Looker]) -> Evidence | None:
    """The programs and patterns with the most failed lookups; None if they were not traced."""
    if not who.traced or not lookers:
        return None
    shown = [f"{maker(one)}: {one.pattern} ({say.percent(one.count / who.total)})" for one in lookers[:3]]
    # Their settings are compared when a fix may have been applied.
    cgroups = {one.cgroup.id: one.cgroup for one in lookers[:3] if one.cgroup is not None}
    return Evidence(
        id="who",
        statement="Programs and patterns with the most failed lookups",
        value="; ".join(shown),
        comparison=f"{who.total:,} failed lookups traced in {who.seconds:,.0f} s",
        numbers={"traced": float(who.total), "seconds": who.seconds, "top_ratio": lookers[0].count / max(1, who.total)},
        series=kernel_memory.refs(snapshot, "lookup_failures", beside=cgroups.values()),
    )
