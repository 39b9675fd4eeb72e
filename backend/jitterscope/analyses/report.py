"""The report of an evidence file: facts, charts, tables, and findings.

Plain serializable data for API, terminal, and UI.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.core.finding import Found, NotEnoughData, NotFound, Part


class Fact(Part):
    """One thing that the file says. `value` is ready to show; `numbers` has it for programs, units in the names."""

    id: str
    label: str
    value: str
    # attention: it causes harm, or is near a limit
    level: Literal["info", "attention"] = "info"
    detail: str | None = None
    numbers: dict[str, float] = Field(default_factory=dict)


class Line(Part):
    """One curve; as many values as the chart has x, None where nothing was measured."""

    name: str
    values: list[float | None]
    style: Literal["line", "points", "step"] = "line"


class Limit(Part):
    """A horizontal line: 20 child processes, 100 ms."""

    name: str
    value: float


class Chart(Part):
    """`x` are µs since the epoch where `x_unit` is "time" (µs since midnight: "clock"), else numbers in that unit."""

    id: str
    title: str
    x_unit: str
    unit: str
    x: list[float]
    lines: list[Line]
    limits: list[Limit] = Field(default_factory=list)


class Table(Part):
    """Rows of texts and numbers; a column's unit stands in its name. `left_out` rows did not fit."""

    id: str
    title: str
    columns: list[str]
    rows: list[list[str | float | None]]
    left_out: int = 0


class Report(Part):
    """The outcome of one analysis. `not_enough_data` says what the file cannot tell and what could."""

    kind: str
    title: str
    summary: str
    from_us: int | None = None
    to_us: int | None = None
    facts: list[Fact] = Field(default_factory=list)
    charts: list[Chart] = Field(default_factory=list)
    tables: list[Table] = Field(default_factory=list)
    findings: list[Found] = Field(default_factory=list)
    not_found: list[NotFound] = Field(default_factory=list)
    not_enough_data: list[NotEnoughData] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
