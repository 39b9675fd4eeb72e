"""Cuts recorded ticks into blocks: the observations of a before/after comparison.

Neighboring ticks belong to the same stall and are not independent observations; blocks of 10 s nearly are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from jitterscope.diagnosis.core.area import Amounts, Load, Measure
from jitterscope.diagnosis.core.signals import SHED_TICKS, spans
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

BLOCK_US = 10_000_000


@dataclass(frozen=True, slots=True)
class Column:
    """Sums of one measure over blocks, length n; NaN: measured for less than half of the block.

    `seconds` is how much of each block was measured. `events` is None where single events are not counted.
    """

    part: FloatArray
    whole: FloatArray
    seconds: FloatArray
    events: FloatArray | None = None

    def only(self, keep: BoolArray) -> Column:
        """The blocks in `keep`."""
        events = None if self.events is None else self.events[keep]
        return Column(self.part[keep], self.whole[keep], self.seconds[keep], events)

    @property
    def known(self) -> bool:
        """Whether it was measured in at least half of the blocks."""
        return len(self.part) > 0 and bool(np.isfinite(self.part).mean() >= 0.5)

    @property
    def exposure_s(self) -> float:
        return float(self.seconds.sum())

    @property
    def figure(self) -> float | None:
        """Sum of the parts over the sum of the wholes; None without data."""
        total = float(np.nansum(self.whole))
        return float(np.nansum(self.part)) / total if total > 0 else None


@dataclass(frozen=True, slots=True)
class Blocks:
    """One side of a comparison, n blocks of `step_us` from `t_us` on. `loads` are means or peaks, NaN if unknown.

    `columns` by the measure's id; `window` has the figures of the whole window, such as quantiles.
    """

    t_us: IntArray
    step_us: int
    columns: Mapping[str, Column]
    loads: Mapping[str, FloatArray]
    window: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.t_us)

    def under(self, ratio: float) -> Blocks:
        """The same blocks with `ratio` times their loads."""
        return replace(self, loads={name: ratio * values for name, values in self.loads.items()})

    def only(self, keep: BoolArray) -> Blocks:
        """The blocks in `keep`; figures of the whole window stay."""
        return replace(
            self,
            t_us=self.t_us[keep],
            columns={name: column.only(keep) for name, column in self.columns.items()},
            loads={name: values[keep] for name, values in self.loads.items()},
        )


def blocks(
    snapshot: Snapshot, measures: Sequence[Measure], loads: Sequence[Load] = (), block_us: int = BLOCK_US
) -> Blocks:
    """Whole blocks from the first tick on, without those in which nothing was measured for half of the time."""
    size = max(1, block_us // snapshot.step_us)
    count = snapshot.ticks // size
    columns: dict[str, Column] = {}
    wholes: dict[str, float] = {}
    for measure in measures:
        read = measure.read(snapshot)
        if isinstance(read, Amounts):
            columns[measure.id] = _column(read, count, size, snapshot.step_us / 1e6)
        elif read is not None:
            wholes[measure.id] = read
    made = Blocks(
        t_us=snapshot.start_us + np.arange(count, dtype=np.int64) * (size * snapshot.step_us),
        step_us=size * snapshot.step_us,
        columns=MappingProxyType(columns),
        loads={
            load.id: _load(load, values, count, size) for load in loads if (values := load.read(snapshot)) is not None
        },
        window=MappingProxyType(wholes),
    )
    measured = np.zeros(count, dtype=np.bool_)
    for column in columns.values():
        measured |= np.isfinite(column.part)
    return made.only(measured)


def _column(amounts: Amounts, count: int, size: int, tick_s: float) -> Column:
    part, whole = (values[: count * size].reshape(count, size) for values in (amounts.part, amounts.whole))
    known = np.isfinite(part) & np.isfinite(whole)
    covered = _covered(known)
    enough = covered * 2 >= size
    events = None
    if amounts.events is not None:
        counted = amounts.events[: count * size].reshape(count, size)
        events = np.where(enough, np.where(known, np.nan_to_num(counted), 0.0).sum(axis=1), np.nan)
    return Column(
        part=np.where(enough, np.where(known, part, 0.0).sum(axis=1), np.nan),
        whole=np.where(enough, np.where(known, whole, 0.0).sum(axis=1), np.nan),
        seconds=np.where(enough, covered * tick_s, 0.0),
        events=events,
    )


def _covered(known: BoolArray) -> FloatArray:
    """Ticks of each block that samples cover: a periodic sample is valid until the next one.

    The interval can change: a collector short of CPU goes from every tick to once a second.
    """
    size = known.shape[1]
    at = np.flatnonzero(known)
    if len(at) < 2:
        return np.asarray(known.sum(axis=1), dtype=np.float64)
    apart = np.diff(at, prepend=at[0] - (at[1] - at[0])).astype(np.float64)
    usual = float(np.median(apart))
    stands = np.where(apart <= max(SHED_TICKS, 1.5 * usual), apart, usual)
    covered = np.zeros(len(known))
    np.add.at(covered, at // size, stands)
    return np.minimum(covered, float(size))


def _load(load: Load, values: FloatArray, count: int, size: int) -> FloatArray:
    """Of a count that is read once a second the peak is that of a second: the burst may have been shorter."""
    if not load.peak:
        return _means(values, count, size)
    covers = spans(values)
    usual = float(np.nanmedian(covers)) if np.isfinite(covers).any() else 1.0
    # Of the first sample nobody knows how long it covers.
    return _peaks(values / np.fmax(covers, usual), count, size)


def _peaks(values: FloatArray, count: int, size: int) -> FloatArray:
    folded = values[: count * size].reshape(count, size)
    enough = np.isfinite(folded).any(axis=1)
    return np.where(enough, np.where(np.isfinite(folded), folded, -np.inf).max(axis=1, initial=-np.inf), np.nan)


def _means(values: FloatArray, count: int, size: int) -> FloatArray:
    folded = values[: count * size].reshape(count, size)
    known = np.isfinite(folded)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: FloatArray = np.where(known, folded, 0.0).sum(axis=1) / known.sum(axis=1)
    return means
