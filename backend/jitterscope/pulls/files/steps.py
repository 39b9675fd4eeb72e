"""Paths and operations in YAML: a strategic merge patch taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Scalar = str | int


@dataclass(frozen=True, slots=True)
class Named:
    """The list entry with this `name`."""

    name: str

    def __str__(self) -> str:
        return f"[name={self.name}]"


Step = str | Named
Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """Set the value at a path; None deletes it."""

    path: Path
    value: Scalar | None


def in_words(path: Path) -> str:
    """ "spec.template.spec.containers[name=coredns].resources.limits.cpu"."""
    text = ""
    for step in path:
        text += str(step) if isinstance(step, Named) else f".{step}"
    return text.lstrip(".")


def operations(patch: Mapping[str, Any], path: Path = ()) -> Iterator[Operation]:
    """Each value that a strategic merge patch sets. Lists merge by `name`, as those of pods do."""
    for key, value in patch.items():
        here = (*path, key)
        if isinstance(value, Mapping):
            yield from operations(value, here)
        elif isinstance(value, list):
            for entry in value:
                named = (*here, Named(str(entry["name"])))
                if entry.get("$patch") == "delete":
                    yield Operation(named, None)
                else:
                    yield from operations({name: one for name, one in entry.items() if name != "name"}, named)
        else:
            yield Operation(here, value)
