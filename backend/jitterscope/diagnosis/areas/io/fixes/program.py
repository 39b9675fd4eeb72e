"""Fix: the program waits for the disk less often, or not while it serves."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.io.fixes.measures import FSYNC, MEASURES, VERIFY
from jitterscope.diagnosis.areas.io.readings.stalls import DiskStall
from jitterscope.diagnosis.core.finding import Fix, Found
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import Snapshot


def propose(snapshot: Snapshot, found: Found, stall: DiskStall) -> Fix | None:
    """None where it reads rather than writes."""
    if not _writes(snapshot, stall):
        return None
    return Fix(
        id="sync_off_requests",
        title="Move writes and fsync out of the request path",
        summary="A request does not have to wait for the disk if what it writes is a log or can be written again: "
        "write it from another thread. If the data must be safe, let several requests share one fsync (group commit), "
        "and write large files, such as checkpoints, in small pieces or at a limited rate.",
        verdict="reduces",
        precondition="Works only if the program or its settings can be changed: buffered logging, a queue, group "
        "commit.",
        caveats=[
            "Data that is not synced yet is lost if the node crashes: keep fsync where an answer promises that data "
            "is safe."
        ],
        verify=VERIFY,
        undo="Write and sync in the request again.",
        references=[FSYNC],
    )


def _writes(snapshot: Snapshot, stall: DiskStall) -> bool:
    """Whether the subject wrote more than it read while it was blocked; also where that is not known."""
    if stall.why == "limit" and stall.limit is not None:
        return stall.limit.writes
    names = ("disk_written_bytes", "disk_read_bytes")
    if not all(has(snapshot.subject, name) for name in names):
        return True
    wrote, read = (
        float(np.nansum(series(snapshot.subject, name, snapshot.ticks)[stall.blocked.hot])) for name in names
    )
    return wrote >= read


FIXES = (
    FixKind(
        id="sync_off_requests",
        title="Move writes and fsync out of the request path",
        precondition="The program writes or syncs while it serves, and can be changed.",
        landing=Unseen("It is a change of the program or of its own settings."),
        measures=MEASURES,
    ),
)
