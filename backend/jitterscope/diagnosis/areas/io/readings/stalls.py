"""Why threads were blocked: their own I/O limit, a slow or crowded disk, or nothing visible of a disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.io.readings.disks import Disk, read_disk
from jitterscope.diagnosis.areas.io.readings.limits import IoLimit, read_limits
from jitterscope.diagnosis.core.blocked import Blocked, read_blocked
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

# A limit explains why threads wait if it held requests back for most of that time.
MOST = 0.5


@dataclass(frozen=True, slots=True)
class DiskStall:
    """`why` None: no disk is known to be the reason.

    `limit` held requests back for `held` (0..1) of the blocked time.
    """

    blocked: Blocked
    why: Literal["limit", "disk"] | None
    limit: IoLimit | None
    held: float
    disk: Disk | None


@reading
def read_stall(snapshot: Snapshot) -> DiskStall | None:
    """The stall of the subject; None if neither blocked time nor I/O pressure was recorded."""
    blocked = read_blocked(snapshot)
    if blocked is None:
        return None
    limit, held = _tightest(snapshot, blocked.hot, blocked)
    disk = read_disk(snapshot, blocked.hot)
    if limit is not None and held >= MOST:
        return DiskStall(blocked, "limit", limit, held, disk)
    return DiskStall(blocked, "disk" if disk is not None and disk.is_slow else None, limit, held, disk)


def _tightest(snapshot: Snapshot, spans: BoolArray, blocked: Blocked) -> tuple[IoLimit | None, float]:
    """The limit that held requests back for the largest share of the time in which threads were blocked."""
    waited = np.where(spans, np.maximum(np.nan_to_num(blocked.waited_us), 1.0), 0.0)
    shares = [
        (float(waited[dilate(limit.holds, 1, 1)].sum() / waited.sum()) if waited.sum() else 0.0, limit)
        for limit in read_limits(snapshot)
    ]
    held, first = max(shares, key=lambda one: one[0], default=(0.0, None))
    return first, held
