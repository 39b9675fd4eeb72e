"""Label sets of a metric as lines on one grid, read one after another: only one is held at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from jitterscope.kit.allowance import borrowed, hold
from jitterscope.remote.schemas import LineName, View
from jitterscope.series import external, external_views
from jitterscope.series.external_search import LabelSet
from jitterscope.series.external_views import Grid, Samples
from jitterscope.series.types import FloatArray

_BYTES_OF_A_POINT = 100  # as Python floats, and as JSON
_QUANTILE_LINES: tuple[LineName, ...] = ("p50", "p90", "p99")
_RAW_LINES: tuple[LineName, ...] = ("low", "mean", "high")

Lines = dict[LineName, FloatArray]


@dataclass(slots=True)
class Drawn:
    """Lines by label set, parallel to the request; no lines where there are no samples."""

    grid: Grid
    lines: list[Lines] = field(default_factory=list)


def draw(session: Session, sets: Sequence[LabelSet], view: View, from_us: int, to_us: int, points: int) -> Drawn:
    """The label sets in [from, to), with at most `points` points each."""
    drawn: Drawn | None = None
    lines: list[Lines] = []
    lead_us = 0 if view == "raw" else external_views.LEAD_US
    for one in sets:
        with borrowed():
            found = external.read(session, [identity for _, identity in one.buckets], from_us - lead_us, to_us)
            if drawn is None and found:
                interval_us = external_views.interval_us([times for times, _ in found.values()])
                drawn = Drawn(Grid.over(from_us, to_us, points, interval_us))
            lines.append({} if drawn is None else _lines(one, found, view, drawn.grid))
        hold(sum(len(values) for values in lines[-1].values()) * _BYTES_OF_A_POINT)
    drawn = drawn or Drawn(Grid.over(from_us, to_us, points, 0))
    drawn.lines = lines
    return drawn


def _lines(one: LabelSet, found: Mapping[int, Samples], view: View, grid: Grid) -> Lines:
    if not found:
        return {}
    if view == "quantiles":
        buckets = [(_bound(text), found[identity]) for text, identity in one.buckets if identity in found]
        return dict(zip(_QUANTILE_LINES, external_views.quantiles(buckets, grid), strict=True))
    samples = found[one.id]
    if view == "rate":
        return {"rate": external_views.rate(samples, grid)}
    return dict(zip(_RAW_LINES, external_views.raw(samples, grid), strict=True))


def _bound(text: str) -> float:
    """A bucket's `le`; anything that is not a number ranks above all but +Inf and holds nothing of its own."""
    try:
        return float(text)
    except ValueError:
        return float("inf")
