"""Turns the triggers of a stored batch into diagnoses: one at once, and one after a burst of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from sqlalchemy.orm import Session

from jitterscope.cache import ValkeyError, valkey
from jitterscope.db import after_commit
from jitterscope.incidents import waiting
from jitterscope.incidents.watches import note_triggers
from jitterscope.worker import send

log = structlog.get_logger(__name__)

TASK = "incidents.diagnose"
# Triggers of a resource within this time after a diagnosis was queued lead to one more, at its end.
DEBOUNCE_MS = 700


@dataclass(frozen=True, slots=True)
class Trigger:
    resource_id: int
    reason: str
    at_us: int


def enqueue(session: Session, organization_id: int, triggers: Sequence[Trigger]) -> None:
    """After the commit, queue a diagnosis of each resource that has a trigger; the newest trigger of each counts."""
    newest: dict[int, Trigger] = {}
    for trigger in sorted(triggers, key=lambda one: one.at_us):
        newest[trigger.resource_id] = trigger
    if newest:
        # Also where the message below is lost, the scheduled diagnosis comes by.
        note_triggers(session, {one.resource_id: one.at_us for one in newest.values()})
        after_commit(session, lambda: _queue(organization_id, list(newest.values())))


def _queue(organization_id: int, triggers: list[Trigger]) -> None:
    for trigger in triggers:
        key = f"jitterscope:diagnose:{organization_id}:{trigger.resource_id}"
        try:
            if waiting.held(organization_id, trigger.resource_id, trigger.reason):
                continue
            delay_s = _delay_s(key)
            if delay_s is None or not waiting.enter(organization_id, trigger.resource_id):
                continue
            send(
                TASK,
                countdown_s=delay_s,
                organization_id=organization_id,
                resource_id=trigger.resource_id,
                at_us=trigger.at_us,
                reason=trigger.reason,
            )
        except (ValkeyError, OSError) as error:
            # The data are stored; the scheduled diagnosis finds what this one would have.
            log.warning("diagnosis_not_queued", error=str(error)[:200])
            return


def _delay_s(key: str) -> float | None:
    """0: diagnose now; more: at the end of the burst; None: that one is queued already."""
    client = valkey()
    if client.set(key, "1", nx=True, px=DEBOUNCE_MS):
        return 0.0
    if client.set(f"{key}:trailing", "1", nx=True, px=DEBOUNCE_MS):
        return DEBOUNCE_MS / 1000
    return None
