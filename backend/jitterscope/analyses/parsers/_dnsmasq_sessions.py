"""Sessions of a dnsmasq log: with `--log-queries=extra` each child process is one TCP connection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.analyses import timeline
from jitterscope.analyses.parsers._dnsmasq_state import State
from jitterscope.analyses.report import Chart, Fact, Table
from jitterscope.analyses.wording import duration, plural
from jitterscope.diagnosis.core.snapshot import FloatArray

CHILD_LIMIT = 20
_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Sessions:
    """`rows`: (first line, last line, process, client, requests), times in µs; empty if lines have no time.

    `count` sessions in total; `known`: the log distinguishes them.
    """

    rows: list[tuple[int, int, int, str, int]]
    count: int
    most_at_once: int
    known: bool
    exact: bool

    def facts(self) -> list[Fact]:
        if not self.count:
            return []
        full = self.most_at_once >= CHILD_LIMIT
        facts = [
            Fact(
                id="children",
                label="Concurrent child processes",
                value=f"up to {self.most_at_once} of {CHILD_LIMIT}" if not full else f"{self.most_at_once}",
                level="attention" if full else "info",
                detail="A child counts from its first to its last line; it lives somewhat longer. dnsmasq has at most "
                f"{CHILD_LIMIT}, unless 2.90 or newer has --max-tcp-connections.",
                numbers={"most": self.most_at_once, "sessions": self.count},
            )
        ]
        if self.exact and self.rows:
            lengths = self._lengths()
            median, longest = float(np.median(lengths)), float(lengths.max())
            facts.append(
                Fact(
                    id="sessions",
                    label="TCP sessions, from first to last line",
                    value=f"median {duration(median)}, longest {duration(longest)}",
                    detail=f"{plural(len(lengths), 'session')}, {(lengths >= 500_000).sum():,} of them of 0.5 s "
                    "or more. Each occupies a child while its connection is open, at work or idle.",
                    numbers={"sessions": len(lengths), "p50_us": median, "longest_us": longest},
                )
            )  # fmt: skip
        return facts

    def tables(self) -> list[Table]:
        if not self.rows:
            return []
        longest = sorted(self.rows, key=lambda row: (row[0] - row[1], row[2]))
        rows: list[list[str | float | None]] = [
            [str(pid), client, float(requests), round((last - first) / 1000, 3)]
            for first, last, pid, client, requests in longest[:_SHOWN]
        ]
        columns = ["PID", "client", "requests", "duration (ms)"]
        left_out = max(0, len(longest) - _SHOWN)
        return [Table(id="sessions", title="Longest TCP sessions", columns=columns, rows=rows, left_out=left_out)]

    def charts(self, start_us: int, ticks: int) -> list[Chart]:
        if not self.rows:
            return []
        limits = {"limit of dnsmasq": float(CHILD_LIMIT)}
        lines = {"children": self._at_work(start_us, ticks)}
        title = "Child processes"
        return [timeline.chart("children", title, "1", start_us, timeline.TICK_US, lines, limits)]

    def children(self, start_us: int, ticks: int) -> dict[str, FloatArray]:
        """The series process_children if it is conclusive: the observed number is a lower bound."""
        return {"process_children": self._at_work(start_us, ticks)} if self.most_at_once >= CHILD_LIMIT else {}

    def _lengths(self) -> FloatArray:
        return np.array([last - first for first, last, *_ in self.rows], dtype=np.float64)

    def _at_work(self, start_us: int, ticks: int) -> FloatArray:
        """Most concurrent sessions within each tick."""
        change = np.zeros(ticks + 1)
        for first, last, *_ in self.rows:
            begin, end = (first - start_us) // timeline.TICK_US, (last - start_us) // timeline.TICK_US
            if end >= 0 and begin < ticks:
                change[max(0, begin)] += 1
                change[min(ticks, end + 1)] -= 1
        return np.cumsum(change)[:ticks]


def sessions_of(state: State) -> Sessions:
    """The processes that served exactly one connection; the main one, which answers UDP, served several clients."""
    single = {pid: session for pid, session in state.sessions.items() if not session.several_clients}
    rows = [
        (session.first_us, session.last_us, pid, session.client, session.requests)
        for pid, session in single.items()
        if session.first_us is not None and session.last_us is not None
    ]
    # By lines, not times: they are in order even if they have no time, or the same.
    most = _most_at_once([(session.first_line, session.last_line) for session in single.values()])
    return Sessions(rows, len(single), most, known=bool(state.sessions), exact=state.exact)


def _most_at_once(spans: list[tuple[int, int]]) -> int:
    edges = sorted([(first, 1) for first, _ in spans] + [(last + 1, -1) for _, last in spans])
    most = now = 0
    for _, change in edges:
        now += change
        most = max(most, now)
    return most
