"""How long data are kept, per organization and level, and the task's work of removing what is older."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import db

DAY_US = 86_400_000_000
_TRUST_S = 60.0


@dataclass(frozen=True, slots=True)
class Retention:
    """Days that ticks, 1 s rollups and 1 min rollups are kept."""

    raw_days: int = 7
    second_days: int = 30
    minute_days: int = 400


_cache: dict[int, tuple[Retention, float]] = {}


def of(session: Session) -> Retention:
    """The policy of the session's organization, or the default."""
    row = session.execute(text("SELECT raw_days, second_days, minute_days FROM retention_policies")).one_or_none()
    return Retention() if row is None else Retention(row.raw_days, row.second_days, row.minute_days)


def raw_us(organization_id: int) -> int:
    """How far back ticks are accepted, in µs; at most a minute old."""
    now = time.monotonic()
    cached = _cache.get(organization_id)
    if cached is None or now - cached[1] > _TRUST_S:
        with db.organization_session(organization_id) as session:
            cached = _cache[organization_id] = (of(session), now)
    return cached[0].raw_days * DAY_US
