"""JSON over HTTP to a host, with the checks and limits of webhooks: no private address, no redirect, bounded time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import certifi

from jitterscope.notify.wire import Post, PostFailed, perform
from jitterscope.pulls.hosts.host import HostFailed
from jitterscope.settings import settings

# A file of 1 MB, GitHub's maximum, as base64 in JSON.
_MOST_BYTES = 2 * 1024 * 1024
# Time limits: of all requests of one operation, and of each request.
_WHOLE_S, _EACH_S = 30.0, 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A non-error answer. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    content: Any


@dataclass(slots=True)
class Rest:
    """Requests to one API with one token. `name` is the host's display name."""

    name: str
    api: str
    headers: Mapping[str, str]
    ends: float = field(default_factory=lambda: time.monotonic() + _WHOLE_S)

    def get(self, path: str, *, may_miss: bool = False) -> Any:  # noqa: ANN401
        """The content there; None if nothing is there and `may_miss`."""
        try:
            return self._send("GET", path, None).content
        except HostFailed as error:
            if may_miss and error.reason == "missing":
                return None
            raise

    def post(self, path: str, content: Mapping[str, Any]) -> Any:  # noqa: ANN401
        return self._send("POST", path, content).content

    def delete(self, path: str) -> None:
        self._send("DELETE", path, None)

    def _send(self, method: str, path: str, content: Mapping[str, Any] | None) -> Answer:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise HostFailed("unreachable", f"{self.name} took longer than {_WHOLE_S:.0f} s for all requests.")
        request = Post(
            url=self.api + path,
            headers={"Accept": "application/json", "Content-Type": "application/json", **self.headers},
            body=b"" if content is None else json.dumps(content, ensure_ascii=False).encode(),
            timeout_s=min(_EACH_S, left),
            allow_private=settings().notify_allow_private_targets,
            ca_file=certifi.where(),
            proxy=settings().notify_proxy_url.get_secret_value() or None,
            method=method,
            most_bytes=_MOST_BYTES,
        )
        try:
            status, headers, body = perform(request)
        except PostFailed as error:
            raise HostFailed("unreachable", f"{self.name} cannot be reached: {error.detail}.") from None
        if status >= 300:
            raise self._failed(status, headers, body)
        if len(body) >= _MOST_BYTES:
            raise HostFailed("unreadable", f"{self.name} answered with more than {_MOST_BYTES >> 20} MiB.")
        try:
            return Answer(status, headers, json.loads(body) if body.strip() else None)
        except ValueError:
            raise HostFailed(
                "unreadable", f"{self.name} did not answer with JSON. Check that the address is correct."
            ) from None

    def _failed(self, status: int, headers: Mapping[str, str], body: bytes) -> HostFailed:
        said = _said(body)
        detail = f"{self.name} answered {status}" + (f": {said}" if said else "")
        wait = _wait_s(headers)
        if status == 429 or (status == 403 and (wait is not None or "rate limit" in said.lower())):
            return HostFailed("rate_limit", f"{detail}.", 60.0 if wait is None else wait)
        if 300 <= status < 400:
            return HostFailed("moved", f"{detail}. Redirects are not followed.")
        match status:
            case 401:
                return HostFailed("token", f"{detail}.")
            case 403:
                return HostFailed("forbidden", f"{detail}.")
            case 404 | 410:
                return HostFailed("missing", f"{detail}.")
        if status >= 500:
            return HostFailed("unreachable", f"{detail}.", wait)
        return HostFailed("refused", f"{detail}.")


def _wait_s(headers: Mapping[str, str]) -> float | None:
    """The wait that the host asks for.

    GitHub: retry-after, or x-ratelimit-reset once x-ratelimit-remaining is 0. GitLab: retry-after.
    """
    after = headers.get("retry-after", "").strip()
    if after.isdigit():
        return min(float(after), 3600.0)
    reset = headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", "")).strip()
    remaining = headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining", "")).strip()
    if remaining == "0" and reset.isdigit():
        return min(max(1.0, float(reset) - time.time()), 3600.0)
    return None


def _said(body: bytes) -> str:
    """The message of an error document in one line: GitHub's message and errors, GitLab's message or error."""
    try:
        document = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(document, dict):
        return ""
    parts = [*_texts(document.get("message")), *_texts(document.get("errors")), *_texts(document.get("error"))]
    return " ".join("; ".join(dict.fromkeys(parts)).split())[:300].rstrip(". ")


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    if isinstance(value, dict):
        if isinstance(value.get("message"), str):
            return [value["message"]]
        return [
            f"{name} {text}" for name, one in value.items() for text in _texts(one) if name not in ("resource", "code")
        ]
    return []
