"""Comparable load: a fix is judged only on blocks with about the same load before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.area import Load
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.core.stats import BoolArray
from jitterscope.diagnosis.verification.blocks import Blocks

# Share of the fault that happened in blocks whose peak is at least as high as what counts as a burst.
_BY_BURSTS = 0.9


@dataclass(frozen=True, slots=True)
class Comparable:
    """The matching blocks of both sides. `why_not` says why there are too few, if so.

    `by` is the load in which they match; None if no load is known. `heavier` says that the load was higher after the
    change, as when a fix lets through what waited before: that can show help, but nothing else. `unsure` says why the
    load may differ nevertheless: then a difference must be clearer. `bursts_from`: only blocks with bursts of at least
    this height are compared.
    """

    before: Blocks
    after: Blocks
    by: Load | None
    why_not: str | None
    heavier: str | None = None
    unsure: str | None = None
    bursts_from: float | None = None


def comparable(before: Blocks, after: Blocks, loads: Sequence[Load], deciding: Sequence[str] = ()) -> Comparable:
    """Keep blocks whose load lies in the range of the other side, within a tolerance.

    The first load that is known on both sides counts. `deciding`: the measures that show the fault, by id.
    """
    if not len(before) or not len(after):
        return Comparable(before, after, None, "There is no data from both sides yet.")
    by = next((one for one in loads if _known(before, one) and _known(after, one)), None)
    unsure = _unsure(by, loads)
    if by is None:
        return Comparable(before, after, None, None, unsure=unsure)
    if by.peak:
        return _under_bursts(before, after, by, deciding)
    old, new = before.loads[by.id], after.loads[by.id]
    keep_new = _within(new, old, by.factor)
    keep_old = _within(old, new[keep_new], by.factor) if keep_new.any() else np.zeros(len(old), dtype=np.bool_)
    differs = (
        f"The load differs: {_number(np.nanmedian(new))} {by.unit} after the change, "
        f"{_number(np.nanmedian(old))} before it."
    )
    no_less = np.isfinite(new) & (new >= float(np.nanquantile(old, 0.05)) / by.factor)
    if keep_new.sum() < max(1, 0.5 * len(new)) and no_less.sum() >= max(1, 0.5 * len(new)):
        return Comparable(before, after.only(no_less), by, None, differs, unsure)
    why_not = None
    if keep_new.sum() < max(1, 0.5 * len(new)) or not keep_old.any():
        why_not = differs
    return Comparable(before.only(keep_old), after.only(keep_new), by, why_not, unsure=unsure)


def _unsure(by: Load | None, loads: Sequence[Load]) -> str | None:
    if by is None:
        return "No load is measured here, so it might differ before and after the change." if loads else None
    if loads[0].peak and not by.peak:
        return f"Only the mean load is known here ({by.unit}), so the bursts might have ended by themselves."
    return None


def _under_bursts(before: Blocks, after: Blocks, by: Load, deciding: Sequence[str]) -> Comparable:
    """Only blocks with a burst as high as those that came with the fault: between bursts, nothing shows a fix.

    Bursts are rare, so their number says nothing: there must be enough blocks that have one.
    """
    old, new = before.loads[by.id], after.loads[by.id]
    least = _height(before, old, deciding) / by.factor
    with_old, with_new = (np.nan_to_num(values, nan=-1.0) >= least for values in (old, new))
    if not with_new.any():
        differs = (
            f"The load differs: since the change, no burst was over {_number(float(np.nanmax(new)))} {by.unit}; "
            f"the fault came with bursts of {_number(least * by.factor)} or more."
        )
        return Comparable(before.only(with_old), after, by, differs, bursts_from=least)
    similar = with_new & (np.nan_to_num(new) <= by.factor * float(np.nanmax(old)))
    if similar.sum() >= 0.5 * with_new.sum():
        return Comparable(before.only(with_old), after.only(similar), by, None, bursts_from=least)
    heavier = (
        f"The load differs: bursts of up to {_number(float(np.nanmax(new)))} {by.unit} after the change, "
        f"{_number(float(np.nanmax(old)))} before it."
    )
    return Comparable(before.only(with_old), after.only(with_new), by, None, heavier, bursts_from=least)


def _height(before: Blocks, peaks: FloatArray, deciding: Sequence[str]) -> float:
    """The lowest peak of those blocks, from the highest down, that together have nine tenths of the fault.

    The lowest of all if nothing shows the fault.
    """
    found = (np.nan_to_num(before.columns[name].part) for name in deciding if name in before.columns)
    known = np.isfinite(peaks)
    fault = next((part for part in found if part[known].sum() > 0), None)
    if fault is None:
        return float(np.nanmin(peaks))
    order = np.argsort(-peaks[known], kind="stable")
    so_far = np.cumsum(fault[known][order])
    return float(peaks[known][order][int(np.searchsorted(so_far, _BY_BURSTS * so_far[-1]))])


def _known(side: Blocks, load: Load) -> bool:
    values = side.loads.get(load.id)
    return values is not None and bool(np.isfinite(values).mean() >= 0.5)


def _within(values: FloatArray, other: FloatArray, factor: float) -> BoolArray:
    known = other[np.isfinite(other)]
    low, high = (float(np.quantile(known, q)) for q in (0.05, 0.95))
    return np.isfinite(values) & (values >= low / factor) & (values <= high * factor)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
