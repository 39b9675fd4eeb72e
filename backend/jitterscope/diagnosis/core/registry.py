"""Finds what areas declare: `AREA` in areas/<area>/area.py, `CAUSE` of each module below causes/, `FIXES` below fixes/.

A new area, cause, or fix needs no edit here.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from types import MappingProxyType

from jitterscope.diagnosis.core.area import Area
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.landing import FixKind
from jitterscope.diagnosis.core.quantity import Quantity

AREAS = "jitterscope.diagnosis.areas"


class RegistryError(Exception):
    """Two causes with one id, an id that does not match its file, or a rival that does not exist."""


@cache
def all_causes() -> MappingProxyType[str, Cause]:
    """Every cause by id, in order of ids."""
    found = []
    for module in pkgutil.walk_packages(import_module(AREAS).__path__, AREAS + "."):
        area, _, rest = module.name.removeprefix(AREAS + ".").partition(".")
        folder, _, leaf = rest.partition(".")
        if folder != "causes" or not leaf or leaf.startswith("_"):
            continue
        cause = getattr(import_module(module.name), "CAUSE", None)
        if not isinstance(cause, Cause):
            raise RegistryError(f"{module.name} exports no CAUSE; name it _{leaf}.py if it is no cause")
        expected = f"{area}/{leaf}"
        if cause.id != expected:
            raise RegistryError(f"{module.name}: the id is {cause.id!r} but must be {expected!r}, its place")
        found.append(cause)
    return check(found)


@cache
def all_areas() -> MappingProxyType[str, Area]:
    """Every area by id."""
    found: dict[str, Area] = {}
    for module in pkgutil.iter_modules(import_module(AREAS).__path__, AREAS + "."):
        leaf = module.name.rsplit(".", 1)[1]
        area = getattr(import_module(f"{module.name}.area"), "AREA", None)
        if not isinstance(area, Area) or area.id != leaf:
            raise RegistryError(f"{module.name}.area must export AREA with the id {leaf!r}")
        found[area.id] = area
    quantities(found.values())
    return MappingProxyType(found)


def quantities(areas: Iterable[Area]) -> dict[str, Quantity]:
    """The quantities of areas, by id; RegistryError if two have different meanings under one id."""
    found: dict[str, Quantity] = {}
    for area in areas:
        for one in (*area.impact, *area.measures):
            known = found.setdefault(one.id, one)
            if (known.title, known.unit, known.better) != (one.title, one.unit, one.better):
                raise RegistryError(f"{area.id} declares {one.id!r}, which is {known.title!r} elsewhere")
        for measure in area.measures:
            if measure.better == "none":
                raise RegistryError(f"{area.id} measures fixes by {measure.id!r} and does not say which way is better")
    return found


def quantities_of(cause_id: str) -> tuple[Quantity, ...]:
    """The harm that findings of a cause can report, in display order.

    All quantities of all areas if this version no longer has the cause's own area.
    """
    area = all_areas().get(cause_id.partition("/")[0])
    return tuple(quantities(all_areas().values()).values()) if area is None else area.impact


def is_residual(cause_id: str) -> bool:
    """Whether a cause covers what the others leave unexplained; False if this version has no cause of that id."""
    cause = all_causes().get(cause_id)
    return cause is not None and cause.is_residual


def area_of(cause_id: str) -> Area:
    """The area of a cause. KeyError if there is none."""
    return all_areas()[cause_id.partition("/")[0]]


@cache
def all_fixes() -> MappingProxyType[str, FixKind]:
    """Every kind of fix by id. If several areas propose one, the declaration of the first: see `fix_of`."""
    found: dict[str, FixKind] = {}
    for (_, fix_id), kind in sorted(_declared().items()):
        found.setdefault(fix_id, kind)
    return MappingProxyType(dict(sorted(found.items())))


def fix_of(cause_id: str, fix_id: str) -> FixKind | None:
    """A fix as the cause's own area declares it, else as another area does; None if none does."""
    return _declared().get((cause_id.partition("/")[0], fix_id)) or all_fixes().get(fix_id)


def fixes_of(area_id: str) -> tuple[FixKind, ...]:
    """The fixes that the causes of an area propose, as it declares them, by id."""
    return tuple(kind for (area, _), kind in sorted(_declared().items()) if area == area_id)


@cache
def _declared() -> MappingProxyType[tuple[str, str], FixKind]:
    """By area and id: areas do not import each other, so each declares what its own causes propose."""
    found: dict[tuple[str, str], FixKind] = {}
    for module in pkgutil.walk_packages(import_module(AREAS).__path__, AREAS + "."):
        area, _, rest = module.name.removeprefix(AREAS + ".").partition(".")
        if not rest.startswith("fixes."):
            continue
        for kind in getattr(import_module(module.name), "FIXES", ()):
            if (area, kind.id) in found:
                raise RegistryError(f"{module.name} declares the fix {kind.id!r}, which its area declares elsewhere")
            found[area, kind.id] = kind
    return MappingProxyType(found)


def check(found: Iterable[Cause]) -> MappingProxyType[str, Cause]:
    """The causes by id; RegistryError on a duplicate id or an unknown rival."""
    by_id: dict[str, Cause] = {}
    for cause in found:
        if cause.id in by_id:
            raise RegistryError(f"two causes have the id {cause.id!r}: ids are never reused")
        by_id[cause.id] = cause
    for cause in by_id.values():
        unknown = [rival for rival in cause.rivals if rival not in by_id or rival == cause.id]
        if unknown:
            raise RegistryError(f"{cause.id} names rivals that do not exist: {', '.join(unknown)}")
        if strangers := sorted({*cause.yields_to, *cause.excludes} - {*cause.rivals}):
            raise RegistryError(f"{cause.id} yields to or excludes what is no rival of it: {', '.join(strangers)}")
    return MappingProxyType(dict(sorted(by_id.items())))
