"""The I/O limits of a cgroup and its ancestors, and when they hold requests back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

Kind = Literal["read_bytes_per_s", "write_bytes_per_s", "reads_per_s", "writes_per_s"]
_METRICS: dict[Kind, str] = {
    "read_bytes_per_s": "disk_read_bytes",
    "write_bytes_per_s": "disk_written_bytes",
    "reads_per_s": "disk_reads",
    "writes_per_s": "disk_writes",
}
# A window with this share of what a limit allows is at the limit: the kernel grants it in slices of 100 ms.
AT_LIMIT = 0.85
# Minimum length of the window: under v1, which counts requests as they arrive, a shorter one may have passed at once.
_WINDOW_US = {"1": 1_000_000, "2": 300_000}


@dataclass(frozen=True, slots=True)
class IoLimit:
    """A limit of `owner` on its disk `device` (MAJOR:MINOR in `number`), `per_s` bytes or requests.

    `done` per tick is what the cgroup did or (v1) requested; NaN: not recorded. `holds`: ticks in which the limit held
    requests back: more had been requested than it allows so far, or a second was full of them.
    """

    owner: ResourceView
    device: str
    number: str
    kind: Kind
    per_s: float
    done: FloatArray
    holds: BoolArray

    @property
    def of_bytes(self) -> bool:
        return self.kind in ("read_bytes_per_s", "write_bytes_per_s")

    @property
    def writes(self) -> bool:
        return self.kind in ("write_bytes_per_s", "writes_per_s")

    @property
    def metric(self) -> str:
        return _METRICS[self.kind]

    def most_per_s(self, step_us: int) -> float:
        """The rate of the fullest second."""
        second = max(1, 1_000_000 // step_us)
        return float(_rolling(np.nan_to_num(self.done), second).max()) * 1e6 / (second * step_us)

    @property
    def fullest_tick(self) -> float:
        """The most that arrived in one tick. A tick after a missed one covers both, and does not count."""
        known = self.done[1:][np.isfinite(self.done[:-1]) & np.isfinite(self.done[1:])]
        return float(known.max()) if len(known) else 0.0


@reading
def read_limits(snapshot: Snapshot) -> tuple[IoLimit, ...]:
    """Limits on disks whose use by the cgroup is recorded; empty if there are none or none is known."""
    found = []
    for view in (snapshot.subject, *snapshot.ancestors):
        device = view.fact("disk.device")
        for limit in _told(view):
            if device is None or limit.get("device") != device:
                continue
            for kind, metric in _METRICS.items():
                per_s = limit.get(kind)
                if isinstance(per_s, int | float) and per_s > 0 and has(view, metric):
                    done = series(view, metric, snapshot.ticks)
                    window_us = _WINDOW_US.get(snapshot.node.fact("node.cgroup_version") or "", _WINDOW_US["1"])
                    holds = _holds(done, float(per_s), snapshot.step_us, window_us)
                    number = str(limit.get("number", ""))
                    found.append(IoLimit(view, device, number, kind, float(per_s), done, holds))
    return tuple(found)


def limits_known(snapshot: Snapshot) -> bool:
    return snapshot.subject.fact("disk.limits") is not None


def _told(view: ResourceView) -> list[dict[str, object]]:
    try:
        read = json.loads(view.fact("disk.limits") or "[]")
    except ValueError:
        return []
    return [one for one in read if isinstance(one, dict)] if isinstance(read, list) else []


def _holds(done: FloatArray, per_s: float, step_us: int, window_us: int) -> BoolArray:
    """Ticks in which the limit held requests back.

    v1 counts requests as they arrive: those above the limit wait. v2 counts them as they pass the limit.
    """
    allowed, came = per_s * step_us / 1e6, np.nan_to_num(done)
    backlog = np.zeros(len(came))
    left = 0.0
    for tick, value in enumerate(came.tolist()):
        left = max(0.0, left + value - allowed)
        backlog[tick] = left
    window = max(1, window_us // step_us)
    full = _rolling(came, window) >= AT_LIMIT * allowed * window
    # A slice of unused allowance can be spent at once.
    waits = backlog > allowed
    return np.asarray(waits | dilate(full, window - 1, 0))


def _rolling(values: FloatArray, ticks: int) -> FloatArray:
    """Sums of `ticks` values up to each."""
    total = np.concatenate([np.zeros(ticks), np.cumsum(values)])
    return np.asarray(total[ticks:] - total[:-ticks])
