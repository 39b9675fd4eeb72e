"""What a detector says where data are missing: which, whose they are, and what would bring them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jitterscope.diagnosis.finding import NotEnoughData
from jitterscope.diagnosis.snapshot import Snapshot


def not_enough(cause: str, gone: Sequence[str], snapshot: Snapshot, source_of: Mapping[str, str]) -> NotEnoughData:
    """Names the collector sources (`source_of` a metric) behind what is missing, and what they need."""
    sources = sorted({source_of[name] for name in gone})
    parts = [
        f"{name} is not available: {snapshot.unavailable[name]}" for name in sources if name in snapshot.unavailable
    ]
    silent = [name for name in sources if name not in snapshot.unavailable]
    if silent:
        parts.append(f"no data from the collector source {', '.join(silent)} in this window")
    return NotEnoughData(cause=cause, missing=list(gone), reason=f"Needs {', '.join(gone)}; " + "; ".join(parts) + ".")
