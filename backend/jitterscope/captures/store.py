"""Captures of the flight recorder in the database.

Every function takes a session of `db.organization_session`: rows of other organizations are invisible in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Row, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.captures import wire
from jitterscope.captures.model import Capture

# No capture is longer: readers look this far back for captures that reach into a window.
MAX_SPAN_US = 600_000_000

_COLUMNS = "id, resource_id, reason, start_us, end_us, rate_hz, samples, processes, cpus, lost_samples"
_INSERT = text(
    "INSERT INTO captures (organization_id, resource_id, reason, start_us, end_us, rate_hz, samples, processes, cpus, "
    "lost_samples, payload) VALUES (:organization_id, :resource_id, :reason, :start_us, :end_us, :rate_hz, :samples, "
    ":processes, :cpus, :lost_samples, :payload)"
)
_WITHIN = "resource_id = ANY(:resources) AND start_us > :earliest AND start_us < :to_us AND end_us > :from_us"
_LIST = text(f"SELECT {_COLUMNS} FROM captures WHERE {_WITHIN} ORDER BY start_us DESC, id LIMIT :limit")  # noqa: S608
_CONTENTS = (
    "resource_id = ANY(%(resources)s::bigint[]) AND start_us > %(earliest)s AND start_us < %(to_us)s "
    "AND end_us > %(from_us)s"
)
_ONE = f"SELECT {_COLUMNS}, payload FROM captures WHERE {_CONTENTS} AND id = %(id)s"  # noqa: S608
_ALL = (
    f"SELECT resource_id, end_us, payload FROM captures WHERE {_CONTENTS} "  # noqa: S608
    "ORDER BY start_us, id LIMIT %(limit)s"
)
_RESOURCES = bindparam("resources", type_=ARRAY(BIGINT))


@dataclass(frozen=True, slots=True)
class NewCapture:
    """A valid capture as it is stored. `payload` comes from `wire.pack`; the rest describes it without unpacking."""

    resource_id: int
    reason: str
    start_us: int
    end_us: int
    rate_hz: float
    samples: int
    processes: int
    cpus: int
    lost_samples: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class CaptureRow:
    """A stored capture without its content."""

    id: int
    resource_id: int
    reason: str
    start_us: int
    end_us: int
    rate_hz: float
    samples: int
    processes: int
    cpus: int
    lost_samples: int


def store(session: Session, organization_id: int, captures: Sequence[NewCapture]) -> None:
    """Store one row per capture."""
    if captures:
        session.execute(
            _INSERT,
            [
                {"organization_id": organization_id, **{name: getattr(one, name) for name in NewCapture.__slots__}}
                for one in captures
            ],
        )


def within(
    session: Session, resource_ids: Sequence[int], from_us: int, to_us: int, limit: int = 100
) -> list[CaptureRow]:
    """Captures of resources that reach into [from_us, to_us), the newest `limit`, oldest first."""
    found = session.execute(
        _LIST.bindparams(_RESOURCES), {"limit": limit, **_window(resource_ids, from_us, to_us)}
    ).all()
    return [_row(one) for one in reversed(found)]


def one(
    session: Session, capture_id: int, resource_ids: Sequence[int], from_us: int, to_us: int
) -> tuple[CaptureRow, Capture] | None:
    """One of `within`, with its content."""
    wanted = {"id": capture_id, **_window(resource_ids, from_us, to_us)}
    with counted.rows(session, _ONE, wanted, at_once=1) as found:
        captures = [(CaptureRow(*row[:-1]), wire.unpack(row[-1])) for row in found]
    return captures[0] if captures else None


def contents(
    session: Session,
    resource_ids: Sequence[int],
    from_us: int,
    to_us: int,
    limit: int,
    ending: Callable[[int], bool],
) -> list[tuple[int, Capture]]:
    """(resource id, capture) of the first `limit` that reach into [from_us, to_us) and have a wanted end (µs)."""
    wanted = {"limit": limit, **_window(resource_ids, from_us, to_us)}
    with counted.rows(session, _ALL, wanted, at_once=1) as found:
        return [(resource_id, wire.unpack(payload)) for resource_id, end_us, payload in found if ending(end_us)]


def _window(resource_ids: Sequence[int], from_us: int, to_us: int) -> dict[str, object]:
    return {
        "resources": list(resource_ids), "from_us": from_us, "to_us": to_us, "earliest": from_us - MAX_SPAN_US - 1,
    }  # fmt: skip


def _row(row: Row[tuple[object, ...]]) -> CaptureRow:
    return CaptureRow(**{name: getattr(row, name) for name in CaptureRow.__slots__})
