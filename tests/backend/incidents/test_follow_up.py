"""A stall that its first data do not explain is looked at again within seconds, not with the next stall."""

from __future__ import annotations

import json
import time
from typing import Any

from jitterscope import worker
from jitterscope.cache import valkey
from jitterscope.incidents import follow_up, tasks
from jitterscope.recordings.model import Recording


def _queued(organization: Any) -> int:
    """How many looks wait in the broker's queue for this organization."""
    messages = [json.loads(text) for text in valkey().lrange(worker.app.conf.task_default_queue, 0, -1)]
    return sum(
        message["headers"]["task"] == follow_up.TASK
        and f"'organization_id': {organization.id}," in message["headers"]["kwargsrepr"]
        for message in messages
    )


def test_further_looks_until_harm_is_explained(
    service: Any, healthy: Recording, gc_fault: Recording, organization: Any
) -> None:
    now_us = time.time_ns() // 1000
    subject_id = service.feed(healthy, ends_us=now_us - 100_000_000)
    trigger = {"organization_id": organization.id, "resource_id": subject_id, "at_us": now_us, "reason": "throttled"}
    tasks.diagnose(**trigger)
    tasks.diagnose(**trigger)
    assert _queued(organization) == 1, "one look at a time, however many triggers"
    tasks.look_again(organization.id, subject_id)
    assert _queued(organization) == 2, "nothing new: the next look follows"
    assert service.feed(gc_fault, ends_us=now_us) == subject_id
    tasks.look_again(organization.id, subject_id)
    assert [one["cause"] for one in service.get("/incidents")["items"]] == ["cpu/gc_throttling"]
    assert _queued(organization) == 2, "explained: no further look"


def test_looks_are_bounded(database: Any, organization: Any) -> None:
    assert follow_up.begin(organization.id, 1)
    looks = 1
    while follow_up.proceed(organization.id, 1):
        looks += 1
    assert looks == follow_up.MOST_A_MINUTE
    valkey().delete(f"jitterscope:follow-up:{organization.id}:2:wanted")
    assert not follow_up.proceed(organization.id, 2), "no trigger of late"
