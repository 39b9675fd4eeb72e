"""One screen of top: its header, its process rows, and the interval between screens."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray

HEAD = re.compile(r"\s*top - (\d{1,2}):(\d\d):(\d\d) up ")
CPU_LINE = re.compile(r"\s*%?Cpu\(s\):.*?([\d.]+)[ %]id")
_SUFFIX = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_DAY_S = 86_400


@dataclass(slots=True)
class Screen:
    """`second` is the time of day in s; `busy_ratio` 0..1 of all CPUs, NaN if it was not shown."""

    second: int
    busy_ratio: float = math.nan


@dataclass(frozen=True, slots=True)
class Row:
    pid: int
    command: str
    cpu_percent: float
    resident_bytes: float


def read_row(line: str, columns: Sequence[str]) -> Row | None:
    """A process row under these column headers; None if the line is none."""
    values = line.split(None, len(columns) - 1)
    if len(values) != len(columns):
        return None
    cells = dict(zip(columns, values, strict=True))
    try:
        percent = float(cells["%CPU"].replace(",", "."))
        row = Row(int(cells["PID"]), cells["COMMAND"].strip()[:100], percent, _bytes(cells.get("RES", "0")))
    except (ValueError, KeyError):
        return None
    return row if 0 <= percent < 1e6 and math.isfinite(row.resident_bytes) else None


def _bytes(text: str) -> float:
    """RES is in KiB unless it has a suffix."""
    factor = _SUFFIX.get(text[-1:].lower())
    return float(text) * 1024 if factor is None else float(text[:-1].replace(",", ".")) * factor


def interval_s(screens: Sequence[Screen], percent: FloatArray) -> float | None:
    """Time between screens; None if unknown.

    The clock of top shows seconds, so it takes two of them; before that, the steps of %CPU show it: CPU time is counted
    in 10 ms, which over an interval of d seconds is 1/d percent.
    """
    seconds = _unwrapped(screens)
    changes = [number for number in range(1, len(seconds)) if seconds[number] != seconds[number - 1]]
    if len(changes) > 1 and seconds[changes[-1]] - seconds[changes[0]] >= 2:
        return float(seconds[changes[-1]] - seconds[changes[0]]) / (changes[-1] - changes[0])
    tenths = [round(float(value) * 10) for value in percent[np.isfinite(percent)] if value > 0]
    step_percent = math.gcd(*tenths) / 10 if len(set(tenths)) >= 3 else 0.0
    if step_percent < 2:
        return None
    interval = 1 / step_percent
    # The seconds that passed must agree.
    passed = seconds[-1] - seconds[0]
    return interval if abs((len(seconds) - 1) * interval - passed) <= 1.0 + 0.2 * passed else None


def spaced(screens: Sequence[Screen], interval: float | None) -> tuple[list[int], bool]:
    """Time of each screen in µs since midnight of the first one's day, and whether they are evenly spaced."""
    seconds = _unwrapped(screens)
    if interval is None:
        return [second * 1_000_000 for second in seconds], False
    # When the second changed shows where within its second the first screen was.
    change = next((number for number in range(1, len(seconds)) if seconds[number] != seconds[0]), None)
    first = float(seconds[0]) if change is None else max(float(seconds[0]), seconds[change] - change * interval)
    return [round((first + number * interval) * 1e6) for number in range(len(seconds))], True


def _unwrapped(screens: Sequence[Screen]) -> list[int]:
    out: list[int] = []
    days = 0
    for screen in screens:
        if out and screen.second + days < out[-1] - _DAY_S // 2:
            days += _DAY_S
        out.append(screen.second + days)
    return out
