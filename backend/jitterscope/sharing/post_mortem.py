"""An incident as a post-mortem in Markdown: what happened, why, what was done, and whether it helped. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from jitterscope.diagnosis.core.finding import Fix, Interval
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.verification.plan import measure_of
from jitterscope.diagnosis.verification.wording import figure
from jitterscope.incidents.api.schemas import Incident, Transition
from jitterscope.incidents.api.verification_schemas import Verification, VerifiedMeasure
from jitterscope.kit.markdown import code, escape, fenced, quoted
from jitterscope.sharing.schemas import SharedRival
from jitterscope.sharing.views import rivals_of

_HAPPENED: dict[str, str] = {
    "opened": "Detected", "escalated": "Severity raised", "acknowledged": "Acknowledged",
    "unacknowledged": "Acknowledgment removed", "muted": "Notifications muted", "unmuted": "Notifications unmuted",
    "resolved": "Resolved", "reopened": "Fault returned", "reclassified": "Cause corrected",
    "fix_applied": "Fix seen", "fix_withdrawn": "Fix withdrawn", "verified": "Fix verified",
    "did_not_help": "Fix did not help", "made_worse": "Fix made it worse", "spread": "Another subject affected",
    "not_known": "Not known any more",
}  # fmt: skip
# Not part of the timeline: pins only keep data, and notes have their own section.
_ASIDE = ("pinned", "unpinned", "noted")
_RESULT: dict[str, str] = {
    "waiting": "Not decided yet", "verified": "Verified: it helped", "did_not_help": "It did not help",
    "made_worse": "It made it worse", "replaced": "Not decided",
}  # fmt: skip
_FIX: dict[str, str] = {
    "removes": "Removes it", "reduces": "Reduces it", "cannot_help": "Cannot help", "unknown": "Effect unknown",
}  # fmt: skip
_KINDS: dict[str, str] = {"cgroup": "container", "dns_server": "DNS server", "tcp_server": "TCP server"}
_RIVALS: tuple[tuple[str, str], ...] = (
    ("ruled_out", "Ruled out"), ("not_ruled_out", "Not ruled out"), ("not_enough_data", "Not enough data"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """The input of a post-mortem. `notified`: when each notification was sent, oldest first.

    `harm`: one sentence; `verifications`: newest first.
    """

    incident: Incident
    harm: str
    verifications: Sequence[Verification]
    notified: Sequence[datetime]
    url: str
    at: datetime


def markdown(told: Told) -> str:
    """The whole document."""
    parts = (
        f"# Post-mortem: {escape(told.incident.title)}",
        _head(told),
        f"## Summary\n\n{escape(told.incident.summary)}",
        f"## Timeline\n\nTimes are UTC.\n\n{_list(_timeline(told))}",
        f"## Harm\n\n{_harm(told)}",
        f"## Root cause\n\n{_cause(told.incident)}",
        f"## Evidence\n\n{_list(_evidence(told.incident))}",
        f"## Other causes considered\n\n{_rivals(rivals_of(told.incident))}",
        f"## Fix\n\n{_fixes(told)}",
        f"## Verification\n\n{_verifications(told.verifications)}",
        f"## Notes\n\n{_notes(told.incident.history)}",
    )
    return "\n\n".join(parts) + "\n"


def _head(told: Told) -> str:
    one = told.incident
    subject = one.subject
    place = f"on node {code(subject.node)}" if subject.kind != "node" else ""
    lines = [
        f"**Severity:** {one.severity}",
        f"**State:** {one.state.replace('_', ' ')}",
        f"**Subject:** {_KINDS.get(subject.kind, subject.kind)} {code(subject.name)} {place}".rstrip(),
        f"**Began:** {_time(one.onset_at)}",
        f"**Duration:** {_lasted(one)}",
        f"**Cause:** {escape(one.cause_title)} ({one.confidence} confidence)",
        f"**Incident:** [{one.id}](<{told.url}>), as of {_time(told.at)}",
    ]
    if one.also_affected:
        names = ", ".join(f"{code(other.name)} on {code(other.node)}" for other in one.also_affected)
        lines.insert(3, f"**Also affected:** {names}")
    return _list(lines)


def _lasted(one: Incident) -> str:
    known = _duration((one.resolved_at or one.last_seen_at) - one.onset_at)
    if one.state == "not_known":
        return f"at least {known}, not known after that"
    return f"{known}, {'resolved' if one.resolved_at else 'not resolved yet'}"


def _timeline(told: Told) -> Iterator[str]:
    one = told.incident
    happened = [(one.onset_at, "**Onset**: first symptom in the measurements")]
    happened += [(at, "**Notification sent**") for at in told.notified]
    for applied in told.verifications:
        by = "" if applied.started_by == "jitterscope" else f", marked by {code(applied.started_by)}"
        happened.append((applied.applied_at, f"**Fix applied**: {escape(applied.fix_title)}{by}"))
    happened.append((one.last_seen_at, "**Last seen**: newest measurements that show the fault"))
    happened += [(entry.at, _entry(entry)) for entry in one.history if entry.action not in _ASIDE]
    # Entries with equal times stay in order.
    for at, words in sorted(happened, key=lambda item: item[0]):
        yield f"{_time(at)}: {words}"


def _entry(entry: Transition) -> str:
    words = f"**{_HAPPENED[entry.action]}**"
    if entry.actor != "jitterscope":
        words += f" by {code(entry.actor)}"
    # The summary is already above.
    detail = None if entry.action == "opened" else entry.detail
    return f"{words}: {escape(detail)}" if detail else words


def _harm(told: Told) -> str:
    figures = [
        f"{escape(one.title)}: **{figure(one.value, one.unit)}**" + (f" ({escape(one.detail)})" if one.detail else "")
        for one in told.incident.figures
    ]
    return "\n\n".join(filter(None, (escape(told.harm), _list(figures) if figures else "")))


def _cause(one: Incident) -> str:
    known = all_causes().get(one.cause)
    text = escape(one.cause_title) if known is None else f"**{escape(known.title)}.** {escape(known.mechanism)}"
    return f"{text}\n\nReferences:\n\n{_list(map(_reference, one.references))}" if one.references else text


def _reference(text: str) -> str:
    # From the rule base, not from users; still, only a plain address becomes a link.
    plain = text.startswith("https://") and not set(text) & set("<> \n`")
    return f"<{text}>" if plain else escape(text)


def _evidence(one: Incident) -> Iterator[str]:
    for item in one.evidence:
        comparison = "" if item.comparison is None else f" ({escape(item.comparison)})"
        yield f"{escape(item.statement)}: **{escape(item.value)}**{comparison}"


def _rivals(rivals: Sequence[SharedRival]) -> str:
    groups = []
    for status, title in _RIVALS:
        lines = [f"{escape(one.title)}: {escape(one.reason)}" for one in rivals if one.status == status]
        if lines:
            groups.append(f"### {title}\n\n{_list(lines)}")
    return "\n\n".join(groups) or "No other causes have the same symptoms."


def _fixes(told: Told) -> str:
    one = told.incident
    if not one.fixes:
        return "No fix is known for this cause here."
    applied = {made.fix_id for made in told.verifications if made.state != "replaced"}
    proposed = sorted(one.fixes, key=lambda fix: fix.id not in applied)
    first, *others = proposed
    parts = [f"{'Applied' if first.id in applied else 'Recommended'}: {_fix(one, first)}"]
    parts += [f"{escape(patch.label)}:\n\n{fenced(patch.text, patch.language)}" for patch in first.patches[:1]]
    if others:
        parts.append(f"Other fixes:\n\n{_list(_fix(one, fix) for fix in others)}")
    return "\n\n".join(parts)


def _fix(one: Incident, fix: Fix) -> str:
    kept = next((kept.figures for kept in one.predictions if kept.fix_id == fix.id), {})
    predicted = [_prediction(name, interval) for name, interval in (kept or fix.predicted).items()]
    words = f" Predicted: {'; '.join(filter(None, predicted))}." if any(predicted) else ""
    return f"**{escape(fix.title)}.** {_FIX[fix.verdict]}. {escape(fix.summary)}{words}"


def _prediction(name: str, interval: Interval) -> str:
    measure = measure_of(name)
    if measure is None:
        return ""
    span = f"{figure(interval.low, measure.unit)} to {figure(interval.high, measure.unit)}"
    expected = figure(interval.expected, measure.unit)
    return f"{escape(measure.title)} {expected} ({100 * interval.level:.0f} % interval {span})"


def _verifications(made: Sequence[Verification]) -> str:
    return "\n\n".join(map(_verification, made)) or "No fix was seen or marked as applied."


def _verification(one: Verification) -> str:
    parts = [f"**{escape(one.fix_title)}**, applied {_time(one.applied_at)}: {_RESULT[one.state]}."]
    if one.verdict is not None:
        parts.append(escape(one.verdict))
    if one.waiting_for is not None:
        parts.append(f"Waiting for: {escape(one.waiting_for)}")
    steps = [
        f"{escape(step.title)}: {code(step.old or 'not set')} → {code(step.new or 'not set')}"
        for step in one.changes
        if step.old is not None or step.new is not None
    ]
    if steps:
        parts.append(f"Changed:\n\n{_list(steps)}")
    if one.measures:
        parts.append("\n".join((_TABLE, *map(_measure, one.measures))))
    parts += [escape(note) for note in one.notes]
    return "\n\n".join(parts)


_TABLE = "| Figure | Before | After | Predicted | Outcome | p |\n| --- | --- | --- | --- | --- | --- |"


def _measure(one: VerifiedMeasure) -> str:
    promised = one.predicted or one.promised
    predicted = "none"
    if promised is not None:
        predicted = f"{figure(promised.low, one.unit)} to {figure(promised.high, one.unit)}"
    outcome = {None: "–", True: "inside", False: "outside"}[one.inside]
    chance = "–" if one.p_value is None else f"{one.p_value:.2g}"
    cells = (escape(one.title), figure(one.before, one.unit), figure(one.after, one.unit), predicted, outcome, chance)
    return f"| {' | '.join(cells)} |"


def _notes(history: Sequence[Transition]) -> str:
    notes = [
        f"{code(entry.actor)}, {_time(entry.at)}:\n\n{quoted(entry.detail)}"
        for entry in history
        if entry.action == "noted" and entry.detail
    ]
    return "\n\n".join(notes) or "No notes."


def _list(lines: Iterator[str] | Sequence[str] | map[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _duration(span: timedelta) -> str:
    seconds = max(0, round(span.total_seconds()))
    hours, minutes = divmod(seconds // 60, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"
