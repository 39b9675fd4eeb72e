"""The client address of a request: behind a trusted proxy, the one it forwards. Untrusted proxies cause a warning."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from jitterscope import cache

log = structlog.get_logger(__name__)
_KEY = "jitterscope:untrusted_proxy"
_TOLD_FOR_S = 24 * 3600
_AGAIN_S = 60.0

TITLE = "A proxy is not trusted"
DETAIL = (
    "Requests arrive through a proxy that is not trusted, so its X-Forwarded-For header is ignored: sign-in limits "
    "treat everyone behind it as one network, and the audit trail records the proxy's address."
)
WHAT_TO_DO = (
    "Set JITTERSCOPE_TRUSTED_PROXIES (api.trustedProxies in the chart) to the proxy's address, which is in the log."
)


class ClientAddressMiddleware:
    """uvicorn's handling of X-Forwarded-For, and a warning if the header comes from an untrusted peer."""

    def __init__(self, app: ASGIApp, trusted: str) -> None:
        self._app = app
        self._forwarding = ProxyHeadersMiddleware(self._with_address, trusted)  # type: ignore[arg-type]
        self._warned_at = -_AGAIN_S

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})["peer"] = scope.get("client")
        await self._forwarding(scope, receive, send)  # type: ignore[arg-type]

    async def _with_address(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            state = scope.get("state", {})
            # Without credentials, any client can send the header.
            if "principal" in state and scope.get("client") == state.get("peer"):
                self._look_at(scope)

    def _look_at(self, scope: Scope) -> None:
        forwarded = any(name in (b"x-forwarded-for", b"forwarded") for name, _ in scope["headers"])
        now = time.monotonic()
        if not forwarded or now - self._warned_at < _AGAIN_S:
            return
        self._warned_at = now
        peer = scope["client"][0] if scope.get("client") else "unknown"
        log.warning("proxy_not_trusted", proxy=peer, what_to_do=f"JITTERSCOPE_TRUSTED_PROXIES={peer}, if it is yours")
        asyncio.get_running_loop().run_in_executor(None, _remember)


def untrusted() -> bool:
    """Whether a request of the last day came through an untrusted proxy, to any API process."""
    with suppress(cache.ValkeyError, OSError):
        return bool(cache.valkey().exists(_KEY))
    return False


def _remember() -> None:
    with suppress(cache.ValkeyError, OSError):
        cache.valkey().set(_KEY, "1", ex=_TOLD_FOR_S)
