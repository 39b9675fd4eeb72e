"""Prepared recordings in process memory, so that a moving slider does not read the database again.

Keyed by organization: no request is ever answered from another organization's data. Few and short-lived: one takes
about 10 MB.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass(slots=True)
class _Entry(Generic[Value]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Value | None = None
    made_at: float = 0.0


class RecentWindows(Generic[Value]):
    """The `size` most recently used values, none older than `ttl_s`.

    Requests for a value in preparation wait for it.
    """

    def __init__(self, size: int, ttl_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._ttl_s, self._clock = size, ttl_s, clock
        self._entries: OrderedDict[Hashable, _Entry[Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, created now if it is not cached. Exceptions of `make` are raised and not cached."""
        with self._lock:
            oldest = self._clock() - self._ttl_s
            for other in [name for name, held in self._entries.items() if held.value is not None]:
                if self._entries[other].made_at < oldest:
                    del self._entries[other]
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
        with entry.lock:
            if entry.value is None:
                made = make()
                entry.made_at, entry.value = self._clock(), made
            return entry.value

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)
