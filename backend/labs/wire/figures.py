"""What labs of connections count besides the figures of all labs: kernel counters, and what the product saw."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.recordings.model import RecordedResource
from jitterscope.series.types import FloatArray
from labs.figures import Figures
from labs.repeating import Reading
from labs.wire.namespaces import Namespace

_EVERY_S = 0.02
LATE_MS = 150.0  # what a lost segment waits: at least 200 ms, and the answer's own time as well


class WireFigures(Figures):
    """Figures of one window.

    `opened` connections; `dropped` attempts; `resent`: retransmitted segments with data; `waited_share`: share of
    requests whose client waited over 150 ms beyond what the server knows of, for a segment or for a connection.
    """

    opened: int | None = None
    dropped: int | None = None
    resent: int | None = None
    waited_share: float | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    opened: int
    dropped: int
    resent: int


class Counters(Reading):
    """PassiveOpens, ListenDrops, and RetransSegs of a network namespace, sampled repeatedly."""

    def __init__(self, inside: Namespace) -> None:
        super().__init__(_EVERY_S)
        self._inside = inside

    def look(self, late_us: int) -> None:
        opened, resent = (self._inside.counter("Tcp:", name) for name in ("PassiveOpens", "RetransSegs"))
        dropped = self._inside.counter("TcpExt:", "ListenDrops")
        self._rows.append((time.time_ns() // 1000, opened, dropped, resent))

    def between(self, from_us: int, to_us: int) -> Counted:
        at, *columns = self.columns()
        before, after = np.searchsorted(at, [from_us, to_us])
        last = len(at) - 1
        return Counted(*(int(one[min(int(after), last)] - one[min(int(before), last)]) for one in columns))


def total(server: RecordedResource | None, metric: str) -> int | None:
    """The sum of a series; None if it was not recorded."""
    values = None if server is None else server.series.get(metric)
    return None if values is None or not np.isfinite(values).any() else int(np.nansum(values))


def times_us(server: RecordedResource | None, metric: str) -> FloatArray:
    """A distribution, one entry each; empty if it was not recorded."""
    part = None if server is None else server.distributions.get(metric)
    return np.zeros(0) if part is None else np.repeat(value_of(part.bucket), part.count)
