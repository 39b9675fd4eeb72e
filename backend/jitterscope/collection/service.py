"""What an organization switched off: read for every batch, rarely changed."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.orm import Session

from jitterscope import policies
from jitterscope.collection import store
from jitterscope.collection.models import CollectionPolicyRow
from jitterscope.trusted import Trusted

_TRUST_S = 5.0


def off(organization_id: int) -> tuple[str, ...]:
    """Ids of the switches that are off, sorted; cached for some seconds."""
    return _trusted.of(organization_id)


def set_off(session: Session, organization_id: int, wanted: Iterable[str], by: str) -> tuple[str, ...]:
    """Switch these off and all others on; returns what was off before."""
    before = policies.change(session, CollectionPolicyRow.sources_off, usual=[], wanted=sorted(wanted), by=by)
    _trusted.changed(session, organization_id)
    return tuple(before)


_trusted = Trusted(store.off, _TRUST_S)
