"""Limits how many event streams a caller has open, over all API processes: 429 beyond it."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from jitterscope.cache import valkey
from jitterscope.errors import Problem
from jitterscope.settings import settings
from jitterscope.tenancy.principal import Principal

# A place that its stream does not renew is free again after this: its API process was killed.
HELD_S = 30


@dataclass(frozen=True, slots=True)
class Place:
    """One open stream."""

    key: str
    id: str

    def renew(self) -> None:
        """Record that the stream is still open."""
        valkey().zadd(self.key, {self.id: time.time() + HELD_S})
        valkey().expire(self.key, HELD_S * 2)

    def free(self) -> None:
        """Release the place of a stream that has ended."""
        valkey().zrem(self.key, self.id)


def take(principal: Principal) -> Place:
    """A place for one more stream. Raises Problem 429 if the caller has as many as allowed."""
    limit = settings().streams_per_caller
    caller = f"token {principal.token_id}" if principal.token_id is not None else f"user {principal.user_id}"
    place = Place(f"jitterscope:streams:{caller}", secrets.token_hex(8))
    pipeline = valkey().pipeline()
    pipeline.zremrangebyscore(place.key, 0, time.time())
    pipeline.zadd(place.key, {place.id: time.time() + HELD_S})
    pipeline.zcard(place.key)
    pipeline.expire(place.key, HELD_S * 2)
    if int(pipeline.execute()[2]) > limit:
        place.free()
        raise Problem(
            429,
            "too-many-streams",
            "Too many streams",
            f"{principal.actor} has {limit} event streams open, the limit for one caller.",
            f"Close one, or try again in {HELD_S} s. One stream carries all events of the organization.",
            headers={"Retry-After": str(HELD_S)},
        )
    return place
