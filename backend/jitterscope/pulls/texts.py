"""The text of a pull request and of its comments, in Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from jitterscope.diagnosis.core.finding import Fix, Interval
from jitterscope.diagnosis.core.landing import FixKind, Seen, Unseen
from jitterscope.diagnosis.core.registry import fix_of, quantities_of
from jitterscope.diagnosis.verification.plan import measure_of
from jitterscope.diagnosis.verification.wording import figure
from jitterscope.incidents.api.schemas import Incident
from jitterscope.incidents.api.verification_schemas import Verification, VerifiedMeasure
from jitterscope.kit.markdown import code, escape

_VERDICTS = {
    "verified": "Verified: the fix helped.",
    "did_not_help": "The fix did not help.",
    "made_worse": "The fix made it worse.",
    "replaced": "No verdict.",
}
_MOST_TITLE = 200
_DECLARE = "Once it is rolled out, press **I applied this fix** on {}."


def marker_of_pull_request(incident_id: int, fix_id: str) -> str:
    """A marker that is invisible in the text and identifies the pull request."""
    return f"<!-- jitterscope:incident={incident_id}:fix={fix_id} -->"


def marker_of_comment(verification_id: int) -> str:
    """As `marker_of_pull_request`, for a verdict comment."""
    return f"<!-- jitterscope:verification={verification_id} -->"


def marker_of_reminder(pull_request_id: int) -> str:
    """As `marker_of_pull_request`, for the comment that no data shows the change."""
    return f"<!-- jitterscope:pull-request={pull_request_id}:not-seen -->"


def title(fix: Fix, subject: str) -> str:
    """ "coredns: Raise the CPU limit from 0.5 to 1"; plain text on all hosts."""
    line = " ".join(f"{subject}: {fix.title}".replace("`", "").split())
    return line if len(line) <= _MOST_TITLE else line[: _MOST_TITLE - 1] + "…"


def body(incident: Incident, fix: Fix, url: str, notes: Sequence[str]) -> str:
    """The whole text of a pull request."""
    parts = [
        f"[Incident {incident.id}](<{url}>): {escape(incident.title)}",
        escape(fix.summary),
        f"### Prediction\n\n{_prediction(incident, fix)}",
    ]
    mind = [*([fix.precondition] if fix.precondition is not None else []), *fix.caveats, *notes]
    if mind:
        parts.append("### Before you merge\n\n" + "\n".join(f"- {escape(one)}" for one in mind))
    parts += [
        f"### After it is rolled out\n\n{_afterwards(fix_of(incident.cause, fix.id))} {escape(fix.verify)}",
        f"### Undo\n\nRevert this, or: {escape(fix.undo)}",
        marker_of_pull_request(incident.id, fix.id),
    ]
    return "\n\n".join(parts) + "\n"


def _afterwards(kind: FixKind | None) -> str:
    compares = "Jitterscope compares the time before with the time after the change and writes the verdict here"
    unseen = _unseen(kind)
    return (
        f"{compares} as a comment."
        if unseen is None
        else f"{unseen} {_DECLARE.format('the page of the incident')} {compares}."
    )


def _unseen(kind: FixKind | None) -> str | None:
    """Why no data shows the change of a fix; None if data does."""
    if kind is None or not isinstance(kind.landing, Unseen):
        return None
    return f"Jitterscope cannot see this change. {escape(kind.landing.why)}"


def reminder(pull_request_id: int, incident_id: int, url: str, kind: FixKind | None, ended: datetime | None) -> str:
    """Text that a merged change was not seen, why, and how a verdict is still possible."""
    why = _unseen(kind)
    if why is None and ended is not None:
        why = f"The incident ended at {ended:%Y-%m-%d %H:%M:%S} UTC, and its workload is no longer watched."
    elif why is None:
        why = "No data from the workload shows the change."
        if kind is not None and isinstance(kind.landing, Seen):
            why += f" It is recognized by this: {escape(kind.landing.how)}"
    page = f"the page of [incident {incident_id}](<{url}>)"
    parts = [f"**No verdict yet.** {why}", f"{_DECLARE.format(page)} The verdict then follows here."]
    return "\n\n".join([*parts, marker_of_reminder(pull_request_id)]) + "\n"


def comment(verification: Verification, incident_id: int, url: str, fix_id: str) -> str:
    """The verdict on the change of a fix, with what was measured before and after it."""
    parts = [f"**{_VERDICTS[verification.state]}** {escape(verification.verdict or '')}".rstrip()]
    if verification.fix_id is None:
        parts.append("More was changed than this fix changes. The verdict covers all of it.")
    elif verification.fix_id != fix_id:
        parts.append(f"The change was recognized as another fix: {escape(verification.fix_title)}.")
    known = [one for one in verification.measures if one.before is not None and one.after is not None]
    if known:
        rows = "\n".join(map(_row, known))
        parts.append(f"| figure | before | after | predicted (90 % interval) |\n| --- | --- | --- | --- |\n{rows}")
    changed = [
        f"{one.title}: {one.old or 'not set'} → {one.new or 'not set'}"
        for one in verification.changes
        if one.old is not None or one.new is not None
    ]
    by_hand = verification.started_by != "jitterscope"
    seen = f"Changed at {verification.applied_at:%Y-%m-%d %H:%M:%S} UTC"
    seen += f", declared by {escape(verification.started_by)}" if by_hand else ""
    parts.append(seen + (f": {'; '.join(map(escape, changed))}." if changed else "."))
    parts += [escape(note) for note in verification.notes]
    parts += [f"[Incident {incident_id}](<{url}>)", marker_of_comment(verification.id)]
    return "\n\n".join(parts) + "\n"


def _prediction(incident: Incident, fix: Fix) -> str:
    rows = list(_predicted(incident, fix))
    if not rows:
        return "None: no model covers this fix. Its effect is measured once it is rolled out."
    head = "| figure | now | predicted | 90 % interval |\n| --- | --- | --- | --- |\n"
    return head + "\n".join(rows)


def _predicted(incident: Incident, fix: Fix) -> Iterator[str]:
    units = {one.id: (one.title, one.unit) for one in quantities_of(incident.cause)}
    for name, one in fix.predicted.items():
        measure = measure_of(name)
        known = units.get(name) or (None if measure is None else (measure.title, measure.unit))
        if known is None:
            continue
        label, unit = known
        now = incident.impact.get(name)
        before = "not measured" if now is None else figure(now, unit)
        span = f"{figure(one.low, unit)} to {figure(one.high, unit)}"
        yield f"| {escape(label)} | {before} | {figure(one.expected, unit)} | {span} |"


def _row(one: VerifiedMeasure) -> str:
    name = f"**{escape(one.title)}**" if one.decides else escape(one.title)
    values = f"{figure(one.before, one.unit)} | {figure(one.after, one.unit)}"
    return f"| {name} | {values} | {_said(one.predicted or one.promised, one)} |"


def _said(predicted: Interval | None, one: VerifiedMeasure) -> str:
    if predicted is None:
        return "–"
    span = f"{figure(predicted.low, one.unit)} to {figure(predicted.high, one.unit)}"
    return span if one.inside is None else f"{span}: {'met' if one.inside else 'missed'}"


def commit_message(fix: Fix, subject: str, incident_id: int, url: str) -> str:
    """The title, and where the change comes from."""
    return f"{title(fix, subject)}\n\nProposed by Jitterscope for incident {incident_id}: {code(url).strip('`')}\n"
