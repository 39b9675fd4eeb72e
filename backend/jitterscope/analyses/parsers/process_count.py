"""The loop that counts a server's processes once a second: `$(date) Try: 4 DnsmasqProcess: 21`.

dnsmasq forks one child for each TCP connection and stops at 20 (MAX_PROCS in its config.h; --max-tcp-connections since
2.90), so 21 with the main process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from jitterscope.analyses import timeline, views
from jitterscope.analyses.dates import parse_date
from jitterscope.analyses.parser import Parsed, Parser
from jitterscope.analyses.report import Chart, Fact, Limit, Line
from jitterscope.analyses.wording import clock, plural, share
from jitterscope.diagnosis.core.snapshot import Snapshot

KIND = "process_count"
CHILD_LIMIT = 20
_LINE = re.compile(r"\s*(?P<date>\S.*?)\s+Try: (?P<number>\d{1,9}) (?P<what>[\w.-]{1,64}): (?P<count>\d{1,7})\s*")
_MOST_SAMPLES = 200_000


def recognise(lines: Sequence[str]) -> int:
    return sum(_LINE.fullmatch(line) is not None for line in lines)


class _Reading:
    def __init__(self, _year: int) -> None:
        self._samples: list[tuple[int | None, int]] = []
        self._what = ""
        self._left_out = 0

    def feed(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None:
            return
        if len(self._samples) >= _MOST_SAMPLES:
            self._left_out += 1
            return
        self._what = self._what or match["what"]
        self._samples.append((parse_date(match["date"]), int(match["count"])))

    def finish(self) -> Parsed:
        counts = np.array([count for _, count in self._samples], dtype=np.float64)
        most = int(counts.max()) if len(counts) else 0
        dnsmasq = "dnsmasq" in self._what.lower()
        full = CHILD_LIMIT + 1
        at_limit = int((counts == full).sum())
        # A count beyond 21 shows that this dnsmasq has a higher limit.
        known_limit = dnsmasq and most == full and at_limit >= 2
        facts = [
            Fact(
                id="processes",
                label=f"{self._what or 'Processes'} counted",
                value=f"{counts.min():.0f} to {most}" if len(counts) else "nothing",
                numbers={"samples": len(counts), "least": float(counts.min()) if len(counts) else 0, "most": most},
            )
        ]
        if dnsmasq:
            facts.append(self._limit(at_limit, most))
        times = [at for at, _ in self._samples if at is not None]
        name = "dnsmasq" if dnsmasq else self._what
        return Parsed(
            summary=f"{plural(len(counts), 'count')} of {name} processes, up to {most}"
            + (f"; {at_limit} of {len(counts)} at the limit of dnsmasq" if dnsmasq and most == full else ""),
            facts=facts,
            charts=[self._chart(dnsmasq)],
            notes=self._notes(times),
            snapshots=(self._snapshot(name, known_limit),) if times and dnsmasq else (),
            areas=("dns",),
            from_us=min(times, default=None),
            to_us=max(times, default=None),
        )

    def _limit(self, at_limit: int, most: int) -> Fact:
        total = len(self._samples)
        if most > CHILD_LIMIT + 1:
            value = f"more than {CHILD_LIMIT} children: this dnsmasq has --max-tcp-connections (2.90 or newer)"
        elif at_limit:
            value = f"{CHILD_LIMIT} children and the main process in {share(at_limit, total)} samples"
        else:
            value = f"never reached: up to {most - 1} of {CHILD_LIMIT} children"
        first = next((at for at, count in self._samples if count >= CHILD_LIMIT + 1 and at is not None), None)
        detail = "A child serves one TCP connection. At the limit, new connections wait until one closes."
        if first is not None:
            detail += f" First at {clock(first)} UTC."
        return Fact(
            id="child_limit",
            label="Limit of child processes",
            value=value,
            level="attention" if at_limit and most == CHILD_LIMIT + 1 else "info",
            detail=detail,
            numbers={"at_limit": at_limit, "samples": total, "children_most": most - 1}
            | ({} if first is None else {"first_at_us": first}),
        )

    def _chart(self, dnsmasq: bool) -> Chart:
        shown = self._samples[:: max(1, -(-len(self._samples) // timeline.MOST_POINTS))]
        timed = all(at is not None for at, _ in shown)
        x = [float(at if timed and at is not None else number) for number, (at, _) in enumerate(shown)]
        return Chart(
            id="processes",
            title=f"{self._what or 'Processes'}",
            x_unit="time" if timed else "sample",
            unit="1",
            x=x,
            lines=[Line(name="processes", values=[float(count) for _, count in shown], style="step")],
            limits=[Limit(name="main process and 20 children", value=CHILD_LIMIT + 1)] if dnsmasq else [],
        )

    def _notes(self, times: Sequence[int]) -> list[str]:
        notes = ["Counted about once per second, so shorter peaks do not show. The collector counts every 100 ms."]
        if len(times) < len(self._samples):
            notes.append(f"{plural(len(self._samples) - len(times), 'line')} had a date that could not be read.")
        if self._left_out:
            notes.append(f"{plural(self._left_out, 'line')} beyond {_MOST_SAMPLES:,} were not read.")
        return notes

    def _snapshot(self, name: str, known_limit: bool) -> Snapshot:
        line = timeline.Timeline()
        for at, count in self._samples:
            if at is not None:
                line.highest("children", at, max(0, count - 1))
        start = line.start_us or 0
        limit = str(CHILD_LIMIT) if known_limit else None
        facts = {"dns.software": "dnsmasq", "dns.child_limit": limit}
        process = views.view(
            views.PROCESS, "process", name, series={"process_children": line.gauges("children")},
            facts={"process.executable": "dnsmasq", "process.command": "dnsmasq"}, since_us=start,
        )  # fmt: skip
        server = views.view(views.SERVER, "dns_server", name, facts=facts, since_us=start)
        return views.snapshot(start, line.ticks, name, processes=[process], dns_servers=[server])


PARSER = Parser(KIND, "Process counts", recognise, _Reading)
