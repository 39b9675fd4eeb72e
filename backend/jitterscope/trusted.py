"""Values of an organization that every request needs and that seldom change: cached, and reread from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.kit.perobject import PerObject

Value = TypeVar("Value")


class Trusted(Generic[Value]):
    """A per-organization value, cached for `trust_s`: other processes see a change after at most that long."""

    def __init__(self, read: Callable[[Session], Value], trust_s: float) -> None:
        self._read, self._trust_s = read, trust_s
        self._caches: PerObject[dict[int, tuple[Value, float]]] = PerObject(dict)

    def of(self, organization_id: int) -> Value:
        """The organization's value, at most `trust_s` old."""
        now = time.monotonic()
        cache = self._caches.of(db.engine())
        cached = cache.get(organization_id)
        if cached is None or now - cached[1] > self._trust_s:
            with db.organization_session(organization_id) as session:
                cached = cache[organization_id] = (self._read(session), now)
        return cached[0]

    def changed(self, session: Session, organization_id: int) -> None:
        """Reread the value in this process after the session, which changes it, commits."""
        db.after_commit(session, lambda: self._caches.of(db.engine()).pop(organization_id, None))
