"""Facts with their history, and the display names of resources, which follow from facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.inventory.store import facts as stored
from jitterscope.inventory.store import tree

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
    resource_ids, names, times_us = zip(*unique, strict=True)
    changed = stored.add(session, organization_id, resource_ids, names, times_us, list(unique.values()), later)
    naming = {key[0] for key in unique if key[1] in _NAMING}
    if naming:
        _rename(session, sorted(naming))
    return changed


def _rename(session: Session, resource_ids: list[int]) -> None:
    facts = stored.in_effect(session, resource_ids, _FOREVER_US)
    found = tree.by_id(session, resource_ids).values()
    names = {row.id: display_name(row.kind, row.key, {f.name: f.value for f in facts[row.id]}) for row in found}
    stored.rename(session, names)


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
