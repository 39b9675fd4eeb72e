"""Facts with their history, and the display names of resources, which follow from facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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

_RENAME = text(
    "UPDATE resources SET name = wanted.name FROM unnest(:ids, :names) AS wanted (id, name) "
    "WHERE resources.id = wanted.id AND resources.name <> wanted.name"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)), bindparam("names", type_=ARRAY(TEXT)))

_FOREVER_US = 2**62
_NAMING = frozenset(
    {
        "node.hostname", "node.name", "workload.namespace", "workload.pod", "workload.container", "process.executable",
        "process.command", "dns.software", "tcp.program",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Observation:
    """A fact as a collector observed it."""

    resource_id: int
    name: str
    value: str
    observed_at_us: int


def store(session: Session, organization_id: int, observations: Iterable[Observation]) -> bool:
    """Store changes and update the names of affected resources; returns whether anything changed."""
    unique: dict[tuple[int, str, int], str] = {}
    newest: dict[tuple[int, str], str] = {}
    # A later change within the batch counts whatever is stored: a round trip ends at the original value.
    later: list[bool] = []
    for one in sorted(observations, key=lambda item: item.observed_at_us):
        if newest.get((one.resource_id, one.name)) != one.value:
            if (one.resource_id, one.name, one.observed_at_us) not in unique:
                later.append((one.resource_id, one.name) in newest)
            unique[one.resource_id, one.name, one.observed_at_us] = one.value
            newest[one.resource_id, one.name] = one.value
    if not unique:
        return False
    stored = session.execute(
        _STORE,
        {
            "organization": organization_id, "resources": [key[0] for key in unique],
            "names": [key[1] for key in unique], "times": [key[2] for key in unique], "values": list(unique.values()),
            "later": later,
        },
    )  # fmt: skip
    naming = {key[0] for key in unique if key[1] in _NAMING}
    if naming:
        _rename(session, sorted(naming))
    return stored.first() is not None


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


def _rename(session: Session, resource_ids: list[int]) -> None:
    facts = in_effect(session, resource_ids, _FOREVER_US)
    found = session.execute(
        text("SELECT id, kind, key FROM resources WHERE id = ANY(:ids)").bindparams(
            bindparam("ids", type_=ARRAY(BIGINT))
        ),
        {"ids": resource_ids},
    )
    names = {row.id: display_name(row.kind, row.key, {f.name: f.value for f in facts[row.id]}) for row in found}
    session.execute(_RENAME, {"ids": list(names), "names": list(names.values())})


def display_name(kind: str, key: str, facts: dict[str, str]) -> str:
    """The display name of a resource: namespace/pod/container, command, or host name; its key if nothing is known."""
    name = ""
    if kind == "node":
        # A collector pod sees the host's name at most; users and kubectl know the node by its name in the cluster.
        name = facts.get("node.name") or facts.get("node.hostname", "")
    elif kind == "cgroup":
        parts = [facts.get(f"workload.{part}", "") for part in ("namespace", "pod", "container")]
        name = "/".join(part for part in parts if part)
    elif kind == "process":
        command = facts.get("process.executable") or facts.get("process.command", "")
        name = f"{command} (pid {key.partition(':')[0]})" if command else ""
    elif kind == "dns_server":
        software = facts.get("dns.software", "")
        name = f"{software} {key}" if software else ""
    elif kind == "tcp_server":
        listening = facts.get("tcp.program", "")
        name = f"{listening} :{key.rpartition(':')[2]}" if listening else ""
    elif kind == "tcp_upstream":
        name = key.partition(">")[2]
    return name or key
