"""CoreDNS's log: `[ERROR] plugin/errors: 2 NAME TYPE: dial tcp ADDRESS:53: i/o timeout` and the log plugin's lines.

Formats: coredns plugin/errors ("RCODE NAME TYPE: ERROR") and plugin/log's default
`CLIENT:PORT - ID "TYPE CLASS NAME PROTO SIZE DO BUFSIZE" RCODE FLAGS SIZE DURATIONs`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jitterscope.analyses.logline import unwrap
from jitterscope.analyses.parser import Parsed, Parser
from jitterscope.analyses.parsers._coredns_result import State, conclude

KIND = "coredns_log"
_LEVEL = re.compile(r"\[(?P<level>INFO|WARNING|ERROR|FATAL|PANIC|DEBUG)\] ")
_ERROR = re.compile(r"plugin/errors: (?P<rcode>-?\d{1,5}) (?P<name>\S+) (?P<type>\S+): (?P<error>.*)")
_UPSTREAM = re.compile(
    r"(?:(?:dial|read|write) (?P<proto>tcp|udp)\d? )?(?:\S+->)?(?P<address>\[?[0-9A-Fa-f.:]+\]?:\d{1,5}): (?P<what>.*)"
)
_QUERY = re.compile(
    r"(?P<client>\S+?):\d{1,5} - (?P<id>\d+) \"(?P<type>\S+) \S+ (?P<name>\S+) "
    r"(?P<proto>udp|tcp|https|tls|quic) [^\"]*\" "
    r"(?P<rcode>[A-Z]+|-) \S+ \d+ (?P<seconds>\d+(?:\.\d+)?(?:e-?\d+)?)s"
)
_VERSION = re.compile(r"CoreDNS-(?P<version>\d+\.\d+\.\d+)")


def recognise(lines: Sequence[str]) -> int:
    return sum(_is_own(unwrap(line, 2000).text) for line in lines)


def _is_own(text: str) -> bool:
    if (level := _LEVEL.match(text)) is None:
        return _VERSION.match(text) is not None
    rest = text[level.end() :]
    return rest.startswith(("plugin/", "Reloading", "CoreDNS-")) or _QUERY.match(rest) is not None or "-dns" in rest


def kind_of(error: str) -> str:
    """The kind of an error line as in the event dns.error (contracts/metrics.toml)."""
    for words, kind in (
        ("i/o timeout", "io_timeout"),
        ("connection refused", "connection_refused"),
        ("unreachable", "unreachable"),
        ("no route to host", "unreachable"),
        ("too many", "too_many_connections"),
        ("panic", "panic"),
    ):
        if words in error:
            return kind
    return "other"


class _Reading:
    def __init__(self, year: int) -> None:
        self._year = year
        self._state = State()

    def feed(self, line: str) -> None:
        log = unwrap(line, self._year)
        state, text = self._state, log.text
        if match := _VERSION.match(text):
            state.version = match["version"]
        level = _LEVEL.match(text)
        if level is None:
            return
        state.seen(log.at_us)
        rest = text[level.end() :]
        if match := _ERROR.match(rest):
            error = match["error"]
            upstream = _UPSTREAM.search(error)
            state.error(
                kind_of(error),
                match["name"],
                match["type"],
                upstream["address"] if upstream else "",
                (upstream["proto"] or "") if upstream else "",
                text,
                log.at_us,
            )
        elif match := _QUERY.match(rest):
            took_us = float(match["seconds"]) * 1e6
            # A plugin gave no answer: the server then sends SERVFAIL, after the log plugin has written its line.
            rcode = "SERVFAIL" if match["rcode"] == "-" else match["rcode"]
            state.query(match["client"], match["name"], match["type"], rcode, took_us, log.at_us)
        elif level["level"] in ("ERROR", "PANIC", "FATAL"):
            state.error(kind_of(rest.lower()), "", "", "", "", text, log.at_us)
        elif match := _VERSION.search(rest):
            state.version = match["version"]

    def finish(self) -> Parsed:
        return conclude(self._state)


PARSER = Parser(KIND, "CoreDNS log", recognise, _Reading)
