"""dnsmasq's log with `--log-queries` or `--log-queries=extra`, plain or behind kube-dns's nanny.

`dnsmasq[PID]: [SERIAL CLIENT/PORT ]query[TYPE] NAME from CLIENT`, then `forwarded NAME to SERVER`, then an answer:
`reply`, `cached`, `config` or a hosts file, `NAME is ADDRESS` (dnsmasq's log.c and cache.c, log_query). With `extra` a
process other than the main one is a child that serves one TCP connection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jitterscope.analyses.logline import unwrap
from jitterscope.analyses.parser import Parsed, Parser
from jitterscope.analyses.parsers._dnsmasq_result import conclude
from jitterscope.analyses.parsers._dnsmasq_state import State

KIND = "dnsmasq_log"
_HEAD = re.compile(
    r"dnsmasq(?:\[(?P<pid>\d{1,10})\])?: (?:(?P<serial>\d{1,12}) (?P<client>[0-9A-Fa-f:.%\w-]+)/(?P<port>\d{1,5}) )?"
)
_QUERY = re.compile(r"(?:auth|query)\[(?P<type>[^\]]{1,20})\] (?P<name>\S+) from (?P<client>\S+)")
_FORWARDED = re.compile(r"forwarded (?P<name>\S+) to (?P<server>\S+)")
_ANSWER = re.compile(r"(?P<how>reply|cached|cached-stale|config|DHCP|/\S+) (?P<name>\S+) is (?P<what>.+)")
_STARTED = re.compile(r"started, version (?P<version>\S+)")
_ARGUMENTS = re.compile(r"\[(?P<arguments>-k [^\]]{0,4000})\]")
# dnsmasq's forward.c and dnsmasq.c.
_FULL_QUERIES = re.compile(r"[Mm]aximum number of concurrent DNS queries reached")
_FULL_TCP = re.compile(r"[Mm]ax(?:imum|\.)? ?(?:number of )?TCP (?:connections|processes)")


def recognise(lines: Sequence[str]) -> int:
    return sum(_HEAD.match(unwrap(line, 2000).text) is not None for line in lines)


class _Reading:
    def __init__(self, year: int) -> None:
        self._year = year
        self._state = State()

    def feed(self, line: str) -> None:
        log = unwrap(line, self._year)
        state = self._state
        state.seen(log.at_us, log.exact)
        if (found := _ARGUMENTS.search(log.text)) is not None:
            state.arguments = found["arguments"]
        head = _HEAD.match(log.text)
        if head is None:
            return
        text, at_us = log.text[head.end() :], log.at_us
        pid = int(head["pid"] or 0)
        state.lines += 1
        if head["serial"]:
            state.worked(pid, f"{head['client']}/{head['port']}", at_us)
        if match := _QUERY.match(text):
            state.asked(pid, head["serial"], match["name"], match["type"], match["client"], at_us)
        elif match := _FORWARDED.match(text):
            state.forwarded(pid, head["serial"], match["name"], match["server"], head["client"] or "", at_us)
        elif match := _ANSWER.match(text):
            state.answered(pid, head["serial"], match["name"], match["how"], match["what"], at_us)
        elif match := _STARTED.match(text):
            state.version = match["version"]
        elif _FULL_QUERIES.search(text):
            state.full_queries += 1
        elif _FULL_TCP.search(text):
            state.full_tcp += 1

    def finish(self) -> Parsed:
        return conclude(self._state)


PARSER = Parser(KIND, "dnsmasq log", recognise, _Reading)
