"""What an organization switched off: read for every batch, changed seldom."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope.collection.models import CollectionPolicyRow
from jitterscope.trusted import Trusted

_TRUST_S = 5.0


def policy(session: Session) -> CollectionPolicyRow | None:
    """What the session's organization switched off, and who did; None where nobody ever did."""
    return session.scalars(select(CollectionPolicyRow)).one_or_none()


def off(organization_id: int) -> tuple[str, ...]:
    """Ids of what is off, sorted; known for some seconds."""
    return _trusted.of(organization_id)


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
        _trusted.changed(session, organization_id)
    return before


def _off(session: Session) -> tuple[str, ...]:
    return tuple(session.scalar(select(CollectionPolicyRow.sources_off)) or ())


_trusted = Trusted(_off, _TRUST_S)
