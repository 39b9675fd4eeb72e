"""The bulk lane: a second, low-priority process answers expensive requests of the organizations that send most.

A process computes one thing at a time in Python, and the kernel shares CPUs fairly only between processes. An
organization that keeps expensive requests running while others work is served by a second process, on CPU time that
others leave. Its requests wait there for each other, and organizations with few requests do not wait for them. The
process starts when it is first needed.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import structlog
from fastapi import Request
from prometheus_client import Counter
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

log = structlog.get_logger(__name__)
FORWARDED = Counter("jitterscope_requests_forwarded_total", "Expensive requests that the bulk lane answered", ["route"])

# Expensive requests that an organization may keep running, averaged over the last seconds, and at once: a page that
# loads its charts is far below the first, a loop that always has one running is above it.
_MOST_RUNNING = 1.0
_AVERAGED_S = 10.0
_MOST_AT_ONCE = 8
_WORKS_S = 60.0  # since its last expensive request: longer than a page takes to ask again
_STARTS_WITHIN_S = 30.0
_AGAIN_S = 5.0  # after it exited
# For each request, a pool checks every connection that it keeps; a new Unix socket costs less than that.
_ONE_EACH = httpx.Limits(max_connections=None, max_keepalive_connections=0)
_PROCESS = (sys.executable, "-m", "jitterscope.bulk_process")
_HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "date", "server", "x-request-id")
)


class Elsewhere(Exception):
    """Raised when the bulk lane answers this request."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.url.path)
        self.request = request  # includes the body if it was already read


@dataclass(slots=True)
class Running:
    """How many expensive requests of an organization are running, now and on average over the last seconds."""

    now: int = 0
    average: float = 0.0
    at_s: float = 0.0

    def change(self, by: int, at_s: float) -> float:
        """Record that `by` requests began (ended, if negative) at a time, and return the average up to then."""
        kept = math.exp(-max(0.0, at_s - self.at_s) / _AVERAGED_S)
        self.average = self.average * kept + self.now * (1 - kept)
        self.now, self.at_s = self.now + by, at_s
        return self.average


class Lanes:
    """Which organizations keep expensive requests running. Used only from the event loop."""

    def __init__(self) -> None:
        self._running: dict[int | None, Running] = {}

    def begin(self, organization_id: int | None, at_s: float) -> bool:
        """Record that a request begins, and return whether its organization has too many running while others work."""
        running = self._running.setdefault(organization_id, Running())
        much = running.change(1, at_s) > _MOST_RUNNING or running.now > _MOST_AT_ONCE
        return much and any(one is not running and at_s - one.at_s < _WORKS_S for one in self._running.values())

    def end(self, organization_id: int | None, at_s: float) -> None:
        """Record that a request is over."""
        found = self._running[organization_id]
        found.change(-1, at_s)
        for key in [one for one, of in self._running.items() if not of.now and of.at_s < at_s - 100 * _AVERAGED_S]:
            del self._running[key]


class Bulk:
    """The second process: started when first needed, and again after it exits."""

    def __init__(self) -> None:
        self.lanes = Lanes()
        self._needed, self._ready = asyncio.Event(), asyncio.Event()
        self._socket = ""
        self._client: httpx.AsyncClient | None = None

    def takes(self, organization_id: int | None) -> bool:
        """Record that a request begins, and return whether it goes to the bulk lane. `leaves` must follow."""
        if not self.lanes.begin(organization_id, time.monotonic()):
            return False
        self._needed.set()
        return True

    def leaves(self, organization_id: int | None) -> None:
        """Record that a request is over, wherever it was answered."""
        self.lanes.end(organization_id, time.monotonic())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the process running from when it is needed until the context ends."""
        keeper = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper

    async def _keep(self) -> None:
        await self._needed.wait()
        # Created when needed, which is rare: a process that is killed leaves its folder behind.
        with tempfile.TemporaryDirectory(prefix="jitterscope-bulk-") as folder:
            self._socket = str(Path(folder) / "socket")
            transport = httpx.AsyncHTTPTransport(uds=self._socket, limits=_ONE_EACH)
            # The bulk process bounds the time of each request, and so does the request that waits for it.
            unbounded = httpx.Timeout(None)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://bulk", timeout=unbounded
            ) as self._client:
                await self._keep_process()

    async def _keep_process(self) -> None:
        while True:
            log.info("bulk_lane_starts", why="an organization keeps expensive requests running")
            process = await asyncio.create_subprocess_exec(
                *_PROCESS, self._socket, env=_environment(os.environ), stdin=asyncio.subprocess.PIPE
            )
            try:
                accepting = asyncio.create_task(self._until_accepting())
                status = await process.wait()
                accepting.cancel()
                log.warning("bulk_lane_ended", status=status, what_to_do="nothing: it starts again")
            finally:
                self._ready.clear()
                if process.returncode is None:
                    process.terminate()
                    await process.wait()
            await asyncio.sleep(_AGAIN_S)

    async def _until_accepting(self) -> None:
        while not self._ready.is_set():
            await asyncio.sleep(0.1)
            with suppress(OSError):
                _, writer = await asyncio.open_unix_connection(self._socket)
                writer.close()
                self._ready.set()

    async def answer(self, request: Request) -> Response:
        """Stream the bulk lane's answer. Raises TimeoutError or httpx.TransportError if it does not answer."""
        await asyncio.wait_for(self._ready.wait(), _STARTS_WITHIN_S)
        assert self._client is not None
        FORWARDED.labels(getattr(request.scope.get("route"), "path", "unmatched")).inc()
        headers = [(name, value) for name, value in request.headers.items() if name not in _HOP_BY_HOP]
        headers += [("x-request-id", request.state.request_id)]
        if request.client is not None:
            headers = [one for one in headers if one[0] != "x-forwarded-for"]
            headers.append(("x-forwarded-for", request.client.host))
        url = httpx.URL(path=request.url.path, query=request.url.query.encode())
        sent = self._client.build_request(request.method, url, headers=headers, content=await request.body())
        answered = await self._client.send(sent, stream=True)
        response = StreamingResponse(
            answered.aiter_raw(), answered.status_code, background=BackgroundTask(answered.aclose)
        )
        response.raw_headers = [
            (name.lower(), value) for name, value in answered.headers.raw if name.decode().lower() not in _HOP_BY_HOP
        ]
        return response


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """The process's environment: our settings, but all peers trusted (only we connect), no lane, and no metrics."""
    return {
        **own,
        "JITTERSCOPE_API_LANE": "bulk",
        "JITTERSCOPE_TRUSTED_PROXIES": "*",
        "JITTERSCOPE_METRICS_LISTEN": "",
    }
