"""A real HTTP receiver on loopback, and one that speaks the part of Slack's Web API that bots use."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"

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
    """Records every request when it is complete, and responds with `answers` (in order), then with `default`."""

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
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.path, headers, body, self.command)
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
                    pass  # the sender is gone: what some tests are about

            do_GET = do_PUT = do_PATCH = do_DELETE = do_POST

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
    """A stand-in for Slack with one channel and one bot token.

    It serves chat.postMessage, chat.update, conversations.history, conversations.replies, and the URLs that come with
    button presses, and sends the requests that notify an app of these.
    https://api.slack.com/web: errors come with status 200 and "ok": false; a message's `ts` is its name in the channel.
    `messages` are as they were posted, `shown` as they are now, by `ts`. `whispers` are visible only to who pressed.
    """

    TOKEN, CHANNEL, SIGNING_SECRET = "xoxb-test", "C0123456789", "8f742231b10e8888abcd99yyyzzz85a5"

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.shown: dict[str, dict[str, Any]] = {}
        self.whispers: list[str] = []
        self._presses = itertools.count(1)
        self.replaced: list[dict[str, Any]] = []
        self.default = Answer(404)
        self.respond = self._answer

    def _answer(self, request: Request) -> Answer:
        method = request.path.removeprefix("/api/").partition("?")[0]
        if request.path == "/response":
            told = request.json
            if told.get("replace_original"):
                self.replaced.append(told)
            else:
                self.whispers.append(told["text"])
            return Answer()
        if request.headers.get("authorization") != f"Bearer {self.TOKEN}":
            said: dict[str, Any] = {"ok": False, "error": "invalid_auth"}
        elif method == "chat.postMessage":
            said = self._post(request.json)
        elif method == "chat.update":
            said = self._update(request.json)
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
        self.shown[message["ts"]] = message
        return {"ok": True, "channel": self.CHANNEL, "ts": message["ts"]}

    def _update(self, message: dict[str, Any]) -> dict[str, Any]:
        if message.get("ts") not in self.shown or message.get("channel") != self.CHANNEL:
            return {"ok": False, "error": "message_not_found"}
        self.shown[message["ts"]] = message
        return {"ok": True, "channel": self.CHANNEL, "ts": message["ts"]}

    def press(
        self,
        message: dict[str, Any],
        action_id: str,
        value: str | None = None,
        *,
        at: float | None = None,
        secret: str | None = None,
        conversation: str | None = None,
    ) -> tuple[bytes, dict[str, str]]:
        """Body and headers of what Slack sends when a message's button is pressed, signed as Slack does.

        https://api.slack.com/reference/interaction-payloads/block-actions
        """
        [block] = [one for one in message["blocks"] if one["type"] == "actions"]
        action: dict[str, Any] = {"action_id": action_id, "block_id": block.get("block_id", "x1Y"), "type": "button"}
        if value is not None:
            action |= {"type": "static_select", "selected_option": {"value": value}}
        payload = {
            "type": "block_actions", "team": {"id": "T1", "domain": "example"}, "api_app_id": "A1",
            "user": {"id": "U061F7AUR", "username": "ada", "name": "ada", "team_id": "T1"},
            "channel": {"id": conversation or self.CHANNEL, "name": "ops"}, "message": message,
            "actions": [action], "response_url": f"{self.url}/response", "trigger_id": f"{next(self._presses)}.2.3",
        }  # fmt: skip
        body = urlencode({"payload": json.dumps(payload)}).encode()
        timestamp = f"{time.time() if at is None else at:.0f}"
        base = b":".join((b"v0", timestamp.encode(), body))
        digest = hmac.new((secret or self.SIGNING_SECRET).encode(), base, hashlib.sha256).hexdigest()
        return body, {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": f"v0={digest}",
        }
