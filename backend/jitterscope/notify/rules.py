"""What a channel does with one change of an incident: send it, hold it until quiet hours end, or drop it. Pure.

The outbox applies these rules when a change happens, and the preview replays a week through them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from jitterscope.diagnosis.core.finding import SEVERITIES, Severity
from jitterscope.notify.conditions import Conditions, Place, matches
from jitterscope.notify.payload import Action
from jitterscope.notify.quiet_hours import QuietHours

# Actions that end an incident, and those of them after which its fault is gone.
CLOSING: frozenset[str] = frozenset({"resolved", "verified", "not_known"})
GONE: frozenset[str] = CLOSING - {"not_known"}
# Actions that describe the whole incident as it then is: earlier messages still waiting have nothing to add.
WHOLE: frozenset[str] = CLOSING | {"opened", "escalated", "reopened", "reclassified", "unmuted"}
# Actions that only describe the state of the incident: a receiver that already knows it is not told again.
_STANDS: frozenset[str] = frozenset({"acknowledged", "unacknowledged", "resolved", "not_known", "reopened", "unmuted"})
_STATE_AFTER = {
    "opened": "open", "reopened": "open", "unacknowledged": "open", "acknowledged": "acknowledged",
    "resolved": "resolved", "verified": "verified", "fix_applied": "fix_applied", "did_not_help": "did_not_help",
    "made_worse": "made_worse", "not_known": "not_known",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """What a channel asked for, without what its kind cannot express."""

    min_severity: Severity
    actions: frozenset[str]
    conditions: Conditions
    quiet_hours: QuietHours | None
    # Its kind keeps an alert open until told otherwise.
    closes_alerts: bool = False


@dataclass(frozen=True, slots=True)
class Face:
    """The state of an incident as a message shows it."""

    state: str
    severity: str
    cause: str


def state_after(action: str, state: str) -> str:
    """The state of an incident after an action; `state` if the action does not change it."""
    return _STATE_AFTER.get(action, state)


@dataclass(frozen=True, slots=True)
class Event:
    """A change of an incident, with the incident's state after it. `places`: its subject and the others it reached.

    `muted`: notifies nobody. `reminds`: the end of a mute that is sent whatever the channel knows.
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
        """None if the state is not known."""
        state = state_after(self.action, self.state)
        return Face(state, self.severity, self.cause) if state else None


@dataclass(frozen=True, slots=True)
class Standing:
    """What became of the channel's earlier messages about the incident.

    `told`: one was sent, or is about to be; `held`: one waits for the end of quiet hours. `shown` and `waits`: how the
    last of each shows the incident.
    """

    told: bool = False
    held: bool = False
    shown: Face | None = None
    waits: Face | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a message and of those that are held.

    `message`: the fate of this one, held `until` then. `skip`: the incident came and went in quiet hours. `waiting`:
    the fate of those that are held; `release` sends them now.
    """

    message: Literal["none", "send", "hold", "skip"]
    until: datetime | None = None
    waiting: Literal["stay", "drop", "release"] = "stay"


def decide(rule: Rule, event: Event, standing: Standing) -> Decision:
    """Decide what the channel does with a change.

    A channel that was told of an incident also gets its later changes, even if the incident no longer matches. No
    channel is told the same state of an incident twice in a row.
    """
    known = standing.told or standing.held
    if event.muted and not (rule.closes_alerts and standing.told and event.action in CLOSING):
        return Decision("none", waiting="drop" if standing.held else "stay")
    repeats = _is_known(event, standing)
    wanted = _asked_for(rule, event, known) and (known or _fits(rule, event)) and not repeats
    if event.action in CLOSING and standing.held:
        # What may go on is still worth a message, unless the receiver can only close an alert that it never had.
        passed = event.action in GONE or rule.closes_alerts
        if not standing.told and passed:
            return Decision("skip" if wanted else "none", waiting="drop")
        if not wanted:
            return Decision("none", waiting="drop")
    if not wanted:
        # What waits describes something that has been reverted since.
        return Decision("none", waiting="drop" if repeats and standing.held and event.action in WHOLE else "stay")
    until = held_until(rule.quiet_hours, event.severity, event.at)
    if standing.held and event.action in WHOLE:
        return Decision("send" if until is None else "hold", until, "drop")
    if until is not None:
        return Decision("hold", until)
    return Decision("send", waiting="release" if standing.held else "stay")


def held_until(quiet_hours: QuietHours | None, severity: str, at: datetime) -> datetime | None:
    """When a message of that time may be sent; None means at once."""
    if quiet_hours is None or (quiet_hours.critical_passes and severity == "critical"):
        return None
    return quiet_hours.ends(at)


def _asked_for(rule: Rule, event: Event, known: bool) -> bool:
    # An alert that is closed when its incident is resolved must not stay open when it ends otherwise.
    if event.action == "not_known" and rule.closes_alerts and "resolved" in rule.actions:
        return True
    # For a channel that did not know of the incident, the end of a mute counts as a new incident.
    return event.action in rule.actions or (event.action == "unmuted" and not known and "opened" in rule.actions)


def _is_known(event: Event, standing: Standing) -> bool:
    if event.action not in _STANDS or event.reminds:
        return False
    held_goes = event.action in WHOLE
    last = standing.shown if held_goes or not standing.held else standing.waits
    return last is not None and last == event.face


def _fits(rule: Rule, event: Event) -> bool:
    enough = SEVERITIES.index(event.severity) <= SEVERITIES.index(rule.min_severity)
    return enough and matches(rule.conditions, event.cause, event.places)


@dataclass(slots=True)
class Message:
    """A message of a replay; `held_until` if it had to wait."""

    event: Event
    held_until: datetime | None


@dataclass(slots=True)
class _State:
    shown: Face | None = None
    told: bool = False
    waiting: list[Message] = field(default_factory=list)


def replay(rule: Rule, events: Iterable[Event]) -> list[Message]:
    """The messages that a channel would have sent if it had existed; events are oldest first.

    The state before the first event is unknown.
    """
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
