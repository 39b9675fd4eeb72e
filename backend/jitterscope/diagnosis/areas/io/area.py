"""The area `io`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

import json

from jitterscope.diagnosis.areas.io.quantities import IMPACT
from jitterscope.diagnosis.core import answers, blocked
from jitterscope.diagnosis.core.area import NEIGHBOUR, Area, Lane, Line, WatchedFact, measured


def _limits(value: str | None) -> str | None:
    """ "loop0: write 1.0 MiB/s, 20 reads/s"; None: not known."""
    try:
        told = json.loads(value) if value is not None else None
    except ValueError:
        return None
    if not isinstance(told, list):
        return None
    return "; ".join(_limit(one) for one in told if isinstance(one, dict)) or "no limit"


def _limit(one: dict[str, object]) -> str:
    words = {
        "read_bytes_per_s": "read {:.3g} MiB/s",
        "write_bytes_per_s": "write {:.3g} MiB/s",
        "reads_per_s": "{:g} reads/s",
        "writes_per_s": "{:g} writes/s",
    }
    parts = [
        text.format(value / (1 << 20) if "bytes" in name else value)
        for name, text in words.items()
        if isinstance(value := one.get(name), int | float)
    ]
    return f"{one.get('device') or one.get('number')}: {', '.join(parts) or 'no limit'}"


AREA = Area(
    id="io",
    title="Disks",
    lanes=(
        blocked.LANE,
        Lane(
            "disk_use", "Read and written, per tick", "bytes",
            (
                Line("written", "disk_written_bytes", "bars"),
                Line("read", "disk_read_bytes", "line"),
                Line("by all on that disk", "disk_bytes", "line"),
            ),
        ),
        Lane(
            "disk_requests", "Disk request time, added up", "us",
            (Line("disk of the container", "disk_request_us", "bars", hot=True),),
        ),
        Lane(
            "node_disk", "Node's busiest disk: busy, per tick", "us",
            (Line("busy", "disk_busy_us", "area", of="node"),),
        ),
        Lane(
            "io_pressure", "I/O pressure (PSI): some task waits", "us",
            (Line("some task waits", "psi_io_some_us", "bars"),),
        ),
    ),
    impact=IMPACT,
    measures=(
        answers.SLOW_ANSWERS,
        measured(
            blocked.BLOCKED_MS_PER_MIN, (blocked.BLOCKED, blocked.IN_IO), blocked.blocked_time,
            least=1_000.0,
        ),
        answers.P99,
    ),
    load=answers.SERVED,
    facts=(
        WatchedFact("disk.limits", "I/O limits", "subject", _limits),
        WatchedFact(f"{NEIGHBOUR}disk.limits", "I/O limits of the neighbor", "neighbours", _limits),
        WatchedFact("disk.device", "Disk", "subject", listed=False),
        WatchedFact("disk.rotational", "Rotational disk", "subject", listed=False),
        answers.MEMORY_LIMIT,
        answers.IMAGE,
    ),
)  # fmt: skip
