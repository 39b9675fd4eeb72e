"""Limits on what can be tried again and again: sign-ins, links, mails. Counted in Valkey, over all API processes.

Where Valkey is away or full each process counts by itself: nobody is kept out, and guesses stay limited, if to as many
times more as there are processes. /readyz and the log say so (`outages`).
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from jitterscope import cache
from jitterscope.errors import Problem
from jitterscope.settings import settings

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is counted together, and how much of it there may be."""

    rate: RateLimitItem
    keys: tuple[str, ...]

    def take(self, what: str) -> None:
        """Count one. Raises Problem 429 beyond the rate; `what` says of what there were too many."""
        if not self.fits():
            reset_time = _count(lambda limiter: limiter.get_window_stats(self.rate, *self._names()).reset_time)
            wait_s = max(1, math.ceil(reset_time - time.time()))
            raise Problem(
                429,
                "too-many-attempts",
                "Too many attempts",
                f"Too many {what}.",
                f"Wait {wait_s} s, then try again.",
                headers={"Retry-After": str(wait_s)},
            )

    def fits(self) -> bool:
        """Count one, and whether it is within the rate."""
        return _count(lambda limiter: limiter.hit(self.rate, *self._names()))

    def forget(self) -> None:
        """Count from zero again."""
        _count(lambda limiter: limiter.clear(self.rate, *self._names()))
        _in_this_process.clear(self.rate, *self._names())

    def _names(self) -> tuple[str, ...]:
        return (hashlib.sha256("\n".join(self.keys).encode()).hexdigest()[:32],)


def per_minute(limit: int, *keys: str) -> Bucket:
    """So many a minute."""
    return Bucket(RateLimitItemPerMinute(limit), keys)


def per_hour(limit: int, *keys: str) -> Bucket:
    """So many an hour."""
    return Bucket(RateLimitItemPerHour(limit), keys)


def network_of(address: str) -> str:
    """The network that an address belongs to, as its holder can change the rest of it at will: /24, and /56 of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 24 if found.version == 4 else 56), strict=False))


_in_this_process = SlidingWindowCounterRateLimiter(MemoryStorage())


def _count(do: Callable[[SlidingWindowCounterRateLimiter], Result]) -> Result:
    try:
        return do(_of(settings().valkey_url))
    except (cache.ValkeyError, OSError) as error:
        cache.failed(error)
        return do(_in_this_process)


@lru_cache(maxsize=4)
def _of(url: str) -> SlidingWindowCounterRateLimiter:
    storage = RedisStorage(url, key_prefix="jitterscope:limits", socket_timeout=5.0, socket_connect_timeout=2.0)
    return SlidingWindowCounterRateLimiter(storage)
