"""Looks again soon after a trigger that could not be explained yet.

The first throttled tick arrives before the time around it that a rule compares it with; the schedule would come by only
10 s later, the next trigger with the next stall.
"""

from __future__ import annotations

import structlog

from jitterscope.cache import ValkeyError, valkey
from jitterscope.worker import send

log = structlog.get_logger(__name__)

TASK = "incidents.follow_up"
EVERY_S = 0.8
# After the newest trigger; then the schedule takes over.
FOR_MS = 7_000
# What stays unexplained, however often it triggers, is left to the schedule.
MOST_A_MINUTE = 12
# A look that was lost (a worker died) must not keep the next trigger from starting over.
LOST_AFTER_MS = 3_000


def begin(organization_id: int, subject_id: int) -> bool:
    """Look again until some seconds after now. False where looks are under way, used up, or the queue is away."""
    name = _name(organization_id, subject_id)
    try:
        client = valkey()
        client.set(f"{name}:wanted", "1", px=FOR_MS)
        if not client.set(f"{name}:running", "1", nx=True, px=LOST_AFTER_MS):
            return False
        return _queue(organization_id, subject_id)
    except (ValkeyError, OSError) as error:
        log.warning("follow_up_not_queued", error=str(error)[:200])
        return False


def proceed(organization_id: int, subject_id: int) -> bool:
    """Queue the next look, where the newest trigger is not too long ago."""
    name = _name(organization_id, subject_id)
    try:
        client = valkey()
        if client.exists(f"{name}:wanted"):
            client.set(f"{name}:running", "1", px=LOST_AFTER_MS)
            return _queue(organization_id, subject_id)
        client.delete(f"{name}:running")
    except (ValkeyError, OSError) as error:
        log.warning("follow_up_not_queued", error=str(error)[:200])
    return False


def end(organization_id: int, subject_id: int) -> None:
    """Harm is explained: no further look."""
    name = _name(organization_id, subject_id)
    try:
        valkey().delete(f"{name}:wanted", f"{name}:running")
    except ValkeyError as error:
        log.warning("follow_up_not_ended", error=str(error)[:200])


def _queue(organization_id: int, subject_id: int) -> bool:
    client, counter = valkey(), f"{_name(organization_id, subject_id)}:looks"
    client.set(counter, 0, nx=True, ex=60)
    if int(str(client.incr(counter))) > MOST_A_MINUTE:
        return False
    send(TASK, countdown_s=EVERY_S, organization_id=organization_id, subject_id=subject_id)
    return True


def _name(organization_id: int, subject_id: int) -> str:
    return f"jitterscope:follow-up:{organization_id}:{subject_id}"
