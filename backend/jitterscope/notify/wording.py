"""The text of messages to people. Plain text: each channel kind escapes it for its own format."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

from jitterscope.diagnosis.core import shown
from jitterscope.diagnosis.core.shown import ImpactFigure
from jitterscope.diagnosis.verification.wording import figure
from jitterscope.notify.payload import Payload, PayloadEvidence, PayloadMeasure, PayloadVerification
from jitterscope.notify.rules import CLOSING, GONE, WHOLE

VERBS = {
    "opened": "New incident", "escalated": "Got worse", "acknowledged": "Acknowledged",
    "unacknowledged": "Acknowledgment removed", "resolved": "Resolved", "reopened": "Fault returned",
    "reclassified": "Cause corrected", "fix_applied": "Fix applied, measuring", "verified": "Fix verified",
    "did_not_help": "The fix did not help", "made_worse": "The fix made it worse", "not_known": "Not known any more",
    "noted": "Note", "unmuted": "Mute ended", "muted": "Muted", "test": "Test message",
}  # fmt: skip
FIX_VERDICTS = {
    "removes": "Fix that removes it", "reduces": "Fix that reduces it", "cannot_help": "Cannot help",
    "unknown": "Possible fix, effect unknown",
}  # fmt: skip


def is_over(payload: Payload) -> bool:
    """Whether the change ended the incident."""
    return payload.transition.action in CLOSING


def is_gone(payload: Payload) -> bool:
    """Whether the change ended the incident because its fault is gone."""
    return payload.transition.action in GONE


def says_all(payload: Payload) -> bool:
    """Whether the message has figures, evidence, and the first fix: when the incident opens, reopens, or changes."""
    return payload.transition.action in (WHOLE - CLOSING) | {"test"}


def headline(payload: Payload) -> str:
    """ "New incident: CoreDNS stalls up to 90 ms: …"."""
    return f"{VERBS[payload.transition.action]}: {payload.incident.title}"


def head(payload: Payload) -> str:
    """ "New incident · critical · kube-system/coredns-7c9"."""
    return " · ".join((VERBS[payload.transition.action], payload.incident.severity, payload.incident.subject.name))


def impact(payload: Payload) -> list[tuple[str, str]]:
    """Title and value of each figure."""
    return [(one.title, impact_value(one)) for one in shown.figures(payload.incident.cause, payload.incident.impact)]


def impact_value(one: ImpactFigure) -> str:
    """ "1.5 % (900 of 60,000 queries)"."""
    return figure(one.value, one.unit) + ("" if one.detail is None else f" ({one.detail})")


def evidence(one: PayloadEvidence) -> str:
    """ "Throttled ticks inside a GC cycle: 19 of 19 (by chance: 6.5 %)"."""
    return f"{one.statement}: {one.value}" + ("" if one.comparison is None else f" ({one.comparison})")


def changes(verification: PayloadVerification) -> list[str]:
    """ "CPU limit: 0.5 → 1" for each setting with a known value before or after."""
    return [
        f"{step.title}: {step.old or 'not set'} → {step.new or 'not set'}"
        for step in verification.changes
        if step.old is not None or step.new is not None
    ]


def measures(verification: PayloadVerification) -> list[tuple[str, str]]:
    """Title and "1.5 % → 0.02 %, predicted 0 % to 0.1 %" of each figure that is known before and after."""
    known = [one for one in verification.measures if one.before is not None and one.after is not None]
    return [(one.title, measure_value(one)) for one in known]


def measure_value(one: PayloadMeasure) -> str:
    """ "1.5 % → 0.02 %, predicted 0 % to 0.1 %"."""
    went = f"{figure(one.before, one.unit)} → {figure(one.after, one.unit)}"
    return went if (predicted := prediction(one)) is None else f"{went}, {predicted}"


def prediction(one: PayloadMeasure) -> str | None:
    """ "predicted 0 % to 0.1 %: missed"."""
    if one.predicted_low is None or one.predicted_high is None:
        return None
    span = f"{figure(one.predicted_low, one.unit)} to {figure(one.predicted_high, one.unit)}"
    return f"predicted {span}" + ("" if one.inside is not False else ": missed")


def byline(payload: Payload) -> str:
    """ "cpu/gc_throttling · high confidence · node node-3 · by ada@example.com"."""
    incident, actor = payload.incident, payload.transition.actor
    parts = [incident.cause, f"{incident.confidence} confidence", f"node {incident.subject.node}"]
    return " · ".join(parts + ([] if actor == "jitterscope" else [f"by {actor}"]))


def plain(payload: Payload) -> str:
    """The whole message as paragraphs of plain text, without the incident's URL."""
    incident, verification = payload.incident, payload.incident.verification
    paragraphs = [f"{head(payload)}\n{incident.title}"]
    if payload.transition.detail:
        paragraphs.append(payload.transition.detail)
    if verification is not None:
        if changed := changes(verification):
            paragraphs.append("\n".join([f"Changed at {verification.applied_at:%H:%M:%SZ}", *map(_item, changed)]))
        paragraphs.append("\n".join(f"{title}: {value}" for title, value in measures(verification)))
    if says_all(payload):
        paragraphs.append("\n".join(f"{title}: {value}" for title, value in impact(payload)))
        if incident.evidence:
            paragraphs.append("\n".join(["Evidence", *(_item(evidence(one)) for one in incident.evidence)]))
        if (fix := incident.top_fix) is not None:
            paragraphs.append(f"{FIX_VERDICTS[fix.verdict]}: {fix.title}\n{fix.summary}")
    paragraphs.append(byline(payload))
    return "\n\n".join(filter(None, paragraphs))


def incident_key(payload: Payload, key: str) -> str:
    """The key by which receivers know an incident across all its messages; unique to this installation.

    A test message is about no incident, so it has its own key.
    """
    host = urlsplit(payload.incident.url).netloc or "jitterscope"
    if payload.transition.action == "test":
        return f"jitterscope/{host}/test/{key}"
    return f"jitterscope/{host}/{payload.organization_id}/{payload.incident.id}"


def fingerprint(name: str) -> str:
    """16 hexadecimal digits that identify a name."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def shortened(text: str, most: int) -> str:
    """The text, shortened to at most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _item(text: str) -> str:
    return f"- {text}"
