"""Block Kit for a notification: verdict, impact, evidence, the first fix, a link."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from jitterscope.diagnosis.core import shown
from jitterscope.diagnosis.core.shown import ImpactFigure
from jitterscope.diagnosis.verification.wording import figure
from jitterscope.notify import wording
from jitterscope.notify.payload import Payload, PayloadIncident, PayloadMeasure, PayloadMute, PayloadVerification
from jitterscope.notify.slack_press import MUTES, block_id

_MARK = {"critical": ":red_circle:", "warning": ":large_orange_circle:", "info": ":large_blue_circle:"}
# Slack's limits (https://api.slack.com/reference/block-kit/blocks).
_SECTION_CHARACTERS, _FIELD_CHARACTERS = 3000, 2000
# For the message that is kept up to date.
_STATES = {
    "open": "Open", "acknowledged": "Acknowledged", "fix_applied": "Fix applied, measuring",
    "did_not_help": "The fix did not help", "made_worse": "The fix made it worse", "verified": "Fix verified",
    "resolved": "Resolved", "not_known": "Not known any more",
}  # fmt: skip
_OVER = ("resolved", "verified", "not_known")


def text(payload: Payload) -> str:
    """The plain-text line for notifications and screen readers."""
    return escape(wording.headline(payload))[:_SECTION_CHARACTERS]


def blocks(payload: Payload, channel_id: int = 0, *, whole: bool = False) -> list[dict[str, Any]]:
    """A full message when the incident opens, reopens, or changes its cause; short ones for other updates.

    `channel_id`: adds buttons, whose presses belong to that channel. `whole`: the incident's current state instead of
    what happened, for the message that is kept up to date.
    """
    incident, transition = payload.incident, payload.transition
    over = ":grey_question:" if incident.state == "not_known" else ":white_check_mark:"
    mark = over if incident.state in _OVER or wording.is_over(payload) else _MARK[incident.severity]
    what = _STATES[incident.state] if whole else wording.VERBS[transition.action]
    head = f"{mark} *{what}* · {incident.severity} · {escape(incident.subject.name)}"
    result = [_section(f"{head}\n*<{incident.url}|{escape(incident.title)}>*")]
    if incident.mute is not None:
        result.append(_section(f":no_bell: {escape(mute_text(incident.mute))}"))
    if transition.detail and transition.action not in ("muted", "unmuted"):
        result.append(_section(escape(transition.detail)))
    if incident.verification is not None:
        result += _verification(incident.verification)
    if whole or wording.says_all(payload):
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
    result.append(_actions(payload, channel_id))
    who = f"{escape(incident.cause)} · {incident.confidence} confidence · node {escape(incident.subject.node)}"
    if transition.actor != "jitterscope":
        who += f" · by {escape(transition.actor)}"
    result.append({"type": "context", "elements": [_markdown(who, _FIELD_CHARACTERS)]})
    return result


def mute_text(mute: PayloadMute) -> str:
    """ "Muted until 2026-11-25 18:00 UTC by Ada: load test"."""
    until = "" if mute.until is None else f" until {mute.until.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"Muted{until} by {mute.by}: {mute.reason}"


def _actions(payload: Payload, channel_id: int) -> dict[str, Any]:
    incident = payload.incident
    opens = _button("Open incident", "open") | {"url": incident.url}
    if not channel_id or payload.transition.action == "test":
        return {"type": "actions", "elements": [opens]}
    block = block_id(payload.organization_id, channel_id, incident.id)
    return {"type": "actions", "block_id": block, "elements": [opens, *_answers(incident)]}


def _answers(incident: PayloadIncident) -> list[dict[str, Any]]:
    if incident.state in _OVER:
        return []
    found = []
    if incident.state == "open":
        found.append(_button("Acknowledge", "acknowledge") | {"style": "primary"})
    elif incident.state == "acknowledged":
        found.append(_button("Unacknowledge", "unacknowledge"))
    if incident.mute is None:
        options = [{"text": _plain(title), "value": value} for value, (title, _) in MUTES.items()]
        found.append({"type": "static_select", "action_id": "mute", "placeholder": _plain("Mute"), "options": options})
    elif incident.mute.only_this:
        found.append(_button("Unmute", "unmute"))
    return found


def _button(text: str, action_id: str) -> dict[str, Any]:
    return {"type": "button", "action_id": action_id, "text": _plain(text)}


def _plain(value: str) -> dict[str, str]:
    return {"type": "plain_text", "text": value}


def impact_text(one: ImpactFigure) -> str:
    """ "*Slow answers* / 1.5 % (900 of 60,000 queries)"."""
    return f"*{escape(one.title)}*\n{escape(wording.impact_value(one))}"


def _verification(verification: PayloadVerification) -> list[dict[str, Any]]:
    """What was changed and, once there is a verdict, the figures: before → after, and what was predicted."""
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
    """Escape Slack's three control characters: names come from outside and must not form links or mentions."""
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _comparison(text: str | None) -> str:
    return "" if text is None else f" ({escape(text)})"


def _section(value: str) -> dict[str, Any]:
    return {"type": "section", "text": _markdown(value, _SECTION_CHARACTERS)}


def _markdown(value: str, limit: int) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": value if len(value) <= limit else value[: limit - 1] + "…"}
