"""Rules of channels: which incidents they cover, when they are quiet, and what happens to each change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from jitterscope.notify.conditions import Conditions, Place, matches, place_of
from jitterscope.notify.payload import ACTIONS, PayloadSubject
from jitterscope.notify.quiet_hours import DAYS, QuietHours
from jitterscope.notify.rules import GONE, Event, Rule, held_until, replay

COREDNS = place_of(
    PayloadSubject(
        kind="cgroup", key="/kubepods/burstable/pod1/abc", name="kube-system/coredns-7c9d8bb6f4-x2x9q/coredns",
        node="node-3", namespace="kube-system", workload="coredns", pod="coredns-7c9d8bb6f4-x2x9q",
        container="coredns",
    )
)  # fmt: skip
NODE = place_of(PayloadSubject(kind="node", key="node-9", name="node-9", node="node-9"))
CAUSE = "cpu/gc_throttling"


def fits(place: Place = COREDNS, **conditions: list[str]) -> bool:
    return matches(Conditions(**conditions), CAUSE, (place,))


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, True),
        ({"causes": ["cpu/*"]}, True),
        ({"causes": ["CPU/GC_*"]}, True),
        ({"causes": ["cpu"]}, False),
        ({"causes": ["dns/*", "cpu/?c_throttling"]}, True),
        ({"namespaces": ["kube-*"]}, True),
        ({"namespaces": ["kube"]}, False),
        ({"resources": ["coredns"]}, True),
        ({"resources": ["COREDNS-7c9*"]}, True),
        ({"resources": ["kube-system/coredns"]}, True),
        ({"resources": ["kube-system/coredns-*/coredns"]}, True),
        ({"resources": ["/kubepods/burstable/*"]}, True),
        ({"resources": ["[a-b]*", "other"]}, False),
        ({"nodes": ["node-[0-3]"]}, True),
        ({"nodes": ["node-[!3]"]}, False),
        ({"causes": ["cpu/*"], "namespaces": ["default"]}, False),
        ({"causes": ["cpu/*"], "namespaces": ["kube-system"], "nodes": ["node-3"], "resources": ["core*"]}, True),
    ],
)
def test_patterns(conditions: dict[str, list[str]], expected: bool) -> None:
    assert fits(COREDNS, **conditions) is expected


def test_without_a_namespace_no_pattern_of_one_matches() -> None:
    assert fits(NODE)
    assert not fits(NODE, namespaces=["*"])


def test_one_place_fits_in_all_respects() -> None:
    """An incident on a node that also reached CoreDNS is for CoreDNS's owners, but not "on node-9"."""
    both = (NODE, COREDNS)
    assert matches(Conditions(namespaces=["kube-system"]), CAUSE, both)
    assert not matches(Conditions(namespaces=["kube-system"], nodes=["node-9"]), CAUSE, both)


names = st.text("abAB-/0", min_size=1, max_size=8)
patterns = st.text("abA*?[]!-/", min_size=1, max_size=12).filter(lambda text: text.strip() != "")


@given(pattern=patterns, others=st.lists(patterns, max_size=3), name=names)
def test_more_patterns_match_more_and_case_is_nothing(pattern: str, others: list[str], name: str) -> None:
    place = Place(name, frozenset({name}), name)
    one = fits(place, namespaces=[pattern])
    assert fits(place, resources=[pattern]) == fits(place, nodes=[pattern]) == one
    assert fits(place, namespaces=[pattern.upper()]) == one
    assert fits(Place(name.swapcase(), frozenset(), name), namespaces=[pattern]) == one
    assert fits(place, namespaces=[pattern, *others]) == (one or any(fits(place, namespaces=[o]) for o in others))
    assert fits(place, namespaces=[pattern], nodes=[pattern]) == one
    assert fits(place, namespaces=["*"])


def test_a_pattern_takes_no_time_that_its_length_does_not_explain() -> None:
    """Backtracking over 200 asterisks would never end."""
    assert not fits(Place("a" * 5000, frozenset(), "n"), namespaces=["*a" * 99 + "b"])


@pytest.mark.parametrize("wrong", [["x"] * 21, [""], [" "], ["x" * 201], ["a\nb"]])
def test_bounds_of_patterns(wrong: list[str]) -> None:
    with pytest.raises(ValidationError):
        Conditions(causes=wrong)


def quiet(**given: Any) -> QuietHours:
    usual: dict[str, Any] = {"days": list(DAYS), "start": "22:00", "end": "07:00", "time_zone": "UTC"}
    return QuietHours.model_validate(usual | given)


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


@pytest.mark.parametrize(
    ("hours", "when", "ends"),
    [
        ({}, at("2026-11-24T21:59:59"), None),
        ({}, at("2026-11-24T22:00"), at("2026-11-25T07:00")),
        ({}, at("2026-11-25T06:59:59"), at("2026-11-25T07:00")),
        ({}, at("2026-11-25T07:00"), None),
        # A Tuesday: Monday's night ends on it, its own does not begin.
        ({"days": ["mon"]}, at("2026-11-24T03:00"), at("2026-11-24T07:00")),
        ({"days": ["mon"]}, at("2026-11-24T23:00"), None),
        # The weekend, from Saturday to Sunday without a gap.
        ({"days": ["sat", "sun"], "start": "00:00", "end": "00:00"}, at("2026-11-28T12:00"), at("2026-11-30T00:00")),
        # Berlin is an hour ahead of UTC in winter and two in summer; that night is an hour shorter.
        ({"time_zone": "Europe/Berlin"}, at("2026-11-24T21:30"), at("2026-11-25T06:00")),
        ({"time_zone": "Europe/Berlin"}, at("2026-03-28T22:00"), at("2026-03-29T05:00")),
        # Times that the clock skips, and times that occur twice.
        ({"time_zone": "Europe/Berlin", "start": "02:30", "end": "04:00"}, at("2026-03-29T01:30"),
         at("2026-03-29T02:00")),
        ({"time_zone": "Europe/Berlin", "start": "01:00", "end": "02:30"}, at("2026-10-25T00:15"),
         at("2026-10-25T00:30")),
    ],
)  # fmt: skip
def test_quiet_hours(hours: dict[str, Any], when: datetime, ends: datetime | None) -> None:
    assert quiet(**hours).ends(when) == ends


wall = st.builds("{:02d}:{:02d}".format, st.integers(0, 23), st.integers(0, 59))
zones = st.sampled_from(
    ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia")
)
some_days = st.lists(st.sampled_from(DAYS), min_size=1, max_size=7, unique=True)
moments = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001


@pytest.mark.slow
@given(days=some_days, start=wall, end=wall, zone=zones, when=moments)
@settings(max_examples=500)
def test_quiet_hours_end_where_they_do_not_hold(
    days: list[str], start: str, end: str, zone: str, when: datetime
) -> None:
    if len(days) == 7 and start == end:
        with pytest.raises(ValidationError):
            quiet(days=days, start=start, end=end)
        return
    hours = quiet(days=days, start=start, end=end, time_zone=zone)
    ends = hours.ends(when)
    if ends is None:
        return
    assert timedelta() < ends - when <= timedelta(days=7, hours=2)
    assert hours.ends(ends) is None
    assert hours.ends(ends - timedelta(microseconds=1)) == ends
    between = when + (ends - when) / 3
    assert hours.ends(between) == ends, "one quiet, whenever in it one asks"


@pytest.mark.parametrize(
    "wrong",
    [{"days": []}, {"days": ["monday"]}, {"start": "24:00"}, {"end": "7:00"}, {"time_zone": "Mars/Olympus"},
     {"time_zone": "../../etc/passwd"}, {"start": "07:00"}],
)  # fmt: skip
def test_quiet_hours_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        quiet(**wrong)


def test_critical_passes_where_it_may() -> None:
    night = at("2026-11-24T23:00")
    assert held_until(quiet(), "critical", night) is None
    assert held_until(quiet(), "warning", night) == at("2026-11-25T07:00")
    assert held_until(quiet(critical_passes=False), "critical", night) == at("2026-11-25T07:00")
    assert held_until(None, "warning", night) is None


NIGHT = quiet()
EVENING, MIDNIGHT, MORNING = (at(f"2026-11-{one}") for one in ("24T21:00", "25T00:00", "25T07:00"))


def event(action: str, when: datetime, severity: str = "warning", incident_id: int = 1, cause: str = CAUSE) -> Event:
    return Event(incident_id, action, when, severity, cause, (COREDNS,))  # type: ignore[arg-type]


def rule(**given: Any) -> Rule:
    usual: dict[str, Any] = {"min_severity": "warning", "actions": frozenset(ACTIONS), "conditions": Conditions(),
                             "quiet_hours": NIGHT}  # fmt: skip
    return Rule(**usual | given)


def sent(wanted: Rule, *events: Event, muted: int = -1) -> list[tuple[str, datetime]]:
    """Action and time of what is sent; the incident is muted from event number `muted` on."""
    told = replay(wanted, [replace(one, muted=0 <= muted <= number) for number, one in enumerate(events)])
    return [(one.event.action, one.held_until or one.event.at) for one in told]


def minutes(after: datetime, count: int) -> datetime:
    return after + timedelta(minutes=count)


def test_what_falls_into_quiet_hours_is_sent_when_they_end() -> None:
    assert sent(rule(), event("opened", MIDNIGHT)) == [("opened", MORNING)]
    assert sent(rule(), event("opened", EVENING)) == [("opened", EVENING)]


def test_an_incident_that_came_and_went_in_quiet_hours_sends_nothing() -> None:
    for end in GONE:
        assert sent(rule(), event("opened", MIDNIGHT), event(end, minutes(MIDNIGHT, 5))) == []
    only_opened = rule(actions=frozenset({"opened"}))
    assert sent(only_opened, event("opened", MIDNIGHT), event("resolved", minutes(MIDNIGHT, 5))) == []


def test_what_is_not_known_any_more_has_not_gone() -> None:
    """Its node fell silent in quiet hours: the fault may go on."""
    ended = event("not_known", minutes(MIDNIGHT, 5))
    assert sent(rule(), event("opened", MIDNIGHT), ended) == [("not_known", MORNING)]
    assert sent(rule(closes_alerts=True), event("opened", MIDNIGHT), ended) == [], "no alert was open"
    assert sent(rule(), event("opened", EVENING), ended) == [("opened", EVENING), ("not_known", MORNING)]


def test_an_alert_does_not_stay_open_because_nobody_asked_for_its_end() -> None:
    before = frozenset({"opened", "resolved"})
    life = (event("opened", EVENING), event("not_known", minutes(EVENING, 1)))
    assert [one for one, _ in sent(rule(actions=before, closes_alerts=True), *life)] == ["opened", "not_known"]
    assert [one for one, _ in sent(rule(actions=before), *life)] == ["opened"]


def test_whoever_was_told_of_the_beginning_is_told_of_the_end() -> None:
    assert sent(rule(), event("opened", EVENING), event("resolved", MIDNIGHT)) == [
        ("opened", EVENING), ("resolved", MORNING),
    ]  # fmt: skip


def test_what_waits_is_one_message_where_the_last_says_all() -> None:
    told = sent(
        rule(), event("opened", MIDNIGHT), event("acknowledged", minutes(MIDNIGHT, 1)),
        event("reclassified", minutes(MIDNIGHT, 2)), event("noted", minutes(MIDNIGHT, 3)),
    )  # fmt: skip
    assert told == [("reclassified", MORNING), ("noted", MORNING)]


def test_what_becomes_critical_at_night_is_sent_at_night() -> None:
    worse = event("escalated", minutes(MIDNIGHT, 9), "critical")
    assert sent(rule(), event("opened", MIDNIGHT), worse) == [("escalated", worse.at)]
    # A channel that did not ask for that message gets what waited as soon as something critical is sent.
    silent = rule(actions=frozenset(ACTIONS) - {"escalated"})
    note = event("noted", minutes(MIDNIGHT, 10), "critical")
    assert [one for one, _ in sent(silent, event("opened", MIDNIGHT), worse, note)] == ["opened", "noted"]


def test_muting_takes_back_what_waits() -> None:
    assert sent(rule(), event("opened", MIDNIGHT), event("muted", minutes(MIDNIGHT, 1)), muted=1) == []


def test_who_was_told_is_told_how_it_goes_on() -> None:
    """Although it no longer matches: otherwise an alert would stay open."""
    wanted = rule(conditions=Conditions(causes=["cpu/*"]), quiet_hours=None)
    told = sent(
        wanted, event("opened", EVENING), event("reclassified", minutes(EVENING, 1), cause="dns/udp_loss"),
        event("resolved", minutes(EVENING, 2), cause="dns/udp_loss"),
        event("opened", EVENING, incident_id=2, cause="dns/udp_loss"),
    )  # fmt: skip
    assert [one for one, _ in told] == ["opened", "reclassified", "resolved"]


@st.composite
def lives(draw: st.DrawFn) -> list[Event]:
    """Changes of three incidents over some days."""
    clock, found = datetime(2026, 11, 23, tzinfo=UTC), []
    for _ in range(draw(st.integers(1, 14))):
        clock += timedelta(minutes=draw(st.integers(1, 600)))
        one = event(
            draw(st.sampled_from(ACTIONS)), clock, draw(st.sampled_from(("info", "warning", "critical"))),
            draw(st.integers(1, 3)), draw(st.sampled_from((CAUSE, "dns/udp_loss"))),
        )  # fmt: skip
        found.append(replace(one, muted=draw(st.integers(0, 9)) == 0))
    return found


rules = st.builds(
    rule,
    min_severity=st.sampled_from(("info", "warning", "critical")),
    actions=st.frozensets(st.sampled_from(ACTIONS), min_size=1),
    conditions=st.sampled_from((Conditions(), Conditions(causes=["cpu/*"]))),
    quiet_hours=st.sampled_from((None, NIGHT, quiet(critical_passes=False), quiet(days=["sat", "sun"]))),
)


@pytest.mark.slow
@given(wanted=rules, life=lives())
@settings(max_examples=300)
def test_no_message_comes_twice_early_or_at_a_quiet_time(wanted: Rule, life: list[Event]) -> None:
    told = replay(wanted, life)
    assert len({id(one.event) for one in told}) == len(told)
    for one in told:
        assert one.event.action in wanted.actions or one.event.action == "unmuted"
        if one.held_until is not None:
            assert wanted.quiet_hours is not None
            assert wanted.quiet_hours.ends(one.held_until) is None
            assert one.held_until == wanted.quiet_hours.ends(one.event.at)


@given(wanted=rules, life=lives())
def test_quiet_hours_only_delay_and_drop(wanted: Rule, life: list[Event]) -> None:
    loud = Rule(wanted.min_severity, wanted.actions, wanted.conditions, None)
    at_once = {id(one.event) for one in replay(loud, life)}
    assert {id(one.event) for one in replay(wanted, life)} <= at_once


def standing(action: str, state: str, count: int) -> Event:
    return replace(event(action, minutes(EVENING, count)), state=state)


def test_no_channel_is_told_twice_in_a_row_that_an_incident_stands_as_it_does() -> None:
    """A channel without "acknowledgment removed" would be told about the same acknowledgment again and again."""
    usual = rule(actions=frozenset(ACTIONS) - {"unacknowledged", "reopened"}, quiet_hours=None)
    life = [
        standing("opened", "open", 0), standing("acknowledged", "acknowledged", 1),
        standing("unacknowledged", "open", 2), standing("acknowledged", "acknowledged", 3),
        standing("noted", "acknowledged", 4), standing("resolved", "resolved", 5), standing("reopened", "open", 6),
        standing("resolved", "resolved", 7),
    ]  # fmt: skip
    told = [one for one, _ in sent(usual, *life)]
    assert told == ["opened", "acknowledged", "noted", "resolved"]
    assert [one for one, _ in sent(replace(usual, actions=frozenset(ACTIONS)), *life)] == [one.action for one in life]


def test_what_waits_is_dropped_where_it_was_taken_back() -> None:
    night = [
        standing("opened", "open", 0), standing("resolved", "resolved", 1),
        replace(standing("reopened", "open", 0), at=MIDNIGHT),
        replace(standing("resolved", "resolved", 0), at=minutes(MIDNIGHT, 5)),
    ]  # fmt: skip
    assert [one for one, _ in sent(rule(), *night)] == ["opened", "resolved"]


def test_the_end_of_a_mute_is_told_to_who_does_not_know_or_is_to_be_reminded() -> None:
    opened, ended = standing("opened", "open", 0), standing("unmuted", "open", 9)
    only_new = rule(actions=frozenset({"opened"}), quiet_hours=None)
    all_of_it = rule(quiet_hours=None)
    assert [one for one, _ in sent(all_of_it, opened, ended)] == ["opened"]
    assert [one for one, _ in sent(all_of_it, opened, replace(ended, reminds=True))] == ["opened", "unmuted"]
    assert [one for one, _ in sent(only_new, opened, replace(ended, reminds=True))] == ["opened"]
    kept_back = replace(opened, muted=True)
    told = [(one.event.action, one.held_until) for one in replay(only_new, [kept_back, ended])]
    assert told == [("unmuted", None)], "as of a new incident"


def test_a_muted_incident_closes_alerts_that_exist_and_nothing_else() -> None:
    opened, resolved = standing("opened", "open", 0), replace(standing("resolved", "resolved", 1), muted=True)
    pager = rule(quiet_hours=None, closes_alerts=True)
    assert [one.event.action for one in replay(pager, [opened, resolved])] == ["opened", "resolved"]
    assert [one.event.action for one in replay(rule(quiet_hours=None), [opened, resolved])] == ["opened"]
    assert replay(pager, [replace(opened, muted=True), resolved]) == []
