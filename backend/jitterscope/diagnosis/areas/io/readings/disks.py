"""The disk that a cgroup uses: how busy it was while threads were blocked, and what else used it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.held_up import calm
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

NEEDS = ("disk_busy_us", "disk_requests", "disk_request_us")
# From here on a disk is slow or full: local SSDs answer in less than a millisecond, network volumes in a few.
DISK_SLOW_US, BUSY = 10_000.0, 0.8
# Multiple of the usual time of a request.
TIMES = 3.0


@dataclass(frozen=True, slots=True)
class Disk:
    """`own`: the disk that the subject uses; otherwise the busiest disk of the node, which may be another.

    `busy` (0..1) and `request_us`, the mean time of a request, cover the time in which threads were blocked, `calm_us`
    the rest; NaN: no requests. `own_share` of the bytes were the subject's; None: not recorded.
    """

    view: ResourceView
    own: bool
    name: str | None
    busy: float
    request_us: float
    calm_us: float
    requests: float
    own_share: float | None

    @property
    def is_slow(self) -> bool:
        """Whether requests take long on the disk itself, and longer than usual there."""
        usual = self.calm_us if np.isfinite(self.calm_us) else 0.0
        slower = self.request_us >= DISK_SLOW_US and self.request_us >= TIMES * min(usual, DISK_SLOW_US)
        return bool(slower or (self.busy >= BUSY and self.request_us >= 1_000))

    @property
    def is_shared(self) -> bool:
        return self.own_share is not None and self.own_share < 0.5


@dataclass(frozen=True, slots=True)
class DiskUser:
    """Another cgroup on the same disk: it read and wrote `bytes_` while threads were blocked."""

    view: ResourceView
    bytes_: float


def read_disk(snapshot: Snapshot, spans: BoolArray) -> Disk | None:
    """The disk of the subject, else of the node; None if no disk was recorded."""
    own = all(has(snapshot.subject, name) for name in NEEDS)
    view = snapshot.subject if own else snapshot.node
    if not all(has(view, name) for name in NEEDS):
        return None
    n = snapshot.ticks
    busy, requests, took = (np.nan_to_num(series(view, name, n)) for name in NEEDS)
    near, away = dilate(spans, 0, 1), calm(snapshot, spans)

    def mean_us(ticks: BoolArray) -> float:
        return float(took[ticks].sum() / requests[ticks].sum()) if requests[ticks].sum() else float("nan")

    share = None
    if own and has(view, "disk_bytes") and has(view, "disk_written_bytes"):
        whole = float(np.nansum(series(view, "disk_bytes", n)[near]))
        share = min(1.0, _bytes(snapshot, view, near) / whole) if whole > 0 else None
    return Disk(
        view=view,
        own=own,
        name=snapshot.subject.fact("disk.device") if own else None,
        busy=min(1.0, float(busy[near].mean()) / snapshot.step_us) if near.any() else 0.0,
        request_us=mean_us(near),
        calm_us=mean_us(away),
        requests=float(requests[near].sum()),
        own_share=share,
    )


def disk_users(snapshot: Snapshot, disk: Disk, spans: BoolArray) -> list[DiskUser]:
    """Other cgroups of the node that used the same disk, most first."""
    near = dilate(spans, 0, 1)
    found = [
        DiskUser(view, _bytes(snapshot, view, near))
        for view in snapshot.cgroups
        if disk.name is not None and view.fact("disk.device") == disk.name
    ]
    return sorted((one for one in found if one.bytes_ > 0), key=lambda one: (-one.bytes_, one.view.id))


def _bytes(snapshot: Snapshot, view: ResourceView, ticks: BoolArray) -> float:
    names = ("disk_read_bytes", "disk_written_bytes")
    return sum(float(np.nansum(series(view, name, snapshot.ticks)[ticks])) for name in names)
