"""What happened at a time: kills, mass exits, unmounts, loads of programs, pod starts; for the picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.incidents.downsample import pick
from jitterscope.incidents.timeline_lanes import Area
from jitterscope.inventory.types import SubjectTree
from jitterscope.series import service as series

MAX_MARKS = 500
_KINDS: Mapping[Area, tuple[str, ...]] = {
    "memory": ("memory.oom_kill", "process.mass_exit", "process.start", "process.exit"),
    "kernel": ("process.mass_exit", "fs.unmount", "fs.tracing", "fs.lookup_failures", "memory.oom_kill"),
    "startup": ("bpf.load", "pod.start"),
}
# (what it is, the attribute that says of whom)
_WORDS = {
    "memory.oom_kill": ("killed for lack of memory", "command"),
    "process.mass_exit": ("many threads ended", "command"),
    "process.start": ("process started", ""),
    "process.exit": ("process ended", ""),
    "fs.unmount": ("unmounted", "target"),
    "fs.tracing": ("failing lookups traced", ""),
    "fs.lookup_failures": ("failing lookups told", "total"),
    "bpf.load": ("eBPF program loaded", "name"),
    "pod.start": ("pod started", "pod"),
}


def build(
    session: Session, tree: SubjectTree, area: Area | None, from_us: int, to_us: int
) -> tuple[list[dict[str, Any]], int]:
    """Marks sorted by time, the longest where there are too many, and how many are left out."""
    if area is None:
        return [], 0
    rows = {row.id: row.name for row in (tree.node, *tree.cgroups, *tree.processes, tree.subject)}
    found = series.read_events(session, list(rows), from_us, to_us, list(_KINDS[area]))
    events = sorted((one for some in found.values() for one in some), key=lambda one: (one.start_us, one.id))
    keep = pick(np.array([one.duration_us for one in events], np.float64), MAX_MARKS)
    marks = []
    for at in keep.tolist():
        event = events[at]
        words, who = _WORDS[event.kind]
        name = event.attributes.get(who, "")
        marks.append(
            {
                "from_us": event.start_us,
                "to_us": event.start_us + event.duration_us,
                "label": f"{name}: {words}" if name else words,
                "kind": event.kind,
                "attributes": {**event.attributes, "of": rows[event.resource_id]},
            }
        )
    return marks, len(events) - len(marks)
