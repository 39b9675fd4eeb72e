"""The places of the map: workloads, containers without one, Services, servers, addresses elsewhere, and clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.inventory.workload_names import WorkloadName

PlaceKind = Literal["workload", "container", "service", "server", "address", "clients"]


@dataclass(frozen=True, slots=True)
class Place:
    """Two ends of calls with the same `id` are one place: replicas of a workload, restarts of a container."""

    id: str
    kind: PlaceKind
    name: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Cgroups:
    """The containers at the ends of calls, by id."""

    rows: Mapping[int, ResourceRow]
    names: Mapping[int, WorkloadName]

    @classmethod
    def read(cls, session: Session, ids: Sequence[int]) -> Cgroups:
        return cls(inventory.resources(session, ids), inventory.names_of_workloads(session, ids))

    def place(self, cgroup_id: int) -> Place:
        row, name = self.rows[cgroup_id], self.names.get(cgroup_id)
        if name is not None and name.workload is not None:
            return Place(f"workload:{name.namespace or ''}/{name.workload}", "workload", name.workload, name.namespace)
        return Place(f"container:{row.node_id}/{row.name}", "container", row.name)

    def at(self, candidates: Sequence[int], node_id: int) -> list[int]:
        """Those of the containers with an address that it can mean on a node.

        Addresses of pods are unique in a cluster; any other can be in use on each node.
        """
        known = [one for one in candidates if one in self.rows]
        near = [one for one in known if self.rows[one].node_id == node_id]
        return near or [one for one in known if (name := self.names.get(one)) is not None and name.pod is not None]

    def places(self, candidates: Iterable[int]) -> tuple[Place, ...]:
        """The places of these containers, by name."""
        return tuple(sorted({self.place(one) for one in candidates if one in self.rows}, key=lambda one: one.name))

    def is_one_pod(self, candidates: Iterable[int]) -> bool:
        """Whether all of these containers are of one pod."""
        known = [one for one in candidates if one in self.rows]
        names = {name.pod if (name := self.names.get(one)) is not None else None for one in known}
        return len(names) == 1 and None not in names

    def only_place(self, candidates: Sequence[int]) -> tuple[Place, int] | None:
        """The place of all these containers and one of them; None if they are in several places."""
        places = {self.place(one): one for one in candidates if one in self.rows}
        return next(iter(places.items())) if len(places) == 1 else None


def of_service(name: str) -> Place:
    """NAMESPACE/NAME of a Kubernetes Service with several workloads behind it, or none that is known."""
    namespace, _, short = name.partition("/")
    return Place(f"service:{name}", "service", short, namespace)


def of_server(row: ResourceRow) -> Place:
    """A server whose container is not known."""
    return Place(f"server:{row.id}", "server", row.name)


def of_address(address: str) -> Place:
    """ADDRESS:PORT of something that no collector sees."""
    return Place(f"address:{address}", "address", address)


def clients_of(called: Place) -> Place:
    """Callers that are not known to be in a container."""
    return Place(f"clients:{called.id}", "clients", f"Clients of {called.name}")
