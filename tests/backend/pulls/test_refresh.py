"""What happens to a pull request: its state, and the verdict on the fix as a comment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jitterscope.db import organization_session
from jitterscope.incidents.verification import verifications
from jitterscope.incidents.verification import visit as verification
from jitterscope.inventory.types import FactRow
from jitterscope.pulls import refresh
from jitterscope.pulls.models import PullRequestRow
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import changed, story, without_facts
from tests.backend.pulls.conftest import Opener

pytestmark = pytest.mark.slow


@contextmanager
def row(opener: Opener) -> Iterator[PullRequestRow]:
    with organization_session(opener.service.organization.id) as session:
        yield session.query(PullRequestRow).one()


def visit(opener: Opener) -> int:
    """Let the time until the next look pass, and look."""
    with row(opener) as one:
        one.next_check_at = datetime.now(UTC) - timedelta(seconds=1)
    return refresh.visit(opener.service.organization.id)


def shown(opener: Opener, incident: int) -> Any:
    return opener.listed(incident)["raise_cpu_limit"]["pull_request"]


def with_fact(recording: Recording, name: str, value: str) -> Recording:
    """With a fact of the container."""
    fact = FactRow(name, value, recording.start_us)
    return changed(recording, lambda one: replace(one, facts=(*one.facts, fact)) if one.kind == "cgroup" else one)


def opened(opener: Opener, *parts: Recording) -> int:
    """An incident whose fix became a pull request, before whatever followed the first part."""
    opener.connect()
    incident = story(opener.service, *parts) if len(parts) > 1 else opener.incident(parts[0])
    opener.open(incident)
    with row(opener) as one:
        one.opened_at -= timedelta(minutes=30)
    return incident


def opened_with_image(opener: Opener, before: Recording, after: Recording) -> int:
    """Like `opened`, for a rollout that also changed the image."""
    older = with_fact(before, "workload.image", "registry.k8s.io/coredns/coredns:v1.11.1")
    newer = with_fact(after, "workload.image", "registry.k8s.io/coredns/coredns:v1.12.0")
    return opened(opener, older, newer)


def test_states_follow_the_host(opener: Opener, kubernetes_fault: Recording) -> None:
    incident = opened(opener, kubernetes_fault)
    visit(opener)
    assert shown(opener, incident)["state"] == "open"
    opener.host.merge(1)
    visit(opener)
    after = shown(opener, incident)
    assert (after["state"], after["merged_at"]) == ("merged", opener.host.pulls[0].merged_at)
    asked = len(opener.host.requests)
    visit(opener)
    assert len(opener.host.requests) == asked, "a merged one is not asked for again"


def test_a_closed_one_is_not_looked_at_again(opener: Opener, kubernetes_fault: Recording) -> None:
    incident = opened(opener, kubernetes_fault)
    opener.host.pulls[0].state = "closed"
    visit(opener)
    assert shown(opener, incident)["state"] == "closed"
    assert visit(opener) == 0


def test_the_verdict_is_commented_once(
    opener: Opener, kubernetes_fault: Recording, kubernetes_more_cpu: Recording
) -> None:
    incident = opened(opener, kubernetes_fault, kubernetes_more_cpu)
    opener.host.merge(1)
    visit(opener)
    assert opener.host.pulls[0].comments == [], "no verdict yet"
    verification.visit(opener.service.organization.id, incident)
    detail = opener.service.get(f"/incidents/{incident}")
    assert detail["verification"]["state"] == "verified"
    visit(opener)
    (comment,) = opener.host.pulls[0].comments
    assert comment.startswith("**Verified: the fix helped.**")
    assert "| figure | before | after | predicted (90 % interval) |" in comment
    row_of = next(line for line in comment.splitlines() if line.startswith("| **"))
    assert "%" in row_of or "ms/min" in row_of
    assert "CPU limit: 0.5 → 4" in comment
    assert f"jitterscope:verification={detail['verification']['id']}" in comment
    assert shown(opener, incident)["comment_url"].startswith(opener.host.url)
    visit(opener)
    assert len(opener.host.pulls[0].comments) == 1
    assert opener.service.get("/audit")["items"][0]["action"] == "pull_request.comment"


def test_a_comment_whose_answer_was_lost_is_not_written_twice(
    opener: Opener, kubernetes_fault: Recording, kubernetes_more_cpu: Recording
) -> None:
    incident = opened(opener, kubernetes_fault, kubernetes_more_cpu)
    verification.visit(opener.service.organization.id, incident)
    visit(opener)
    with row(opener) as one:  # as if the worker had died before it wrote that down
        one.told_verification_id, one.comment_url, one.comment_attempts = None, None, 1
    visit(opener)
    assert len(opener.host.pulls[0].comments) == 1
    assert shown(opener, incident)["comment_url"] is not None


def test_a_fix_that_does_not_help_is_said_so(
    opener: Opener, kubernetes_fault: Recording, kubernetes_no_help: Recording
) -> None:
    incident = opened(opener, kubernetes_fault, kubernetes_no_help)
    verification.visit(opener.service.organization.id, incident)
    assert opener.service.get(f"/incidents/{incident}")["state"] == "did_not_help"
    visit(opener)
    (comment,) = opener.host.pulls[0].comments
    assert comment.startswith("**The fix did not help.**")


def test_a_fix_that_was_there_before_is_none_of_this_one(
    opener: Opener, kubernetes_fault: Recording, kubernetes_more_cpu: Recording
) -> None:
    incident = opened(opener, kubernetes_fault, kubernetes_more_cpu)
    with row(opener) as one:
        one.opened_at = datetime.now(UTC)
    verification.visit(opener.service.organization.id, incident)
    visit(opener)
    assert opener.host.pulls[0].comments == []


def merged(opener: Opener, ago: timedelta) -> None:
    """As the host reports it, this long ago."""
    opener.host.merge(1)
    visit(opener)
    with row(opener) as one:
        one.merged_at = datetime.now(UTC) - ago


def test_a_fix_that_a_person_declares_gets_its_verdict(
    opener: Opener, kubernetes_fault: Recording, kubernetes_more_cpu: Recording
) -> None:
    """The collector sees no quota: without the declaration there would be no verdict."""
    silent = without_facts(kubernetes_more_cpu, "cpu.quota_us", "cpu.period_us", "cpu.burst_us")
    incident = opened(opener, kubernetes_fault, silent)
    merged(opener, timedelta(minutes=5))
    verification.visit(opener.service.organization.id, incident)
    visit(opener)
    assert opener.host.pulls[0].comments == [], "it may still be seen"
    merged(opener, timedelta(hours=25))
    visit(opener)
    visit(opener)
    (reminder,) = opener.host.pulls[0].comments
    assert reminder.startswith("**No verdict yet.** No data from the workload shows the change.")
    assert "The CPU quota" in reminder, "how it is seen"
    assert "press **I applied this fix** on the page of [incident" in reminder
    assert shown(opener, incident)["reminded_at"] is not None
    assert shown(opener, incident)["comment_url"] is None
    seen = opener.service.get(f"/incidents/{incident}")["last_seen_at"]
    given = {"fix_id": "raise_cpu_limit", "applied_at": seen}
    opener.service.post(f"/incidents/{incident}/verify", given)
    visit(opener)
    assert len(opener.host.pulls[0].comments) == 1, "no verdict yet"
    verification.visit(opener.service.organization.id, incident)
    visit(opener)
    verdict = opener.host.pulls[0].comments[-1]
    assert verdict.startswith("**Verified: the fix helped.**")
    assert ", declared by " in verdict
    assert len(opener.host.pulls[0].comments) == 2
    assert shown(opener, incident)["comment_url"] is not None


def test_a_change_with_more_in_it_is_told_as_that(
    opener: Opener, kubernetes_fault: Recording, kubernetes_more_cpu: Recording
) -> None:
    """No fix is recognized, and the verdict is about both."""
    incident = opened_with_image(opener, kubernetes_fault, kubernetes_more_cpu)
    merged(opener, timedelta(minutes=5))
    verification.visit(opener.service.organization.id, incident)
    assert opener.service.get(f"/incidents/{incident}")["verification"]["fix_id"] is None
    visit(opener)
    (comment,) = opener.host.pulls[0].comments
    assert "More was changed than this fix changes. The verdict covers all of it." in comment
    assert "CPU limit: 0.5 → 4" in comment
    assert "1.12.0" in comment


def test_a_change_before_the_merge_is_another_one_unless_it_is_the_fix(
    opener: Opener, kubernetes_fault: Recording, kubernetes_more_cpu: Recording
) -> None:
    incident = opened_with_image(opener, kubernetes_fault, kubernetes_more_cpu)
    verification.visit(opener.service.organization.id, incident)
    merged(opener, timedelta(seconds=1))
    visit(opener)
    assert opener.host.pulls[0].comments == []


def test_one_that_cannot_be_judged_is_told_so(
    opener: Opener, kubernetes_fault: Recording, kubernetes_more_cpu: Recording
) -> None:
    incident = opened(opener, kubernetes_fault, kubernetes_more_cpu)
    verification.visit(opener.service.organization.id, incident)
    with organization_session(opener.service.organization.id) as session:
        (made,) = verifications.of_incident(session, incident)
        made.state, made.verdict = "replaced", "The change was reverted before it could be judged."
    visit(opener)
    (comment,) = opener.host.pulls[0].comments
    assert comment.startswith("**No verdict.** The change was reverted before it could be judged.")


def test_a_host_that_fails_is_asked_less_and_less(opener: Opener, kubernetes_fault: Recording) -> None:
    incident = opened(opener, kubernetes_fault)
    part = "/pulls/1" if opener.kind == "github" else "/merge_requests/1"
    opener.host.fail("GET", part, 503, {"message": "Maintenance"})
    visit(opener)
    one = shown(opener, incident)
    assert one["state"] == "open"
    assert "503: Maintenance" in one["last_error"]
    assert refresh.visit(opener.service.organization.id) == 0, "not due yet"
    opener.host.fail("GET", part, 429, {"message": "Slow down"}, **{"Retry-After": "1800"})
    visit(opener)
    with row(opener) as stored:
        assert stored.next_check_at > datetime.now(UTC) + timedelta(seconds=1700)
    visit(opener)
    assert shown(opener, incident)["last_error"] is None


def test_it_is_asked_for_less_often_with_its_age(opener: Opener, kubernetes_fault: Recording) -> None:
    opened(opener, kubernetes_fault)
    waits = []
    for age in (
        timedelta(minutes=10),
        timedelta(hours=5),
        timedelta(days=5),
        timedelta(days=50),
    ):
        with row(opener) as one:
            one.opened_at = datetime.now(UTC) - age
        visit(opener)
        with row(opener) as one:
            waits.append(round((one.next_check_at - datetime.now(UTC)).total_seconds() / 60))
    assert waits == [1, 5, 30, 720]


def test_without_its_repository_it_stays_listed(opener: Opener, kubernetes_fault: Recording) -> None:
    incident = opened(opener, kubernetes_fault)
    repository = opener.service.get("/repositories")[0]["id"]
    opener.service.client.delete(
        f"/api/v1/repositories/{repository}",
        headers=opener.service.organization.headers,
    )
    assert visit(opener) == 0
    assert shown(opener, incident)["state"] == "open"
    assert not opener.listed(incident)["raise_cpu_limit"]["possible"]
