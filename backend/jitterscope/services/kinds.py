"""What a server was asked, by kind: routes of HTTP, commands of Redis, statements of PostgreSQL and MySQL.

The collector adds answered requests up over some seconds and sends each sum as one event (contracts/metrics.toml).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.series import service as series
from jitterscope.series.types import StoredEvent

EVENT = "requests.kinds"
# Of an hour, with some to spare: one comes every 10 s.
MAX_EVENTS = 400


@dataclass(slots=True)
class Kind:
    """Answered requests of one kind; `name` is empty for those that are not told apart. `slow`: over 20 ms."""

    name: str
    requests: int = 0
    slow: int = 0
    client_errors: int = 0
    server_errors: int = 0
    total_us: int = 0
    max_us: int = 0


def read(session: Session, server_id: int, from_us: int, to_us: int) -> tuple[list[Kind], float]:
    """Kinds whose answers took most time together first, and the seconds that were recorded."""
    events = series.read_events(session, [server_id], from_us, to_us, [EVENT], MAX_EVENTS).get(server_id, [])
    return merged(events), sum(event.duration_us for event in events) / 1e6


def merged(events: Iterable[StoredEvent]) -> list[Kind]:
    """What all events say together. Rows that cannot be read are left out."""
    found: dict[str, Kind] = {}
    for event in events:
        for name, *counts in _rows(event.attributes.get("rows", "")):
            one = found.setdefault(name, Kind(name))
            one.requests += counts[0]
            one.slow += counts[1]
            one.client_errors += counts[2]
            one.server_errors += counts[3]
            one.total_us += counts[4]
            one.max_us = max(one.max_us, counts[5])
    return sorted(found.values(), key=lambda one: (one.name == "", -one.total_us, one.name))


def _rows(text: str) -> list[tuple[str, int, int, int, int, int, int]]:
    try:
        rows = json.loads(text)
    except ValueError:
        return []
    return [tuple(row) for row in rows if _fits(row)] if isinstance(rows, list) else []


def _fits(row: object) -> bool:
    if not isinstance(row, list) or len(row) != 7 or not isinstance(row[0], str):
        return False
    return all(type(value) is int and 0 <= value < 2**53 for value in row[1:]) and row[1] > 0
