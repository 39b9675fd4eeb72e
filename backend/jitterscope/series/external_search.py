"""Finds series of other systems by name, labels, and what they belong to; counts them and reads them by page."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from jitterscope.counted import size_of
from jitterscope.kit.allowance import hold
from jitterscope.series.external_selection import Selection
from jitterscope.series.store import external_search as store
from jitterscope.series.store.external_search import kind_of as kind_of
from jitterscope.series.store.external_search import received as received
from jitterscope.series.store.external_search import values_of as values_of

# How many values of a label are listed; the total count is always given.
_MOST_VALUES = 100
# Values of all labels together, the most frequent of each first.
_MOST_PAIRS = 10_000
# Buckets of one histogram. Real ones have up to some 200.
_MOST_BUCKETS = 1000


@dataclass(frozen=True, slots=True)
class Name:
    """A metric's name; `kind` is counter or gauge; `last_seen_us` to the hour."""

    name: str
    kind: str
    series: int
    last_seen_us: int


@dataclass(frozen=True, slots=True)
class Label:
    """A label's values with the number of series each, most first; `values` may be truncated, `found` counts all."""

    name: str
    found: int
    values: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """One label set: a series, or all buckets of a histogram as (upper bound, series id)."""

    id: int
    labels: dict[str, str]
    resource_id: int
    kind: str
    buckets: list[tuple[str, int]] = field(default_factory=list)


def names(session: Session, selection: Selection, after: int, limit: int) -> tuple[list[Name], int, int]:
    """Names in order from a position, the number of all names, and the number of all series."""
    rows = store.names(session, selection, after, limit)
    if not rows and after:
        found = names(session, selection, 0, 1)
        return [], found[1], found[2]
    found_rows = [Name(row.name, row.kind, row.series, row.seen_us) for row in rows]
    return found_rows, rows[0].found if rows else 0, rows[0].all_series if rows else 0


def labels(session: Session, selection: Selection) -> list[Label]:
    """Labels of the selected series by name, each with its values."""
    result: dict[str, Label] = {}
    for row in store.pairs(session, selection, _MOST_VALUES, _MOST_PAIRS):
        hold(size_of(row.key) + size_of(row.value))
        result.setdefault(row.key, Label(row.key, row.found, [])).values.append((row.value, row.series))
    return [result[key] for key in sorted(result)]


def label_sets(
    session: Session, selection: Selection, after: int, limit: int, *, histogram: bool
) -> tuple[list[LabelSet], int]:
    """Label sets in order from a position, and how many there are.

    With `histogram`, all buckets of one label set count as one; of very many only the first are returned.
    """
    found = store.count_label_sets(session, selection, histogram=histogram)
    sets: list[LabelSet] = []
    for row in store.label_sets(session, selection, after, limit, _MOST_BUCKETS, histogram=histogram):
        hold(size_of(row.labels) + size_of(row.bounds) + size_of(row.ids))
        buckets = list(zip(row.bounds, row.ids, strict=True))
        sets.append(LabelSet(row.first, row.labels, row.resource_id, row.kind, buckets))
    return sets, found
