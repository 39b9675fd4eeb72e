"""`top -b -d 0.1` (procps): CPU of single processes from screen to screen, which averages over a second hide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitterscope.analyses import timeline, views
from jitterscope.analyses.parser import Parsed, Parser
from jitterscope.analyses.parsers._top_screen import CPU_LINE, HEAD, Screen, interval_s, read_row, spaced
from jitterscope.analyses.report import Chart, Fact, Line, Table
from jitterscope.analyses.wording import clock, plural, size
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

KIND = "top_batch"
_MOST_SCREENS = 200_000
_MOST_PROCESSES = 2000
_SHOWN = 20
# A screen whose process used this many times its usual CPU, and at least one CPU more, is a burst.
_BURST = 4.0
_SECOND_S = 1.0


def recognise(lines: Sequence[str]) -> int:
    # The column headers count too: a file with few screens has few lines of its own.
    return sum(bool(HEAD.match(line)) or bool(CPU_LINE.match(line)) or _is_columns(line) for line in lines)


def _is_columns(line: str) -> bool:
    words = line.split()
    return "PID" in words and "%CPU" in words and words[-1] == "COMMAND"


class _Reading:
    def __init__(self, _year: int) -> None:
        self._screens: list[Screen] = []
        self._columns: list[str] = []
        self._used: dict[tuple[int, str], dict[int, float]] = {}
        self._memory_bytes: dict[tuple[int, str], float] = {}
        self._left_out = 0

    def feed(self, line: str) -> None:
        if match := HEAD.match(line):
            if len(self._screens) >= _MOST_SCREENS:
                self._left_out += 1
                self._columns = []
                return
            self._screens.append(Screen(int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])))
            self._columns = []
        elif not self._screens or self._left_out:
            return
        elif match := CPU_LINE.match(line):
            self._screens[-1].busy_ratio = 1.0 - float(match[1]) / 100.0
        elif _is_columns(line):
            self._columns = line.split()
        elif self._columns and (row := read_row(line, self._columns)) is not None:
            key = (row.pid, row.command)
            if key in self._used or len(self._used) < _MOST_PROCESSES:
                self._used.setdefault(key, {})[len(self._screens) - 1] = row.cpu_percent
                self._memory_bytes[key] = row.resident_bytes

    def finish(self) -> Parsed:
        if not self._used:
            return Parsed(
                summary=f"{plural(len(self._screens), 'screen')} of top without processes",
                notes=["No process row was found under a line with PID, %CPU and COMMAND."],
                areas=("cpu",),
            )
        # The process with the highest single screen: averages hide bursts.
        (pid, command), used = max(self._used.items(), key=lambda item: (max(item[1].values()), item[0]))
        percent = np.array([used.get(number, np.nan) for number in range(len(self._screens))])
        interval = interval_s(self._screens, percent)
        times_us, known = spaced(self._screens, interval)
        notes = ["Times are in the machine's time zone. The file has no date."]
        if interval is None:
            notes.append("The interval between screens is not known, so a burst might be shorter than it looks.")
        if self._left_out:
            notes.append(f"{plural(self._left_out, 'screen')} beyond {_MOST_SCREENS:,} were not read.")
        facts = _facts(pid, command, percent, times_us, interval, self._memory_bytes[pid, command])
        busy = np.array([screen.busy_ratio for screen in self._screens])
        if len(busy) > 1 and np.isfinite(busy).any():
            peak = int(np.nanargmax(percent))
            facts.append(
                Fact(
                    id="node",
                    label="CPUs of the machine in use",
                    value=f"{100 * float(np.nanmedian(busy)):.0f} % usually, {100 * busy[peak]:.0f} % at the peak",
                    numbers={"median_ratio": float(np.nanmedian(busy)), "at_peak_ratio": float(busy[peak])},
                )
            )
        start, step = (times_us[0], round((interval or 1.0) * 1e6)) if known else (0, 1_000_000)
        chart = timeline.chart(
            "cpu", f"CPUs used by {command} ({pid})", "1", start, step, {"CPUs": percent / 100}, clock=True
        )
        if not known:
            chart = Chart.model_validate(
                chart.model_dump() | {"x_unit": "screen", "x": [round(x / 1e6) for x in chart.x]}
            )
        chart = chart.model_copy(
            update={"lines": [Line(**(line.model_dump() | {"style": "step"})) for line in chart.lines]}
        )
        return Parsed(
            summary=f"{plural(len(self._screens), 'screen')} of top; {command} used up to "
            f"{np.nanmax(percent) / 100:.3g} CPUs, usually {np.nanmedian(percent) / 100:.2g}",
            facts=facts,
            charts=[chart],
            tables=[self._table()],
            notes=notes,
            snapshots=_snapshots(pid, command, percent, times_us, interval),
            areas=("cpu",),
        )

    def _table(self) -> Table:
        ranked = sorted(self._used.items(), key=lambda item: -max(item[1].values()))
        rows: list[list[str | float | None]] = [
            [
                command, str(pid), float(len(values)), round(max(values.values()) / 100, 3),
                round(sum(values.values()) / len(values) / 100, 3), round(self._memory_bytes[pid, command] / 1e6, 1),
            ]
            for (pid, command), values in ranked[:_SHOWN]
        ]  # fmt: skip
        columns = ["process", "PID", "screens", "most CPUs", "mean CPUs", "resident (MB)"]
        left_out = max(0, len(ranked) - _SHOWN)
        return Table(
            id="processes",
            title="Processes by CPU in their busiest screen",
            columns=columns,
            rows=rows,
            left_out=left_out,
        )


def _facts(
    pid: int, command: str, percent: FloatArray, times_us: list[int], interval: float | None, memory_bytes: float
) -> list[Fact]:
    usual, mean, most = (float(f(percent)) for f in (np.nanmedian, np.nanmean, np.nanmax))
    peak = int(np.nanargmax(percent))
    bursts = percent > max(usual * _BURST, usual + 100.0)
    count = int(bursts.sum())
    of = int(np.isfinite(percent).sum())
    apart = "" if interval is None else f", {interval:.2g} s apart"
    facts = [
        Fact(
            id="process",
            label="Busiest process",
            value=f"{command}, PID {pid}",
            detail=f"{size(memory_bytes)} resident.",
            numbers={"pid": pid, "resident_bytes": memory_bytes},
        ),
        Fact(
            id="cpu_usual",
            label="CPU in a screen",
            value=f"{usual / 100:.2g} CPUs usually, {mean / 100:.3g} on average",
            detail=f"{plural(of, 'screen')}{apart}.",
            numbers={"median_percent": usual, "mean_percent": mean, "samples": of}
            | ({} if interval is None else {"interval_s": interval}),
        ),
        Fact(
            id="cpu_peak",
            label="CPU bursts",
            value=f"{most / 100:.3g} CPUs in one screen, at {clock(times_us[peak])}" if count else "none",
            level="attention" if count else "info",
            detail=None
            if not count
            else f"{plural(count, 'screen')} of {of} above {_BURST:.0f} times the usual. A CPU limit below "
            f"{most / 100:.3g} CPUs throttles it then, however low the average is.",
            numbers={"peak_percent": most, "bursts": count, "samples": of, "peak_at_us": times_us[peak]},
        ),
    ]
    if interval is not None and count and interval < _SECOND_S / 2:
        group = round(_SECOND_S / interval)
        window = percent[max(0, peak - group + 1) : peak + group]
        facts.append(
            Fact(
                id="cpu_second",
                label="The same burst averaged over 1 s",
                value=f"{(most + usual * (group - 1)) / group / 100:.2g} CPUs",
                detail="Metrics read every 1 s or less often show only that.",
                numbers={"second_percent": (most + usual * (group - 1)) / group, "screens": len(window)},
            )
        )
    return facts


def _snapshots(
    pid: int, command: str, percent: FloatArray, times_us: list[int], interval: float | None
) -> tuple[Snapshot, ...]:
    """Only screens about a tick apart become ticks; anything else would invent values."""
    if interval is None or not 0.08 <= interval <= 0.125:
        return ()
    ticks = min(len(percent), timeline.MOST_TICKS)
    process = views.view(
        views.PROCESS, "process", command, series={"process_cpu_us": percent[:ticks] / 100 * interval * 1e6},
        facts={"process.command": command, "process.executable": command}, since_us=times_us[0],
    )  # fmt: skip
    start_us = times_us[0] // timeline.TICK_US * timeline.TICK_US
    return (views.snapshot(start_us, ticks, f"{command} ({pid})", processes=[process]),)


PARSER = Parser(KIND, "top in batch mode", recognise, _Reading)
