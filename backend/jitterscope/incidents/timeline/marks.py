"""Point events for the picture: kills, mass exits, unmounts, program loads, pod starts and evictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.area import Area
from jitterscope.incidents.timeline.downsample import pick
from jitterscope.inventory.types import SubjectTree
from jitterscope.series import service as series

MAX_MARKS = 500


def build(
    session: Session, tree: SubjectTree, area: Area | None, from_us: int, to_us: int
) -> tuple[list[dict[str, Any]], int]:
    """Marks sorted by time, and how many are left out; the longest are kept if there are too many."""
    if area is None:
        return [], 0
    kinds = {one.kind: one for one in area.marks}
    rows = {row.id: row.name for row in (tree.node, *tree.cgroups, *tree.processes, tree.subject)}
    found = series.read_events(session, list(rows), from_us, to_us, list(kinds))
    events = sorted((one for some in found.values() for one in some), key=lambda one: (one.start_us, one.id))
    keep = pick(np.array([one.duration_us for one in events], np.float64), MAX_MARKS)
    marks = []
    for at in keep.tolist():
        event = events[at]
        mark = kinds[event.kind]
        name = event.attributes.get(mark.who, "")
        marks.append(
            {
                "from_us": event.start_us,
                "to_us": event.start_us + event.duration_us,
                "label": f"{name}: {mark.label}" if name else mark.label,
                "kind": event.kind,
                "attributes": {**event.attributes, "of": rows[event.resource_id]},
            }
        )
    return marks, len(events) - len(marks)
