"""Converts recordings and snapshots into each other, so that recorded runs become tests of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from jitterscope.diagnosis.core.objective import BadObjective, Objective, parse
from jitterscope.diagnosis.core.snapshot import (
    Distribution,
    Event,
    FactValue,
    Queries,
    ResourceView,
    Snapshot,
    of_workload,
)
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceKind, SourceRow
from jitterscope.recordings.batches import batch_of
from jitterscope.recordings.file import load
from jitterscope.recordings.merge import merge
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import TICK_US, StoredDistribution, StoredEvent, StoredQueries

_RESOLV_CONF = "dns.resolv_conf"
_OBJECTIVE = "workload.objective"
_USAGE = "cpu_usage_us"
_UPSTREAM_SERVER = "upstream.server"


def load_recording(path: Path) -> Snapshot:
    """The snapshot of a recording's subject over its whole window. Raises BadRecording, OSError."""
    return snapshot_of(load(path))


def snapshot_of(recording: Recording, from_us: int | None = None, to_us: int | None = None) -> Snapshot:
    """The engine's view of the recording's subject; of a part of its window if given (whole ticks)."""
    part = recording if from_us is None and to_us is None else cut(recording, from_us, to_us)
    resources = part.resources
    ancestors: list[int] = []
    at = resources[part.subject].parent
    while resources[at].kind == "cgroup" and at not in ancestors:
        ancestors.append(at)
        at = resources[at].parent
    below = _below(part, part.subject)
    servers = [i for i in below if resources[i].kind == "dns_server"]
    keys = {resources[i].key for i in servers}
    probes = [
        i for i, one in enumerate(resources)
        if one.kind == "probe" and (one.parent in servers or one.key.rpartition("@")[2] in keys)
    ]  # fmt: skip

    paths = [i for i, one in enumerate(resources) if one.kind == "dns_path" and one.parent in servers]
    upstreams = [i for i in below if resources[i].kind == "tcp_upstream"]
    behind = {fact.value for i in upstreams for fact in resources[i].facts if fact.name == _UPSTREAM_SERVER}
    called = [
        i for i, one in enumerate(resources)
        if one.kind == "tcp_server" and i not in below and one.key in behind
    ]  # fmt: skip
    neighbours = [
        i for i, one in enumerate(resources) if servers and one.kind == "dns_server" and i not in servers
    ]  # fmt: skip
    of_node = part.subject == 0
    asking = servers and not of_node
    if of_node:
        # A recording of a node contains what its diagnosis read.
        ancestors, probes, paths, neighbours = [], [], [], []
    workloads = [
        i for i, one in enumerate(resources)
        if asking and one.kind == "cgroup" and i != part.subject and _RESOLV_CONF in {fact.name for fact in one.facts}
    ]  # fmt: skip

    def views(indices: list[int]) -> tuple[ResourceView, ...]:
        return tuple(_view(i, resources[i]) for i in indices)

    def serving(indices: list[int]) -> tuple[ResourceView, ...]:
        return tuple(replace(_view(i, resources[i]), objective=_objective(resources, i)) for i in indices)

    return Snapshot(
        start_us=part.start_us,
        ticks=part.ticks,
        subject=_view(part.subject, resources[part.subject]),
        node=_view(0, resources[0]),
        ancestors=views(ancestors),
        processes=views([i for i in below if resources[i].kind == "process"]),
        dns_servers=serving(servers),
        tcp_servers=serving([i for i in below if resources[i].kind == "tcp_server"]),
        tcp_upstreams=views(upstreams),
        called_servers=views(called),
        probes=views(probes),
        dns_paths=views(paths),
        neighbours=tuple(_neighbour(i, resources) for i in neighbours),
        workloads=tuple(_facts_of(i, resources[i]) for i in workloads),
        cgroups=views([i for i in below if resources[i].kind == "cgroup"]) if of_node else _beside(part),
        unavailable={
            source.name: f"{source.detail} (needs {source.needs})" if source.needs else source.detail
            for source in part.sources
            if source.state == "unavailable"
        },
    )


def _objective(resources: Sequence[RecordedResource], server: int) -> Objective | None:
    """The objective in its pod's annotation: those that users set in a service are not recorded."""
    at = server
    while at not in (0, resources[at].parent):
        at = resources[at].parent
        written = [fact.value for fact in resources[at].facts if fact.name == _OBJECTIVE]
        if written and written[-1]:
            try:
                return parse(written[-1], "annotation")
            except BadObjective:
                return None
    return None


def recording_of(snapshot: Snapshot, labels: Mapping[str, str] | None = None) -> Recording:
    """The same content as a recording: to replay a synthetic scenario into a running service."""
    resources = [_recorded(snapshot.node, "node", 0)]
    if snapshot.subject.kind == "node":
        resources = [_recorded(snapshot.subject, "node", 0)]
        resources.extend(_recorded(cgroup, "cgroup", 0) for cgroup in snapshot.cgroups)
        resources.extend(_recorded(process, "process", 0) for process in snapshot.processes)
        resources.extend(_recorded(server, "dns_server", 0) for server in snapshot.dns_servers)
        resources.extend(_recorded(server, "tcp_server", 0) for server in snapshot.tcp_servers)
        return _recording(snapshot, 0, resources, labels)
    parent = 0
    for ancestor in reversed(snapshot.ancestors):
        resources.append(_recorded(ancestor, "cgroup", parent))
        parent = len(resources) - 1
    resources.append(_recorded(snapshot.subject, "cgroup", parent))
    subject = len(resources) - 1
    resources.extend(_recorded(process, "process", subject) for process in snapshot.processes)
    first_server = len(resources)
    resources.extend(_recorded(server, "dns_server", subject) for server in snapshot.dns_servers)
    resources.extend(_recorded(probe, "probe", min(first_server, len(resources) - 1)) for probe in snapshot.probes)
    server_of = {server.key: first_server + at for at, server in enumerate(snapshot.dns_servers)}
    resources.extend(
        _recorded(path, "dns_path", server_of.get(path.key.partition(">")[2], first_server))
        for path in (snapshot.dns_paths if server_of else ())
    )
    resources.extend(_recorded(server, "tcp_server", subject) for server in snapshot.tcp_servers)
    resources.extend(_recorded(one, "tcp_upstream", subject) for one in snapshot.tcp_upstreams)
    resources.extend(_recorded(server, "tcp_server", 0) for server in snapshot.called_servers)
    # The synthetic ones have no known cgroup.
    resources.extend(_recorded(neighbour, "dns_server", 0) for neighbour in snapshot.neighbours)
    resources.extend(_recorded(cgroup, "cgroup", 0) for cgroup in snapshot.cgroups)
    written = {cgroup.key for cgroup in snapshot.cgroups}
    resources.extend(_recorded(one, "cgroup", 0) for one in snapshot.workloads if one.key not in written)
    return _recording(snapshot, subject, resources, labels)


def _recording(
    snapshot: Snapshot, subject: int, resources: list[RecordedResource], labels: Mapping[str, str] | None
) -> Recording:
    return Recording(
        start_us=snapshot.start_us,
        ticks=snapshot.ticks,
        subject=subject,
        resources=tuple(resources),
        sources=tuple(SourceRow(name, "unavailable", why, "") for name, why in snapshot.unavailable.items()),
        labels=labels or {},
    )


def _beside(recording: Recording) -> tuple[ResourceView, ...]:
    """The cgroups that used the most CPU beside the subject, as the database would return them: with that only."""
    resources = recording.resources
    usage = {
        one.key: float(np.nansum(one.series[_USAGE]))
        for one in resources
        if one.kind == "cgroup" and _USAGE in one.series
    }
    chosen = inventory.busiest_of(resources[recording.subject].key, usage, recording.end_us - recording.start_us)
    return tuple(
        replace(_view(i, one), series={_USAGE: one.series[_USAGE]}, events=())
        for i, one in enumerate(resources)
        if one.kind == "cgroup" and one.key in chosen
    )


def _below(recording: Recording, subject: int) -> list[int]:
    """Indices below the subject. Parents come first, so one pass finds them."""
    found = {subject}
    for index, resource in enumerate(recording.resources):
        if index and resource.parent in found and resource.parent != index:
            found.add(index)
    return sorted(found - {subject})


def _view(index: int, resource: RecordedResource) -> ResourceView:
    stored = resource.queries
    return ResourceView(
        id=index + 1,
        kind=resource.kind,
        key=resource.key,
        name=resource.name,
        series=resource.series,
        distributions={
            name: Distribution(one.tick, one.bucket, one.count) for name, one in resource.distributions.items()
        },
        facts=tuple(FactValue(fact.name, fact.value, fact.since_us) for fact in resource.facts),
        events=tuple(Event(e.kind, e.start_us, e.duration_us, e.attributes) for e in resource.events),
        queries=None
        if stored is None
        else Queries(stored.sent_us, stored.latency_us, stored.result, stored.queue_wait_us, stored.complete),
    )


def _neighbour(index: int, resources: Sequence[RecordedResource]) -> ResourceView:
    """A server beside the subject, with the names of its workload."""
    above = resources[index].parent
    while resources[above].kind == "process":
        above = resources[above].parent
    return of_workload(_view(index, resources[index]), _facts_of(above, resources[above]).facts)


def _facts_of(index: int, resource: RecordedResource) -> ResourceView:
    """A workload with its identity and resolver settings, without series."""
    facts = tuple(FactValue(fact.name, fact.value, fact.since_us) for fact in resource.facts)
    return ResourceView(id=index + 1, kind=resource.kind, key=resource.key, name=resource.name, facts=facts)


def _recorded(view: ResourceView, kind: ResourceKind, parent: int) -> RecordedResource:
    return RecordedResource(
        kind=kind,
        key=view.key,
        name=view.name,
        parent=parent,
        series=view.series,
        distributions={
            name: StoredDistribution(one.tick, one.bucket, one.count) for name, one in view.distributions.items()
        },
        facts=tuple(FactRow(fact.name, fact.value, fact.since_us) for fact in view.facts),
        events=tuple(StoredEvent(0, 0, e.kind, e.start_us, e.duration_us, e.attributes) for e in view.events),
        queries=None if view.queries is None else _stored(view.queries),
    )


def _stored(queries: Queries) -> StoredQueries:
    unnamed = np.zeros(len(queries.sent_us), np.int64)
    return StoredQueries(
        sent_us=queries.sent_us,
        latency_us=queries.latency_us,
        result=queries.result,
        name=unnamed,
        client=unnamed,
        names=("",),
        clients=("",),
        queue_wait_us=queries.queue_wait_us,
        complete=queries.complete,
    )


def cut(recording: Recording, from_us: int | None, to_us: int | None) -> Recording:
    """A part of the window: converted through a batch, so that cutting and sending agree."""
    start = max(recording.start_us, from_us or 0)
    end = min(recording.end_us, recording.end_us if to_us is None else to_us)
    batch = batch_of(recording, start, end)
    facts_before = [
        (index, fact)
        for index, resource in enumerate(recording.resources)
        for fact in resource.facts
        if fact.since_us < start
    ]
    if start != recording.start_us:
        for index, fact in facts_before:
            batch.facts.add(resource=index, name=fact.name, value=fact.value, observed_at_us=fact.since_us)
    names = [resource.name for resource in recording.resources]
    cut = merge([batch], start, (end - start) // TICK_US, recording.subject, names, recording.labels)
    inside = tuple(
        one for one in recording.captures if one.content.start_us < end and one.content.end_us > start
    )  # fmt: skip
    return Recording(cut.start_us, cut.ticks, cut.subject, cut.resources, recording.sources, recording.labels, inside)
