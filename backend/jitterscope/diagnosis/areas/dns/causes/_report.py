"""What the causes read from names and rates share: missing signals, references, impact."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.names import NameSpan
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core import missing_data, references
from jitterscope.diagnosis.core.finding import NotEnoughData, NotFound, SeriesRef
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import Snapshot


def not_enough(cause: str, gone: list[str], snapshot: Snapshot) -> NotEnoughData:
    """Names the sources behind what is missing, and what they need."""
    return missing_data.not_enough(cause, gone, snapshot)


def not_found(cause: str, why: WhyNot, snapshot: Snapshot) -> NotFound | NotEnoughData:
    if why.missing:
        return not_enough(cause, why.missing, snapshot)
    return NotFound(cause=cause, reason=why.reason, numbers=dict(why.numbers))


def refs(snapshot: Snapshot, low_us: int, high_us: int, *metrics: str) -> list[SeriesRef]:
    """References to those of the metrics that the subject's servers (for cpu_…: the subject) recorded."""
    return references.recorded((low_us, high_us), (*snapshot.dns_servers, snapshot.subject), *metrics)


def extent(snapshot: Snapshot, spans: list[NameSpan]) -> tuple[int, int]:
    """[low, high) in µs of the spans inside the window."""
    low = max(snapshot.start_us, min(span.start_us for span in spans))
    return low, max(low + snapshot.step_us, min(snapshot.end_us, max(span.end_us for span in spans)))


def cpu_load(snapshot: Snapshot) -> float:
    """Mean CPU use over the limit, 0..1; NaN where there is no limit or no data."""
    cpu = read_cpu(snapshot)
    usage = cpu.usage_us[np.isfinite(cpu.usage_us)]
    return float(usage.mean()) / cpu.step_us / cpu.limit if len(usage) and np.isfinite(cpu.limit) else float("nan")
