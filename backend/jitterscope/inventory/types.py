"""Resources and facts as other domains see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ResourceKind = Literal[
    "node", "cgroup", "process", "dns_server", "dns_path", "probe", "tcp_server", "tcp_upstream", "external"
]


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One resource. `name` is its display name; `node_id` is its node's resource id (its own for a node).

    `parent_id` is None for a node. Times are µs since the epoch, UTC.
    """

    id: int
    kind: ResourceKind
    key: str
    name: str
    parent_id: int | None
    node_id: int
    first_seen_us: int
    last_seen_us: int


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact in effect from `since_us` until the next row of the same name."""

    name: str
    value: str
    since_us: int


@dataclass(frozen=True, slots=True)
class SubjectTree:
    """A cgroup, or a node, with everything that a diagnosis of it looks at.

    `ancestors` runs from the parent cgroup upwards. For a cgroup, only `service.with_busiest_cgroups` fills `cgroups`.

    Only `service.with_dns_neighbours` fills `dns_paths`, `neighbours`, and `workloads`; only
    `service.with_called_servers` fills `called_servers`, those of the node behind `tcp_upstreams`. `lives` are the
    other cgroups that the subject's container had in its pod: each restart creates a new one.
    """

    subject: ResourceRow
    node: ResourceRow
    ancestors: tuple[ResourceRow, ...] = ()
    processes: tuple[ResourceRow, ...] = ()
    dns_servers: tuple[ResourceRow, ...] = ()
    tcp_servers: tuple[ResourceRow, ...] = ()
    tcp_upstreams: tuple[ResourceRow, ...] = ()
    called_servers: tuple[ResourceRow, ...] = ()
    probes: tuple[ResourceRow, ...] = ()
    dns_paths: tuple[ResourceRow, ...] = ()
    neighbours: tuple[ResourceRow, ...] = ()
    workloads: tuple[ResourceRow, ...] = ()
    cgroups: tuple[ResourceRow, ...] = ()
    lives: tuple[ResourceRow, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceRow:
    """State of one collector source on a node: active, degraded, or unavailable."""

    name: str
    state: Literal["active", "degraded", "unavailable"]
    detail: str
    needs: str


@dataclass(frozen=True, slots=True)
class Server:
    """A server and its listening process, if known."""

    resource: ResourceRow
    process_id: int | None
