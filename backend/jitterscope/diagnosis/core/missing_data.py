"""What a detector reports if data are missing: which data, their source, and what would provide them."""

from __future__ import annotations

from collections.abc import Sequence

from jitterscope.diagnosis.core.finding import NotEnoughData
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.series.catalogue import EVENTS, FACTS, METRICS


def source_of(name: str) -> str:
    """The collector source that records a metric, fact, or event of the catalog. KeyError for another name."""
    return METRICS[name].source if name in METRICS else (FACTS | EVENTS)[name].source


def not_enough(cause: str, gone: Sequence[str], snapshot: Snapshot) -> NotEnoughData:
    """Name the collector sources of the missing data, and what they need."""
    sources = sorted({source_of(name) for name in gone})
    silent = [name for name in sources if name not in snapshot.unavailable]
    by_reason: dict[str, list[str]] = {}
    for name in sources:
        if name in snapshot.unavailable:
            by_reason.setdefault(snapshot.unavailable[name], []).append(name)
    parts = [
        f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} not available: {why}"
        for why, names in by_reason.items()
    ]
    if silent:
        parts.append(f"no data from the collector source {', '.join(silent)} in this window")
    return NotEnoughData(cause=cause, missing=list(gone), reason=f"Needs {', '.join(gone)}: " + "; ".join(parts) + ".")
