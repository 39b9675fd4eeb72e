"""A real HTTP receiver on loopback, and one that speaks the part of Slack's Web API that bots use."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


@dataclass
class Answer:
    status: int = 200
    body: bytes = b"ok"
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


class Receiver:
    """Records every request when it is complete, and answers by `answers` (first ones first), then with `default`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[Answer] = []
        self.default = Answer()
        self.respond: Callable[[Request], Answer] | None = None
        self.arrived = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                outer.requests.append(request)
                answer = outer.answers.pop(0) if outer.answers else outer.default
                if outer.respond is not None:
                    answer = outer.respond(request)
                outer.arrived.set()
                time.sleep(answer.delay_s)
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(answer.body)))
                    self.end_headers()
                    self.wfile.write(answer.body)
                except OSError:
                    pass  # the sender has gone: what some tests are about

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Slack(Receiver):
    """chat.postMessage, conversations.history and conversations.replies of one channel, for one bot token.

    https://api.slack.com/web: errors come with status 200 and "ok": false; a message's `ts` is its name in the channel.
    """

    TOKEN, CHANNEL = "xoxb-test", "C0123456789"

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.default = Answer(404)
        self.respond = self._answer

    def _answer(self, request: Request) -> Answer:
        method = request.path.removeprefix("/api/").partition("?")[0]
        if request.headers.get("authorization") != f"Bearer {self.TOKEN}":
            said: dict[str, Any] = {"ok": False, "error": "invalid_auth"}
        elif method == "chat.postMessage":
            said = self._post(request.json)
        elif method in ("conversations.history", "conversations.replies"):
            wanted = parse_qs(request.body.decode()).get("ts", [None])[0]
            said = {"ok": True, "messages": [one for one in self.messages if wanted in (one.get("thread_ts"), None)]}
        else:
            said = {"ok": False, "error": "unknown_method"}
        return Answer(body=json.dumps(said).encode(), headers={"Content-Type": "application/json"})

    def _post(self, message: dict[str, Any]) -> dict[str, Any]:
        if message.get("channel") != self.CHANNEL:
            return {"ok": False, "error": "channel_not_found"}
        if "thread_ts" in message and message["thread_ts"] not in [one["ts"] for one in self.messages]:
            return {"ok": False, "error": "thread_not_found"}
        message["ts"] = f"{time.time():.0f}.{len(self.messages):06d}"
        self.messages.append(message)
        return {"ok": True, "channel": self.CHANNEL, "ts": message["ts"]}
