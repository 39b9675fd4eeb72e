"""What is measured for a fix: the measures of its cause's area, and those that the fix itself names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jitterscope.diagnosis.core.answers import IMAGE
from jitterscope.diagnosis.core.area import Load, Measure, Sighting, WatchedFact
from jitterscope.diagnosis.core.landing import FixKind, Seen
from jitterscope.diagnosis.core.registry import all_areas, area_of, fix_of


@dataclass(frozen=True, slots=True)
class Plan:
    """`deciding` are ids of `measures`, in the order in which they decide the verdict."""

    measures: tuple[Measure, ...]
    deciding: tuple[str, ...]
    loads: tuple[Load, ...]

    @property
    def needs(self) -> frozenset[str]:
        """Metrics, distributions, and events that are read."""
        wanted = [one.needs for one in self.measures] + [one.needs for one in self.loads]
        return frozenset(name for needs in wanted for name in needs)


def plan(cause_id: str, fix_id: str | None) -> Plan:
    """The plan for a fix of an incident; None: another change. KeyError if no area has such a cause."""
    area = area_of(cause_id)
    kind = None if fix_id is None else fix_of(cause_id, fix_id)
    own = {one.id: one for one in area.measures}
    named = {name: own.get(name) or measure_of(name) for name in (kind.measures if kind is not None else ())}
    measures = {**own, **{name: one for name, one in named.items() if one is not None}}
    order = [name for name in named if name in measures] or list(own)
    loads = tuple(one for one in area.load if not one.causes or cause_id in one.causes)
    return Plan(tuple(measures.values()), tuple(name for name in order if measures[name].decides), loads)


def watched(cause_id: str, fix_ids: Iterable[str]) -> tuple[WatchedFact, ...]:
    """Facts whose changes are detected: those of the cause's area, and facts of other areas that its fixes change."""
    found = {one.fact: one for one in (*area_of(cause_id).facts, IMAGE)}
    others = {one.fact: one for area in all_areas().values() for one in area.facts}
    return (*found.values(), *(others[name] for name in _landing(cause_id, fix_ids) if name in others.keys() - found))


def sightings(cause_id: str, fix_ids: Iterable[str]) -> tuple[Sighting, ...]:
    """Settings that only a window shows: those of the cause's area, and those that show its fixes."""
    found = {one.id: one for one in area_of(cause_id).sightings}
    others = {one.id: one for area in all_areas().values() for one in area.sightings}
    return (*found.values(), *(others[name] for name in _landing(cause_id, fix_ids) if name in others.keys() - found))


def kinds(cause_id: str, fix_ids: Iterable[str]) -> tuple[FixKind, ...]:
    """The declarations of fixes, in the given order, without those that this version no longer proposes."""
    return tuple(kind for one in fix_ids if (kind := fix_of(cause_id, one)) is not None)


def measure_of(measure_id: str) -> Measure | None:
    """A measure, whichever area declares it; None if this version no longer has it."""
    return next((one for area in all_areas().values() for one in area.measures if one.id == measure_id), None)


def _landing(cause_id: str, fix_ids: Iterable[str]) -> list[str]:
    """Names of the facts that show the fixes."""
    landings = [kind.landing for kind in kinds(cause_id, fix_ids)]
    return list(dict.fromkeys(name for one in landings if isinstance(one, Seen) for name in one.facts))
