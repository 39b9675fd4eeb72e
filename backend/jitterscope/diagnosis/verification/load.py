"""Comparable load: a fix is judged only on blocks that had to serve about as much before as after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.snapshot import FloatArray
from jitterscope.diagnosis.verification.blocks import Blocks

# How far a block's load may lie outside what the other side saw. CPU use is what a fix changes: it says less.
_QUERIES_FACTOR, _CPU_FACTOR = 1.25, 2.0


@dataclass(frozen=True, slots=True)
class Comparable:
    """The blocks of both sides that match. `why_not` says what keeps them from it, where too few do."""

    before: Blocks
    after: Blocks
    by: str  # "queries" or "cpu"
    why_not: str | None


def comparable(before: Blocks, after: Blocks) -> Comparable:
    """Keeps blocks whose load lies in the range that the other side had, give or take."""
    by = "queries" if before.has("queries") and after.has("queries") else "cpu"
    factor = _QUERIES_FACTOR if by == "queries" else _CPU_FACTOR
    old, new = _load(before, by), _load(after, by)
    if not np.isfinite(old).any() or not np.isfinite(new).any():
        return Comparable(before.only(old != old), after.only(new != new), by, "No data from both sides yet.")
    keep_new = _within(new, old, factor)
    keep_old = _within(old, new[keep_new], factor) if keep_new.any() else np.zeros(len(old), dtype=np.bool_)
    why_not = None
    if keep_new.sum() < max(1, 0.5 * len(new)) or not keep_old.any():
        unit = "queries/s" if by == "queries" else "CPUs in use"
        why_not = (
            f"The load differs: {_number(np.nanmedian(new))} {unit} after the change, "
            f"{_number(np.nanmedian(old))} before it."
        )
    return Comparable(before.only(keep_old), after.only(keep_new), by, why_not)


def _load(side: Blocks, by: str) -> FloatArray:
    return (side.queries if by == "queries" else side.usage_us / 1e6) / side.seconds


def _within(values: FloatArray, other: FloatArray, factor: float) -> np.typing.NDArray[np.bool_]:
    known = other[np.isfinite(other)]
    low, high = (float(np.quantile(known, q)) for q in (0.05, 0.95))
    return np.isfinite(values) & (values >= low / factor) & (values <= high * factor)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
