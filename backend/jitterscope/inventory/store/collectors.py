"""Collectors in the database: which report, with what delay, and what their sources can measure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from sqlalchemy import bindparam, func, select, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.inventory.models import Collector, Resource
from jitterscope.inventory.types import SourceRow

# A collector is silent after this long without a batch; it sends one every two seconds.
SILENT = timedelta(seconds=15)
# A silence older than this was already reported.
_TELL_WITHIN = timedelta(minutes=10)
# A late batch (from a spool that is being emptied) must not turn the clock back.
_SEEN = text(
    """
    WITH before AS (SELECT last_seen_at FROM collectors WHERE node_id = :node)
    INSERT INTO collectors (node_id, organization_id, version, spool_id, sealed_at_us, delay_us, dropped_batches,
                            facts_changed_at)
    VALUES (:node, :organization, :version, :spool, :sealed, :delay, :dropped, now())
    ON CONFLICT (node_id) DO UPDATE SET last_seen_at = now(), batches = collectors.batches + 1,
        version = CASE WHEN excluded.sealed_at_us >= collectors.sealed_at_us THEN excluded.version
                       ELSE collectors.version END,
        spool_id = excluded.spool_id, dropped_batches = excluded.dropped_batches, delay_us = excluded.delay_us,
        sealed_at_us = greatest(collectors.sealed_at_us, excluded.sealed_at_us),
        facts_changed_at = CASE WHEN :changed THEN now() ELSE collectors.facts_changed_at END
    RETURNING batches, (SELECT last_seen_at FROM before) < now() - CAST(:silent AS interval) AS came_back
    """
)
_SOURCES = text(
    """
    INSERT INTO collector_sources (organization_id, node_id, name, state, detail, needs)
    SELECT :organization, :node, name, state, detail, needs
      FROM unnest(:names, :states, :details, :needs) AS said (name, state, detail, needs) ORDER BY name
    ON CONFLICT (node_id, name) DO UPDATE SET state = excluded.state, detail = excluded.detail,
        needs = excluded.needs, updated_at = now()
    """
).bindparams(*(bindparam(name, type_=ARRAY(TEXT)) for name in ("names", "states", "details", "needs")))
_SOURCES_OF = (
    "SELECT node_id, name, state, detail, needs FROM collector_sources WHERE node_id = ANY(%b::bigint[]) ORDER BY name"
)
_FACTS_CHANGED = text(
    "SELECT r.id, c.facts_changed_at FROM resources r "
    "JOIN collectors c ON c.node_id = CASE r.kind WHEN 'node' THEN r.id ELSE r.node_id END WHERE r.id = ANY(:ids)"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
_SILENT_SINCE = text(
    "SELECT sealed_at_us FROM collectors WHERE node_id = :node AND last_seen_at < now() - CAST(:least AS interval)"
)
_ON_SILENT_NODES = text(
    "SELECT r.id FROM resources r "
    "JOIN collectors c ON c.node_id = CASE r.kind WHEN 'node' THEN r.id ELSE r.node_id END "
    "WHERE r.id = ANY(:ids) AND c.last_seen_at < now() - CAST(:silent AS interval)"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))


class SourceSpec(Protocol):
    """A source's self-description; `state` is active, degraded, or unavailable."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def needs(self) -> str: ...


def seen(
    session: Session,
    organization_id: int,
    node_id: int,
    *,
    version: str,
    spool_id: bytes,
    sealed_at_us: int,
    delay_us: int,
    dropped_batches: int,
    facts_changed: bool,
) -> Literal["first", "back"] | None:
    """Record a batch of a node's collector; returns whether it is the node's first one, or the first after a silence.

    `delay_us` is from sealing to arrival, as far as clocks agree. `facts_changed`: the batch had a new fact.
    """
    row = session.execute(
        _SEEN,
        {
            "node": node_id, "organization": organization_id, "version": version, "spool": spool_id,
            "sealed": sealed_at_us, "delay": delay_us, "dropped": dropped_batches, "silent": SILENT,
            "changed": facts_changed,
        },
    ).one()  # fmt: skip
    return "first" if row.batches == 1 else "back" if row.came_back else None


def fell_silent(session: Session) -> dict[int, datetime]:
    """Nodes whose collectors fell silent within the last minutes, and when each was last seen."""
    rows = session.execute(
        text(
            "SELECT node_id, last_seen_at FROM collectors WHERE last_seen_at < now() - CAST(:silent AS interval) "
            "AND last_seen_at > now() - CAST(:within AS interval)"
        ),
        {"silent": SILENT, "within": _TELL_WITHIN},
    )
    return {row.node_id: row.last_seen_at for row in rows}


def store_sources(session: Session, organization_id: int, node_id: int, sources: Sequence[SourceSpec]) -> None:
    """Replace the stored state of the named sources."""
    if sources:
        session.execute(
            _SOURCES,
            {
                "organization": organization_id, "node": node_id,
                "names": [source.name for source in sources], "states": [source.state for source in sources],
                "details": [source.detail for source in sources], "needs": [source.needs for source in sources],
            },
        )  # fmt: skip


def facts_changed_at(session: Session, resource_ids: Sequence[int]) -> dict[int, datetime]:
    """When any fact on each resource's node last changed, by resource; absent without a collector."""
    rows = session.execute(_FACTS_CHANGED, {"ids": list(resource_ids)})
    return {row.id: row.facts_changed_at for row in rows}


def sealed_at_us(session: Session, node_id: int) -> int | None:
    """When the newest batch of a node's collector was sealed; None without a collector."""
    statement = text("SELECT sealed_at_us FROM collectors WHERE node_id = :node")
    newest: int | None = session.scalar(statement, {"node": node_id})
    return newest


def silent_since_us(session: Session, node_id: int, least: timedelta) -> int | None:
    """When the newest batch of a node's collector was sealed, if none has arrived for `least`.

    None if one has arrived, or without a collector.
    """
    newest: int | None = session.scalar(_SILENT_SINCE, {"node": node_id, "least": least})
    return newest


def on_silent_nodes(session: Session, resource_ids: Sequence[int]) -> set[int]:
    """Those of the resources whose node's collector is silent."""
    return set(session.execute(_ON_SILENT_NODES, {"ids": list(resource_ids), "silent": SILENT}).scalars())


def sources_of(session: Session, node_ids: Sequence[int]) -> dict[int, list[SourceRow]]:
    """The sources of the nodes' collectors, by name. Each node may have reported any number of them."""
    found: dict[int, list[SourceRow]] = {identity: [] for identity in node_ids}
    with counted.rows(session, _SOURCES_OF, (list(node_ids),)) as rows:
        for node_id, *source in rows:
            found[node_id].append(SourceRow(*source))
    return found


def page(session: Session, before_id: int | None, limit: int) -> list[tuple[Collector, Resource]]:
    """Collectors with their nodes, the newest node first, after the one with `before_id`."""
    query = select(Collector, Resource).join(Resource, Resource.id == Collector.node_id)
    if before_id is not None:
        query = query.where(Collector.node_id < before_id)
    rows = session.execute(query.order_by(Collector.node_id.desc()).limit(limit))
    return [(collector, node) for collector, node in rows]


def counts(session: Session) -> tuple[int, int]:
    """How many collectors there are, and how many of them are silent."""
    silent = func.count().filter(Collector.last_seen_at < datetime.now(UTC) - SILENT)
    found = session.execute(select(func.count(), silent).select_from(Collector)).one()
    return found[0], found[1]
