"""What surrounds every request: an id, security headers, metrics, a log line, and no leak from unexpected errors."""

from __future__ import annotations

import secrets
import time

import structlog
from prometheus_client import Counter, Histogram
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jitterscope import answers, bounds
from jitterscope.bodies import Bodies, Body
from jitterscope.errors import UNAVAILABLE, problem_for, problem_response

log = structlog.get_logger("jitterscope.http")

REQUESTS = Counter("jitterscope_http_requests_total", "Requests answered", ["method", "route", "status"])
SECONDS = Histogram(
    "jitterscope_http_request_seconds",
    "Time to the last byte",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)

UNDECLARED = Counter(
    "jitterscope_http_undeclared_answers_total", "Answers that the API's schema lacks", ["method", "route", "status"]
)

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (
        b"content-security-policy",
        # uPlot and React set inline styles; scripts come from our own files only.
        b"default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        b"font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'",
    ),
)


class RequestMiddleware:
    """Pure ASGI, so that streaming bodies and server-sent events pass through unbuffered.

    `request_ids_given`: whether one of our own processes in front of this one sets the request ids.
    """

    def __init__(self, app: ASGIApp, hsts: bool = False, request_ids_given: bool = False) -> None:
        self._app = app
        self._bodies = Bodies()
        self._request_ids_given = request_ids_given
        self._headers = _HEADERS + (((b"strict-transport-security", b"max-age=31536000"),) if hsts else ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id") if self._request_ids_given else None
        request_id = secrets.token_hex(8) if given is None else given.decode()
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0
        started = time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in self._headers if name not in present),
                    (b"x-request-id", request_id.encode()),
                ]
                if scope["path"].startswith("/api/") and b"cache-control" not in present:
                    message["headers"].append((b"cache-control", b"no-store"))
            async with bounds.in_time(scope):
                await send(message)

        body = Body(self._bodies, scope["client"][0] if scope.get("client") else "unknown")

        async def receive_in_bounds() -> Message:
            has_slot = bounds.holds_slot(scope)
            async with bounds.in_time(scope) if has_slot else body.in_time():
                message = await receive()
            # Checked here, where a 413 becomes a problem document like all errors: FastAPI's max_body_size sends plain
            # text.
            bound = bounds.bound_of(scope.get("endpoint"))
            most_bytes = None if bound is None else bound.body_bytes
            complete = message["type"] != "http.request" or not message.get("more_body", False)
            body.arrived(len(message.get("body", b"")), most_bytes, complete=complete)
            return message

        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            await self._app(scope, receive_in_bounds, send_with_headers)
        except Exception as error:
            problem = problem_for(error)
            scope["state"]["told"] = problem.type == UNAVAILABLE
            if status:  # the response has begun: it can only be cut off
                log.error("response_aborted", path=scope["path"])
                raise
            response = problem_response(problem, request_id)
            await response(Request(scope).scope, receive, send_with_headers)
        finally:
            body.release()
            bounds.leave(scope)
            self._record(scope, status, time.perf_counter() - started)
            structlog.contextvars.unbind_contextvars("request_id")

    @staticmethod
    def _record(scope: Scope, status: int, seconds: float) -> None:
        # Templates, not paths: an id in a label would create a new series. Included routers know their templates
        # without the prefix.
        prefix = "/api/v1" if scope["path"].startswith("/api/v1/") else ""
        found = getattr(scope.get("route"), "path", None)
        route = "unmatched" if found is None else found if found.startswith("/api/") else prefix + found
        # Any method a client invents would become a label, and a label uses memory until the process ends.
        method = scope["method"] if scope["method"] in _METHODS else "other"
        REQUESTS.labels(method, route, str(status)).inc()
        SECONDS.labels(method, route).observe(seconds)
        if answers.undeclared(scope, status):
            UNDECLARED.labels(method, route, str(status)).inc()
            log.error("undeclared_answer", method=method, route=route, status=status)
        # An outage is logged once, not once per request.
        level = log.warning if status >= 500 and not scope["state"].get("told") else log.debug
        level("request", method=scope["method"], path=scope["path"], status=status, ms=round(seconds * 1000, 1))
