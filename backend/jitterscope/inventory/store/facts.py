"""Facts with their history in the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, BOOLEAN, TEXT
from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.inventory.types import FactRow

# A fact that repeats the value in effect at its time is not a change; a late one is inserted at its time.
_STORE = text(
    """
    INSERT INTO facts (organization_id, resource_id, name, since_us, value)
    SELECT :organization, seen.resource_id, seen.name, seen.since_us, seen.value
      FROM unnest(:resources, :names, :times, :values, :later) AS seen (resource_id, name, since_us, value, later)
     WHERE seen.later OR seen.value IS DISTINCT FROM (
           SELECT f.value FROM facts f WHERE f.resource_id = seen.resource_id AND f.name = seen.name
              AND f.since_us <= seen.since_us ORDER BY f.since_us DESC LIMIT 1)
     ORDER BY seen.resource_id, seen.name, seen.since_us
    ON CONFLICT (resource_id, name, since_us) DO UPDATE SET value = excluded.value
    RETURNING resource_id
    """
).bindparams(
    bindparam("resources", type_=ARRAY(BIGINT)), bindparam("names", type_=ARRAY(TEXT)),
    bindparam("times", type_=ARRAY(BIGINT)), bindparam("values", type_=ARRAY(TEXT)),
    bindparam("later", type_=ARRAY(BOOLEAN)),
)  # fmt: skip
# The newest value of each cgroup.
_ADDRESSES = """
    SELECT DISTINCT ON (f.resource_id) f.resource_id, f.value
      FROM facts f JOIN resources r ON r.id = f.resource_id
     WHERE f.name = %(fact)s AND r.kind = 'cgroup' AND r.last_seen_at >= to_timestamp(%(from_us)s / 1e6)
       AND r.first_seen_at < to_timestamp(%(to_us)s / 1e6)
     ORDER BY f.resource_id, f.since_us DESC LIMIT %(limit)s
    """
_RENAME = text(
    "UPDATE resources SET name = wanted.name FROM unnest(:ids, :names) AS wanted (id, name) "
    "WHERE resources.id = wanted.id AND resources.name <> wanted.name"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)), bindparam("names", type_=ARRAY(TEXT)))
_FOREVER_US = 2**62


def _over_time(only: str) -> str:
    """Facts in effect at a time, then their changes; `only` is an extra condition."""
    return f"""
        SELECT resource_id, name, value, since_us FROM (
            SELECT DISTINCT ON (resource_id, name) resource_id, name, value, since_us FROM facts
             WHERE resource_id = ANY(%(ids)s::bigint[]) {only} AND since_us <= %(from_us)s
             ORDER BY resource_id, name, since_us DESC
        ) AS before
        UNION ALL
        SELECT resource_id, name, value, since_us FROM facts
         WHERE resource_id = ANY(%(ids)s::bigint[]) {only} AND since_us > %(from_us)s AND since_us < %(to_us)s
        ORDER BY resource_id, since_us, name
        """  # noqa: S608


_ALL = _over_time("")
_NAMED = _over_time("AND name = ANY(%(names)s::text[])")


def in_effect(
    session: Session,
    resource_ids: Sequence[int],
    from_us: int,
    to_us: int | None = None,
    names: Sequence[str] | None = None,
) -> dict[int, tuple[FactRow, ...]]:
    """Facts in effect at `from_us`, then their changes before `to_us` (None: no changes), oldest first, by resource.

    `names`: only these facts.
    """
    result: dict[int, list[FactRow]] = {resource_id: [] for resource_id in resource_ids}
    if result:
        wanted = {"ids": list(result), "from_us": from_us, "to_us": from_us if to_us is None else to_us}
        narrowed = {} if names is None else {"names": list(names)}
        with counted.rows(session, _ALL if names is None else _NAMED, wanted | narrowed) as found:
            for resource_id, name, value, since_us in found:
                result[resource_id].append(FactRow(name, value, since_us))
    return {resource_id: tuple(facts) for resource_id, facts in result.items()}


def history(session: Session, resource_id: int) -> list[FactRow]:
    """All values of all facts of a resource, oldest first."""
    return list(in_effect(session, [resource_id], -1, _FOREVER_US)[resource_id])


def add(
    session: Session,
    organization_id: int,
    resource_ids: Sequence[int],
    names: Sequence[str],
    times_us: Sequence[int],
    values: Sequence[str],
    later: Sequence[bool],
) -> bool:
    """Store the facts that are changes; whether any is. `later`: it is one, because it follows a change given here."""
    stored = session.execute(
        _STORE,
        {
            "organization": organization_id, "resources": list(resource_ids), "names": list(names),
            "times": list(times_us), "values": list(values), "later": list(later),
        },
    )  # fmt: skip
    return stored.first() is not None


def addresses(
    session: Session, fact: str, from_us: int, to_us: int, limit: int
) -> AbstractContextManager[Iterator[tuple[Any, ...]]]:
    """(cgroup, newest value of a fact) of cgroups seen in a window."""
    return counted.rows(session, _ADDRESSES, {"fact": fact, "limit": limit, "from_us": from_us, "to_us": to_us})


def rename(session: Session, names: Mapping[int, str]) -> None:
    """Set the display names of resources, as far as they differ."""
    session.execute(_RENAME, {"ids": list(names), "names": list(names.values())})
