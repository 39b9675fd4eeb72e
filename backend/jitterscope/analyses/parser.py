"""The interface of a parser module, and how a parser is found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from jitterscope.analyses import parsers
from jitterscope.analyses.report import Chart, Fact, Table
from jitterscope.diagnosis.core.snapshot import Snapshot


@dataclass(slots=True)
class Parsed:
    """The content of one file. `snapshots` are what the causes judge, one per subject; none: the file has no time axis.

    `areas` are the cause areas ("dns", "cpu") that the file has data for.
    """

    summary: str
    facts: list[Fact] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    snapshots: tuple[Snapshot, ...] = ()
    areas: tuple[str, ...] = ()
    from_us: int | None = None
    to_us: int | None = None


class Reading(Protocol):
    """One file being read, line by line."""

    def feed(self, line: str) -> None:
        """The next line, without its end."""

    def finish(self) -> Parsed:
        """The content of the lines. Called once, after the last one."""


@dataclass(frozen=True, slots=True)
class Parser:
    """`recognise` counts how many of a file's first lines are specific to this kind; the highest count wins.

    `begin(year)` starts reading; `year` applies to dates without one.
    """

    kind: str
    title: str
    recognise: Callable[[Sequence[str]], int]
    begin: Callable[[int], Reading]


@cache
def all_parsers() -> tuple[Parser, ...]:
    """Every parser, by kind."""
    found = []
    for module in pkgutil.iter_modules(parsers.__path__, parsers.__name__ + "."):
        parser = getattr(importlib.import_module(module.name), "PARSER", None)
        if isinstance(parser, Parser):
            found.append(parser)
    return tuple(sorted(found, key=lambda parser: parser.kind))


def recognise(lines: Sequence[str]) -> Parser | None:
    """The kind of a text by its content; None if no line belongs to any."""
    best: Parser | None = None
    most = 0
    for parser in all_parsers():
        count = parser.recognise(lines)
        if count > most:
            best, most = parser, count
    return best
