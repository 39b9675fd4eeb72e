"""What was changed between two states of a workload, as recorded in facts, and which fix it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.core.area import Sighting, WatchedFact
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.settings import changed
from jitterscope.diagnosis.core.signals import number


@dataclass(frozen=True, slots=True)
class Step:
    """One setting, old and new, formatted for display. None: not set, or not known.

    `name` is the fact's name, `text` describes the change.
    """

    name: str
    title: str
    old: str | None
    new: str | None
    text: str


RESTART = Step("restart", "Restart", None, None, "Restart")
# A change needs at least this much time before it for comparison: what is set within this time of a resource's first
# data is part of its creation, such as a container's limits, which are written once its cgroup exists.
SHORTEST_BEFORE_US = 20_000_000
# A higher memory limit accompanies many fixes and does not weaken their effect.
_MAY_RISE = "memory.limit_bytes"
_LINE_CHARACTERS = 200


def steps(watched: Iterable[WatchedFact | Sighting], old: Facts, new: Facts, restarted: bool) -> list[Step]:
    """Watched settings whose displayed values differ between two states of a workload."""
    found: list[Step] = []
    for one in watched:
        name = one.fact if isinstance(one, WatchedFact) else one.id
        before, after = one.text(old), one.text(new)
        if before == after or (isinstance(one, Sighting) and new.get(name) is None):
            continue
        if "\n" in f"{before}{after}":
            if before is None or after is None:  # a file read later, or no longer there: not a change of it
                continue
            before, after = _lines(before, after)
        text = one.wording(before, after, new) if isinstance(one, WatchedFact) else changed(one.title, before, after)
        found.append(Step(name, one.title, before, after, text))
    return [*found, RESTART] if restarted else found


def matching_fix(kinds: Sequence[FixKind], found: Iterable[Step], old: Facts, new: Facts) -> str | None:
    """The fix among `kinds` that matches exactly these steps; None for any other change.

    A restart is part of many changes, and a higher memory limit can accompany any of them.
    """
    names = {step.name for step in found} - {RESTART.name}
    for kind in kinds:
        landing = kind.landing
        if not isinstance(landing, Seen):
            continue
        tolerated = {_MAY_RISE} if _rises(old, new) else set()
        own = names & set(landing.facts)
        if own and names <= own | tolerated and landing.lands_as(old, new):
            return kind.id
    return None


def _rises(old: Facts, new: Facts) -> bool:
    before, after = number(old.get(_MAY_RISE)), number(new.get(_MAY_RISE))
    unlimited = after is None or after < 0
    return before is not None and before >= 0 and (unlimited or (after is not None and after > before))


def _lines(old: str, new: str) -> tuple[str, str]:
    """Lines that were removed and lines that were added: a whole file would not show what changed."""
    before, after = ([line.strip() for line in text.splitlines() if line.strip()] for text in (old, new))
    gone = "; ".join(line for line in before if line not in after)[:_LINE_CHARACTERS]
    came = "; ".join(line for line in after if line not in before)[:_LINE_CHARACTERS]
    if not gone and not came:
        return "(one order)", "(another order)"
    return gone or "(lines added)", came or "(lines removed)"
