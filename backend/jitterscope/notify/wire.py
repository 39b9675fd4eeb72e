"""One HTTP request to a checked address, over its own connection.

The request is one `sendall`, so that the last recorded stage distinguishes "nothing was sent" from "the receiver may
have it". Standard library only: the courier starts in milliseconds, without site-packages.
"""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from jitterscope.notify.target import ForbiddenTarget, check_literal, check_url, resolve

BODY_LIMIT_BYTES = 64 * 1024
_CONNECT_TIMEOUT_S = 5.0
# What the receiver may have seen before the failure: nothing, or perhaps everything.
Failure = Literal["not_sent", "unknown"]


@dataclass(frozen=True)
class Post:
    """What to send. `timeout_s` applies to the whole request.

    `ca_file` is trusted in addition to the system's certificates. At most `most_bytes` of the answer are read.

    `proxy` is the URL of an HTTP proxy (http://user:password@host:port) for everything. It resolves names and decides
    which of them may be reached.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float = 15.0
    allow_private: bool = False
    ca_file: str | None = None
    proxy: str | None = None
    method: str = "POST"
    most_bytes: int = BODY_LIMIT_BYTES


class PostFailed(Exception):
    """No response. `failure` says whether the receiver may have the request; `permanent`: retrying is useless."""

    def __init__(self, failure: Failure, detail: str, *, permanent: bool = False) -> None:
        super().__init__(detail)
        self.failure, self.detail, self.permanent = failure, detail, permanent


def perform(post: Post, on_writing: Callable[[], None] = lambda: None) -> tuple[int, dict[str, str], bytes]:
    """Send it; returns status, headers (lower-case names), and body (cut at `most_bytes`). Raises PostFailed.

    `on_writing` is called once the connection is up, immediately before writing.
    """
    deadline = time.monotonic() + post.timeout_s
    try:
        check_url(post.url)
        request = _request_bytes(post)
    except ValueError as error:  # includes ForbiddenTarget
        raise PostFailed("not_sent", str(error), permanent=True) from error
    connection = _connect(post, deadline) if post.proxy is None else _connect_by_proxy(post, post.proxy, deadline)
    with connection:
        on_writing()
        try:
            connection.settimeout(_left(deadline))
            connection.sendall(request)
            return _read(connection, deadline, post)
        except (OSError, http.client.HTTPException) as error:
            raise PostFailed("unknown", f"no answer: {_name(error)}") from error


def _connect(post: Post, deadline: float) -> socket.socket:
    parts = urlsplit(post.url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        addresses = resolve(host, port, post.allow_private)
    except ForbiddenTarget as error:
        raise PostFailed("not_sent", str(error), permanent=True) from error
    except OSError as error:
        raise PostFailed("not_sent", str(error)) from error
    last: OSError | None = None
    for family, address in addresses:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(min(_CONNECT_TIMEOUT_S, _left(deadline)))
            connection.connect((address, port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if parts.scheme == "https":
                return _context(post.ca_file).wrap_socket(connection, server_hostname=host)
            return connection
        except OSError as error:  # includes TLS errors
            connection.close()
            last = error
    raise PostFailed("not_sent", f"cannot connect to {host}:{port}: {_name(last)}")


def _connect_by_proxy(post: Post, proxy: str, deadline: float) -> socket.socket:
    """A connection to the receiver through a tunnel, or to the proxy if the URL has no TLS."""
    parts, way = urlsplit(post.url), urlsplit(proxy)
    host = parts.hostname or ""
    try:
        check_literal(host, post.allow_private)
    except ForbiddenTarget as error:
        raise PostFailed("not_sent", str(error), permanent=True) from error
    connection: socket.socket | None = None
    try:
        timeout_s = min(_CONNECT_TIMEOUT_S, _left(deadline))
        connection = socket.create_connection((way.hostname or "", way.port or 3128), timeout=timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if parts.scheme != "https":
            return connection
        to = f"{f'[{host}]' if ':' in host else host}:{parts.port or 443}"
        lines = [f"CONNECT {to} HTTP/1.1", f"Host: {to}", *_authorization(proxy)]
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        connection.settimeout(_left(deadline))
        status = _tunnel_status(connection)
        if status != 200:
            raise OSError(f"it answered {status}")
        return _context(post.ca_file).wrap_socket(connection, server_hostname=host)
    except OSError as error:
        if connection is not None:
            connection.close()
        raise PostFailed("not_sent", f"cannot connect to {host} through the egress proxy: {_name(error)}") from error


def _authorization(proxy: str) -> list[str]:
    way = urlsplit(proxy)
    if way.username is None:
        return []
    credentials = f"{unquote(way.username)}:{unquote(way.password or '')}"
    return [f"Proxy-Authorization: Basic {base64.b64encode(credentials.encode()).decode()}"]


def _tunnel_status(connection: socket.socket) -> int:
    """The status of the answer to CONNECT. Read byte by byte: what follows belongs to the tunnel."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte or len(head) > BODY_LIMIT_BYTES:
            raise OSError("it did not answer CONNECT")
        head += byte
    status = head.split(b" ", 2)[1:2]
    return int(status[0]) if status and status[0].isdigit() else 0


def _context(ca_file: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def _request_bytes(post: Post) -> bytes:
    parts = urlsplit(post.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {
        "Host": parts.netloc,
        "User-Agent": "jitterscope",
        "Content-Length": str(len(post.body)),
        "Connection": "close",
    } | dict(post.headers)
    by_proxy = post.proxy is not None and parts.scheme == "http"
    if by_proxy:
        path = f"http://{parts.netloc}{path}"
    authorization = _authorization(post.proxy) if by_proxy and post.proxy is not None else []
    lines = [f"{post.method} {path} HTTP/1.1", *authorization, *(f"{name}: {value}" for name, value in headers.items())]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header contains a line break")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + post.body


def _read(connection: socket.socket, deadline: float, post: Post) -> tuple[int, dict[str, str], bytes]:
    response = http.client.HTTPResponse(connection, method=post.method)
    try:
        connection.settimeout(_left(deadline))
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        body = b""
        while len(body) < post.most_bytes:
            connection.settimeout(_left(deadline))
            try:
                chunk = response.read(min(8192, post.most_bytes - len(body)))
            except (OSError, http.client.HTTPException):
                break  # the status arrived: it decides, whatever happens to the body
            if not chunk:
                break
            body += chunk
        return response.status, headers, body
    finally:
        response.close()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _name(error: BaseException | None) -> str:
    text = str(error) or type(error).__name__
    return f"{type(error).__name__}: {text}"[:300]
