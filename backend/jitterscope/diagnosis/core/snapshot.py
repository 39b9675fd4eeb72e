"""The only input of a cause: aligned series, facts, events, and queries of a subject and its neighbors.

A snapshot is plain data. Its builder (the database, a recording, a scenario) decides where the data come from.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from jitterscope.diagnosis.core.objective import Objective

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_WORKLOAD = "workload."  # how the names of facts begin that say whose container it is


@dataclass(frozen=True, slots=True)
class Event:
    """Something that began at `start_us` (µs since the epoch, UTC) and lasted `duration_us` (0: a point in time)."""

    kind: str
    start_us: int
    duration_us: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def end_us(self) -> int:
        return self.start_us + self.duration_us


@dataclass(frozen=True, slots=True)
class FactValue:
    """A fact from `since_us` on, until the next entry of the same name."""

    name: str
    value: str
    since_us: int


@dataclass(frozen=True, slots=True)
class Queries:
    """Single DNS queries of one server, sorted by `sent_us`; parallel arrays of length n.

    `sent_us` is when the query reached the server (µs, UTC), `latency_us` the time to its answer,
    `result` a QueryResult number of ingest.proto (0 NOERROR … 4 timeout). `complete` lists the spans
    [start_us, end_us) in which every query is present; outside them only slow ones are.
    """

    sent_us: IntArray
    latency_us: IntArray
    result: IntArray
    queue_wait_us: IntArray | None = None
    complete: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Distribution:
    """Log-bucket histograms, one a tick (ingest.proto DistributionBlock): parallel arrays of entries.

    `tick[i]` is the tick index in the snapshot, `bucket[i]` the gamma=1.04 bucket, `count[i]` its count.
    """

    tick: IntArray
    bucket: IntArray
    count: IntArray


@dataclass(frozen=True, slots=True)
class ResourceView:
    """One resource in the window. `series[metric name]` has one value per tick; a missing tick is NaN.

    `objective`: that of a server, if one is set. `starts`: ticks in which a container was started anew, in a new
    cgroup.
    """

    id: int
    kind: str
    key: str
    name: str
    series: Mapping[str, FloatArray] = field(default_factory=dict)
    distributions: Mapping[str, Distribution] = field(default_factory=dict)
    facts: tuple[FactValue, ...] = ()
    events: tuple[Event, ...] = ()
    queries: Queries | None = None
    objective: Objective | None = None
    starts: tuple[int, ...] = ()

    def fact(self, name: str) -> str | None:
        """The newest value of a fact, or None if it was never observed."""
        newest: FactValue | None = None
        for candidate in self.facts:
            if candidate.name == name and (newest is None or candidate.since_us >= newest.since_us):
                newest = candidate
        return None if newest is None else newest.value


def of_workload(server: ResourceView, facts: Iterable[FactValue]) -> ResourceView:
    """A server with the names of the workload that it belongs to, from the facts of its cgroup."""
    return replace(server, facts=(*server.facts, *(fact for fact in facts if fact.name.startswith(_WORKLOAD))))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A window [start_us, start_us + ticks * step_us) of a subject (a cgroup, or a node) and its neighbors.

    For a cgroup, `node` is where it runs, and `cgroups` are the node's others that used the most CPU in the window. For
    a node, `node` is the subject itself; `cgroups` are those of its cgroups that events of the window name and those of
    its DNS servers; `processes` and `dns_servers` are those of the whole node;
    there are no ancestors, paths, or workloads.

    `processes`, `dns_servers`, `tcp_servers`, and `tcp_upstreams` (addresses that it calls) belong to the subject;
    `called_servers` are TCP servers of the node that are known to be behind those; `ancestors` runs from its parent
    cgroup upwards. `dns_paths` are the clients of the subject's servers; `neighbours` the node's other DNS servers,
    which the subject may query or be queried by, with the `workload.*` facts of their cgroups; `workloads` cgroups
    of the node with facts alone (their resolv.conf, their address). `replicas`: how many pods of its workload were
    there at the end of the window, where a quota of the namespace makes that matter; None: not known. `unavailable`
    names sources that could not deliver here, with what they need, so that a cause can say why it does not have
    enough data.
    """

    start_us: int
    ticks: int
    subject: ResourceView
    node: ResourceView
    ancestors: tuple[ResourceView, ...] = ()
    processes: tuple[ResourceView, ...] = ()
    dns_servers: tuple[ResourceView, ...] = ()
    tcp_servers: tuple[ResourceView, ...] = ()
    tcp_upstreams: tuple[ResourceView, ...] = ()
    called_servers: tuple[ResourceView, ...] = ()
    probes: tuple[ResourceView, ...] = ()
    dns_paths: tuple[ResourceView, ...] = ()
    neighbours: tuple[ResourceView, ...] = ()
    workloads: tuple[ResourceView, ...] = ()
    cgroups: tuple[ResourceView, ...] = ()
    replicas: int | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)
    step_us: int = 100_000
    # What was computed from it so far: see core/reading.py. A copy with other contents starts empty.
    readings: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def end_us(self) -> int:
        return self.start_us + self.ticks * self.step_us
