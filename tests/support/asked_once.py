"""Requests to the application within the process, cheaper than Starlette's."""

from __future__ import annotations

import httpx2
from anyio.from_thread import BlockingPortal
from fastapi import FastAPI


class OneCall(httpx2.BaseTransport):
    """Sends each request to the application's thread in one call, where Starlette's transport makes eight.

    The whole answer is read: an endless one never comes.
    """

    def __init__(self, app: FastAPI, portal: BlockingPortal) -> None:
        # A failure of the application is an answer, as users see it.
        self._inner = httpx2.ASGITransport(app, raise_app_exceptions=False, client=("testclient", 50000))
        self._portal = portal

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        return self._portal.call(self._answer, request)

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._inner.handle_async_request(request)
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        body = b"".join([part async for part in answer.stream])  # as it was sent, perhaps compressed
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=httpx2.ByteStream(body))
