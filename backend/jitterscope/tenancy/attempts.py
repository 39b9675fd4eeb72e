"""Rate limits on repeatable attempts: sign-ins, links, emails. Counted in Valkey, over all API processes.

If Valkey is down or full, each process counts by itself: no user is locked out, and guesses stay limited, although the
limit is multiplied by the number of processes. /readyz and the log report this (`outages`).
"""

from __future__ import annotations

import hashlib
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
    """What is counted together, and its rate limit."""

    rate: RateLimitItem
    keys: tuple[str, ...]

    def take(self, what: str) -> None:
        """Count one attempt. Raises Problem 429 above the rate; `what` names the attempts."""
        if not self.fits():
            raise self.refusal(what)

    def refusal(self, what: str) -> Problem:
        """What to answer to attempts above the rate."""
        reset_time = _count(lambda limiter: limiter.get_window_stats(self.rate, *self._names()).reset_time)
        wait_s = max(1, math.ceil(reset_time - time.time()))
        return Problem(
            429,
            "too-many-attempts",
            "Too many attempts",
            f"Too many {what}.",
            f"Wait {wait_s} s, then try again.",
            headers={"Retry-After": str(wait_s)},
        )

    def fits(self) -> bool:
        """Count one attempt and return whether it is within the rate."""
        return _count(lambda limiter: limiter.hit(self.rate, *self._names()))

    def forget(self) -> None:
        """Reset the count."""
        _count(lambda limiter: limiter.clear(self.rate, *self._names()))
        _in_this_process.clear(self.rate, *self._names())

    def _names(self) -> tuple[str, ...]:
        return (hashlib.sha256("\n".join(self.keys).encode()).hexdigest()[:32],)


def per_minute(limit: int, *keys: str) -> Bucket:
    """At most `limit` per minute."""
    return Bucket(RateLimitItemPerMinute(limit), keys)


def per_hour(limit: int, *keys: str) -> Bucket:
    """At most `limit` per hour."""
    return Bucket(RateLimitItemPerHour(limit), keys)


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
