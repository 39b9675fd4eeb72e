"""Charts and tables of a capture. Input: a report of jitterscope-evidence (collector/internal/evidence/README.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitterscope.analyses import timeline
from jitterscope.analyses.report import Chart, Line, Table
from jitterscope.analyses.wording import clock
from jitterscope.diagnosis.core.snapshot import FloatArray

Content = dict[str, Any]
_SHOWN = 30
_MOST_DOTS = 4000
Row = list[str | float | None]


def dense(entry: Content, step_us: int, start_us: int, ticks: int, column: str, *, gauge: bool = False) -> FloatArray:
    """A column of a series entry with one value per tick. Missing counts are 0, and gauges keep their last value."""
    out = np.full(ticks, np.nan if gauge else 0.0)
    for at_us, value in zip(entry["at_us"], entry[column], strict=True):
        index = int((at_us - start_us) // step_us)
        if 0 <= index < ticks:
            out[index] = np.nan if value is None else value
    if gauge:
        known = np.maximum.accumulate(np.where(np.isfinite(out), np.arange(ticks), -1)) if ticks else np.zeros(0, int)
        out = np.where(known >= 0, out[np.maximum(known, 0)], 0.0)
    return out


def window(entry: Content, step_us: int) -> tuple[int, int]:
    """Start (µs) and length in ticks of a series entry."""
    at = entry["at_us"]
    return (int(at[0]), int((at[-1] - at[0]) // step_us) + 1) if at else (0, 0)


def charts(content: Content) -> list[Chart]:
    """Latency, load, and connections over time, of all servers together."""
    step = int(content["series"]["step_us"])
    whole = next((entry for entry in content["series"]["entries"] if entry["server"] is None), None)
    if whole is None or not whole["at_us"]:
        return []
    start, ticks = window(whole, step)
    sparse = {name: dense(whole, step, start, ticks, name) for name in ("queries", "nxdomain", "errors")}
    found = []
    if (dots := _dots(content)) is not None:
        found.append(dots)
    slowest = np.full(ticks, np.nan)
    median = np.full(ticks, np.nan)
    for target, column in ((slowest, "max_us"), (median, "p50_us")):
        for at_us, value in zip(whole["at_us"], whole[column], strict=True):
            if value is not None:
                target[int((at_us - start) // step)] = value
    found.append(timeline.chart("latency", "Latency", "us", start, step, {"median": median, "slowest": slowest}))
    lines = {"queries": sparse["queries"], "NXDOMAIN": sparse["nxdomain"], "errors": sparse["errors"]}
    found.append(timeline.chart("rate", "Queries", "1/s", start, step, lines, per_second=True))
    in_flight = _peak(whole, step, start, ticks, "in_flight")
    found.append(timeline.chart("in_flight", "Queries in flight", "1", start, step, {"in flight": in_flight}))
    if content["tcp"]["connections"]:
        lines = {
            "open": _peak(whole, step, start, ticks, "connections"),
            "idle for over 1 s": dense(whole, step, start, ticks, "idle_end", gauge=True),
        }
        limits = {"children of a dnsmasq": 20.0} if content["tcp"]["open_max"] > 10 else None
        found.append(timeline.chart("connections", "TCP connections", "1", start, step, lines, limits))
    return found


def _peak(entry: Content, step_us: int, start_us: int, ticks: int, name: str) -> FloatArray:
    """The highest value of each tick; if nothing happened, the previous one."""
    stayed = dense(entry, step_us, start_us, ticks, f"{name}_end", gauge=True)
    return np.maximum(stayed, dense(entry, step_us, start_us, ticks, f"{name}_max"))


def _dots(content: Content) -> Chart | None:
    """Every query as a dot (the slowest ones if there are too many), with a color for each of the busiest servers."""
    queries = content["queries"]
    latency = np.array(queries["latency_us"], dtype=np.float64)
    if not len(latency):
        return None
    chosen = np.sort(np.argsort(-latency, kind="stable")[:_MOST_DOTS])
    server = np.array(queries["server"], dtype=np.int64)[chosen]
    sent = np.array(queries["sent_us"], dtype=np.float64)[chosen]
    order = np.argsort(sent, kind="stable")
    busiest = [int(index) for index in np.argsort(-np.bincount(server), kind="stable")[:5] if (server == index).any()]
    lines = []
    for index in busiest:
        values = np.where(server == index, latency[chosen], np.nan)[order]
        points = [None if np.isnan(value) else round(float(value), 1) for value in values]
        lines.append(Line(name=content["endpoints"][index], values=points, style="points"))
    whole = bool(queries["complete"]) and len(latency) <= _MOST_DOTS
    title = "Each query" if whole else f"The slowest {len(chosen):,} queries"
    return Chart(
        id="queries",
        title=f"{title}, by server",
        x_unit="time",
        unit="us",
        x=[float(x) for x in sent[order]],
        lines=lines,
    )


def tables(content: Content) -> list[Table]:
    """Servers, names, and connections."""
    names, sessions = content["names"], content["tcp"]["sessions"]
    found = [
        _servers(content),
        _names("slowest_names", "Slowest names", names["slowest"]),
        _names("names", "Most queried names", names["most_asked"]),
        _names("costliest_names", "Most expensive names", names["costliest"]),
    ]
    if content["tcp"]["connections"]:
        found.append(_sessions(content, "sessions", "Longest connections", sessions["longest"]))
        found.append(_sessions(content, "idle_sessions", "Longest idle connections", sessions["idlest"]))
        if sessions["lingering"]:
            title = "Half-closed connections"
            found.append(_sessions(content, "lingering_sessions", title, sessions["lingering"]))
    return [table for table in found if table.rows]


def _servers(content: Content) -> Table:
    rows: list[Row] = [
        [
            content["endpoints"][server["endpoint"]], server["queries"], server["unanswered"], server["nxdomain"],
            server["servfail"], _ms(server["latency"]["p50_us"]), _ms(server["latency"]["p99_us"]),
            _ms(server["latency"]["max_us"]), server["tcp"]["open_max"],
        ]
        for server in content["servers"][:_SHOWN]
    ]  # fmt: skip
    columns = [
        "server", "queries", "unanswered", "NXDOMAIN", "SERVFAIL", "median (ms)", "p99 (ms)", "slowest (ms)",
        "Concurrent TCP connections",
    ]  # fmt: skip
    left_out = max(0, len(content["servers"]) - _SHOWN) + int(content["servers_left_out"])
    return Table(id="servers", title="Servers", columns=columns, rows=rows, left_out=left_out)


def _names(id: str, title: str, names: Sequence[Content]) -> Table:
    rows: list[Row] = [
        [
            name["name"], name["type"], name["queries"], name["nxdomain"],
            round(name["time_sum_us"] / name["answers"] / 1000, 3) if name["answers"] else None, _ms(name["max_us"]),
        ]
        for name in names[:_SHOWN]
    ]  # fmt: skip
    columns = ["name", "type", "queries", "NXDOMAIN", "mean (ms)", "slowest (ms)"]
    return Table(id=id, title=title, columns=columns, rows=rows, left_out=max(0, len(names) - _SHOWN))


def _sessions(content: Content, id: str, title: str, sessions: Sequence[Content]) -> Table:
    rows: list[Row] = [
        [
            f"{one['client']}:{one['client_port']}", content["endpoints"][one["server"]],
            clock(int(one["start_at_us"])),
            round(one["duration_us"] / 1e6, 6), round(one["longest_idle_us"] / 1e6, 6), one["queries"], one["end"],
            round(one["half_closed_us"] / 1e6, 6),
        ]
        for one in sessions[:_SHOWN]
    ]  # fmt: skip
    columns = [
        "client",
        "server",
        "start (UTC)",
        "duration (s)",
        "longest idle time (s)",
        "queries",
        "end",
        "half closed (s)",
    ]
    return Table(id=id, title=title, columns=columns, rows=rows, left_out=max(0, len(sessions) - _SHOWN))


def _ms(us: float | None) -> float | None:
    return None if us is None else round(us / 1000, 3)
