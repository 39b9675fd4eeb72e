"""How a metric is shown: its type, its unit, and what is drawn."""

from __future__ import annotations

from jitterscope.remote.schemas import Unit, View
from jitterscope.series.external_metrics import FAMILY_SUFFIXES, Described

BUCKETS = "_bucket"
_UNITS: dict[str, Unit] = {"seconds": "s", "bytes": "bytes", "ratio": "ratio"}


def type_of(name: str, kind: str, described: Described | None) -> str:
    """The type that the sender declares; otherwise histogram for buckets, or what the name or series suggest."""
    if described is not None and described.type != "unknown":
        return described.type
    return "histogram" if name.endswith(BUCKETS) else kind


def view_of(name: str, kind: str, described: Described | None) -> View:
    """The most informative view: quantiles for buckets, rates for counters."""
    declared = type_of(name, kind, described)
    if declared == "gaugehistogram":
        return "raw"
    if name.endswith(BUCKETS):
        return "quantiles"
    is_part = declared in ("histogram", "summary") and name.endswith(("_count", "_sum"))
    is_counter = declared == "counter" or (kind == "counter" and declared not in ("gauge", "info", "stateset"))
    return "rate" if is_part or is_counter else "raw"


def unit_of(name: str, described: Described | None, view: View) -> Unit:
    """The unit of the values, without "per second"."""
    is_count = name.endswith("_count") or (name.endswith(BUCKETS) and view != "quantiles")
    if is_count:
        return "1"
    if described is not None and described.unit in _UNITS:
        return _UNITS[described.unit]
    family = next((name.removesuffix(suffix) for suffix in FAMILY_SUFFIXES if name.endswith(suffix)), name)
    return _UNITS.get(family.rpartition("_")[2], "1")
