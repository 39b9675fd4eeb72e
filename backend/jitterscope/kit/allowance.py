"""What one piece of work may take: bytes held at once, and time. Where none is set, nothing is limited.

Whoever reads much counts it with `hold` before it is there, so that a request ends with a clear answer instead of the
process with an OOM kill.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class TooMuch(Exception):
    """More bytes than the work may hold."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"more than {most_bytes} bytes")
        self.most_bytes = most_bytes


class TooLong(Exception):
    """The time of the work is over."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"more than {seconds:g} s")
        self.seconds = seconds


@dataclass(slots=True)
class Allowance:
    """`held` bytes of `most_bytes`; `ends` is a time of the monotonic clock."""

    most_bytes: int
    seconds: float
    ends: float
    held: int = 0

    @classmethod
    def of(cls, most_bytes: int, seconds: float) -> Allowance:
        return cls(most_bytes, seconds, time.monotonic() + seconds)


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


def current() -> Allowance | None:
    """That of the work that goes on here."""
    return _current.get()


def grant(allowance: Allowance) -> None:
    """Limit what follows in this task and in the threads that it calls."""
    _current.set(allowance)


@contextmanager
def limited(allowance: Allowance) -> Iterator[Allowance]:
    """Limit what the block does."""
    token = _current.set(allowance)
    try:
        yield allowance
    finally:
        _current.reset(token)


def hold(size_bytes: int) -> None:
    """Count what is about to be held. Raises TooMuch, TooLong."""
    allowance = _current.get()
    if allowance is None:
        return
    allowance.held += size_bytes
    if allowance.held > allowance.most_bytes:
        raise TooMuch(allowance.most_bytes)
    in_time()


@contextmanager
def borrowed() -> Iterator[None]:
    """What the block counts is given back at its end: it keeps nothing of it."""
    allowance = _current.get()
    before = 0 if allowance is None else allowance.held
    try:
        yield
    finally:
        if allowance is not None:
            allowance.held = before


@contextmanager
def measured() -> Iterator[Allowance]:
    """What the block takes, under the limits that there are; it is given back at its end."""
    outer = _current.get()
    if outer is None:
        inner = Allowance(2**62, math.inf, math.inf)
    else:
        inner = Allowance(outer.most_bytes - outer.held, outer.seconds, outer.ends)
    with limited(inner):
        yield inner


def room(size_bytes: int) -> int | None:
    """How many things of a size may still be held, and one more: reading that many says whether it is too much."""
    allowance = _current.get()
    return None if allowance is None else max(0, allowance.most_bytes - allowance.held) // size_bytes + 1


def in_time() -> None:
    """Raises TooLong where the time is over."""
    allowance = _current.get()
    if allowance is not None and time.monotonic() > allowance.ends:
        raise TooLong(allowance.seconds)


def left_s() -> float | None:
    """Seconds that are left; None where time is not limited."""
    allowance = _current.get()
    return None if allowance is None else max(0.0, allowance.ends - time.monotonic())
