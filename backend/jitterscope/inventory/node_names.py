"""Names of nodes as people read them: nodes of one name also have the start of their machine ID.

Only for display. Filters, mutes, and labels of other systems match the name alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from sqlalchemy.orm import Session

from jitterscope.inventory.store import nodes
from jitterscope.inventory.types import ResourceRow

# What of a machine ID tells nodes apart: its start, or its end where a replay has added "-replay" to it.
_PARTS = (*(slice(length) for length in range(4, 9)), slice(-7, None), slice(None))
_KEPT = "jitterscope.namesakes"


def of_namesakes(session: Session) -> dict[int, str]:
    """ "node-1 (3f9a)" by resource id, for nodes whose name another node has too. Read once in a transaction."""
    key = (_KEPT, session.info["organization_id"])
    if key not in session.info:
        session.info[key] = _of_namesakes(session)
    known: dict[int, str] = session.info[key]
    return known


def _of_namesakes(session: Session) -> dict[int, str]:
    found: dict[int, str] = {}
    for name, group in groupby(nodes.namesakes(session), key=lambda row: row.name):
        keys = {row.id: row.key for row in group}
        part = next(part for part in _PARTS if len({key[part] for key in keys.values()}) == len(keys))
        found |= {identity: f"{name} ({key[part]})" for identity, key in keys.items()}
    return found


def told_apart(session: Session, rows: Iterable[ResourceRow]) -> list[ResourceRow]:
    """The rows, nodes with these names."""
    rows = list(rows)
    if not any(row.kind == "node" for row in rows):
        return rows
    names = of_namesakes(session)
    return [replace(row, name=names.get(row.id, row.name)) for row in rows]
