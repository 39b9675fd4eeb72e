"""Runs every cause on a snapshot, ranks the findings, and has each finding's rivals judged by their own detectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jitterscope.diagnosis.core import missing_data
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Found, NotEnoughData, NotFound, Part, Result, Rival
from jitterscope.diagnosis.core.freezes import late_in_freezes
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.rivals import of_rest, silent
from jitterscope.diagnosis.core.severity import lowered
from jitterscope.diagnosis.core.snapshot import Snapshot


class Diagnosis(Part):
    """`findings`: harmful ones first, best first, one a mechanism, with rivals and fixes; the rest says why not."""

    findings: list[Found]
    not_found: list[NotFound]
    not_enough_data: list[NotEnoughData]


def diagnose(snapshot: Snapshot, causes: Iterable[Cause] | None = None) -> Diagnosis:
    """Diagnose the subject of the snapshot. Deterministic; missing data raise nothing."""
    known = list(all_causes().values() if causes is None else causes)
    detected = detect(snapshot, known)
    return detected.model_copy(update={"findings": [with_fixes(snapshot, one, known) for one in detected.findings]})


def with_fixes(snapshot: Snapshot, found: Found, causes: Iterable[Cause] | None = None) -> Found:
    """A finding of `detect` with its fixes, each replayed on the snapshot: the expensive part of a diagnosis."""
    cause = next(one for one in (all_causes().values() if causes is None else causes) if one.id == found.cause)
    return found.model_copy(update={"fixes": cause.propose(snapshot, found)})


def detect(snapshot: Snapshot, causes: Iterable[Cause] | None = None) -> Diagnosis:
    """Like `diagnose`, but its findings have no fixes yet."""
    known = {cause.id: cause for cause in (all_causes().values() if causes is None else causes)}
    about = [cause for cause in known.values() if judges(cause, snapshot)]
    if snapshot.ticks < 1:
        nothing = [NotEnoughData(cause=one.id, missing=[], reason="The window is empty.") for one in about]
        return Diagnosis(findings=[], not_found=[], not_enough_data=nothing)
    results = {cause.id: _judged(cause, snapshot) for cause in about if cause.after_all is None}
    # A finding without measured harm never hides a rival that harms: only the harmful one opens an incident.
    found = sorted(
        (r for r in results.values() if isinstance(r, Found)), key=lambda r: (r.severity is None, -r.score, r.cause)
    )
    harmful = {result.cause for result in found if result.severity is not None}
    primary: list[Found] = []
    for result in found:
        cause = known[result.cause]
        # Of causes that can look the same, only the best is reported; the others stay on its list of rivals.
        beaten = harmful.intersection(cause.yields_to) or any(_rivals(cause, known[one.cause]) for one in primary)
        if not beaten:
            primary.append(result)
    findings = []
    for result in primary:
        cause = known[result.cause]
        confidence = lowered(result.confidence, _not_told_apart(cause, results))
        rivals = _judge(cause, result, known, results)
        findings.append(result.model_copy(update={"rivals": rivals, "confidence": confidence}))
    rest = [cause.after_all(snapshot, list(results.values())) for cause in about if cause.after_all is not None]
    told = [*results.values(), *rest]
    findings += [
        one.model_copy(update={"rivals": of_rest(snapshot, known, results)})
        for one in rest if isinstance(one, Found)
    ]  # fmt: skip
    return Diagnosis(
        findings=findings,
        not_found=[r for r in told if isinstance(r, NotFound)],
        not_enough_data=[r for r in told if isinstance(r, NotEnoughData)],
    )


def _judged(cause: Cause, snapshot: Snapshot) -> Result:
    """What its detector says, unless it is harm by freezes of the whole node."""
    result = cause.detect(snapshot)
    if not (cause.looks_like_freezes and isinstance(result, Found) and result.severity is not None):
        return result
    hits, of = late_in_freezes(snapshot)
    if not hits or hits < 0.5 * of:
        return result
    reason = f"{hits:,} of {of:,} late answers waited for freezes of the whole node, in which nothing ran."
    return NotFound(cause=cause.id, reason=reason, numbers={"hits": float(hits), "of": float(of)})


def signs_read(kind: str, causes: Iterable[Cause] | None = None) -> tuple[str, ...] | None:
    """Everything that the signs of the causes about such subjects read; None if one of these causes has no signs."""
    about = [one for one in (all_causes().values() if causes is None else causes) if _about(one, kind)]
    known = [one.signs for one in about if one.signs is not None]
    return tuple(sorted({name for signs in known for name in signs.reads})) if len(known) == len(about) else None


def shows_nothing(snapshot: Snapshot, causes: Iterable[Cause] | None = None) -> bool:
    """Whether no cause shows in a narrow snapshot (see core/signs.py), so that `detect` would find nothing."""
    if snapshot.ticks < 1:
        return True
    about = [one for one in (all_causes().values() if causes is None else causes) if judges(one, snapshot)]
    # Causes may share a sign.
    known = dict.fromkeys(one.signs for one in about)
    return all(signs is not None and not signs.shown(snapshot) for signs in known)


def judges(cause: Cause, snapshot: Snapshot) -> bool:
    """Whether a cause is about this kind of subject: a node is judged as a node, anything else as what runs on one."""
    return _about(cause, snapshot.subject.kind)


def _about(cause: Cause, kind: str) -> bool:
    return ("node" if kind == "node" else "cgroup") in cause.subjects


def _rivals(one: Cause, other: Cause) -> bool:
    return other.id in one.rivals or one.id in other.rivals


def _not_told_apart(cause: Cause, results: Mapping[str, Result]) -> int:
    """Steps by which a cause is less certain: one for each source whose missing data leave a rival unjudged.

    A rival about another kind of subject has no result here and does not count.
    """
    judged = [results.get(name) for name in cause.rivals if name not in cause.excludes]
    short = [result for result in judged if isinstance(result, NotEnoughData)]
    sources = {missing_data.source_of(name) for result in short for name in result.missing}
    return min(len(short), max(1, len(sources)))


def _judge(cause: Cause, found: Found, known: dict[str, Cause], results: Mapping[str, Result]) -> list[Rival]:
    """Judge every rival by the result of its own detector on the same snapshot."""
    rivals = []
    for rival in (known[name] for name in cause.rivals if name in known):
        result = results.get(rival.id)
        if result is None:
            where = " or a ".join(rival.subjects)
            reason = f"It is judged on a {where}, not on this subject."
            rivals.append(Rival(cause=rival.id, title=rival.title, status="not_enough_data", reason=reason))
        elif isinstance(result, Found):
            reason = f"{_beside(result, found)}: {result.title}."
            numbers = {"score": result.score}
            rivals.append(
                Rival(cause=rival.id, title=rival.title, status="not_ruled_out", reason=reason, numbers=numbers)
            )
        else:
            rivals.append(silent(rival, result))
    return rivals


def _beside(rival: Found, found: Found) -> str:
    """Why a rival that was found ranks below the finding."""
    if rival.severity is None and found.severity is not None:
        return "It is there too, without measured harm"
    return "It explains a smaller part of the same window"
