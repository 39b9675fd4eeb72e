"""Calls an ASGI application without a socket or a client library: thousands of requests take seconds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is empty for a stream, which is left as soon as it has begun."""

    status: int
    body: bytes

    @property
    def problem(self) -> str:
        """The slug of the problem document; empty for anything else."""
        if not self.body.startswith(b"{"):
            return ""
        document: dict[str, Any] = json.loads(self.body)
        return str(document.get("type", "")).removeprefix("urn:jitterscope:problem:")


async def call(
    app: FastAPI, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, streams: bool = False
) -> Answer:
    """One request. With `streams`, the client leaves when a 200 has begun."""
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "root_path": "", "scheme": "http", "query_string": b"",
        "headers": [(b"host", b"testserver"), *sent],
        "client": ("192.0.2.1", 50000), "server": ("testserver", 80), "state": {},
    }  # fmt: skip
    incoming: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
    status, parts = 0, []

    async def receive() -> dict[str, Any]:
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body" and not (streams and status == 200):
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return Answer(status, b"".join(parts))
