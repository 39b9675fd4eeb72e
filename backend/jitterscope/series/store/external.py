"""Series and samples of other systems in the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Row, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, BYTEA, TEXT
from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.series.store.driver import driver

_UPSERT = text(
    """
    INSERT INTO external_series (organization_id, resource_id, digest, name, labels, kind)
    SELECT :organization, one.* FROM unnest(:resources, :digests, :names, CAST(:labels AS jsonb[]), :kinds)
        AS one (resource, digest, name, labels, kind) ORDER BY digest
    ON CONFLICT (organization_id, digest) DO UPDATE SET kind = excluded.kind, resource_id = excluded.resource_id,
        last_seen_at = now() RETURNING id, digest, resource_id, xmax = 0 AS created
    """
).bindparams(
    bindparam("resources", type_=ARRAY(BIGINT)), bindparam("digests", type_=ARRAY(BYTEA)),
    bindparam("names", type_=ARRAY(TEXT)), bindparam("labels", type_=ARRAY(TEXT)),
    bindparam("kinds", type_=ARRAY(TEXT)),
)  # fmt: skip
_INSERT = (
    "INSERT INTO external_samples (organization_id, series_id, start_us, end_us, times_us, sample_values) "
    "SELECT %b, one.* FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::bytea[], %b::bytea[]) AS one"
)
_ROWS = (
    "SELECT series_id, times_us, sample_values FROM external_samples "
    "WHERE series_id = ANY(%b::bigint[]) AND start_us > %b AND start_us < %b AND end_us >= %b"
)
_SHORT = (
    "SELECT series_id, sum(octet_length(times_us))::bigint FROM external_samples "
    "WHERE start_us >= %b AND start_us < %b GROUP BY series_id HAVING count(*) > 1 ORDER BY series_id"
)
_TAKE = (
    "DELETE FROM external_samples WHERE series_id = ANY(%b::bigint[]) AND start_us >= %b AND start_us < %b "
    "RETURNING series_id, times_us, sample_values"
)


def count(session: Session) -> int:
    """How many series the organization has, including those that get no more samples and have not expired."""
    return int(session.execute(text("SELECT count(*) FROM external_series")).scalar_one())


def upsert(
    session: Session,
    organization_id: int,
    digests: Sequence[bytes],
    resources: Sequence[int],
    names: Sequence[str],
    labels: Sequence[str],
    kinds: Sequence[str],
) -> Sequence[Row[Any]]:
    """Create series, or note that they were seen: `id`, `digest`, `resource_id`, and `created`. `labels`: as JSON."""
    return session.execute(
        _UPSERT,
        {
            "organization": organization_id, "digests": list(digests), "resources": list(resources),
            "names": list(names), "labels": list(labels), "kinds": list(kinds),
        },
    ).all()  # fmt: skip


def add(session: Session, organization_id: int, columns: Sequence[list[object]]) -> None:
    """`columns`: series, starts, ends, times, values."""
    with driver(session).cursor() as cursor:
        cursor.execute(_INSERT, (organization_id, *columns))


def rows(
    session: Session, series: Sequence[int], after_us: int, before_us: int, ending_us: int, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(series, times, values) of rows that start in (after, before) and end at `ending_us` or later."""
    return counted.rows(session, _ROWS, (list(series), after_us, before_us, ending_us), at_once=at_once)


def in_several_rows(
    session: Session, from_us: int, to_us: int, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(series, bytes of times) of series with several rows that start in [from, to)."""
    return counted.rows(session, _SHORT, (from_us, to_us), at_once=at_once)


def take(
    session: Session, series: Sequence[int], from_us: int, to_us: int, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """Delete rows that start in [from, to): (series, times, values)."""
    return counted.rows(session, _TAKE, (list(series), from_us, to_us), at_once=at_once)
