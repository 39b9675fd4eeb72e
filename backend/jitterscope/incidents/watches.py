"""Which subjects were triggered. Written with the data themselves, so that no trigger is lost with the broker."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import func
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope.incidents.models import WatchRow
from jitterscope.inventory import service as inventory


def note_triggers(session: Session, triggers: Mapping[int, int]) -> list[int]:
    """Note the newest trigger (µs) of each resource at its cgroup or its node; the ids of those subjects."""
    newest: dict[int, int] = {}
    for resource_id, at_us in triggers.items():
        subject = inventory.owning_subject(session, resource_id)
        if subject is not None:
            newest[subject.id] = max(at_us, newest.get(subject.id, 0))
    if newest:
        statement = insert(WatchRow).values(
            [
                # In one order everywhere, so that two writers wait for each other in turn.
                {
                    "organization_id": session.info["organization_id"],
                    "subject_id": subject_id,
                    "triggered_us": newest[subject_id],
                    "diagnosed_us": 0,
                }
                for subject_id in sorted(newest)
            ]
        )
        session.execute(
            statement.on_conflict_do_update(
                index_elements=["organization_id", "subject_id"],
                set_={"triggered_us": func.greatest(WatchRow.triggered_us, statement.excluded.triggered_us)},
            )
        )
    return sorted(newest)
