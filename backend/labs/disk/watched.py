"""A disk-stall run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

from jitterscope.recordings.model import Recording
from labs.blocking import observed_blocked_s
from labs.disk.bench import DiskFigures, bench, run
from labs.disk.variants import expected_cause
from labs.observed import observed
from labs.watching import Watch

LAB = "disk-stall"


def _observed(recording: Recording, server_key: str) -> DiskFigures:
    figures = observed(recording, server_key).model_dump() | {"gc_cycles": None}
    return DiskFigures(**figures, blocked_s=observed_blocked_s(recording))


watch = Watch(LAB, bench, run, expected_cause, _observed)
