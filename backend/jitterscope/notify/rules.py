"""What a channel does with one change of an incident: send it, hold it for the end of quiet hours, or leave it. Pure.

The outbox decides by these rules when a change happens, and the preview replays a week through the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from jitterscope.diagnosis.core.finding import Severity
from jitterscope.notify.conditions import Conditions, Place, matches
from jitterscope.notify.payload import Action
from jitterscope.notify.quiet_hours import QuietHours

_SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
# They end an incident.
CLOSING: frozenset[str] = frozenset({"resolved", "verified"})
# They tell the whole incident as it is then: what waited about it before has nothing to add.
WHOLE: frozenset[str] = CLOSING | {"opened", "escalated", "reopened", "reclassified", "unmuted"}
# They say nothing but how the incident stands: whoever knows that is not told again.
_STANDS: frozenset[str] = frozenset({"acknowledged", "unacknowledged", "resolved", "reopened", "unmuted"})
_STATE_AFTER = {
    "opened": "open", "reopened": "open", "unacknowledged": "open", "acknowledged": "acknowledged",
    "resolved": "resolved", "verified": "verified", "fix_applied": "fix_applied", "did_not_help": "did_not_help",
    "made_worse": "made_worse",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """What a channel asked for, without what its kind cannot say."""

    min_severity: Severity
    actions: frozenset[str]
    conditions: Conditions
    quiet_hours: QuietHours | None
    # Its kind keeps an alert open until told otherwise.
    closes_alerts: bool = False


@dataclass(frozen=True, slots=True)
class Face:
    """How an incident stands, as a message shows it."""

    state: str
    severity: str
    cause: str


def state_after(action: str, state: str) -> str:
    """The state of an incident after a change: `state` where that leaves it as it was."""
    return _STATE_AFTER.get(action, state)


@dataclass(frozen=True, slots=True)
class Event:
    """A change of an incident, as the incident is after it. `places`: its subject and the others that it reached.

    `muted`: it notifies nobody. `reminds`: the end of a mute that is told whatever the channel knows.
    """

    incident_id: int
    action: Action
    at: datetime
    severity: Severity
    cause: str
    places: tuple[Place, ...]
    state: str = ""
    muted: bool = False
    reminds: bool = False

    @property
    def face(self) -> Face | None:
        """None where the state is not known."""
        state = state_after(self.action, self.state)
        return Face(state, self.severity, self.cause) if state else None


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of earlier messages of the channel about the incident. `told`: one was sent, or is about to be;
    `held`: one waits for the end of quiet hours. `shown` and `waits`: how the last of these show the incident."""

    told: bool = False
    held: bool = False
    shown: Face | None = None
    waits: Face | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """`message`: what becomes of this one, held `until` then. `skip`: the incident came and went in quiet hours.
    `waiting`: what becomes of those that are held; `release` sends them now."""

    message: Literal["none", "send", "hold", "skip"]
    until: datetime | None = None
    waiting: Literal["stay", "drop", "release"] = "stay"


def decide(rule: Rule, event: Event, standing: Standing) -> Decision:
    """A channel that was told of an incident is told how it goes on, also where it does not fit any more. No channel
    is told twice in a row that an incident stands as it does."""
    known = standing.told or standing.held
    if event.muted and not (rule.closes_alerts and standing.told and event.action in CLOSING):
        return Decision("none", waiting="drop" if standing.held else "stay")
    repeats = _is_known(event, standing)
    wanted = _asked_for(rule, event, known) and (known or _fits(rule, event)) and not repeats
    if event.action in CLOSING and standing.held:
        if not standing.told:
            return Decision("skip" if wanted else "none", waiting="drop")
        if not wanted:
            return Decision("none", waiting="drop")
    if not wanted:
        # What waits tells of something that has been taken back since.
        return Decision("none", waiting="drop" if repeats and standing.held and event.action in WHOLE else "stay")
    until = held_until(rule.quiet_hours, event.severity, event.at)
    if standing.held and event.action in WHOLE:
        return Decision("send" if until is None else "hold", until, "drop")
    if until is not None:
        return Decision("hold", until)
    return Decision("send", waiting="release" if standing.held else "stay")


def held_until(quiet_hours: QuietHours | None, severity: str, at: datetime) -> datetime | None:
    """When a message of that time may be sent; None: at once."""
    if quiet_hours is None or (quiet_hours.critical_passes and severity == "critical"):
        return None
    return quiet_hours.ends(at)


def _asked_for(rule: Rule, event: Event, known: bool) -> bool:
    # Who hears of an incident only now hears of a new one.
    return event.action in rule.actions or (event.action == "unmuted" and not known and "opened" in rule.actions)


def _is_known(event: Event, standing: Standing) -> bool:
    if event.action not in _STANDS or event.reminds:
        return False
    held_goes = event.action in WHOLE
    last = standing.shown if held_goes or not standing.held else standing.waits
    return last is not None and last == event.face


def _fits(rule: Rule, event: Event) -> bool:
    enough = _SEVERITIES.index(event.severity) >= _SEVERITIES.index(rule.min_severity)
    return enough and matches(rule.conditions, event.cause, event.places)


@dataclass(slots=True)
class Message:
    """A message of a replay; `held_until` where it had to wait."""

    event: Event
    held_until: datetime | None


@dataclass(slots=True)
class _State:
    shown: Face | None = None
    told: bool = False
    waiting: list[Message] = field(default_factory=list)


def replay(rule: Rule, events: Iterable[Event]) -> list[Message]:
    """The messages that a channel would have sent, had it been there: events oldest first. Nothing is known of what
    was before the first of them."""
    states: dict[int, _State] = {}
    sent: list[Message] = []
    for event in events:
        state = states.setdefault(event.incident_id, _State())
        due = [one for one in state.waiting if one.held_until is not None and one.held_until <= event.at]
        if due:
            sent += due
            state.told, state.waiting = True, [one for one in state.waiting if one not in due]
            state.shown = due[-1].event.face
        waits = state.waiting[-1].event.face if state.waiting else None
        decision = decide(rule, event, Standing(state.told, bool(state.waiting), state.shown, waits))
        if decision.waiting != "stay":
            if decision.waiting == "release":
                sent += [Message(one.event, None) for one in state.waiting]
                state.told = True
            state.waiting = []
        if decision.message == "send":
            sent.append(Message(event, None))
            state.told, state.shown = True, event.face
        elif decision.message == "hold":
            state.waiting.append(Message(event, decision.until))
    sent += [one for state in states.values() for one in state.waiting]
    return sorted(sent, key=lambda one: one.held_until or one.event.at)
