"""Strips the prefixes of log pipelines from a line (kubectl, CRI, Docker, klog, syslog) and reads its time.

Formats: RFC 3339; k8s.io/cri-api container logs ("TIME stdout F TEXT"); Docker's json-file; klog ("I1010
08:02:36.571446   1 nanny.go:146] ", no year, usually UTC); RFC 3164 syslog ("Oct 10 08:02:36 host ", no year, no zone).
"""

from __future__ import annotations

import calendar
import json
import re
from dataclasses import dataclass
from functools import lru_cache

_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)\s+(?:(?:stdout|stderr) [FP] )?"
)
_KLOG = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6})\s+\d+ [\w./-]+:\d+\] ?")
_SYSLOG = re.compile(
    r"(?:<\d{1,3}>)?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (?:[\w.-]+ (?=[\w.-]+\[\d+\]:))?"
)
_QUARTER_US = 15 * 60 * 1_000_000


@dataclass(frozen=True, slots=True)
class LogLine:
    """`at_us`: µs since the epoch, None if the line has no time. `exact`: it is finer than a second."""

    text: str
    at_us: int | None
    exact: bool


def unwrap(line: str, year: int) -> LogLine:
    """The program's own text of a log line and the most exact time before it. `year` completes dates without one."""
    line = line.lstrip()
    if line.startswith("{"):
        line = _docker(line)
    at_us: int | None = None
    exact = False
    position = 0
    while match := _RFC3339.match(line, position):
        fraction = match[7]
        if at_us is None or (fraction and not exact):
            at_us = _utc_us(*map(int, match.group(1, 2, 3, 4, 5, 6))) - _offset_us(match[8]) + _micros(fraction)
            exact = bool(fraction)
        position = match.end()
    if match := _KLOG.match(line, position):
        month, day, hour, minute, second, micros = map(int, match.groups())
        if 1 <= month <= 12:
            at_us = _in_zone_of(_utc_us(year, month, day, hour, minute, second) + micros, at_us)
            exact = True
        position = match.end()
    elif match := _SYSLOG.match(line, position):
        month = _MONTHS.get(match[1], 0)
        if at_us is None and month:
            at_us = _utc_us(year, month, *map(int, match.group(2, 3, 4, 5)))
        position = match.end()
    return LogLine(line[position:], at_us, exact)


def _docker(line: str) -> str:
    """A line of Docker's json-file as "TIME TEXT"; anything else unchanged."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(entry, dict) or not isinstance(entry.get("log"), str):
        return line
    time = entry.get("time")
    text: str = entry["log"].rstrip("\n")
    return f"{time} {text}" if isinstance(time, str) else text


@lru_cache(maxsize=4096)
def _utc_us(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int:
    return calendar.timegm((year, month, day, hour, minute, second)) * 1_000_000


def _offset_us(zone: str) -> int:
    if zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (minutes if zone[0] == "+" else -minutes) * 60_000_000


def _micros(fraction: str | None) -> int:
    return int(fraction[:6].ljust(6, "0")) if fraction else 0


def _in_zone_of(at_us: int, outer_us: int | None) -> int:
    """A time without year and zone, shifted by whole quarter hours (and years) to match the wrapper's time."""
    if outer_us is None:
        return at_us
    return at_us + round((outer_us - at_us) / _QUARTER_US) * _QUARTER_US
