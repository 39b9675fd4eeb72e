"""Queries of clients with search domains, for the scenarios: lookups expanded into the queries that they cause."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from jitterscope.diagnosis.areas.dns.readings.names import KIND
from jitterscope.diagnosis.core.query_results import NOERROR, NXDOMAIN
from jitterscope.diagnosis.core.snapshot import Event, ResourceView, Snapshot
from jitterscope.diagnosis.programs.resolv_conf import ResolvConf, candidates
from jitterscope.diagnosis.scenarios.dns.model import Name


@dataclass(frozen=True, slots=True)
class Lookup:
    """A name with `share` of the lookups; `answer` is the name that exists, None: none does."""

    name: str
    answer: str | None
    share: float = 1.0
    types: tuple[str, ...] = ("A",)


def kubernetes(namespace: str, *more: str, ndots: int = 5) -> ResolvConf:
    """resolv.conf of a pod; `more` are the search domains of its node."""
    zones = (f"{namespace}.svc.cluster.local", "svc.cluster.local", "cluster.local", *more)
    return ResolvConf(("10.96.0.10",), zones, ndots)


def asked(client: str, conf: ResolvConf, lookups: Iterable[Lookup]) -> tuple[Name, ...]:
    """Every query of these lookups, with shares so that one lookup queries each of its names once."""
    names = []
    for lookup in lookups:
        for candidate in candidates(lookup.name, conf):
            found = candidate == lookup.answer
            result = NOERROR if found else NXDOMAIN
            names += [Name(candidate + ".", lookup.share, kind, result, client) for kind in lookup.types]
            if found:
                break
    return tuple(names)


def workload_facts(
    conf: ResolvConf, namespace: str, pod: str, addresses: Iterable[str] = (), owner: str = ""
) -> Mapping[str, str]:
    """Facts of the pod's cgroup; without addresses, as if its network could not be read."""
    facts = {
        "dns.resolv_conf": json.dumps(
            {"nameservers": conf.nameservers, "search": conf.search, "ndots": conf.ndots, "options": []}
        ),
        "workload.manager": "kubernetes",
        "workload.namespace": namespace,
        "workload.pod": pod,
        "workload.container": "app",
        "workload.owner": owner or f"Deployment/{pod.rsplit('-', 1)[0]}",
    }
    if known := list(addresses):
        facts["net.addresses"] = json.dumps(known)
    return facts


def as_collected(snapshot: Snapshot, most_bytes: int = 4096) -> Snapshot:
    """The snapshot with as many rows per event as the collector has room for (its dns_names.go)."""

    def cut(view: ResourceView) -> ResourceView:
        return replace(view, events=tuple(_cut(event, most_bytes) for event in view.events))

    return replace(
        snapshot,
        dns_servers=tuple(map(cut, snapshot.dns_servers)),
        neighbours=tuple(map(cut, snapshot.neighbours)),
    )


def _cut(event: Event, most_bytes: int) -> Event:
    if event.kind != KIND:
        return event
    kept, room = [], most_bytes - 2
    for row in json.loads(event.attributes["rows"]):
        room -= len(json.dumps(row, separators=(",", ":"))) + 1
        if room < 0:
            break
        kept.append(row)
    return replace(event, attributes={**event.attributes, "rows": json.dumps(kept, separators=(",", ":"))})
