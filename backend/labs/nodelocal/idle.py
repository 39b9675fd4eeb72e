"""Idle connections of other nodes' pools: they use up the child processes of dnsmasq that the load leaves free."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from labs.servers import Server

_PAUSE_S = 0.03  # until a connection has its child process
_AWAY_S = 5.0  # a node that closed one needs none for a while, or it would take the load's next one


class IdleConnections:
    """Keeps each server at `limit` children without a backlog: opens connections, and closes them if one waits.

    Other nodes do the same, a little later: an idle connection in CoreDNS's pool is closed after a second or more.
    """

    def __init__(self, servers: Sequence[Server], address: str, limit: int) -> None:
        self._servers, self._address, self._limit = servers, address, limit
        self._open: list[list[socket.socket]] = [[] for _ in servers]
        self._again_at = [0.0] * len(servers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for idle in self._open:
            for one in idle:
                one.close()

    def react(self, children: Sequence[int], backlog: Sequence[int]) -> None:
        """React to each server's latest sample."""
        now = time.monotonic()
        for index, server in enumerate(self._servers):
            idle = self._open[index]
            if backlog[index] and idle:
                idle.pop(0).close()
                self._again_at[index] = now + _AWAY_S
            elif children[index] < self._limit and not backlog[index] and now > self._again_at[index]:
                idle.append(self._connect(server))
                self._again_at[index] = now + _PAUSE_S

    def _connect(self, server: Server) -> socket.socket:
        connection = socket.socket()
        connection.setblocking(False)
        connection.bind((self._address, 0))
        connection.connect_ex((server.address, server.port))
        return connection
