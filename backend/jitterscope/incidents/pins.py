"""The windows that active and pinned incidents refer to, for retention to keep."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.views import us_of
from jitterscope.inventory import service as inventory
from jitterscope.series.pins import PinnedWindow

_MARGIN = timedelta(minutes=5)


def windows(session: Session) -> list[PinnedWindow]:
    """The strongest window of each active or pinned incident with five minutes around it, for all its neighbours."""
    rows = session.scalars(select(IncidentRow).where(or_(IncidentRow.resolved_at.is_(None), IncidentRow.pinned)))
    result: list[PinnedWindow] = []
    for row in rows:
        from_us, to_us = us_of(row.window_from - _MARGIN), us_of(row.window_to + _MARGIN)
        tree = inventory.subject_tree(session, row.subject_id, from_us, to_us)
        if tree is None:
            continue
        members = (tree.subject, tree.node, *tree.ancestors, *tree.processes, *tree.dns_servers, *tree.probes)
        result.append(PinnedWindow(tuple(member.id for member in members), from_us, to_us))
    return result
