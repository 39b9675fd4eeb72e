"""Durations that a log analyser already found: `Request: PID … RequestNumber … Domain … Duration 2.273ms` and
`Session: PID … Duration 1.005229s` (durations as Go prints them)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from jitterscope.analyses.parser import Parsed, Parser
from jitterscope.analyses.report import Fact, Table
from jitterscope.analyses.wording import duration, plural

KIND = "request_durations"
_LINE = re.compile(
    r"\s*(?:(?P<request>Request): PID (?P<pid>\d+) RequestNumber (?P<number>\d+) Domain (?P<name>\S+)"
    r"|Session: PID (?P<session>\d+)) Duration (?P<duration>[\d.hmsµun]+)\s*"
)
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|µs|us|ns)")
_UNIT_US = {"h": 3.6e9, "m": 6e7, "s": 1e6, "ms": 1e3, "µs": 1.0, "us": 1.0, "ns": 1e-3}
_MOST = 500_000
_SHOWN = 30


def go_duration_us(text: str) -> float | None:
    """µs of a Go duration ("1m2.5s", "2.273ms", "564.26µs"); None for anything else."""
    parts = list(_PART.finditer(text.replace("μ", "µ")))
    if not parts or "".join(part[0] for part in parts) != text.replace("μ", "µ"):
        return None
    return sum(float(part[1]) * _UNIT_US[part[2]] for part in parts)


def recognise(lines: Sequence[str]) -> int:
    return sum(_LINE.fullmatch(line) is not None for line in lines)


class _Reading:
    def __init__(self, _year: int) -> None:
        self._requests: list[tuple[float, str, str]] = []
        self._sessions: list[tuple[float, str]] = []

    def feed(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None or (took := go_duration_us(match["duration"])) is None:
            return
        if match["request"]:
            if len(self._requests) < _MOST:
                self._requests.append((took, match["name"][:255], match["pid"]))
        elif len(self._sessions) < _MOST:
            self._sessions.append((took, match["session"]))

    def finish(self) -> Parsed:
        requests, sessions = sorted(self._requests, reverse=True), sorted(self._sessions, reverse=True)
        facts = [
            _fact("requests", "Requests listed", [took for took, *_ in requests]),
            _fact("sessions", "Sessions listed (one TCP connection each)", [took for took, _ in sessions]),
        ]
        if requests and sessions and requests[0][0] * 20 < np.median([took for took, _ in sessions]):
            facts.append(
                Fact(
                    id="idle_sessions",
                    label="Requests and sessions",
                    value=f"the slowest request took {duration(requests[0][0])}, a session lasts "
                    f"{duration(float(np.median([took for took, _ in sessions])))}",
                    level="attention",
                    detail="Single requests are answered fast. Connections last, and each occupies a child "
                    "process of dnsmasq while it is open.",
                )
            )
        return Parsed(
            summary=f"{plural(len(requests), 'request')} and {plural(len(sessions), 'session')} with their durations",
            facts=facts,
            tables=[
                Table(
                    id="requests", title="Slowest requests", columns=["name", "PID", "duration (ms)"],
                    rows=[[name, pid, round(took / 1000, 3)] for took, name, pid in requests[:_SHOWN]],
                    left_out=max(0, len(requests) - _SHOWN),
                ),
                Table(
                    id="sessions", title="Longest sessions", columns=["PID", "duration (ms)"],
                    rows=[[pid, round(took / 1000, 3)] for took, pid in sessions[:_SHOWN]],
                    left_out=max(0, len(sessions) - _SHOWN),
                ),
            ],
            notes=[
                "Such a list has no times and often leaves out fast requests: it shows how long the listed ones took, "
                "not how many there were. Analyze the log or the capture itself."
            ],
            areas=("dns",),
        )  # fmt: skip


def _fact(id: str, label: str, took_us: list[float]) -> Fact:
    if not took_us:
        return Fact(id=id, label=label, value="none", numbers={"count": 0})
    return Fact(
        id=id,
        label=label,
        value=f"{len(took_us):,}: {duration(min(took_us))} to {duration(max(took_us))}",
        detail=f"Half of them above {duration(float(np.median(took_us)))}.",
        numbers={"count": len(took_us), "least_us": min(took_us), "most_us": max(took_us)},
    )


PARSER = Parser(KIND, "Durations of requests and sessions", recognise, _Reading)
