"""Which calls a map shows: all, those around a place, and at most so many. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Protocol as Shape
from typing import TypeVar

from jitterscope.services.callmap.places import Place


class HasEnds(Shape):
    """A call between two places."""

    @property
    def caller(self) -> Place: ...

    @property
    def called(self) -> Place: ...


Edge = TypeVar("Edge", bound=HasEnds)
Side = Callable[[HasEnds], str]


def around(edges: Sequence[Edge], centers: Set[str], hops: int) -> list[Edge]:
    """The calls that reach places within some hops, and those that start there; not other callers of what they call."""
    kept: set[int] = set()
    for start, end in ((_caller, _called), (_called, _caller)):
        kept |= _reached(edges, centers, hops, start, end)
    return [edge for at, edge in enumerate(edges) if at in kept]


def _reached(edges: Sequence[Edge], centers: Set[str], hops: int, start: Side, end: Side) -> set[int]:
    kept: set[int] = set()
    seen, frontier = set(centers), set(centers)
    for _ in range(hops):
        step = {at for at, edge in enumerate(edges) if start(edge) in frontier}
        kept |= step
        frontier = {end(edges[at]) for at in step} - seen
        seen |= frontier
    return kept


def _caller(edge: HasEnds) -> str:
    return edge.caller.id


def _called(edge: HasEnds) -> str:
    return edge.called.id


def places_of(edges: Sequence[HasEnds]) -> dict[str, Place]:
    """The places at the ends of calls, by id, in order."""
    return {place.id: place for edge in edges for place in (edge.caller, edge.called)}


def shown(ranked: Sequence[Edge], most_calls: int, most_places: int) -> list[Edge]:
    """The first calls that fit; one that fits with the places there are is not left out for another that does not."""
    kept: list[Edge] = []
    ids: set[str] = set()
    for edge in ranked:
        more = ids | {edge.caller.id, edge.called.id}
        if len(kept) < most_calls and len(more) <= most_places:
            kept.append(edge)
            ids = more
    return kept
