"""Has the causes of a file's areas judge its snapshots, and adds their results to the report."""

from __future__ import annotations

from collections.abc import Sequence

from jitterscope.analyses.parser import Parsed
from jitterscope.analyses.report import Report
from jitterscope.diagnosis.core.engine import Diagnosis, diagnose
from jitterscope.diagnosis.core.finding import NotEnoughData, NotFound
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.snapshot import Snapshot

_NO_SERIES = "Such a file has no measurements over time that this cause reads."


def report_of(kind: str, title: str, parsed: Parsed) -> Report:
    """The report of a parsed file. Every cause of its areas is found, not found, or lacks data."""
    causes = [cause for cause in all_causes().values() if cause.id.split("/")[0] in parsed.areas]
    diagnoses = [(snapshot, diagnose(snapshot, causes)) for snapshot in parsed.snapshots]
    findings = sorted((found for _, one in diagnoses for found in one.findings), key=lambda found: -found.score)
    known = {found.cause for found in findings}
    not_found: list[NotFound] = []
    short: list[NotEnoughData] = []
    for cause in causes:
        if cause.id in known:
            continue
        answer = _answer(cause.id, cause.relies_on, diagnoses)
        if isinstance(answer, NotFound):
            not_found.append(answer)
        elif isinstance(answer, NotEnoughData):
            short.append(answer)
        elif not diagnoses:
            short.append(NotEnoughData(cause=cause.id, missing=list(cause.needs), reason=_NO_SERIES))
    return Report(
        kind=kind,
        title=title,
        summary=parsed.summary,
        from_us=parsed.from_us,
        to_us=parsed.to_us,
        facts=parsed.facts,
        charts=parsed.charts,
        tables=parsed.tables,
        findings=findings,
        not_found=not_found,
        not_enough_data=short,
        notes=parsed.notes,
    )


def _answer(
    cause: str, relies_on: Sequence[str], judged: Sequence[tuple[Snapshot, Diagnosis]]
) -> NotFound | NotEnoughData | None:
    """The result for the first subject that could be judged; missing data only if they are missing for all."""
    given: list[NotFound | NotEnoughData] = []
    for snapshot, diagnosis in judged:
        prefix = f"{snapshot.subject.name}: " if len(judged) > 1 else ""
        for missed in diagnosis.not_found:
            if missed.cause == cause:
                answer = _conclusive(snapshot, missed, relies_on)
                given.append(answer.model_copy(update={"reason": prefix + answer.reason}))
        given += [item for item in diagnosis.not_enough_data if item.cause == cause]
    short = [item for item in given if isinstance(item, NotEnoughData)]
    nearest = min(short, key=lambda item: len(item.missing), default=None)
    return next((item for item in given if isinstance(item, NotFound)), nearest)


def _conclusive(snapshot: Snapshot, missed: NotFound, relies_on: Sequence[str]) -> NotFound | NotEnoughData:
    """The same, unless it relies on something that the file does not have."""
    gone = [name for name in relies_on if not _known(snapshot, name)]
    if not gone:
        return missed
    reason = f"{missed.reason} But {', '.join(gone)} is not in such a file, so the cause cannot be ruled out."
    return NotEnoughData(cause=missed.cause, missing=gone, reason=reason)


def _known(snapshot: Snapshot, name: str) -> bool:
    return any(name in view.series or view.fact(name) is not None for view in snapshot.dns_servers)
