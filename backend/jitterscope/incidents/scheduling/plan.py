"""When to look at a subject next: pure decisions about one row of the schedule.

A trigger causes an immediate look, and a burst of triggers one more at its end. What cannot be explained yet is looked
at again every 0.8 s for some seconds: the first throttled tick arrives before the surrounding time that a rule compares
it with. A reason that leads to nothing is considered less often the longer that continues: a server whose upstream is
far away is slow all the time. After minutes of this, even a real fault that gives no other reason waits up to
`STEADY_HOLD`; slow answers wait up to `USUAL_HOLD`, since that they are slower than usual is a reason of its own. An
explained fault continues to trigger with each batch: it is looked at every ten seconds, and at once if another reason
joins or if it had been quiet; a reason that joins without another cause is followed up like what cannot be explained
yet. Times are the database's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

BURST = timedelta(seconds=0.7)
FOLLOW_UP = timedelta(seconds=0.8)
FOLLOW_UP_FOR = timedelta(seconds=7)
# What stays unexplained, however often it triggers, is left to the schedule.
FOLLOW_UPS_A_MINUTE = 12
MINUTE = timedelta(minutes=1)
# How often a subject in trouble is looked at. If nothing was found, looks go on for some time (data time) after its
# last trigger, each twice as long after it as the one before.
STEADY = timedelta(seconds=10)
WATCH_US = 120_000_000
# After this many looks with the same result, the next of these intervals applies; the last one stays.
SAME_LOOKS = 12
LONG_STEADY = (timedelta(seconds=20), timedelta(seconds=30))
# Held back FIRST_HOLD after the first look that led to nothing, doubling with each further one up to LONGEST_HOLD.
FIRST_HOLD = timedelta(seconds=0.7)
LONGEST_HOLD = timedelta(seconds=5)
# After this many looks it is the subject's normal state.
STEADY_LOOKS = 36
STEADY_HOLD = timedelta(seconds=20)
USUAL_HOLD = timedelta(seconds=60)
# With these, collectors also send "slower_query" or "slower_request" if it is more than the server usually gives.
USUALLY = frozenset({"slow_query", "slow_request"})
# From this many on, there are no follow-ups: more data of the same kind led to nothing either.
VAIN_FOLLOW_UPS = 4
LONGEST_BACKOFF = timedelta(minutes=5)
# Incidents of a node end as not known after this long without data. A collector waits at most 5 min between attempts
# (`Retry-After`), and an upgrade or a reboot takes less.
SILENCE = timedelta(minutes=15)
# Silence counts only while looks observe it: after a longer gap the service itself was down and received nothing.
LOOKS_APART = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Vain:
    """Looks for a reason that led to nothing, the last one at `at`. `held_back`: it triggered again since then."""

    looks: int
    at: datetime
    held_back: bool = False

    @property
    def is_steady(self) -> bool:
        return self.looks >= STEADY_LOOKS

    def held_until(self, reason: str) -> datetime:
        if self.is_steady:
            return self.at + (USUAL_HOLD if reason in USUALLY else STEADY_HOLD)
        doubled: int = 1 << min(self.looks - 1, 8)
        return self.at + min(FIRST_HOLD * doubled, LONGEST_HOLD)


@dataclass(frozen=True, slots=True)
class Entry:
    """A subject's row in the schedule. `due_at` None: nothing to do.

    `waiting` are reasons of triggers that no look has seen yet, `heard` those that the last findings (`causes`)
    explain, `unchanged_looks` how many earlier looks also found these. µs are data time: newest trigger, end of the
    newest window, newest harmful symptom that is explained. `silent_since`: the first of the last looks that found no
    newer data; None if the last one did.
    """

    subject_id: int
    due_at: datetime | None = None
    urgent: bool = False
    waiting: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    triggered_us: int = 0
    diagnosed_us: int = 0
    claimed_at: datetime | None = None
    looked_at: datetime | None = None
    explained_us: int = 0
    causes: tuple[str, ...] = ()
    unchanged_looks: int = 0
    follow_until: datetime | None = None
    follow_ups: int = 0
    follow_ups_since: datetime | None = None
    vain: Mapping[str, Vain] = field(default_factory=dict)
    attempts: int = 0
    silent_since: datetime | None = None

    @property
    def steady(self) -> timedelta:
        """How long after a look at trouble the next one follows."""
        steps = (STEADY, *LONG_STEADY)
        return steps[min(self.unchanged_looks // SAME_LOOKS, len(steps) - 1)]


@dataclass(frozen=True, slots=True)
class Look:
    """The result of a look. `harm_us`: the newest harmful symptom, 0 if none.

    `news`: there was newer data than at the last look. `active`: the subject has, or is part of, an incident that is
    not over.
    """

    causes: tuple[str, ...]
    harm_us: int
    news: bool
    active: bool
    visited: bool


def is_calm(entry: Entry) -> bool:
    """Nothing was found at the last look, and all recent triggers led to nothing."""
    return not entry.causes and (bool(entry.vain) or entry.diagnosed_us - entry.triggered_us >= WATCH_US)


def is_given_up(entry: Entry, now: datetime) -> bool:
    """Whether looks have found no newer data for so long that the present state of the subject is not known."""
    return now - _silent_since(entry, now) >= SILENCE


def triggered(entry: Entry, reasons: Sequence[str], at_us: int, now: datetime) -> Entry:
    """The row after triggers that came with one batch."""
    entry = replace(entry, triggered_us=max(entry.triggered_us, at_us))
    heard = [one for one in reasons if (held := entry.vain.get(one)) is None or held.held_until(one) <= now]
    held_back = {one: replace(entry.vain[one], held_back=True) for one in reasons if one not in heard}
    entry = replace(entry, vain={**entry.vain, **held_back})
    if not heard:
        return entry
    # A trigger after the next look should have happened is not the same fault continuing.
    is_same = set(heard) <= set(entry.heard) and at_us - entry.explained_us < entry.steady / timedelta(microseconds=1)
    if is_same and entry.looked_at is not None:
        return replace(entry, due_at=_earlier(entry.due_at, entry.looked_at + entry.steady))
    at = now if entry.claimed_at is None else max(now, entry.claimed_at + BURST)
    return replace(
        entry, due_at=_earlier(entry.due_at, at), urgent=True, waiting=tuple(sorted({*entry.waiting, *heard}))
    )


def looked(entry: Entry, reasons: Sequence[str], look: Look, visit_every: timedelta, now: datetime) -> Entry:
    """The row after a look that answered `reasons`; triggers that came meanwhile are already in the row."""
    silent_since = None if look.news else _silent_since(entry, now)
    entry = replace(entry, looked_at=now, attempts=0, silent_since=silent_since)
    if not look.news:
        return _next(entry, look, visit_every, now)
    same = bool(look.causes) and look.causes == entry.causes
    entry = replace(entry, unchanged_looks=entry.unchanged_looks + 1 if same else 0)
    vain = {reason: held for reason, held in entry.vain.items() if now < held.held_until(reason) + MINUTE}
    if look.harm_us:
        known = set(entry.heard) if set(look.causes) & set(entry.causes) else set()
        heard, until = {*reasons, *known}, None
        if set(look.causes) <= set(entry.causes):
            # A reason joined without a new finding: it may be another fault, about which a second of data says little.
            until = entry.follow_until
            for reason in set(reasons) - known:
                vain[reason] = Vain(vain[reason].looks + 1 if reason in vain else 1, now)
                if vain[reason].looks < VAIN_FOLLOW_UPS:
                    heard.discard(reason)
                    until = now + FOLLOW_UP_FOR
        for reason in heard:
            vain.pop(reason, None)
        entry = replace(
            entry, vain=vain, heard=tuple(sorted(heard)), explained_us=look.harm_us, causes=look.causes,
            follow_until=until,
        )  # fmt: skip
        return _next(entry, look, visit_every, now)
    # A visit has also seen what was held back: for a steady reason the hold starts again.
    for reason in {*reasons, *(one for one, held in vain.items() if held.held_back and held.is_steady)}:
        vain[reason] = Vain(vain[reason].looks + 1 if reason in vain else 1, now)
    hopeful = any(vain[reason].looks < VAIN_FOLLOW_UPS for reason in reasons) and not same
    until = now + FOLLOW_UP_FOR if hopeful else entry.follow_until
    entry = replace(entry, vain=vain, heard=(), explained_us=0, causes=look.causes, follow_until=until)
    return _next(entry, look, visit_every, now)


def failed(entry: Entry, now: datetime) -> Entry:
    """The row after a look that raised an error."""
    return replace(entry, due_at=now + min(timedelta(seconds=2 ** min(entry.attempts, 16)), LONGEST_BACKOFF))


def _next(entry: Entry, look: Look, visit_every: timedelta, now: datetime) -> Entry:
    """The row with the time of the next look: the earliest that anything requires."""
    due = entry.due_at
    if entry.follow_until is not None and entry.follow_until > now:
        since = entry.follow_ups_since
        if since is None or now - since > MINUTE:
            entry = replace(entry, follow_ups=0, follow_ups_since=now)
        if entry.follow_ups < FOLLOW_UPS_A_MINUTE:
            entry = replace(entry, follow_ups=entry.follow_ups + 1)
            due = _earlier(due, now + FOLLOW_UP)
    if look.active or look.harm_us:
        return replace(entry, due_at=_earlier(due, now + entry.steady))
    quiet_us = entry.diagnosed_us - entry.triggered_us
    if look.news and quiet_us < WATCH_US and not _is_steady(entry):
        quiet_for = timedelta(0) if look.causes else timedelta(microseconds=quiet_us)
        due = _earlier(due, now + max(entry.steady, quiet_for))
    if look.news and look.visited:
        due = _earlier(due, now + visit_every)
    return replace(entry, due_at=due)


def _silent_since(entry: Entry, now: datetime) -> datetime:
    """Since when looks, including one now, have observed silence without a gap."""
    watched = entry.looked_at is not None and now - entry.looked_at <= LOOKS_APART
    return entry.silent_since if watched and entry.silent_since is not None else now


def _is_steady(entry: Entry) -> bool:
    """Whether all recent triggers have long led to nothing, and nothing was found."""
    return not entry.causes and bool(entry.vain) and all(held.is_steady for held in entry.vain.values())


def _earlier(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else min(one, other)
