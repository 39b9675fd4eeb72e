"""The state of a dnsmasq log while it is read: open requests, sessions, counts by tick. All of it is bounded."""

from __future__ import annotations

from dataclasses import dataclass, field

from jitterscope.analyses.names import Names
from jitterscope.analyses.timeline import Timeline
from jitterscope.diagnosis.core.severity import SLOW_US

_MOST_OPEN = 20_000
_MOST_SESSIONS = 200_000
MOST_REQUESTS = 500_000


@dataclass(slots=True)
class Open:
    """A request without an answer so far; times in µs, None if the line was not in the file."""

    name: str
    type: str
    client: str
    asked_us: int | None
    forwarded_us: int | None = None


@dataclass(slots=True)
class Session:
    """The lines of one process: one TCP connection if `clients` never changed."""

    client: str
    first_us: int | None
    last_us: int | None
    first_line: int
    last_line: int
    requests: int = 0
    several_clients: bool = False


@dataclass(slots=True)
class State:
    lines: int = 0
    exact: bool = False
    first_us: int | None = None
    last_us: int | None = None
    version: str | None = None
    arguments: str | None = None
    full_queries: int = 0
    full_tcp: int = 0
    unanswered: int = 0
    from_cache: int = 0
    sessions: dict[int, Session] = field(default_factory=dict)
    # (total time, time in dnsmasq before forwarding, time at the upstream, name, process), µs, None: not known
    requests: list[tuple[int | None, int | None, int | None, str, int, int | None]] = field(default_factory=list)
    results: dict[str, int] = field(default_factory=dict)
    upstreams: dict[str, int] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    line: Timeline = field(default_factory=Timeline)
    requests_left_out: int = 0
    _open: dict[tuple[int, str], Open] = field(default_factory=dict)

    def seen(self, at_us: int | None, exact: bool) -> None:
        """The time of a line."""
        if at_us is not None:
            self.exact = self.exact or exact
            self.first_us = at_us if self.first_us is None else min(self.first_us, at_us)
            self.last_us = at_us if self.last_us is None else max(self.last_us, at_us)

    def worked(self, pid: int, client: str, at_us: int | None) -> None:
        """Record that a process logged something about a client's connection."""
        session = self.sessions.get(pid)
        if session is None:
            if len(self.sessions) < _MOST_SESSIONS:
                self.sessions[pid] = Session(client, at_us, at_us, self.lines, self.lines)
            return
        session.several_clients = session.several_clients or session.client != client
        session.last_line = self.lines
        if at_us is not None:
            session.last_us = max(session.last_us or at_us, at_us)

    def asked(self, pid: int, serial: str | None, name: str, type: str, client: str, at_us: int | None) -> None:
        key = (pid, serial or name.lower())
        self.unanswered += key in self._open  # retried: the next answer belongs to the last one
        if len(self._open) >= _MOST_OPEN and key not in self._open:
            self._open.pop(next(iter(self._open)))  # the oldest: its answer is not in the file
            self.unanswered += 1
        self._open[key] = Open(name, type, client, at_us)
        if at_us is not None:
            self.line.add("queries", at_us)
        if pid in self.sessions:
            self.sessions[pid].requests += 1

    def forwarded(self, pid: int, serial: str | None, name: str, server: str, client: str, at_us: int | None) -> None:
        if server in self.upstreams or len(self.upstreams) < 256:
            self.upstreams[server] = self.upstreams.get(server, 0) + 1
        key = (pid, serial or name.lower())
        if key not in self._open:  # the file begins after its query
            self.asked(pid, serial, name, "?", client, None)
        request = self._open[key]
        if request.forwarded_us is None:
            request.forwarded_us = at_us

    def answered(self, pid: int, serial: str | None, name: str, how: str, what: str, at_us: int | None) -> None:
        if what == "<CNAME>":
            return  # the end of the chain follows
        request = self._open.pop((pid, serial or name.lower()), None)
        if request is None:
            return  # a further address of the same answer, or its query is not in the file
        result = _result(what)
        self.results[result] = self.results.get(result, 0) + 1
        self.from_cache += how.startswith("cached")
        whole = own = upstream = None
        if at_us is not None and self.exact:
            whole = None if request.asked_us is None else max(0, at_us - request.asked_us)
            upstream = None if request.forwarded_us is None else max(0, at_us - request.forwarded_us)
            own = None if whole is None or upstream is None else max(0, whole - upstream)
        self.names.add(request.client, request.name, request.type, result, float(whole or 0))
        if len(self.requests) < MOST_REQUESTS:
            self.requests.append((whole, own, upstream, request.name, pid, request.asked_us))
        else:
            self.requests_left_out += 1
        if at_us is not None:
            self._count(at_us, result, whole)

    def _count(self, at_us: int, result: str, whole_us: int | None) -> None:
        self.line.add("answers", at_us)
        if result in ("NXDOMAIN", "SERVFAIL", "REFUSED"):
            self.line.add(result.lower(), at_us)
        if whole_us is not None:
            self.line.spread("latency", at_us, whole_us)
            self.line.highest("latency", at_us, whole_us)
            if whole_us > SLOW_US:
                self.line.add("slow", at_us)

    @property
    def still_open(self) -> int:
        """Requests whose answer is not in the file."""
        return len(self._open) + self.unanswered


def _result(what: str) -> str:
    for code in ("NXDOMAIN", "SERVFAIL", "REFUSED", "NODATA"):
        if what.startswith(code):
            return code
    return "NOERROR"
