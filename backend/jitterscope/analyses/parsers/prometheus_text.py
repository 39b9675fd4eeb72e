"""Pages in the Prometheus text format (`curl …/metrics`), one or several in sequence, possibly annotated by hand.

github.com/prometheus/docs, exposition formats: `NAME{LABELS} VALUE [TIMESTAMP_MS]`. Text after the value is ignored
unless it is a timestamp: people mark lines ("<---").
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from jitterscope.analyses.dates import parse_date
from jitterscope.analyses.parser import Parsed, Parser
from jitterscope.analyses.parsers._metrics_page import Page
from jitterscope.analyses.parsers._metrics_result import conclude

KIND = "prometheus_text"
_SAMPLE = re.compile(
    r"\s*(?P<name>[A-Za-z_:][A-Za-z0-9_:]{0,200})(?P<labels>\{[^}]{0,4000}\})?\s+"
    r"(?P<value>[+-]?(?:\d[\d.]*(?:[eE][+-]?\d+)?|Inf|NaN))(?:\s+(?P<at_ms>\d{12,14}))?(?:\s.*)?"
)
_LABEL = re.compile(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"')
_COMMENT = re.compile(r"\s*# (HELP|TYPE) [A-Za-z_:]")
_OURS = re.compile(r"\s*(go|process|promhttp|coredns|skydns|kubedns|dnsmasq|node|container|nodecache)_\w+[\s{]")
_PROMPT = re.compile(r".*[#$>%]\s.*\b(curl|wget|kubectl|nsenter)\b")
_PID = re.compile(r"nsenter\b.*?\s-t\s*(\d+)")
_MOST_PAGES = 2000


def recognise(lines: Sequence[str]) -> int:
    return sum(
        _COMMENT.match(line) is not None or (_OURS.match(line) is not None and _SAMPLE.fullmatch(line) is not None)
        for line in lines
    )


class _Reading:
    def __init__(self, _year: int) -> None:
        self._pages: list[Page] = []
        self._page: Page | None = None
        self._pid: int | None = None
        self._at_us: int | None = None
        self._left_out = 0

    def feed(self, line: str) -> None:
        match = None if line.lstrip().startswith("#") else _SAMPLE.fullmatch(line)
        if match is None:
            self._between(line)
            return
        labels = tuple(sorted(_LABEL.findall(match["labels"] or "")))
        try:
            value = float(match["value"])
        except ValueError:
            return
        if math.isnan(value):
            return
        key = (match["name"], labels)
        if self._page is not None and key in self._page.samples:
            self._close()  # the same series again: another page
        if self._page is None:
            self._page = Page(pid=self._pid, at_us=self._at_us)
            self._pid = self._at_us = None
        if match["at_ms"]:
            self._page.at_us = int(match["at_ms"]) * 1000
        self._page.keep(key, value)

    def _between(self, line: str) -> None:
        if _PROMPT.match(line):
            self._close()
            found = _PID.search(line)
            self._pid = int(found[1]) if found else None
        elif not line.lstrip().startswith("#") and (at_us := parse_date(line)) is not None:
            self._close()
            self._at_us = at_us

    def _close(self) -> None:
        if self._page is not None and self._page.samples:
            if len(self._pages) < _MOST_PAGES:
                self._pages.append(self._page)
            else:
                self._left_out += 1
        self._page = None

    def finish(self) -> Parsed:
        self._close()
        return conclude(self._pages, self._left_out)


PARSER = Parser(KIND, "Prometheus metrics page", recognise, _Reading)
