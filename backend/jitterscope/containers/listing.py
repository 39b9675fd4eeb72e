"""Every container of a window with its figures, ordered by any of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from jitterscope.containers import figures
from jitterscope.containers.figures import Figures
from jitterscope.containers.schemas import Order
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceRow

# Containers that one answer compares.
MAX_CONTAINERS = 1000
# Gone: not seen for this long before the end of the window.
GONE_US = 300_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to list. `span`: whole minutes, µs; `gone`: includes those that were gone when the window ended.

    `every`: includes pods and slices; `throttled`: only those that were throttled in the window.
    """

    span: tuple[int, int]
    containing: str
    node_id: int | None
    gone: bool
    every: bool
    throttled: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A container with its known figures."""

    row: ResourceRow
    node: ResourceRow
    facts: dict[str, str]
    cpu_limit: float | None
    figures: Figures


@dataclass(frozen=True, slots=True)
class Listing:
    """A part of the list; `worst_ticks` by container, if ticks are kept.

    `found` containers match, `compared` of them were examined, and `listed` of those are in the list, which continues
    if `more`.
    """

    entries: list[Entry]
    worst_ticks: dict[int, int]
    found: int
    compared: int
    listed: int
    more: bool


def read(session: Session, wanted: Wanted, order: Order, descending: bool, part: slice) -> Listing:
    """One part of the ordered list; unknown values come last."""
    there, found = everything(session, wanted)
    entries = [one for one in there if one.figures.worst_us is not None] if wanted.throttled else there
    ordered = _ordered(entries, _KEYS[order], descending)
    shown = ordered[part]
    return Listing(
        entries=shown,
        worst_ticks=figures.worst_ticks(session, {one.row.id: one.figures for one in shown}),
        found=found,
        compared=len(there),
        listed=len(ordered),
        more=part.stop < len(ordered),
    )


def everything(session: Session, wanted: Wanted) -> tuple[list[Entry], int]:
    """All compared containers, throttled or not, and how many match."""
    from_us, to_us = wanted.span
    rows, found = inventory.containers_seen(
        session, wanted.containing, wanted.node_id, from_us, gone_us=None if wanted.gone else to_us - GONE_US,
        every=wanted.every, limit=MAX_CONTAINERS,
    )  # fmt: skip
    nodes = inventory.resources_to_show(session, sorted({row.node_id for row in rows}))
    facts = inventory.facts(session, [row.id for row in rows], to_us)
    by_id = {row.id: row for row in rows}
    entries = [
        Entry(by_id[one], nodes[by_id[one].node_id], _values(facts[one]), inventory.cpu_limit(facts[one]), measured)
        for one, measured in figures.read(session, rows, from_us, to_us)
    ]
    # First seen after the window, with no later data for it: it did not exist yet.
    there = [one for one in entries if one.figures.cpu_used is not None or one.row.first_seen_us < to_us]
    return there, found - (len(entries) - len(there))


def worst_first(entries: Sequence[Entry]) -> list[Entry]:
    """Worst tick first, then not throttled, then not measured."""
    return _ordered(entries, _KEYS["worst"], descending=True)


def _values(facts: Sequence[FactRow]) -> dict[str, str]:
    return {one.name: one.value for one in facts if one.value}


_Key = Callable[[Entry], Any]
_KEYS: dict[Order, _Key] = {
    "name": lambda one: one.row.name.lower(),
    "node": lambda one: one.node.name.lower(),
    "throttled": lambda one: one.figures.throttled_us,
    # Not throttled at all ranks below any tick; not measured is unknown.
    "worst": lambda one: None if one.figures.throttled_us is None else one.figures.worst_us or 0.0,
    "peak": lambda one: one.figures.cpu_peak,
    "mean": lambda one: one.figures.cpu_used,
    "limit": lambda one: one.cpu_limit,
    "memory": lambda one: one.figures.memory_peak_bytes,
    "seen": lambda one: one.row.last_seen_us,
}


def _ordered(entries: Sequence[Entry], key: _Key, descending: bool) -> list[Entry]:
    """Equal keys are ordered by name; entries without a key come last in both directions."""
    by_name = sorted(entries, key=lambda one: (one.row.name.lower(), one.row.id))
    known = [one for one in by_name if key(one) is not None]
    return sorted(known, key=key, reverse=descending) + [one for one in by_name if key(one) is None]
