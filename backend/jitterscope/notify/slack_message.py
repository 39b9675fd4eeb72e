"""Block Kit for a notification: verdict, impact, proof, the first fix, a link."""

from __future__ import annotations

from typing import Any

from jitterscope.diagnosis.core import shown
from jitterscope.diagnosis.core.shown import ImpactFigure
from jitterscope.diagnosis.verification.wording import figure
from jitterscope.notify import wording
from jitterscope.notify.payload import Payload, PayloadMeasure, PayloadVerification

_MARK = {"critical": ":red_circle:", "warning": ":large_orange_circle:", "info": ":large_blue_circle:"}
# Slack's limits (https://api.slack.com/reference/block-kit/blocks).
_HEADER_CHARACTERS, _SECTION_CHARACTERS, _FIELD_CHARACTERS = 150, 3000, 2000


def text(payload: Payload) -> str:
    """The plain line of notifications and screen readers."""
    return escape(wording.headline(payload))[:_SECTION_CHARACTERS]


def blocks(payload: Payload) -> list[dict[str, Any]]:
    """A full message when the incident opens, comes back or changes its cause; short ones for other updates."""
    incident, transition = payload.incident, payload.transition
    mark = ":white_check_mark:" if wording.is_over(payload) else _MARK[incident.severity]
    head = f"{mark} *{wording.VERBS[transition.action]}* · {incident.severity} · {escape(incident.subject.name)}"
    result = [_section(f"{head}\n*<{incident.url}|{escape(incident.title)}>*")]
    if transition.detail:
        result.append(_section(escape(transition.detail)))
    if incident.verification is not None:
        result += _verification(incident.verification)
    if wording.says_all(payload):
        fields = [impact_text(one) for one in shown.figures(incident.cause, incident.impact)]
        if fields:
            result.append({"type": "section", "fields": [_markdown(field, _FIELD_CHARACTERS) for field in fields[:10]]})
        proof = "\n".join(
            f"• {escape(item.statement)}: *{escape(item.value)}*{_comparison(item.comparison)}"
            for item in incident.evidence
        )
        if proof:
            result.append(_section(f"*Evidence*\n{proof}"))
        if incident.top_fix is not None:
            fix = incident.top_fix
            result.append(
                _section(f"*{wording.FIX_VERDICTS[fix.verdict]}*: {escape(fix.title)}\n{escape(fix.summary)}")
            )
    button = {"type": "button", "text": {"type": "plain_text", "text": "Open incident"}, "url": incident.url}
    result.append({"type": "actions", "elements": [button]})
    who = f"{escape(incident.cause)} · {incident.confidence} confidence · node {escape(incident.subject.node)}"
    if transition.actor != "jitterscope":
        who += f" · by {escape(transition.actor)}"
    result.append({"type": "context", "elements": [_markdown(who, _FIELD_CHARACTERS)]})
    return result


def impact_text(one: ImpactFigure) -> str:
    """ "*Slow answers* / 1.5 % (900 of 60,000 queries)"."""
    return f"*{escape(one.title)}*\n{escape(wording.impact_value(one))}"


def _verification(verification: PayloadVerification) -> list[dict[str, Any]]:
    """What was changed, and once there is a verdict the figures: before → after, and what was predicted."""
    found: list[dict[str, Any]] = []
    changes = "\n".join(
        f"• {escape(step.title)}: {escape(step.old or 'not set')} → *{escape(step.new or 'not set')}*"
        for step in verification.changes
        if step.old is not None or step.new is not None
    )
    if changes:
        found.append(_section(f"*Changed* at {verification.applied_at:%H:%M:%SZ}\n{changes}"))
    fields = [measure_text(one) for one in verification.measures if one.before is not None and one.after is not None]
    if fields:
        found.append({"type": "section", "fields": [_markdown(field, _FIELD_CHARACTERS) for field in fields[:10]]})
    return found


def measure_text(one: PayloadMeasure) -> str:
    """ "*Slow queries* / 1.5 % → *0.02 %* / predicted 0 % to 0.1 %"."""
    lines = [f"*{escape(one.title)}*", f"{figure(one.before, one.unit)} → *{figure(one.after, one.unit)}*"]
    if (predicted := wording.prediction(one)) is not None:
        lines.append(predicted)
    return "\n".join(lines)


def escape(value: str) -> str:
    """Slack's three control characters; names come from the outside and must not form links or mentions."""
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _comparison(text: str | None) -> str:
    return "" if text is None else f" ({escape(text)})"


def _section(value: str) -> dict[str, Any]:
    return {"type": "section", "text": _markdown(value, _SECTION_CHARACTERS)}


def _markdown(value: str, limit: int) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": value if len(value) <= limit else value[: limit - 1] + "…"}
