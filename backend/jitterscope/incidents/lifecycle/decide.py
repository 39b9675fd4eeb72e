"""The life of an incident as pure decisions: the known incidents and a diagnosis become a list of changes.

The clock is data time (µs since the epoch, UTC): an incident ends when the node's data continued and stayed quiet, not
when the backend was down. The code that applies the changes holds the subject's lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jitterscope.diagnosis.core.finding import Found, NotFound, Severity
from jitterscope.diagnosis.core.quantity import Quantity
from jitterscope.diagnosis.core.registry import is_residual, quantities_of
from jitterscope.incidents.api.schemas import IncidentState

DAY_US = 24 * 3600 * 1_000_000
# A finding this shortly after an incident's newest symptom belongs to that incident. For an ongoing incident it may
# come later: a cause does not show in every window.
AFTERMATH_US = 1_000_000
GOES_ON_US = 10_000_000
_SEVERITY_RANK: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}


def severity_rank(severity: Severity) -> int:
    """0 (info) to 2 (critical)."""
    return _SEVERITY_RANK[severity]


@dataclass(frozen=True, slots=True, order=True)
class Strength:
    """How strong a window's evidence is: windows of one incident are compared field by field, in this order."""

    severity: int
    # Measures of harm, in the order that the cause's area defines.
    harm: tuple[float, ...]
    # Of two equally strong windows, the one that saw twice as much has better numbers and knows more fixes: a score
    # that differs in the third digit must not preserve the glimpse of an incident's first second.
    sample_log2: tuple[int, ...]
    score: float
    sample: tuple[float, ...]

    @classmethod
    def of(cls, found: Found) -> Strength:
        def told(by: str) -> tuple[float, ...]:
            return tuple(one.of(found.impact) or 0 for one in quantities_of(found.cause) if one.proves == by)

        return cls(
            severity=-1 if found.severity is None else severity_rank(found.severity),
            harm=told("harm"),
            sample_log2=tuple(int(one).bit_length() for one in told("sample")),
            score=found.score,
            sample=told("sample"),
        )


@dataclass(frozen=True, slots=True)
class Remainder:
    """What a verified fix left of a fault, as the largest shares (0..1, by quantity) that still count as the same."""

    shares: Mapping[str, float]

    def covers(self, found: Found) -> bool:
        """Whether a finding shows no more than what was left."""
        return all((one.of(found.impact) or 0.0) <= self.shares.get(one.id, 0.0) for one in shares_of(found.cause))


def shares_of(cause_id: str) -> list[Quantity]:
    """The shares among the measures of harm in findings of a cause."""
    return [one for one in quantities_of(cause_id) if one.unit == "ratio" and one.better == "lower"]


@dataclass(frozen=True, slots=True)
class Known:
    """The stored data of one incident of the subject."""

    id: int
    cause: str
    state: IncidentState
    severity: Severity
    onset_us: int
    last_us: int
    resolved_us: int | None
    strength: Strength
    accepted: Remainder | None = None

    @property
    def active(self) -> bool:
        return self.resolved_us is None


@dataclass(frozen=True, slots=True)
class Open:
    found: Found


@dataclass(frozen=True, slots=True)
class Update:
    """New evidence of a known incident. `strongest`: show this window's evidence from now on."""

    incident: Known
    found: Found
    strongest: bool
    escalated_to: Severity | None


@dataclass(frozen=True, slots=True)
class Continue:
    """A rival is stronger in this window, but does not rule out the established cause."""

    incident: Known
    last_us: int


@dataclass(frozen=True, slots=True)
class Reopen:
    incident: Known
    found: Found


@dataclass(frozen=True, slots=True)
class Reclassify:
    """The same stall, explained by another cause now that more data is available."""

    incident: Known
    found: Found
    reason: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Its stall belongs to another active incident of the subject: close it in favor of that one."""

    incident: Known
    by_cause: str
    reason: str


@dataclass(frozen=True, slots=True)
class Resolve:
    incident: Known
    at_us: int
    reason: str


@dataclass(frozen=True, slots=True)
class NoteRisk:
    found: Found


Change = Open | Update | Continue | Reopen | Reclassify | Supersede | Resolve | NoteRisk


def decide(
    known: Sequence[Known], findings: Sequence[Found], not_found: Sequence[NotFound], window_start_us: int
) -> list[Change]:
    """The changes that follow from one diagnosis of a subject.

    `known`: its active incidents and those resolved recently. A finding without a symptom newer than what its incident
    already has changes nothing, so diagnosing the same window twice is harmless.
    """
    changes: list[Change] = []
    hurting = [found for found in findings if found.severity is not None]
    refuted = _refuted(findings, not_found)
    taken: set[int] = set()
    for found in hurting:
        active = next((item for item in known if item.cause == found.cause and item.active), None)
        if active is not None:
            changes.extend(_update(active, found))
            continue
        if is_residual(found.cause) and any(_tells(item, found) for item in known):
            continue
        candidates = (item for item in known if item.id not in taken)
        mistaken = next((item for item in candidates if _reexplained(item, found, refuted, window_start_us)), None)
        if mistaken is not None:
            taken.add(mistaken.id)
            changes.append(Reclassify(mistaken, found, refuted[mistaken.cause]))
            continue
        established = next((item for item in known if _still_explains(item, found)), None)
        if established is not None:
            if found.last_us > established.last_us:
                changes.append(Continue(established, found.last_us))
            continue
        before = _reopenable(known, found)
        if before is None:
            changes.append(Open(found))
        elif before.accepted is not None and before.accepted.covers(found):
            continue
        elif before.resolved_us is not None and _is_back(before, found, before.resolved_us):
            changes.append(Reopen(before, found))
    changes.extend(_superseded(known, hurting, refuted, window_start_us, taken))
    active_causes = {item.cause for item in known if item.active}
    changes.extend(NoteRisk(found) for found in findings if found.severity is None and found.cause not in active_causes)
    return changes


def resolve_quiet(known: Sequence[Known], clock_us: int, quiet_us: int) -> list[Resolve]:
    """Resolve active incidents whose node has `quiet_us` of newer data without the symptom. `clock_us`: newest data.

    An incident whose fix is being measured waits for its verdict: that it is quiet is what is being measured.
    """
    return [
        Resolve(item, clock_us, f"No new symptom for {quiet_us // 1_000_000} s of data.")
        for item in known
        if item.active and item.state != "fix_applied" and clock_us - item.last_us >= quiet_us
    ]


def _update(incident: Known, found: Found) -> list[Change]:
    strength = Strength.of(found)
    newer = found.last_us > incident.last_us or found.onset_us < incident.onset_us
    if not newer and strength <= incident.strength:
        return []
    severity = found.severity
    escalated = severity is not None and severity_rank(severity) > severity_rank(incident.severity)
    return [Update(incident, found, strength >= incident.strength, severity if escalated else None)]


def _refuted(findings: Sequence[Found], not_found: Sequence[NotFound]) -> dict[str, str]:
    """Causes that this window refutes, with the reason: not found, or beaten by a finding that they rival."""
    rivals = [rival for found in findings for rival in found.rivals if rival.status != "not_enough_data"]
    outdone = {rival.cause: rival.reason for rival in rivals}
    spoken = {found.cause for found in findings}
    return {
        cause: reason
        for cause, reason in (outdone | {item.cause: item.reason for item in not_found}).items()
        if cause not in spoken
    }


def _tells(item: Known, found: Found) -> bool:
    """Whether an incident of another cause, ongoing or over, covers the time of a remaining finding."""
    around_us = GOES_ON_US if item.active else AFTERMATH_US
    return (
        not is_residual(item.cause)
        and item.onset_us - around_us <= found.onset_us
        and found.last_us <= item.last_us + around_us
    )


def _still_explains(item: Known, found: Found) -> bool:
    """Whether an older incident, whose cause `found` does not rule out, is at least as severe."""
    return (
        item.active
        and found.severity is not None
        and severity_rank(found.severity) <= severity_rank(item.severity)
        and any(rival.cause == item.cause and rival.status == "not_ruled_out" for rival in found.rivals)
    )


def _reexplained(item: Known, found: Found, refuted: dict[str, str], window_start_us: int) -> bool:
    """Whether the window holds the incident's whole life, refutes its cause, and finds `found` in the same stall.

    An incident older than the window keeps its cause: what is new then is another fault. So does one whose fix is being
    measured: the changing picture is what is being measured.
    """
    return (
        item.active
        and item.state != "fix_applied"
        and item.cause in refuted
        and item.onset_us >= window_start_us
        and found.onset_us <= item.last_us
        and found.last_us >= item.onset_us
    )


def _superseded(
    known: Sequence[Known], hurting: Sequence[Found], refuted: dict[str, str], window_start_us: int, taken: set[int]
) -> list[Supersede]:
    result: list[Supersede] = []
    for item in known:
        if item.id in taken:
            continue
        for found in hurting:
            if found.cause != item.cause and _reexplained(item, found, refuted, window_start_us):
                result.append(Supersede(item, found.cause, refuted[item.cause]))
                break
    return result


def _is_back(before: Known, found: Found, resolved_us: int) -> bool:
    """Whether a symptom came after the end; a window that extends back before a fix shows the fault that was fixed."""
    return (found.onset_us if before.state == "verified" else found.last_us) > resolved_us


def _reopenable(known: Sequence[Known], found: Found) -> Known | None:
    """The newest resolved incident of the same cause that ended less than 24 h before this symptom."""
    candidates = [
        item
        for item in known
        if item.cause == found.cause and item.resolved_us is not None and found.last_us - item.resolved_us <= DAY_US
    ]
    return max(candidates, key=lambda item: item.resolved_us or 0, default=None)
