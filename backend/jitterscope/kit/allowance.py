"""Limits of one piece of work: bytes held at once, and time. Nothing is limited unless an allowance is set.

Code that reads a lot counts it with `hold` before it is in memory, so that a request fails with a clear answer instead
of the process with an OOM kill.
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
    """The time of the work is up."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"more than {seconds:g} s")
        self.seconds = seconds


@dataclass(slots=True)
class Allowance:
    """`held` of at most `most_bytes` bytes; `ends` is a time of the monotonic clock."""

    most_bytes: int
    seconds: float
    ends: float
    held: int = 0

    @classmethod
    def of(cls, most_bytes: int, seconds: float) -> Allowance:
        return cls(most_bytes, seconds, time.monotonic() + seconds)


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


def current() -> Allowance | None:
    """The allowance of the current work, if it has one."""
    return _current.get()


def grant(allowance: Allowance) -> None:
    """Limit the rest of this task and the threads that it calls."""
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
    """Count bytes before they are held. Raises TooMuch, TooLong."""
    allowance = _current.get()
    if allowance is None:
        return
    allowance.held += size_bytes
    if allowance.held > allowance.most_bytes:
        raise TooMuch(allowance.most_bytes)
    in_time()


def release(size_bytes: int) -> None:
    """Count bytes as free again that `hold` counted."""
    allowance = _current.get()
    if allowance is not None:
        allowance.held -= size_bytes


@contextmanager
def borrowed() -> Iterator[None]:
    """Release at the end of the block what it counted, for blocks that keep nothing."""
    allowance = _current.get()
    before = 0 if allowance is None else allowance.held
    try:
        yield
    finally:
        if allowance is not None:
            allowance.held = before


@contextmanager
def measured() -> Iterator[Allowance]:
    """Measure what the block takes, under the current limits; it is released at the end of the block."""
    outer = _current.get()
    if outer is None:
        inner = Allowance(2**62, math.inf, math.inf)
    else:
        inner = Allowance(outer.most_bytes - outer.held, outer.seconds, outer.ends)
    with limited(inner):
        yield inner


def room(size_bytes: int) -> int | None:
    """One more than the number of items of a size that still fit: reading that many shows whether it is too much."""
    allowance = _current.get()
    return None if allowance is None else max(0, allowance.most_bytes - allowance.held) // size_bytes + 1


def in_time() -> None:
    """Raise TooLong if the time is up."""
    allowance = _current.get()
    if allowance is not None and time.monotonic() > allowance.ends:
        raise TooLong(allowance.seconds)


def left_s() -> float | None:
    """Remaining seconds; None if time is not limited."""
    allowance = _current.get()
    return None if allowance is None else max(0.0, allowance.ends - time.monotonic())
