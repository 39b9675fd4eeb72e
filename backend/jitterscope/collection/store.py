"""What an organization switched off: read for every batch, changed seldom."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.collection.models import CollectionPolicyRow
from jitterscope.kit.perobject import PerObject

# Other processes obey a change after so long.
_TRUST_S = 5.0
_caches: PerObject[dict[int, tuple[tuple[str, ...], float]]] = PerObject(dict)


def policy(session: Session) -> CollectionPolicyRow | None:
    """What the session's organization switched off, and who did; None where nobody ever did."""
    return session.scalars(select(CollectionPolicyRow)).one_or_none()


def off(organization_id: int) -> tuple[str, ...]:
    """Ids of what is off, sorted; known for some seconds."""
    now = time.monotonic()
    cache = _caches.of(db.engine())
    cached = cache.get(organization_id)
    if cached is None or now - cached[1] > _TRUST_S:
        with db.organization_session(organization_id) as session:
            cached = cache[organization_id] = (_off(session), now)
    return cached[0]


def set_off(session: Session, organization_id: int, wanted: Iterable[str], by: str) -> tuple[str, ...]:
    """Switch these off and all others on; what was off before."""
    # Two changes at a time: the second waits and sees what the first did.
    session.execute(
        text("SELECT pg_advisory_xact_lock(hashtextextended('collection_policies', :organization))"),
        {"organization": organization_id},
    )
    before, after = _off(session), sorted(wanted)
    if list(before) != after:
        values = {"sources_off": after, "changed_by": by, "changed_at": func.clock_timestamp()}
        statement = insert(CollectionPolicyRow).values(organization_id=organization_id, **values)
        session.execute(statement.on_conflict_do_update(index_elements=["organization_id"], set_=values))
        db.after_commit(session, lambda: _caches.of(db.engine()).pop(organization_id, None))
    return before


def _off(session: Session) -> tuple[str, ...]:
    return tuple(session.scalar(select(CollectionPolicyRow.sources_off)) or ())
