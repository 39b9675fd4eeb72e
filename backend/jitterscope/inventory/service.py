"""Resources, facts and collectors. Other domains use these functions and nothing else of this package.

Every function takes a session of `db.organization_session`: rows of other organizations do not exist in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from jitterscope.inventory import collectors, tree
from jitterscope.inventory import facts as fact_store
from jitterscope.inventory.types import FactRow, ResourceKind, ResourceRow, SourceRow, SubjectTree


def resource(session: Session, resource_id: int) -> ResourceRow | None:
    """One resource, or None where the organization has none of that id."""
    return tree.by_id(session, [resource_id]).get(resource_id)


def resources(session: Session, resource_ids: Sequence[int]) -> dict[int, ResourceRow]:
    """Those of the given resources that exist, by id."""
    return tree.by_id(session, resource_ids)


def children(session: Session, resource_id: int, kind: ResourceKind | None = None) -> list[ResourceRow]:
    """Direct children, by kind and name."""
    return tree.children(session, resource_id, kind)


def ancestors(session: Session, resource_id: int) -> list[ResourceRow]:
    """From the parent up to and including the node."""
    return tree.ancestors(session, resource_id)


def owning_cgroup(session: Session, resource_id: int) -> ResourceRow | None:
    """The resource itself where it is a cgroup, else its nearest cgroup ancestor: what a trigger is diagnosed on."""
    own = resource(session, resource_id)
    candidates = [] if own is None else [own, *ancestors(session, resource_id)]
    return next((one for one in candidates if one.kind == "cgroup"), None)


def subject_tree(
    session: Session, cgroup_id: int, from_us: int | None = None, to_us: int | None = None
) -> SubjectTree | None:
    """A cgroup and its neighbours: ancestor cgroups, processes and DNS servers below it, probes of those servers.

    With a window, processes and servers that were not seen in it are left out. None where there is no such cgroup.
    """
    return tree.subject_tree(session, cgroup_id, from_us, to_us)


def facts(
    session: Session, resource_ids: Sequence[int], from_us: int, to_us: int | None = None
) -> dict[int, tuple[FactRow, ...]]:
    """Facts in effect at `from_us`, and their changes up to `to_us`, oldest first; every given id is a key.

    A fact first observed after `from_us` (the collector had just started) is among the changes.
    """
    return fact_store.in_effect(session, resource_ids, from_us, to_us)


def node_clock_us(session: Session, node_id: int) -> int | None:
    """When the newest batch of a node was sealed (µs since the epoch): the clock of its data. None: no collector."""
    return collectors.sealed_at_us(session, node_id)


def sources(session: Session, node_id: int) -> list[SourceRow]:
    """What the collector of a node can and cannot measure, as it last said."""
    return collectors.sources_of(session, node_id)
