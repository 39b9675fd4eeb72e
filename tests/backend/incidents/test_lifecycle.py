"""The life of an incident, as decisions without a database."""

from __future__ import annotations

from dataclasses import replace

from jitterscope.diagnosis.core.finding import Found, Impact, NotFound, Rival, Severity
from jitterscope.incidents.lifecycle import decide as lifecycle
from jitterscope.incidents.lifecycle.decide import (
    Continue,
    Known,
    NoteRisk,
    Open,
    Reclassify,
    Reopen,
    Resolve,
    Supersede,
    Update,
)

S = 1_000_000
GC, LIMIT = "cpu/gc_throttling", "cpu/limit_too_low"


def found(
    cause: str = GC,
    *,
    severity: Severity | None = "warning",
    onset: int = 100,
    last: int = 160,
    slow: int = 10,
    rivals: tuple[Rival, ...] = (),
) -> Found:
    return Found(
        cause=cause, score=0.9, confidence="high", severity=severity, title=f"{cause} title", summary="summary",
        onset_us=onset * S, last_us=last * S, impact={"slow_queries": slow}, evidence=[], rivals=list(rivals),
    )  # fmt: skip


def known(
    cause: str = GC,
    *,
    id: int = 1,
    severity: Severity = "warning",
    onset: int = 100,
    last: int = 160,
    slow: int = 10,
    resolved: int | None = None,
) -> Known:
    return Known(
        id=id, cause=cause, state="open" if resolved is None else "resolved", severity=severity, onset_us=onset * S,
        last_us=last * S, resolved_us=None if resolved is None else resolved * S,
        strength=lifecycle.Strength.of(found(cause, severity=severity, slow=slow)),
    )  # fmt: skip


def refuted(cause: str, reason: str = "no cycle in the throttled ticks") -> NotFound:
    return NotFound(cause=cause, reason=reason)


def rival(cause: str, status: str) -> Rival:
    return Rival.model_validate({"cause": cause, "title": cause, "status": status, "reason": "smaller part"})


def test_opens_what_hurts_and_lists_what_does_not() -> None:
    hurting, harmless = found(GC), found(LIMIT, severity=None)
    assert lifecycle.decide([], [hurting, harmless], [], 0) == [Open(hurting), NoteRisk(harmless)]


def test_the_same_window_again_changes_nothing() -> None:
    assert lifecycle.decide([known()], [found()], [], 0) == []


def test_newer_symptoms_update_and_stronger_windows_are_shown() -> None:
    weaker, stronger = found(last=170, slow=5), found(last=170, slow=50)
    assert lifecycle.decide([known()], [weaker], [], 0) == [Update(known(), weaker, False, None)]
    assert lifecycle.decide([known()], [stronger], [], 0) == [Update(known(), stronger, True, None)]


def test_a_longer_look_replaces_a_glimpse() -> None:
    def seeing(queries: int, score: float, slow: int = 10) -> Found:
        impact: Impact = {"slow_queries": slow, "queries": queries}
        return found(last=170).model_copy(update={"impact": impact, "score": score})

    def shown(new: Found) -> bool:
        glimpse = replace(known(), strength=lifecycle.Strength.of(seeing(300, 0.793)))
        (update,) = lifecycle.decide([glimpse], [new], [], 0)
        assert isinstance(update, Update)
        return update.strongest

    assert shown(seeing(900, 0.7875)), "as slow, and seen for longer: the score is no reason to keep the glimpse"
    assert not shown(seeing(310, 0.7875)), "about as much was seen"
    assert not shown(seeing(900, 0.9, slow=5)), "less harm"


def test_severity_only_grows() -> None:
    worse, milder = found(severity="critical", last=170), found(severity="info", last=170)
    assert lifecycle.decide([known()], [worse], [], 0) == [Update(known(), worse, True, "critical")]
    assert lifecycle.decide([known()], [milder], [], 0) == [Update(known(), milder, False, None)]


def test_a_risk_of_an_active_incident_is_not_listed_beside_it() -> None:
    assert lifecycle.decide([known()], [found(severity=None, last=170)], [], 0) == []


def test_resolves_after_quiet_data_and_not_by_silence() -> None:
    quiet = 600 * S
    assert lifecycle.resolve_quiet([known(last=160)], 759 * S, quiet) == []
    resolved = lifecycle.resolve_quiet([known(last=160)], 760 * S, quiet)
    assert [(item.incident.id, item.at_us) for item in resolved] == [(1, 760 * S)]
    assert isinstance(resolved[0], Resolve)
    # A resolved incident stays as it is.
    assert lifecycle.resolve_quiet([known(resolved=200)], 10_000 * S, quiet) == []


def test_reopens_within_a_day_on_a_new_symptom_only() -> None:
    old = known(resolved=200)
    again = found(onset=300, last=310)
    assert lifecycle.decide([old], [again], [], 0) == [Reopen(old, again)]
    # Old evidence is still in the window after a manual resolution.
    assert lifecycle.decide([old], [found(last=199)], [], 0) == []
    late = found(onset=200 + 86_401, last=201 + 86_401)
    assert lifecycle.decide([old], [late], [], 0) == [Open(late)]


def test_what_a_verified_fix_left_is_no_reason_to_reopen() -> None:
    accepted = lifecycle.Remainder({"slow_ratio": 0.002, "throttled_ratio": 0.01})
    fixed = replace(known(resolved=200), state="verified", accepted=accepted)
    again = found(onset=300, last=310)
    as_measured = again.model_copy(update={"impact": {"slow_ratio": 0.0015, "throttled_ratio": 0.008}})
    slower = again.model_copy(update={"impact": {"slow_ratio": 0.0025, "throttled_ratio": 0.008}})
    throttled = again.model_copy(update={"impact": {"slow_ratio": 0.001, "throttled_ratio": 0.02}})
    assert lifecycle.decide([fixed], [as_measured], [], 0) == []
    assert lifecycle.decide([fixed], [slower], [], 0) == [Reopen(fixed, slower)]
    assert lifecycle.decide([fixed], [throttled], [], 0) == [Reopen(fixed, throttled)]


def test_a_window_that_reaches_back_before_a_verified_fix_shows_the_old_fault() -> None:
    fixed = replace(known(resolved=200), state="verified")
    assert lifecycle.decide([fixed], [found(onset=150, last=210)], [], 0) == []
    returned = found(onset=201, last=210)
    assert lifecycle.decide([fixed], [returned], [], 0) == [Reopen(fixed, returned)]


def test_quiet_does_not_close_what_is_being_measured() -> None:
    measured = replace(known(last=160), state="fix_applied")
    assert lifecycle.resolve_quiet([measured], 10_000 * S, 600 * S) == []
    helpless = replace(known(last=160), state="did_not_help")
    assert len(lifecycle.resolve_quiet([helpless], 10_000 * S, 600 * S)) == 1


def test_the_newest_resolved_one_reopens() -> None:
    older, newer = known(id=1, resolved=200), known(id=2, resolved=300)
    again = found(onset=390, last=400)
    assert lifecycle.decide([older, newer], [again], [], 0) == [Reopen(newer, again)]


def test_more_data_corrects_the_cause_in_place() -> None:
    wrong, right = known(LIMIT, onset=100, last=103), found(GC, onset=100, last=130)
    assert lifecycle.decide([wrong], [right], [refuted(LIMIT)], 50 * S) == [
        Reclassify(wrong, right, "no cycle in the throttled ticks")
    ]


def test_what_is_being_measured_keeps_its_cause() -> None:
    measured = replace(known(LIMIT, onset=100, last=103), state="fix_applied")
    other = found(GC, onset=100, last=130)
    assert lifecycle.decide([measured], [other], [refuted(LIMIT)], 50 * S) == [Open(other)]


def test_a_cause_outdone_by_its_rival_is_corrected_too() -> None:
    wrong = known(LIMIT, onset=100, last=103)
    right = found(GC, onset=100, last=130, rivals=(rival(LIMIT, "not_ruled_out"),))
    assert lifecycle.decide([wrong], [right], [], 50 * S) == [Reclassify(wrong, right, "smaller part")]


def test_an_incident_older_than_the_window_keeps_its_cause() -> None:
    established, other = known(LIMIT, onset=100, last=900), found(GC, onset=880, last=950)
    assert lifecycle.decide([established], [other], [refuted(LIMIT)], 850 * S) == [Open(other)]


def test_an_established_cause_that_is_not_excluded_goes_on() -> None:
    established = known(LIMIT, onset=100, last=900)
    louder = found(GC, onset=880, last=950, rivals=(rival(LIMIT, "not_ruled_out"),))
    assert lifecycle.decide([established], [louder], [], 850 * S) == [Continue(established, 950 * S)]
    worse = found(GC, severity="critical", onset=880, last=950, rivals=(rival(LIMIT, "not_ruled_out"),))
    assert lifecycle.decide([established], [worse], [], 850 * S) == [Open(worse)]


def test_another_stall_is_not_a_correction() -> None:
    earlier, later = known(LIMIT, onset=100, last=110), found(GC, onset=140, last=150)
    assert lifecycle.decide([earlier], [later], [refuted(LIMIT)], 50 * S) == [Open(later)]


def test_a_mistake_beside_the_right_incident_is_closed_in_its_favour() -> None:
    right, wrong = known(GC, id=1, onset=100, last=160), known(LIMIT, id=2, onset=120, last=140)
    changes = lifecycle.decide([right, wrong], [found(GC, last=170)], [refuted(LIMIT)], 50 * S)
    assert changes[0] == Update(right, found(GC, last=170), True, None)
    assert changes[1:] == [Supersede(wrong, GC, "no cycle in the throttled ticks")]


def test_corrections_are_not_undone_by_the_next_look_at_the_same_data() -> None:
    corrected = known(GC, onset=100, last=130)
    assert lifecycle.decide([corrected], [found(GC, last=130)], [refuted(LIMIT)], 50 * S) == []
