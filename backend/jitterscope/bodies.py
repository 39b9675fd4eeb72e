"""Request bodies that arrive before it is known who sends them: how long one takes, and how much all of them hold.

FastAPI reads a JSON body before it asks for the caller, so no slot bounds it: thousands of connections that send all
but the last byte would hold their bodies for ever.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prometheus_client import Gauge

from jitterscope.errors import BodyRefused, Problem
from jitterscope.kit.networks import network_of

_MIB = 1024 * 1024
HELD = Gauge("jitterscope_request_body_bytes", "Bytes of request bodies held beyond the first 16 KiB of each")

# Time for a body of a request that has no slot yet.
MOST_S = 15.0
# The first bytes of a body are free: nearly all requests are smaller, and no others can keep them out.
_FREE_BYTES = 16 * 1024
# A parsed JSON body takes up to 20 times its size.
_MOST_BYTES = 24 * _MIB
_MOST_OF_NETWORK = 8 * _MIB


class Bodies:
    """The bytes that the bodies of one process hold. Used only from its event loop."""

    def __init__(self) -> None:
        self._of_network: Counter[str] = Counter()
        self._total = 0

    def change(self, network: str, size_bytes: int) -> None:
        """Count bytes, or release them if negative."""
        self._total += size_bytes
        self._of_network[network] += size_bytes
        if not self._of_network[network]:
            del self._of_network[network]
        HELD.set(self._total)

    def fits(self, network: str, size_bytes: int) -> bool:
        """Whether there is room for more bytes from a network."""
        return self._total + size_bytes <= _MOST_BYTES and self._of_network[network] + size_bytes <= _MOST_OF_NETWORK


class Body:
    """The body of one request, which began just now."""

    def __init__(self, bodies: Bodies, address: str) -> None:
        self._bodies, self._network = bodies, network_of(address)
        self._ends = asyncio.get_running_loop().time() + MOST_S
        self._received = self._held = 0
        self._complete = False

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """Raise BodyRefused if the body is still arriving when its time is up."""
        if self._complete:
            yield
            return
        try:
            async with asyncio.timeout_at(self._ends):
                yield
        except TimeoutError:
            raise BodyRefused(_too_slow()) from None

    def arrived(self, size_bytes: int, most_bytes: int | None, *, complete: bool) -> None:
        """Count a part of the body. `most_bytes`: None if its route counts it. Raises BodyRefused."""
        self._complete = self._complete or complete
        self._received += size_bytes
        if most_bytes is None or not size_bytes:
            return
        if self._received > most_bytes:
            raise BodyRefused(_too_large(most_bytes))
        more = max(0, self._received - _FREE_BYTES) - self._held
        if more and not self._bodies.fits(self._network, more):
            raise BodyRefused(_too_many())
        if more:
            self._bodies.change(self._network, more)
            self._held += more

    def release(self) -> None:
        """The request is over."""
        if self._held:
            self._bodies.change(self._network, -self._held)
            self._held = 0


def _too_large(most_bytes: int) -> Problem:
    return Problem(
        413, "body-too-large", "The body is too large", f"This route accepts at most {most_bytes:,} bytes.",
        "Send less in one request.",
    )  # fmt: skip


def _too_slow() -> Problem:
    return Problem(
        503, "took-too-long", "Took too long", f"The body did not arrive within {MOST_S:g} s.",
        "Send it faster, or send less in one request.", headers={"Retry-After": "10"},
    )  # fmt: skip


def _too_many() -> Problem:
    return Problem(
        503, "busy", "Too busy", "Too many large request bodies are arriving.",
        "Try again after the seconds in Retry-After, or send less in one request.",
        headers={"Retry-After": "10"},
    )  # fmt: skip
