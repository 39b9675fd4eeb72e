"""Finds every cause under causes/: a module that exports `CAUSE`. A new cause needs no edit here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from types import MappingProxyType

from jitterscope.diagnosis import causes
from jitterscope.diagnosis.cause import Cause


class RegistryError(Exception):
    """Two causes with one id, an id that is not its file, or a rival that does not exist."""


@cache
def all_causes() -> MappingProxyType[str, Cause]:
    """Every cause by id, in order of ids."""
    found = []
    for module in pkgutil.walk_packages(causes.__path__, causes.__name__ + "."):
        leaf = module.name.rsplit(".", 1)[1]
        if module.ispkg or leaf.startswith("_") or leaf.endswith("_scenario"):
            continue
        cause = getattr(importlib.import_module(module.name), "CAUSE", None)
        if not isinstance(cause, Cause):
            raise RegistryError(f"{module.name} exports no CAUSE; name it _{leaf}.py if it is no cause")
        expected = module.name.removeprefix(causes.__name__ + ".").replace(".", "/")
        if cause.id != expected:
            raise RegistryError(f"{module.name}: the id is {cause.id!r} but must be {expected!r}, its place")
        found.append(cause)
    return check(found)


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
    return MappingProxyType(dict(sorted(by_id.items())))
