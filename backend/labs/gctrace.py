"""Go's GODEBUG=gctrace=1 lines (https://pkg.go.dev/runtime#hdr-Environment_Variables)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"gc \d+ @(?P<at>[\d.]+)s \d+%: (?P<clock>[\d.+]+) ms clock, (?P<cpu>[\d.+/]+) ms cpu, "
    r"(?P<before>\d+)->(?P<end>\d+)->(?P<live>\d+) MB"
)


@dataclass(frozen=True, slots=True)
class GcCycle:
    """One cycle, start of sweep termination to end of mark termination (µs since the epoch)."""

    start_us: int
    end_us: int
    cpu_us: int | None  # None: not printed
    live_bytes: int


def parse_line(line: str, printed_us: int) -> GcCycle | None:
    """The cycle in a line read at `printed_us` (it is printed when the cycle ends); None for other lines."""
    match = _LINE.search(line)
    if match is None:
        return None
    clock_ms = sum(float(part) for part in match["clock"].split("+"))
    # Sweep termination + assist/background/idle marking + mark termination.
    cpu_ms = sum(float(part) for part in re.split(r"[+/]", match["cpu"]))
    return GcCycle(printed_us - round(clock_ms * 1000), printed_us, round(cpu_ms * 1000), int(match["live"]) << 20)
