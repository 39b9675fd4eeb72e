"""From the lines of a file to its report: recognize, read, let the causes judge. Pure, apart from reading lines."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from jitterscope.analyses.judge import report_of
from jitterscope.analyses.parser import recognise
from jitterscope.analyses.report import Report

# This many lines at the beginning decide what a file is.
HEAD_LINES = 2000


class UnknownKind(Exception):
    """None of the first lines belongs to any kind. `example` is the first one."""

    def __init__(self, example: str) -> None:
        super().__init__(example)
        self.example = example


def read_lines(lines: Iterable[str], year: int) -> Report:
    """The report of a text. `year` completes dates that have none. Raises UnknownKind."""
    iterator = iter(lines)
    head = _first(iterator)
    parser = recognise(head)
    if parser is None:
        raise UnknownKind(next((line.strip()[:200] for line in head if line.strip()), ""))
    reading = parser.begin(year)
    for line in head:
        reading.feed(line)
    for line in iterator:
        reading.feed(line)
    return report_of(parser.kind, parser.title, reading.finish())


def read_text(text: str, year: int = 2000) -> Report:
    """The report of a short text."""
    return read_lines((line.rstrip("\n") for line in io.StringIO(text)), year)


def _first(lines: Iterator[str]) -> list[str]:
    head = []
    for line in lines:
        head.append(line)
        if len(head) >= HEAD_LINES:
            break
    return head
