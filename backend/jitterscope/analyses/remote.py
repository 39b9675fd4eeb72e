"""Evidence files and load tests at a running service: `--service URL`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from jitterscope.analyses.order import Refused
from jitterscope.analyses.report import Report

_CHUNK = 1 << 20
_WAIT_S = 0.5


class NoService(Exception):
    """The service refused, or does not answer; the text says which and why."""


class Service:
    """The API of a service, used with a token that has analyses:write."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._client = httpx.Client(
            base_url=f"{self._url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=60
        )

    def analyse(self, path: Path, tell: Callable[[str, float], None]) -> Report:
        """Upload a file and wait for its report. Raises NoService, Refused."""
        size = path.stat().st_size
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}

        def content() -> Iterator[bytes]:
            sent = 0
            with path.open("rb") as file:
                while part := file.read(_CHUNK):
                    yield part
                    sent += len(part)
                    tell("sent", sent / max(1, size))

        added = self._send("POST", "/analyses", params={"name": path.name}, content=content(), headers=headers)
        while added["state"] in ("queued", "running"):
            time.sleep(_WAIT_S)
            added = self._send("GET", f"/analyses/{added['id']}")
            tell("read", float(added["progress_ratio"]))
        if added["problem"] is not None:
            problem = added["problem"]
            raise Refused(problem["type"], problem["title"], problem["detail"], problem["what_to_do"] or "")
        return Report.model_validate(added["report"])

    def keep_bench(self, result: dict[str, Any]) -> str:
        """Keep a load test; returns where a browser shows it. Raises NoService."""
        kept = self._send("POST", "/analyses/dns-bench", json=result)
        return f"{self._url}/evidence/{kept['id']}"

    def _send(self, method: str, path: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        try:
            response = self._client.request(method, path, **options)
        except httpx.HTTPError as error:
            raise NoService(f"{self._url} cannot be reached: {error}") from None
        if response.is_error:
            try:
                problem = response.json()
                why = f"{problem['title']}: {problem['detail']} {problem.get('what_to_do') or ''}".strip()
            except (ValueError, KeyError, TypeError):
                why = response.text[:300]
            raise NoService(f"{self._url} answered {response.status_code}. {why}")
        content: dict[str, Any] = response.json()
        return content


def token_of(token_file: Path | None) -> str:
    """The token of --token-file or JITTERSCOPE_TOKEN. Raises NoService if there is none."""
    try:
        found = token_file.read_text().strip() if token_file is not None else os.environ.get("JITTERSCOPE_TOKEN", "")
    except OSError as error:
        raise NoService(f"{token_file} cannot be read: {error.strerror}") from None
    if not found:
        raise NoService("missing token with the scope analyses:write: give --token-file or JITTERSCOPE_TOKEN")
    return found


def connect(url: str, token_file: Path | None) -> Service:
    """The service at a URL. Raises NoService."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise NoService(f"{url!r} is not an http:// or https:// URL")
    return Service(url, token_of(token_file))
