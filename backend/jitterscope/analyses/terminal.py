"""A report as text for a terminal: facts, findings, tables, and charts as one line of blocks each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from jitterscope.analyses.report import Chart, Report, Table
from jitterscope.analyses.wording import duration
from jitterscope.diagnosis.core.registry import all_causes

_BLOCKS = "▁▂▃▄▅▆▇█"
_ROWS = 8
_CELL = 60


def lines(report: Report) -> Iterator[str]:
    """The text of a report, line by line, without colors."""
    width = min(120, shutil.get_terminal_size((100, 24)).columns)
    yield f"{report.title}: {report.summary}"
    yield ""
    for found in report.findings:
        yield f"FOUND  {found.title}"
        yield f"       {found.summary}"
        for evidence in found.evidence[:4]:
            yield f"       · {evidence.statement} {evidence.value}"
        for fix in [fix for fix in found.fixes if fix.verdict != "cannot_help"][:3]:
            yield f"       → {fix.title}"
        yield ""
    yield from facts(report)
    for chart in report.charts:
        yield from _chart(chart, width)
    for table in report.tables:
        yield from _table(table)
    titles = {cause.id: cause.title for cause in all_causes().values()}
    if report.not_found:
        yield ""
        for missing in report.not_found:
            yield f"not found: {titles.get(missing.cause, missing.cause)}: {missing.reason}"
    if report.not_enough_data:
        yield ""
        reasons: dict[str, list[str]] = {}
        for short in report.not_enough_data:
            reasons.setdefault(short.reason, []).append(titles.get(short.cause, short.cause))
        yield from (f"not enough data: {'; '.join(causes)}: {reason}" for reason, causes in reasons.items())
    if report.notes:
        yield ""
        yield from (f"note: {note}" for note in report.notes)


def facts(report: Report) -> Iterator[str]:
    """Only the facts; harmful ones are marked with !."""
    for fact in report.facts:
        yield f"{'!' if fact.level == 'attention' else ' '} {fact.label}: {fact.value}"
        if fact.detail:
            yield f"    {fact.detail}"


def _chart(chart: Chart, width: int) -> Iterator[str]:
    for line in chart.lines:
        known = [value for value in line.values if value is not None]
        if line.style == "points" or len(known) < 2:
            continue
        most = max(known)
        name = f"{chart.title}, {line.name}" if len(chart.lines) > 1 or line.name not in chart.title else chart.title
        yield ""
        yield f"  {name}: up to {_value(most, chart.unit)}"
        yield "  " + _blocks(line.values, most, width - 4)


def _blocks(values: list[float | None], most: float, width: int) -> str:
    group = max(1, -(-len(values) // width))
    text = ""
    for first in range(0, len(values), group):
        part = [value for value in values[first : first + group] if value is not None]
        text += " " if not part else _BLOCKS[min(7, int(8 * max(part) / most))] if most > 0 else _BLOCKS[0]
    return text


def _value(value: float, unit: str) -> str:
    return (
        duration(value)
        if unit == "us"
        else f"{value:.4g}" + ("" if unit == "1" else "/s" if unit == "1/s" else f" {unit}")
    )


def _table(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    rows = [table.columns, *([_cell(cell) for cell in row] for row in table.rows[:_ROWS])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns))]
    numeric = [all(not isinstance(row[column], str) for row in table.rows) for column in range(len(table.columns))]
    yield ""
    yield f"  {table.title}"
    for row in rows:
        cells = (
            cell.rjust(widths[number]) if numeric[number] else cell.ljust(widths[number])
            for number, cell in enumerate(row)
        )
        yield ("  " + "  ".join(cells)).rstrip()
    more = len(table.rows) - _ROWS + table.left_out
    if more > 0:
        yield f"  … and {more:,} more"


def _cell(cell: str | float | None) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell if len(cell) <= _CELL else cell[: _CELL - 1] + "…"
    return f"{cell:,.0f}" if cell == int(cell) else f"{cell:,.3f}".rstrip("0").rstrip(".")
