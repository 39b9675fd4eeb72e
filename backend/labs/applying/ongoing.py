"""A fault that goes on while somebody tries a fix on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from labs.errors import LabError

# One fix of an incident as the REST interface gives it.
ProposedFix = Mapping[str, Any]
Apply = Callable[[ProposedFix], None]
Running = TypeVar("Running")


@dataclass(frozen=True, slots=True)
class Ongoing:
    """`subjects` are the keys of the cgroups that the incident may be about; none: this machine's node; None: whatever
    the product watches.

    `goes_on` says whether the fault still goes on, and raises LabError where a server or the load died. `fixes` apply
    a fix for real, by its id; each gets the fix as the incident proposes it, for the values in it.
    `before_s`: how long the fault must have gone on for a comparison. `to_incident_s`: how long the incident may take.
    `comparable_s`: what a verdict needs after it.
    """

    lab: str
    variant: str
    cause: str
    subjects: tuple[str, ...] | None
    goes_on: Callable[[], bool]
    fixes: Mapping[str, Apply]
    before_s: float = 70.0
    to_incident_s: float = 180.0
    comparable_s: float = 60.0


def number_in(fix: ProposedFix, pattern: str) -> int:
    """The number that the first patch has where `pattern` captures one. Raises LabError where none has."""
    for patch in fix["patches"]:
        if found := re.search(pattern, patch["text"]):
            return int(found[1])
    raise LabError(f"No patch of {fix['id']} has a number as /{pattern}/: {fix['patches']}")


def setting(fix: ProposedFix, name: str) -> float:
    """The value that the incident proposes. Raises LabError where it gives none."""
    value = (fix.get("setting") or {}).get(name)
    if not isinstance(value, int | float):
        raise LabError(f"The incident gives no value for {name} with {fix['id']}: {fix.get('setting')}")
    return float(value)


def bound(fixes: Mapping[str, Callable[[Running, ProposedFix], None]], running: Running) -> dict[str, Apply]:
    """The fixes of a lab, for what runs now."""
    return {name: partial(apply, running) for name, apply in fixes.items()}
