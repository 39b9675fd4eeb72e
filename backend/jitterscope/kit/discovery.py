"""Finds modules by file name, so that a new domain is a new folder and needs no list entry."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType


def modules_named(package: str, leaf: str) -> list[str]:
    """Dotted names below `package` whose last part is `leaf` or starts with `leaf_`, sorted. Imports none of them.

    The package's own `leaf` is not included: it is the caller.
    """
    module = importlib.import_module(package)
    names: set[str] = set()
    for root in map(Path, module.__path__):
        for pattern in (f"{leaf}.py", f"{leaf}_*.py"):
            for path in root.glob(f"**/{pattern}"):
                names.add(".".join([package, *path.relative_to(root).with_suffix("").parts]))
    return sorted(names - {f"{package}.{leaf}"})


def import_named(package: str, leaf: str) -> list[ModuleType]:
    """The same modules, imported in a stable order."""
    return [importlib.import_module(name) for name in modules_named(package, leaf)]
