"""What was changed: two states of a workload as facts tell them, and which fix that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.core.area import Sighting, WatchedFact
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.settings import changed
from jitterscope.diagnosis.core.signals import number


@dataclass(frozen=True, slots=True)
class Step:
    """One setting, old and new as people write them. None: not set, or not known. `name` is the fact's, `text` the
    change in words."""

    name: str
    title: str
    old: str | None
    new: str | None
    text: str


RESTART = Step("restart", "Restart", None, None, "Restart")
# A change needs as much before it to be compared with: what is set within this time of a resource's first data made it
# what it is, as a container's limits that are written once its cgroup is there.
SHORTEST_BEFORE_US = 20_000_000
# More memory is given along with many a fix, and takes nothing away from what the fix does.
_MAY_RISE = "memory.limit_bytes"
_LINE_CHARACTERS = 200


def steps(watched: Iterable[WatchedFact | Sighting], old: Facts, new: Facts, restarted: bool) -> list[Step]:
    """Watched settings that people read differently in two states of a workload."""
    found: list[Step] = []
    for one in watched:
        name = one.fact if isinstance(one, WatchedFact) else one.id
        before, after = one.text(old), one.text(new)
        if before == after or (isinstance(one, Sighting) and new.get(name) is None):
            continue
        if "\n" in f"{before}{after}":
            if before is None or after is None:  # a file that was read later, or is no longer: no change of it
                continue
            before, after = _lines(before, after)
        text = one.wording(before, after, new) if isinstance(one, WatchedFact) else changed(one.title, before, after)
        found.append(Step(name, one.title, before, after, text))
    return [*found, RESTART] if restarted else found


def matching_fix(kinds: Sequence[FixKind], found: Iterable[Step], old: Facts, new: Facts) -> str | None:
    """The fix among `kinds` that these steps are, all of them and no more; None for any other change.

    A restart belongs to many changes, and a higher memory limit may go with any.
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
    """Lines that went and lines that came: a whole file tells nobody what changed."""
    before, after = ([line.strip() for line in text.splitlines() if line.strip()] for text in (old, new))
    gone = "; ".join(line for line in before if line not in after)[:_LINE_CHARACTERS]
    came = "; ".join(line for line in after if line not in before)[:_LINE_CHARACTERS]
    if not gone and not came:
        return "(one order)", "(another order)"
    return gone or "(lines added)", came or "(lines removed)"
