"""A finding's impact for display: each value with its title, its unit, and the threshold of trouble."""

from __future__ import annotations

from jitterscope.diagnosis.core.finding import Impact, Part
from jitterscope.diagnosis.core.quantity import Better, Quantity, Unit
from jitterscope.diagnosis.core.registry import quantities_of


class ImpactFigure(Part):
    """One figure of an impact, as the area of the cause declares it.

    Beyond `threshold` it is the trouble itself: `hot`. `phrase` is what it counts within a sentence ("answers over
    20 ms"), `short` the word beside the value in a list; both empty where there is none.
    """

    id: str
    title: str
    unit: Unit
    better: Better
    value: float
    threshold: float | None
    hot: bool
    detail: str | None  # more about it, ready to show: "25 of 1,000 queries"
    phrase: str
    short: str


def figures(cause_id: str, impact: Impact) -> list[ImpactFigure]:
    """In display order, without those that are shown beside another one."""
    return [_figure(one, impact) for one in quantities_of(cause_id) if one.id in impact and not one.aside]


def figures_of_subject(cause_id: str, impact: Impact) -> list[ImpactFigure]:
    """Figures that are shown for each subject if several are affected."""
    return [_figure(one, impact) for one in quantities_of(cause_id) if one.id in impact and one.per_subject]


def _figure(one: Quantity, impact: Impact) -> ImpactFigure:
    return ImpactFigure(
        id=one.id,
        title=one.title,
        unit=one.unit,
        better=one.better,
        value=impact[one.id],
        threshold=one.limit(impact),
        hot=one.hot(impact),
        detail=None if one.detail is None else one.detail(impact),
        phrase=one.phrase,
        short=one.short,
    )
