"""Clients that wait for a connection, from ingest to a verified fix: the server's own latency has none of the wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jitterscope.db import organization_session
from jitterscope.diagnosis.scenarios.net.runs import LOSSY, OVERFLOW
from jitterscope.diagnosis.scenarios.net.simulate import simulate
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.recordings.snapshots import recording_of
from tests.backend.incidents.stories import measures, story, visit

BURSTS = tuple((3.05 + 4 * n, 80) for n in range(20))
FULL = replace(OVERFLOW, seconds=80.0, bursts=BURSTS)


@pytest.mark.slow
def test_a_longer_queue_is_seen_and_verified_by_drops(service: Any) -> None:
    fault = recording_of(simulate(FULL))
    room = recording_of(simulate(replace(FULL, backlog=128, seed=2)))
    incident = visit(service, story(service, fault, room))
    assert (incident["cause"], incident["harm"], incident["state"]) == ("net/accept_queue", "measured", "verified")
    verification = incident["verification"]
    assert verification["fix_id"] == "raise_backlog"
    assert {one["name"] for one in verification["changes"]} == {"tcp.accept_limit"}
    found = measures(incident)
    assert found["listen_drops_ratio"]["before"] > 0.1
    assert found["listen_drops_ratio"]["after"] == 0


@pytest.mark.parametrize(
    ("load", "reason"), [(replace(FULL, seconds=20.0), "listen_drop"), (replace(LOSSY, seconds=20.0), "retransmission")]
)
def test_clients_that_wait_make_a_diagnosis_due(service: Any, load: Any, reason: str) -> None:
    subject = service.feed(recording_of(simulate(load)))
    with organization_session(service.organization.id) as session:
        entry = schedule.state(session, subject)
    assert entry is not None
    assert entry.due_at is not None
    assert reason in entry.waiting
