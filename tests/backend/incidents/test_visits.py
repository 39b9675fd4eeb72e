"""Incidents are visited if there can be news of a fix, and left alone otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from jitterscope.db import organization_session
from jitterscope.incidents.verification.visit import with_news
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import shortened, story, visit


def long_ago(service: Any) -> None:
    """As if the facts of all nodes had been unchanged for an hour."""
    with organization_session(service.organization.id) as session:
        session.execute(text("UPDATE collectors SET facts_changed_at = now() - interval '1 hour'"))


@pytest.mark.slow
def test_without_news_an_incident_is_left_alone(service: Any, fault: Recording, more_cpu: Recording) -> None:
    incident_id = story(service, fault)
    long_ago(service)
    assert with_news(service.organization.id) == [incident_id], "nobody was there yet"
    assert with_news(service.organization.id) == []
    service.feed(fault)
    assert with_news(service.organization.id) == [], "the same facts again are no news"
    service.feed(more_cpu)
    assert with_news(service.organization.id) == [incident_id]
    assert with_news(service.organization.id) == [incident_id], "more facts of the same change may follow"


def test_a_fix_that_waits_for_its_verdict_is_visited(service: Any, fault: Recording, more_cpu: Recording) -> None:
    incident_id = story(service, fault, shortened(more_cpu, 40))
    assert visit(service, incident_id)["state"] == "fix_applied"
    long_ago(service)
    assert [with_news(service.organization.id) for _ in range(3)] == [[incident_id]] * 3
