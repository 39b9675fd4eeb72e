"""Layouts in the database: which series a block has, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope import counted

_UPSERT = text(
    "INSERT INTO series_layouts (organization_id, digest, series_ids) VALUES (:organization, :digest, :series) "
    "ON CONFLICT (organization_id, digest) DO UPDATE SET used_at = now() RETURNING id"
).bindparams(bindparam("series", type_=ARRAY(BIGINT)))
_CONTENTS = "SELECT id, series_ids FROM series_layouts WHERE id = ANY(%b::bigint[])"


def upsert(session: Session, organization_id: int, digest: bytes, series: Sequence[int]) -> int:
    """The id of a layout, created if needed."""
    wanted = {"organization": organization_id, "digest": digest, "series": list(series)}
    return int(session.execute(_UPSERT, wanted).scalar_one())


def contents(
    session: Session, layout_ids: Sequence[int], at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(layout, its series) of each."""
    return counted.arriving(session, _CONTENTS, (list(layout_ids),), at_once=at_once)
