"""However fast a resource triggers, one diagnosis of it waits in the queue; others have their turn."""

from __future__ import annotations

import json
import time
from typing import Any

from jitterscope import worker
from jitterscope.cache import valkey
from jitterscope.db import organization_session
from jitterscope.incidents import tasks, waiting
from jitterscope.ingest import triggers
from jitterscope.ingest.triggers import DEBOUNCE_MS, TASK, Trigger
from jitterscope.recordings.model import Recording


def _queued(organization: Any) -> list[int]:
    """The resources whose diagnoses wait in the broker's queue for this organization, the next one last."""
    messages = [json.loads(text)["headers"] for text in valkey().lrange(worker.app.conf.task_default_queue, 0, -1)]
    mine = f"'organization_id': {organization.id},"
    return [
        int(one["kwargsrepr"].split("'resource_id': ")[1].split(",")[0])
        for one in messages
        if one["task"] == TASK and mine in one["kwargsrepr"]
    ]


def _trigger(organization: Any, *resource_ids: int) -> None:
    now_us = time.time_ns() // 1000
    with organization_session(organization.id) as session:
        triggers.enqueue(session, organization.id, [Trigger(one, "slow_query", now_us) for one in resource_ids])


def test_one_waits(service: Any, healthy: Recording, organization: Any) -> None:
    subject_id = service.feed(healthy, ends_us=time.time_ns() // 1000)
    other_id = subject_id + 1_000
    valkey().delete(*(f"jitterscope:diagnosis-waits:{organization.id}:{one}" for one in (subject_id, other_id)))
    valkey().delete(*(f"jitterscope:diagnose:{organization.id}:{one}" for one in (subject_id, other_id)))
    before = _queued(organization).count(subject_id)
    for _ in range(3):
        _trigger(organization, subject_id)
        time.sleep(1.1 * DEBOUNCE_MS / 1000)
    assert _queued(organization).count(subject_id) == before + 1, "nobody took it yet"
    _trigger(organization, other_id)
    assert other_id in _queued(organization), "another resource has a place of its own"
    tasks.diagnose(organization.id, subject_id, 0, "throttled")
    _trigger(organization, subject_id)
    assert _queued(organization).count(subject_id) == before + 2, "what triggers after a look is looked at again"


def test_a_reason_of_which_nothing_comes_is_heard_less_often(database: Any, organization: Any) -> None:
    def held(reason: str = "slow_query") -> bool:
        return waiting.held(organization.id, 7, reason)

    waiting.looked(organization.id, 7, "slow_query", harm=False)
    assert held()
    assert not held("accept_backlog"), "another reason is heard at once"
    time.sleep(1.1 * waiting.FIRST_HOLD_MS / 1000)
    assert not held()
    for _ in range(12):
        waiting.looked(organization.id, 7, "slow_query", harm=False)
    key = f"jitterscope:diagnosis-waits:{organization.id}:7:slow_query:held"
    assert waiting.LONGEST_HOLD_MS - 500 < int(str(valkey().pttl(key))) <= waiting.LONGEST_HOLD_MS
    _trigger(organization, 7)
    assert 7 not in _queued(organization)
    waiting.looked(organization.id, 7, "slow_query", harm=True)
    assert not held()
    _trigger(organization, 7)
    assert 7 in _queued(organization)
