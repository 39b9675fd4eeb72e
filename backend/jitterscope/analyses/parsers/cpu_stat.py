"""`cat cpu.stat` of a cgroup, v1 (throttled_time in ns) or v2 (throttled_usec), once or repeatedly.

Documentation/scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst. A period is only counted if something ran in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from jitterscope.analyses.parser import Parsed, Parser
from jitterscope.analyses.report import Chart, Fact, Line, Table
from jitterscope.analyses.timeline import MOST_POINTS
from jitterscope.analyses.wording import duration, plural, share

KIND = "cpu_stat"
_KEYS = {
    "nr_periods", "nr_throttled", "throttled_time", "throttled_usec", "usage_usec", "user_usec", "system_usec",
    "nr_bursts", "burst_time", "burst_usec", "core_sched.force_idle_usec", "nice_usec",
}  # fmt: skip
_OWN = {"nr_periods", "nr_throttled", "throttled_time", "throttled_usec"}
_LINE = re.compile(r"\s*(?P<key>[a-z_.]{4,32})\s+(?P<value>\d{1,20})\s*")
_POD = re.compile(r"pod([0-9a-f]{8}[_-][0-9a-f]{4}[_-][0-9a-f]{4}[_-][0-9a-f]{4}[_-][0-9a-f]{12})")
_MOST_READINGS = 100_000
_DEFAULT_PERIOD_US = 100_000


def recognise(lines: Sequence[str]) -> int:
    return sum((match := _LINE.fullmatch(line)) is not None and match["key"] in _OWN for line in lines)


class _Reading:
    def __init__(self, _year: int) -> None:
        self._readings: list[dict[str, int]] = []
        self._now: dict[str, int] = {}
        self._prompt = ""

    def feed(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None or match["key"] not in _KEYS:
            # A pasted path can be broken over lines.
            if not self._readings and not self._now and len(self._prompt) < 4096:
                self._prompt += line.strip()
            return
        key, value = match["key"], int(match["value"])
        if key in self._now:
            self._close()
        self._now[key] = value

    def _close(self) -> None:
        if self._now and len(self._readings) < _MOST_READINGS:
            self._readings.append(self._now)
        self._now = {}

    def finish(self) -> Parsed:
        self._close()
        complete = [one for one in self._readings if "nr_periods" in one]
        last = complete[-1] if complete else (self._readings[-1] if self._readings else {})
        base = _since(complete)
        periods, throttled = last.get("nr_periods", 0), last.get("nr_throttled", 0)
        throttled_us = _throttled_us(last)
        version = 2 if "throttled_usec" in last or "usage_usec" in last else 1
        facts = [
            Fact(
                id="throttled_periods",
                label="Throttled periods since the cgroup was created",
                value="none" if not throttled else share(throttled, periods),
                level="attention" if throttled else "info",
                detail=f"{plural(periods, 'period')} in which something ran: at the usual 100 ms per period, "
                f"{duration(periods * _DEFAULT_PERIOD_US)} of them.",
                numbers={"nr_periods": periods, "nr_throttled": throttled},
            ),
            Fact(
                id="throttled_time",
                label="Throttled time, summed over run queues",
                value=duration(throttled_us) if throttled_us else "none",
                level="attention" if throttled_us else "info",
                detail=None
                if not throttled
                else f"{duration(throttled_us / throttled)} in a throttled period on average.",
                numbers={"throttled_us": throttled_us},
            ),
        ]
        if "usage_usec" in last:
            usage = last["usage_usec"]
            facts.append(Fact(id="usage", label="CPU time used", value=duration(usage), numbers={"usage_us": usage}))
        if base is not None:
            facts.append(_between(base, last, len(complete)))
        if pod := _POD.search(self._prompt):
            uid = pod[1].replace("_", "-")
            facts.append(Fact(id="pod", label="Pod uid, from the path", value=uid))
        says = "no throttling" if not throttled else f"{share(throttled, periods)} periods throttled"
        return Parsed(
            summary=f"cpu.stat of cgroup v{version}: {says}",
            facts=facts,
            charts=[_chart(complete)] if len(complete) > 2 else [],
            tables=[_table(last)],
            notes=[
                "Counters have no time axis: they show that throttling happened, not when or why. "
                "The collector reads them every 100 ms beside GC and DNS."
            ],
            areas=("cpu",),
        )


def _throttled_us(reading: dict[str, int]) -> float:
    return float(reading["throttled_usec"]) if "throttled_usec" in reading else reading.get("throttled_time", 0) / 1000


def _since(readings: Sequence[dict[str, int]]) -> dict[str, int] | None:
    """The first sample of the same cgroup as the last one; None if there is no earlier one."""
    start = len(readings) - 1
    while start > 0 and readings[start - 1]["nr_periods"] <= readings[start]["nr_periods"]:
        start -= 1
    return readings[start] if 0 <= start < len(readings) - 1 else None


def _between(first: dict[str, int], last: dict[str, int], readings: int) -> Fact:
    periods = last["nr_periods"] - first["nr_periods"]
    throttled = max(0, last.get("nr_throttled", 0) - first.get("nr_throttled", 0))
    grown_us = max(0.0, _throttled_us(last) - _throttled_us(first))
    return Fact(
        id="throttled_between",
        label="Throttled periods between the first and the last sample",
        value="none" if not throttled else share(throttled, periods),
        level="attention" if throttled else "info",
        numbers={"readings": readings, "nr_periods": periods, "nr_throttled": throttled, "throttled_us": grown_us},
    )


def _chart(readings: Sequence[dict[str, int]]) -> Chart:
    shown = readings[:: max(1, -(-len(readings) // MOST_POINTS))]
    growth = [None, *(_grown(a, b) for a, b in pairwise(shown))]
    return Chart(
        id="throttled",
        title="Throttled periods from one sample to the next",
        x_unit="reading",
        unit="1",
        x=[float(number) for number in range(len(shown))],
        lines=[Line(name="throttled periods", values=growth, style="step")],
    )


def _grown(before: dict[str, int], after: dict[str, int]) -> float | None:
    grown = after.get("nr_throttled", 0) - before.get("nr_throttled", 0)
    return float(grown) if grown >= 0 else None  # another cgroup, or a new one


def _table(last: dict[str, int]) -> Table:
    rows: list[list[str | float | None]] = [[key, float(value)] for key, value in last.items()]
    return Table(id="counters", title="Last sample", columns=["counter", "value"], rows=rows)


PARSER = Parser(KIND, "cpu.stat of a cgroup", recognise, _Reading)
