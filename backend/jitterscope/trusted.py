"""What is read of an organization for every request, and changes seldom: read from the database now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.kit.perobject import PerObject

Value = TypeVar("Value")


class Trusted(Generic[Value]):
    """A value of each organization, trusted for `trust_s`: other processes obey a change after so long."""

    def __init__(self, read: Callable[[Session], Value], trust_s: float) -> None:
        self._read, self._trust_s = read, trust_s
        self._caches: PerObject[dict[int, tuple[Value, float]]] = PerObject(dict)

    def of(self, organization_id: int) -> Value:
        """The organization's value, as of some seconds ago at most."""
        now = time.monotonic()
        cache = self._caches.of(db.engine())
        cached = cache.get(organization_id)
        if cached is None or now - cached[1] > self._trust_s:
            with db.organization_session(organization_id) as session:
                cached = cache[organization_id] = (self._read(session), now)
        return cached[0]

    def changed(self, session: Session, organization_id: int) -> None:
        """The session changes the value: this process reads it anew once that is committed."""
        db.after_commit(session, lambda: self._caches.of(db.engine()).pop(organization_id, None))
