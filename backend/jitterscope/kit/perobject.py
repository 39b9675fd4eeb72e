"""State that belongs to another object and is dropped with it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

State = TypeVar("State")


class PerObject(Generic[State]):
    """One `State` per owner, created at first use: a cache of a database must not outlive its engine."""

    def __init__(self, make: Callable[[], State]) -> None:
        self._make = make
        self._states: WeakKeyDictionary[object, State] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, owner: object) -> State:
        """The owner's state."""
        state = self._states.get(owner)
        if state is None:
            with self._lock:
                state = self._states.setdefault(owner, self._make())
        return state
