"""Comparable load: a fix is judged only on blocks with about the same load before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.area import Load
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.verification.blocks import Blocks


@dataclass(frozen=True, slots=True)
class Comparable:
    """The matching blocks of both sides. `why_not` says why there are too few, if so.

    `by` is the load in which they match; None if no load is known. `heavier` says that the load was higher after the
    change, as when a fix lets through what waited before: that can show help, but nothing else.
    """

    before: Blocks
    after: Blocks
    by: Load | None
    why_not: str | None
    heavier: str | None = None


def comparable(before: Blocks, after: Blocks, loads: Sequence[Load]) -> Comparable:
    """Keep blocks whose load lies in the range of the other side, within a tolerance.

    The first load that is known on both sides counts.
    """
    if not len(before) or not len(after):
        return Comparable(before, after, None, "There is no data from both sides yet.")
    by = next((one for one in loads if _known(before, one) and _known(after, one)), None)
    if by is None:
        return Comparable(before, after, None, None)
    old, new = before.loads[by.id], after.loads[by.id]
    keep_new = _within(new, old, by.factor)
    keep_old = _within(old, new[keep_new], by.factor) if keep_new.any() else np.zeros(len(old), dtype=np.bool_)
    differs = (
        f"The load differs: {_number(np.nanmedian(new))} {by.unit} after the change, "
        f"{_number(np.nanmedian(old))} before it."
    )
    no_less = np.isfinite(new) & (new >= float(np.nanquantile(old, 0.05)) / by.factor)
    if keep_new.sum() < max(1, 0.5 * len(new)) and no_less.sum() >= max(1, 0.5 * len(new)):
        return Comparable(before, after.only(no_less), by, None, differs)
    why_not = None
    if keep_new.sum() < max(1, 0.5 * len(new)) or not keep_old.any():
        why_not = differs
    return Comparable(before.only(keep_old), after.only(keep_new), by, why_not)


def _known(side: Blocks, load: Load) -> bool:
    values = side.loads.get(load.id)
    return values is not None and bool(np.isfinite(values).mean() >= 0.5)


def _within(values: FloatArray, other: FloatArray, factor: float) -> np.typing.NDArray[np.bool_]:
    known = other[np.isfinite(other)]
    low, high = (float(np.quantile(known, q)) for q in (0.05, 0.95))
    return np.isfinite(values) & (values >= low / factor) & (values <= high * factor)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
