"""Connections over time from a capture analyser: `Time: 08:08:30.900267009 … Port: 62083 … Flags: FINACK …
ConIdleTime: 6.429595796s ActiveConnections: 11`, a line a packet."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from jitterscope.analyses import timeline
from jitterscope.analyses.parser import Parsed, Parser
from jitterscope.analyses.parsers.request_durations import go_duration_us
from jitterscope.analyses.report import Fact, Table
from jitterscope.analyses.wording import clock, duration, plural, share

KIND = "connection_idle"
CHILD_LIMIT = 20
_LINE = re.compile(
    r"\s*Time: (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:\.(?P<fraction>\d{1,9}))? .*?Port: (?P<port>\d{1,5}) .*?"
    r"Flags: (?P<flags>\S+) .*?ConIdleTime: (?P<idle>\S+) ActiveConnections: (?P<active>\d{1,7})\s*"
)
_IDLE_LONG_US = 1e6
_SHOWN = 30


def recognise(lines: Sequence[str]) -> int:
    return sum(_LINE.fullmatch(line) is not None for line in lines)


class _Reading:
    def __init__(self, _year: int) -> None:
        self._line = timeline.Timeline()
        self._packets = self._slow = self._above = self._closing = 0
        self._longest: list[tuple[float, int, int, str]] = []
        self._ports: set[int] = set()
        self._most = 0
        self._most_at_us = 0

    def feed(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None or (idle := go_duration_us(match["idle"])) is None:
            return
        second = int(match["h"]) * 3600 + int(match["m"]) * 60 + int(match["s"])
        at_us = second * 1_000_000 + int((match["fraction"] or "0")[:6].ljust(6, "0"))
        active, port = int(match["active"]), int(match["port"])
        self._packets += 1
        self._ports.add(port)
        self._above += active > CHILD_LIMIT
        if active > self._most:
            self._most, self._most_at_us = active, at_us
        self._line.highest("active", at_us, active)
        if idle > _IDLE_LONG_US:
            self._slow += 1
            self._closing += "FIN" in match["flags"]
            self._longest.append((idle, at_us, port, match["flags"]))
            if len(self._longest) > 20 * _SHOWN:
                self._longest = sorted(self._longest, reverse=True)[:_SHOWN]

    def finish(self) -> Parsed:
        longest = sorted(self._longest, reverse=True)[:_SHOWN]
        limits = {"children of dnsmasq": float(CHILD_LIMIT)}
        chart = timeline.chart(
            "connections", "Active connections", "1", self._line.start_us or 0, timeline.TICK_US,
            {"connections": self._line.held("active")}, limits, clock=True,
        )  # fmt: skip
        facts = [
            Fact(
                id="connections",
                label="Active connections",
                value=f"up to {self._most}, at {clock(self._most_at_us)}" if self._packets else "none",
                level="attention" if self._above else "info",
                detail=f"Above the {CHILD_LIMIT} that a dnsmasq serves at once in {share(self._above, self._packets)} "
                "packets." if self._above else f"Never above the {CHILD_LIMIT} that a dnsmasq serves at once.",
                numbers={"most": self._most, "packets": self._packets, "packets_above_limit": self._above},
            ),
            Fact(
                id="idle",
                label="Packets after more than 1 s of idle time on their connection",
                value=share(self._slow, self._packets),
                level="attention" if self._slow else "info",
                detail=f"The longest silence was {duration(longest[0][0])}; {self._closing} of them close the "
                "connection, which occupied a child of dnsmasq meanwhile." if longest else None,
                numbers={"packets": self._slow, "closing": self._closing}
                | ({"longest_us": longest[0][0]} if longest else {}),
            ),
            Fact(id="ports", label="Client ports", value=f"{len(self._ports):,}", numbers={"ports": len(self._ports)}),
        ]  # fmt: skip
        rows: list[list[str | float | None]] = [
            [clock(at_us), str(port), flags, round(idle / 1e6, 3)] for idle, at_us, port, flags in longest
        ]
        columns = ["time", "client port", "flags", "idle (s)"]
        return Parsed(
            summary=f"{plural(self._packets, 'packet')}, up to {plural(self._most, 'connection')} at once, "
            f"{self._slow} after more than 1 s of silence",
            facts=facts,
            charts=[chart] if self._packets and np.isfinite(self._line.gauges("active")).any() else [],
            tables=[
                Table(id="idle", title="Longest idle times", columns=columns, rows=rows,
                      left_out=max(0, self._slow - len(rows)))
            ],
            notes=["The file has times of day without a date, and connections without queries. Upload the capture."],
            areas=("dns",),
        )  # fmt: skip


PARSER = Parser(KIND, "Connections and idle time", recognise, _Reading)
