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
        title="Take writes and fsync off the way of requests",
        summary="A request need not wait for the disk where what it writes is a log or can be written again: write it "
        "from "
        "another thread. Where it has to be safe, let several requests share one fsync (group commit), and write large "
        "files, such as checkpoints, in small pieces or at a limited rate.",
        verdict="reduces",
        precondition="The program or its settings can be changed: buffered logging, a queue, group commit.",
        caveats=[
            "What is not synced yet is lost in a crash of the node: keep fsync where an answer promises that it is "
            "safe."
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
        title="Take writes and fsync off the way of requests",
        precondition="The program writes or syncs while it serves, and may be changed.",
        landing=Unseen("It is a change of the program or of its own settings."),
        measures=MEASURES,
    ),
)
