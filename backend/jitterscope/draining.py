"""After SIGTERM, requests are answered for a while, and each answer closes its connection.

Load balancers and clients with kept connections thus move to other processes. Without that, a request that is sent
while the server closes its connection gets no answer.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Draining:
    """Whether this process is about to end, `seconds` after SIGTERM; 0: at once."""

    def __init__(self, seconds: float) -> None:
        self.began = False
        self._seconds = seconds

    @contextmanager
    def on_sigterm(self) -> Iterator[None]:
        """Delay what the server does at SIGTERM; a second SIGTERM does it at once.

        Entered where the server's loop runs, in the main thread; raises ValueError elsewhere.
        """
        end = signal.getsignal(signal.SIGTERM)
        if not self._seconds or not callable(end):
            yield
            return
        loop = asyncio.get_running_loop()

        def begin(number: int, frame: FrameType | None) -> None:
            if self.began:
                end(number, frame)
                return
            self.began = True
            loop.call_soon_threadsafe(loop.call_later, self._seconds, end, number, None)

        signal.signal(signal.SIGTERM, begin)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, end)


class DrainingMiddleware:
    """Adds `Connection: close` to answers while the process drains."""

    def __init__(self, app: ASGIApp, draining: Draining) -> None:
        self._app, self._draining = app, draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def closing(message: Message) -> None:
            if message["type"] == "http.response.start" and self._draining.began:
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            await send(message)

        await self._app(scope, receive, closing)
