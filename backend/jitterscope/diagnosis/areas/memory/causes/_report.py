"""What the memory causes share: missing signals, references, and how figures read."""

from __future__ import annotations

from collections.abc import Iterable

from jitterscope.diagnosis.areas.memory.readings.oom import Alarm
from jitterscope.diagnosis.areas.memory.readings.signals import Life, Memory, kill_events
from jitterscope.diagnosis.core import missing_data, references
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence, NotEnoughData, SeriesRef
from jitterscope.diagnosis.core.snapshot import Event, ResourceView, Snapshot

_CONSTRAINTS = {
    "memcg": "the cgroup's limit",
    "none": "the node had no memory left",
    "cpuset": "its NUMA nodes were full",
}


def not_enough(cause: str, gone: list[str], snapshot: Snapshot) -> NotEnoughData:
    """Names the sources behind what is missing, and what they need."""
    return missing_data.not_enough(cause, gone, snapshot)


def refs(snapshot: Snapshot, first: int, last: int, views: Iterable[ResourceView], *metrics: str) -> list[SeriesRef]:
    """References to those of the metrics that the views recorded, over the ticks [first, last)."""
    low = snapshot.start_us + max(0, first) * snapshot.step_us
    high = snapshot.start_us + min(snapshot.ticks, max(last, first + 1)) * snapshot.step_us
    return references.recorded((low, high), views, *metrics)


def kib(value: float) -> str:
    return f"{value / 1024:,.1f} KiB" if value < 10 * 1024 else f"{value / 1024:,.0f} KiB"


def per_second(value: float) -> str:
    return f"{value / (1 << 20):,.1f} MiB/s" if value < 100 * (1 << 20) else f"{value / (1 << 20):,.0f} MiB/s"


def about(seconds: float) -> str:
    """ "4.3 s", "35 s", "6 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def prediction(snapshot: Snapshot, memory: Memory, alarm: Alarm, first: int, limit: float) -> Evidence:
    """When the limit will be reached; `predicted_us` is that moment (UTC)."""
    return Evidence(
        id="time_to_oom",
        statement="Time until memory reaches its limit at the current rate",
        value=about(alarm.seconds),
        comparison=f"{about(alarm.low)} to {about(alarm.high)}",
        numbers={
            "seconds": alarm.seconds,
            "low_s": alarm.low,
            "high_s": alarm.high,
            "predicted_us": alarm.at_us(snapshot),
            "made_us": float(snapshot.start_us + alarm.tick * snapshot.step_us),
            "used_bytes": float(memory.net[alarm.tick - 1]),
            "limit_bytes": limit,
        },
        series=refs(snapshot, first, alarm.tick, (memory.owner,), "memory_usage_bytes", "memory_file_bytes"),
    )


def killed(snapshot: Snapshot, memory: Memory, life: Life, first: Alarm | None, limit: float) -> list[Evidence]:
    """The kill: the kernel's record where there is one, and what would have been predicted beforehand."""
    at_us = snapshot.start_us + life.end * snapshot.step_us
    count = float(memory.kills.sum())
    event = record(snapshot, memory, life)
    attributes = {} if event is None else event.attributes
    who = attributes.get("command", "")
    named = who or say.count(count, "process", "processes")
    if who and "pid" in attributes:
        named += f" (pid {attributes['pid']})"
    if attributes.get("uncounted_by") == "kubelet":
        named = f"container (kubelet: {attributes.get('reason')}, exit code {attributes.get('exit_code')})"
    why = _CONSTRAINTS.get(attributes.get("constraint", ""), "")
    used = float(memory.net[life.end - 1])
    numbers = {"kills": count, "used_bytes": used, "limit_bytes": limit, "at_us": float(at_us)}
    for name in ("anon_bytes", "file_bytes"):
        if attributes.get(name, "").isdecimal():
            numbers[name] = float(attributes[name])
    found = [
        Evidence(
            id="oom_kill",
            statement="OOM-killed by the kernel",
            value=named,
            comparison=f"{why}; " * bool(why) + f"{say.mebibytes(used)} of {say.mebibytes(limit)} in use",
            numbers=numbers,
            series=refs(snapshot, life.end - 10, life.end + 10, (memory.owner,), "memory_oom_kills"),
        )
    ]
    if first is not None:
        real = (life.end - first.tick) * snapshot.step_us / 1e6
        found.append(
            Evidence(
                id="predicted",
                statement="Warning time before the kill, predicted / actual",
                value=f"{about(first.seconds)} / {about(real)}",
                comparison=f"at {say.mebibytes(float(memory.net[first.tick - 1]))} in use",
                numbers={
                    "predicted_s": first.seconds,
                    "real_s": real,
                    "error_ratio": (first.seconds - real) / max(real, 0.1),
                    "made_us": float(snapshot.start_us + first.tick * snapshot.step_us),
                },
                series=refs(snapshot, life.start, life.end, (memory.owner,), "memory_usage_bytes"),
            )
        )
    return found


def record(snapshot: Snapshot, memory: Memory, life: Life) -> Event | None:
    """The kernel's record of the kill that ended a life: the event within a second of it."""
    at_us = snapshot.start_us + life.end * snapshot.step_us
    near = [event for event in kill_events(memory) if abs(event.start_us - at_us) <= 1_000_000]
    return min(near, key=lambda event: abs(event.start_us - at_us), default=None)
