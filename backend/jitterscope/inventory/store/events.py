"""Events of resources in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT
from sqlalchemy.orm import Session

_KINDS = text(
    """
    SELECT DISTINCT kind FROM events
     WHERE resource_id IN (SELECT id FROM resources WHERE id = :node OR node_id = :node) AND kind = ANY(:kinds)
       AND start_us > :earliest AND start_us < :to_us
       AND (start_us >= :from_us OR start_us + duration_us > :from_us)
    """
).bindparams(bindparam("kinds", type_=ARRAY(TEXT)))
# No event that extends into a window began earlier than this.
_LONGEST_US = 3_600_000_000


def kinds(session: Session, node_id: int, kinds: Sequence[str], from_us: int, to_us: int) -> list[str]:
    """Which of these kinds of events happened in a window, on a node or on anything in it."""
    earliest = from_us - _LONGEST_US
    wanted = {"node": node_id, "kinds": list(kinds), "earliest": earliest, "from_us": from_us, "to_us": to_us}
    return list(session.execute(_KINDS, wanted).scalars())
