"""Kubernetes Services whose addresses cgroups call, and the containers that they select."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from jitterscope.inventory.addresses import MAX_CGROUPS
from jitterscope.inventory.store import dns_servers, facts
from jitterscope.inventory.types import ResourceRow

# The caller's collector names the Service, so that an address of another cluster is not taken for it.
_CALLED, _SELECTING = "upstream.service", "workload.services"


@dataclass(frozen=True, slots=True)
class CalledService:
    """A Service, NAMESPACE/NAME, and by id of each cgroup that it selects the port there; empty: none is known."""

    name: str
    ports: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Selecting:
    """A Service in the fact of a container."""

    name: str
    addresses: frozenset[str]
    ports: Mapping[str, int]


def called(session: Session, upstreams: Sequence[ResourceRow], from_us: int, to_us: int) -> dict[int, CalledService]:
    """By id of a TCP upstream: the Service that has its address; absent if none has, or that is not known."""
    named = facts.in_effect(session, [row.id for row in upstreams], to_us, names=[_CALLED])
    names = {one: known[-1].value for one, known in named.items() if known and known[-1].value}
    selected = _selected(session, set(names.values()), from_us, to_us)
    found: dict[int, CalledService] = {}
    for row in upstreams:
        if row.id in names:
            address, _, port = row.key.partition(">")[2].rpartition(":")
            ports = {
                cgroup: one.ports[f"{port}/TCP"]
                for cgroup, one in selected.get(names[row.id], ())
                if address.strip("[]") in one.addresses and f"{port}/TCP" in one.ports
            }
            found[row.id] = CalledService(names[row.id], ports)
    return found


def _selected(
    session: Session, wanted: Collection[str], from_us: int, to_us: int
) -> dict[str, list[tuple[int, _Selecting]]]:
    """The cgroups seen in a window that each Service selects."""
    found: dict[str, list[tuple[int, _Selecting]]] = {}
    if not wanted:
        return found
    with facts.addresses(session, _SELECTING, **dns_servers.around(from_us, to_us), limit=MAX_CGROUPS) as rows:
        for cgroup_id, value in rows:
            for one in _listed(value):
                if one.name in wanted:
                    found.setdefault(one.name, []).append((cgroup_id, one))
    return found


def _listed(value: str) -> Iterator[_Selecting]:
    """The Services in a fact; none if it cannot be parsed."""
    try:
        told = json.loads(value)
    except ValueError:
        return
    for one in told if isinstance(told, list) else ():
        if isinstance(one, dict) and isinstance(one.get("addresses"), list) and isinstance(one.get("ports"), dict):
            ports = {str(name): port for name, port in one["ports"].items() if isinstance(port, int)}
            yield _Selecting(str(one.get("name")), frozenset(map(str, one["addresses"])), ports)
