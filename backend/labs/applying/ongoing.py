"""A sustained fault on which a fix can be tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from labs.errors import LabError

# One fix of an incident, as the REST API returns it.
ProposedFix = Mapping[str, Any]
Apply = Callable[[ProposedFix], None]
Running = TypeVar("Running")
# Facts are read every few seconds. A change counts only after no other change has followed for a while.
TO_NOTICE_S = 80.0


@dataclass(frozen=True, slots=True)
class Ongoing:
    """A fault that lasts until its context ends.

    `subjects`: keys of the cgroups that the incident may be about; none: this machine's node; None: whatever the
    product watches. `goes_on` says whether the fault still lasts, and raises LabError if a server or the load died.
    `fixes`: by id, functions that really apply a fix; each gets the fix as the incident proposes it, for its values.
    `before_s`: how long the fault must have lasted for a comparison. `to_incident_s`: how long the incident may take to
    open. `to_notice_s`: how long after a fix the product may notice it. `comparable_s`: how much time after the fix a
    verdict needs.
    """

    lab: str
    variant: str
    cause: str
    subjects: tuple[str, ...] | None
    goes_on: Callable[[], bool]
    fixes: Mapping[str, Apply]
    before_s: float = 70.0
    to_incident_s: float = 180.0
    to_notice_s: float = TO_NOTICE_S
    comparable_s: float = 60.0


def number_in(fix: ProposedFix, pattern: str) -> int:
    """The number that `pattern` captures in the first patch that matches it. Raises LabError if none does."""
    for patch in fix["patches"]:
        if found := re.search(pattern, patch["text"]):
            return int(found[1])
    raise LabError(f"No patch of {fix['id']} has a number that matches /{pattern}/: {fix['patches']}")


def setting(fix: ProposedFix, name: str) -> float:
    """The value that the incident proposes. Raises LabError if it proposes none."""
    value = (fix.get("setting") or {}).get(name)
    if not isinstance(value, int | float):
        raise LabError(f"The incident gives no value for {name} with {fix['id']}: {fix.get('setting')}")
    return float(value)


def bound(fixes: Mapping[str, Callable[[Running, ProposedFix], None]], running: Running) -> dict[str, Apply]:
    """The fixes of a lab, bound to what currently runs."""
    return {name: partial(apply, running) for name, apply in fixes.items()}
