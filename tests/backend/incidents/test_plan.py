"""When the schedule looks next: the rules alone."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jitterscope.incidents.scheduling import plan
from jitterscope.incidents.scheduling.plan import Entry, Look

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
VISIT = timedelta(seconds=60)
US = 1_000_000
NOTHING = Look((), 0, news=True, active=False, visited=False)
HARM = Look(("cpu/gc_throttling",), 100 * US, news=True, active=True, visited=True)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def claimed(entry: Entry, at: datetime) -> Entry:
    return replace(entry, claimed_at=at, due_at=None, waiting=(), urgent=False)


def after(look: Look, *reasons: str, entry: Entry | None = None, at: datetime = NOW) -> Entry:
    return plan.looked(claimed(entry or Entry(1, triggered_us=100 * US), at), reasons, look, VISIT, at)


def test_a_trigger_is_looked_at_at_once_and_a_burst_once_more_at_its_end() -> None:
    first = plan.triggered(Entry(1), ["throttled"], 5, NOW)
    assert (first.due_at, first.waiting, first.triggered_us, first.urgent) == (NOW, ("throttled",), 5, True)
    again = plan.triggered(first, ["throttled"], 6, NOW + seconds(0.1))
    assert (again.due_at, again.triggered_us) == (NOW, 6), "what waits will read the newest data anyway"
    burst = plan.triggered(claimed(again, NOW), ["throttled"], 7, NOW + seconds(0.2))
    assert burst.due_at == NOW + plan.BURST
    assert plan.triggered(burst, ["throttled"], 8, NOW + seconds(0.3)).due_at == burst.due_at


def test_what_is_not_explained_is_followed_up_for_some_seconds() -> None:
    entry = after(NOTHING, "throttled")
    assert (entry.due_at, entry.follow_until) == (NOW + plan.FOLLOW_UP, NOW + plan.FOLLOW_UP_FOR)
    unread = replace(NOTHING, news=False)
    entry = after(unread, entry=entry, at=NOW + seconds(1))
    assert entry.due_at == NOW + seconds(1) + plan.FOLLOW_UP, "nothing newer: the next look follows"
    assert after(unread, entry=entry, at=NOW + plan.FOLLOW_UP_FOR).due_at is None


def test_silence_counts_while_looks_observe_it() -> None:
    nothing_newer = replace(HARM, news=False)
    entry, at = after(HARM), NOW
    assert entry.silent_since is None
    while not plan.is_given_up(entry, at + seconds(30)):
        at += seconds(30)
        entry = after(nothing_newer, entry=entry, at=at)
        assert entry.silent_since == NOW + seconds(30)
    assert at + seconds(30) == NOW + seconds(30) + plan.SILENCE
    assert after(HARM, entry=entry, at=at).silent_since is None, "there is newer data"
    later = at + plan.LOOKS_APART + seconds(1)
    assert not plan.is_given_up(entry, later), "the service did not look"
    assert after(nothing_newer, entry=entry, at=later).silent_since == later


def test_explained_harm_is_not_followed_up_but_watched() -> None:
    entry = after(HARM, "throttled", entry=after(NOTHING, "throttled"), at=NOW + seconds(1))
    assert (entry.due_at, entry.follow_until) == (NOW + seconds(1) + plan.STEADY, None)


def test_follow_ups_are_bounded() -> None:
    entry, at, looks = after(NOTHING, "throttled"), NOW, 1
    while entry.due_at is not None and entry.due_at - at == plan.FOLLOW_UP:
        at = entry.due_at
        entry, looks = (
            after(replace(NOTHING, news=False), entry=replace(entry, follow_until=at + VISIT), at=at),
            looks + 1,
        )
    assert looks - 1 == plan.FOLLOW_UPS_A_MINUTE


def test_a_fault_that_goes_on_is_looked_at_every_ten_seconds_and_news_at_once() -> None:
    entry, later = after(HARM, "throttled"), NOW + seconds(3)
    assert plan.triggered(entry, ["throttled"], 103 * US, later).due_at == NOW + plan.STEADY
    assert plan.triggered(entry, ["slow_query"], 103 * US, later).due_at == later, "another reason"
    assert plan.triggered(entry, ["throttled"], 120 * US, later).due_at == later, "it had been quiet"
    both = after(HARM, "slow_query", entry=replace(entry, triggered_us=101 * US), at=later)
    assert both.heard == ("throttled",), "nothing new was found for it yet"
    assert both.due_at == later + plan.FOLLOW_UP
    for _ in range(plan.VAIN_FOLLOW_UPS - 1):
        both = after(HARM, "slow_query", entry=both, at=later)
    assert both.heard == ("slow_query", "throttled")


def test_a_fault_that_stays_the_same_for_minutes_is_looked_at_less_often() -> None:
    entry, at = after(HARM, "throttled"), NOW
    for every in (plan.STEADY, plan.LONG_STEADY[0]):
        for look in range(plan.SAME_LOOKS):
            assert entry.due_at == at + every, look
            at += every
            entry = replace(entry, triggered_us=entry.triggered_us + 10 * US, diagnosed_us=entry.triggered_us)
            entry = after(replace(HARM, harm_us=entry.triggered_us), "throttled", entry=entry, at=at)
    assert entry.due_at == at + plan.LONG_STEADY[1]
    newest_us, later = entry.triggered_us, at + seconds(15)
    assert plan.triggered(entry, ["throttled"], newest_us + 15 * US, later).due_at == at + plan.LONG_STEADY[1]
    assert plan.triggered(entry, ["throttled"], newest_us + 31 * US, later).due_at == later, "it had been quiet"
    assert plan.triggered(entry, ["oom_kill"], newest_us + 15 * US, later).due_at == later, "another reason"
    other = replace(HARM, causes=("cpu/limit_too_low",))
    assert after(other, "throttled", entry=entry, at=later).due_at == later + plan.STEADY


def test_a_reason_of_which_nothing_comes_is_heard_less_often() -> None:
    entry = after(NOTHING, "slow_query")
    entry = claimed(replace(entry, follow_until=None), NOW)
    soon = NOW + seconds(0.5)
    assert plan.triggered(entry, ["slow_query"], 1, soon).due_at is None
    assert plan.triggered(entry, ["accept_backlog"], 1, soon).due_at is not None, "another reason is heard at once"
    assert plan.triggered(entry, ["slow_query"], 1, NOW + seconds(0.8)).due_at == NOW + seconds(0.8)
    at = NOW
    for _ in range(12):
        at += seconds(5)
        entry = after(NOTHING, "slow_query", entry=entry, at=at)
    assert entry.vain["slow_query"].held_until("slow_query") == at + plan.LONGEST_HOLD
    entry = after(HARM, "slow_query", entry=entry, at=at + seconds(1))
    assert entry.vain == {}, "it led to something: heard at once"


@pytest.mark.parametrize(
    ("reason", "hold"),
    [("slow_query", plan.USUAL_HOLD), ("slow_request", plan.USUAL_HOLD), ("slower_query", plan.STEADY_HOLD)],
)
def test_who_is_slow_all_the_time_is_looked_at_ever_less_often(reason: str, hold: timedelta) -> None:
    """After minutes of looks that found nothing, slowness is how this server is, until another reason joins."""
    at, looked_at, entry = NOW, [NOW], Entry(1)
    while at < NOW + timedelta(minutes=12):
        at += seconds(2)
        entry = plan.triggered(entry, [reason], int((at - NOW).total_seconds() * US), at)
        if entry.due_at is not None and entry.due_at <= at:
            entry = replace(entry, diagnosed_us=entry.triggered_us)
            entry = after(replace(NOTHING, visited=True), *entry.waiting, entry=entry, at=at)
            looked_at.append(at)
    gaps = [later - earlier for earlier, later in itertools.pairwise(looked_at)]
    assert max(one for one, then in zip(gaps, looked_at[1:], strict=True) if then < NOW + seconds(120)) < seconds(8)
    assert min(gaps[-5:]) >= hold
    assert plan.triggered(entry, [reason, "throttled"], 0, at).due_at == at, "another reason is heard at once"
    entry = after(replace(NOTHING, causes=("cpu/limit_too_low",)), reason, entry=entry, at=at)
    assert entry.due_at == at + plan.STEADY, "something was found"


def test_a_visit_also_answers_what_was_held_back() -> None:
    held = plan.Vain(plan.STEADY_LOOKS, NOW)
    entry = Entry(1, vain={"slow_query": held, "slow_request": held})
    entry = plan.triggered(entry, ["slow_query"], 1, NOW + seconds(20))
    assert entry.due_at is None
    visit = NOW + seconds(30)
    entry = after(replace(NOTHING, visited=True), entry=entry, at=visit)
    assert entry.vain["slow_query"].held_until("slow_query") == visit + plan.USUAL_HOLD
    assert entry.vain["slow_request"] == held, "did not trigger: forgotten as before"
    assert plan.triggered(entry, ["slow_query"], 1, visit + plan.USUAL_HOLD - seconds(1)).waiting == ()
    assert plan.triggered(entry, ["slow_query"], 1, visit + plan.USUAL_HOLD).waiting == ("slow_query",)


def test_a_risk_that_stays_the_same_is_not_followed_up() -> None:
    risk = replace(NOTHING, causes=("cpu/limit_too_low",))
    entry = after(risk, "throttled")
    assert entry.due_at == NOW + plan.FOLLOW_UP
    at = NOW + seconds(9)
    assert after(risk, "throttled", entry=entry, at=at).due_at == at + plan.STEADY


def test_visits() -> None:
    calm = Entry(1, diagnosed_us=1000 * US)
    assert after(replace(NOTHING, visited=True), entry=calm).due_at == NOW + VISIT
    assert after(replace(NOTHING, visited=True, news=False), entry=calm).due_at is None, (
        "silent: visited when seen again"
    )
    assert after(replace(NOTHING, active=True, news=False), entry=calm).due_at == NOW + plan.STEADY
    assert after(NOTHING, entry=calm).due_at is None


@pytest.mark.parametrize(
    ("ago_s", "look", "next_s"),
    [
        (4, NOTHING, 10),
        (40, NOTHING, 40),
        (90, replace(NOTHING, visited=True), VISIT.total_seconds()),
        (40, replace(NOTHING, causes=("cpu/limit_too_low",)), 10),
        (40, replace(NOTHING, active=True), 10),
        (120, NOTHING, None),
    ],
)
def test_what_triggered_of_late_is_watched(ago_s: int, look: Look, next_s: float | None) -> None:
    """The longer ago that was, the less often, as long as nothing is found."""
    entry = Entry(1, triggered_us=900 * US, diagnosed_us=(900 + ago_s) * US)
    assert after(look, entry=entry).due_at == (None if next_s is None else NOW + seconds(next_s))


def test_an_error_is_tried_again_ever_later() -> None:
    assert plan.failed(Entry(1, attempts=1), NOW).due_at == NOW + seconds(2)
    assert plan.failed(Entry(1, attempts=40), NOW).due_at == NOW + plan.LONGEST_BACKOFF
