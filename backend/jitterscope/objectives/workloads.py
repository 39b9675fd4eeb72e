"""The target of an objective: a workload, which outlives its containers, and optionally one port of it.

A rollout gives a Kubernetes workload new cgroups on other nodes, so it is identified by namespace, controller, and
container. Anything else is identified by its node and its systemd unit, container, or path.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.inventory.successors import workload_of
from jitterscope.inventory.types import ResourceKind
from jitterscope.objectives import store

ANNOTATION = "workload.objective"
SERVERS: tuple[ResourceKind, ...] = ("dns_server", "tcp_server")
_NAMES = ("workload.namespace", "workload.owner", "workload.pod", "workload.container", ANNOTATION)


@dataclass(frozen=True, slots=True)
class Place:
    """Where objectives of a resource are looked up: (workload, port) in order of precedence.

    `annotation` is the text of its pod's annotation, if there is one. `words` describe the target of the first.
    """

    keys: tuple[tuple[str, int], ...]
    annotation: str | None
    words: str


@dataclass(frozen=True, slots=True)
class _Level:
    kind: str
    key: str
    node_id: int
    facts: dict[str, str]


def places(session: Session, resource_ids: Sequence[int]) -> dict[int, Place]:
    """Places of servers and cgroups; other resources have none."""
    if not resource_ids:
        return {}
    chains: dict[int, dict[int, _Level]] = {}
    for row in store.chains(session, sorted(set(resource_ids)), _NAMES):
        level = chains.setdefault(row.wanted, {}).setdefault(row.id, _Level(row.kind, row.key, row.node_id, {}))
        if row.name is not None:
            level.facts[row.name] = row.value
    return {wanted: _place(list(levels.values())) for wanted, levels in chains.items() if next(iter(levels)) == wanted}


def _place(levels: Sequence[_Level]) -> Place:
    own, cgroups = levels[0], [one for one in levels if one.kind == "cgroup"]
    port = _port(own.key) if own.kind in SERVERS else 0
    # A server without a known cgroup is a workload by itself.
    named = [_workload(one) for one in cgroups] or [(json.dumps([own.node_id, own.key]), own.key)]
    keys = ((named[0][0], port),) if port else ()
    words = named[0][1] + (f", port {port}" if port else "")
    told = (one.facts[ANNOTATION] for one in cgroups if one.facts.get(ANNOTATION))
    return Place((*keys, *((workload, 0) for workload, _ in named)), next(told, None), words)


def _workload(level: _Level) -> tuple[str, str]:
    """The key of a workload, and its display name."""
    facts = level.facts
    namespace, container = facts.get("workload.namespace"), facts.get("workload.container")
    if namespace and (whole := workload_of(facts)) is not None:
        return json.dumps(whole), f"every pod of {whole[1]} in {namespace}, container {container}"
    if namespace and (pod := workload_of(facts | {"workload.container": "*"})) is not None:
        return json.dumps([*pod[:2], ""]), f"every pod of {pod[1]} in {namespace}"
    name = container or level.key
    return json.dumps([level.node_id, name]), f"{name} on its node"


def _port(key: str) -> int:
    """The port of "10.0.0.10:53", "127.0.0.1:53@net:4026531840", or "/shop/cart:8080"; 0 if there is none."""
    port = key.partition("@net:")[0].rpartition(":")[2]
    return int(port) if port.isdecimal() and int(port) < 65_536 else 0
