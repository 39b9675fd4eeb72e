"""REST shapes of the DNS path. Times are µs since the epoch, durations µs, ratios 0..1; None: not measured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.areas.dns.affected import Answer, Verdict
from jitterscope.diagnosis.areas.dns.readings.path import Known
from jitterscope.diagnosis.areas.dns.readings.search_lists import Source
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.kit.schema import Schema


class DnsNode(Schema):
    """A node with DNS servers."""

    id: int
    name: str


class DnsHopClient(Schema):
    """One of the busiest clients of a server; `address` "other" stands for all without figures of their own."""

    address: str
    names: list[str] = Field(description="Containers with this address")
    queries_per_s: float
    p99_us: float | None
    error_ratio: float | None


class DnsHop(Schema):
    """One hop on the path of a query: the clients, a DNS server with all its addresses, or a remote upstream."""

    id: str
    kind: Literal["clients", "server", "upstream"]
    name: str
    addresses: list[str]
    software: str | None
    version: str | None
    resource_ids: list[int]
    cgroup_id: int | None
    level: int = Field(description="0: clients; a server is right of all its downstream clients")
    queries_per_s: float | None
    p50_us: float | None
    p99_us: float | None
    max_us: float | None
    own_p50_us: float | None = Field(
        description="Time spent here without waiting for the upstream, from single queries"
    )
    own_p99_us: float | None
    own_max_us: float | None
    matched_queries: int = Field(description="Single queries that the own time is based on")
    slow_ratio: float | None
    error_ratio: float | None = Field(description="SERVFAIL, REFUSED, and timed out")
    nxdomain_ratio: float | None
    timeouts: int | None
    error_lines: int
    concurrency: float | None = Field(description="Queries in flight, mean")
    connections: float | None = Field(
        description="Maximum of concurrent TCP connections from clients; the next fields are maxima too"
    )
    idle: float | None
    backlog: float | None = Field(description="Connections in the accept queue")
    dropped: float | None = Field(description="Connection attempts dropped in the window")
    children: float | None
    child_limit: int | None
    upstream_connections: float | None
    upstream_idle: float | None
    new_connections_per_s: float | None = Field(description="Forwarded queries that opened a connection")
    cache_hit_ratio: float | None
    forward_mean_us: float | None
    rejected: int | None = Field(description="Queries refused by forward's max_concurrent")
    clients: list[DnsHopClient]
    incidents: list[IncidentRef]


class DnsLink(Schema):
    """`asker` and `asked` are ids of hops."""

    asker: str
    asked: str
    zones: list[str]
    protocol: Literal["tcp", "udp", "as_asked"] | None
    known: Known | Literal["clients"] = Field(description="Source of this figure")
    max_concurrent: int | None
    queries_per_s: float | None
    p50_us: float | None
    p99_us: float | None
    mean_us: float | None = Field(description="From the downstream client's own counters, all its upstreams together")


class DnsPath(Schema):
    from_us: int
    to_us: int
    node: DnsNode | None = Field(description="null: no DNS servers in the window")
    nodes: list[DnsNode]
    hops: list[DnsHop]
    links: list[DnsLink]
    notes: list[str] = Field(description="What is not known here and what would provide it")


class DnsName(Schema):
    """A name and type, all clients together."""

    name: str
    type: str
    queries: int
    queries_per_s: float
    share_ratio: float = Field(description="Of all queries in the window")
    nxdomain_ratio: float
    servfail_ratio: float
    mean_us: float
    total_us: float = Field(description="Total time of its answers")
    clients: int


class DnsNames(Schema):
    from_us: int
    to_us: int
    node: DnsNode | None
    seconds: float = Field(description="Time that the lists of names cover")
    queries: int
    nxdomain: int
    listed_ratio: float | None = Field(description="Share of the queries whose names are listed")
    items: list[DnsName]


class DnsWorkload(Schema):
    id: int
    name: str


class DnsLookup(Schema):
    """A name as the program looked it up, and what that cost."""

    name: str
    type: str
    answer: str = Field(description="The name that was finally answered")
    lookups: int
    wasted: int = Field(description="Queries answered NXDOMAIN before that, because of search domains")
    queries_per_lookup: float
    added_us: float = Field(description="Time that these queries add to a lookup")


class DnsAdvice(Schema):
    ndots: int
    queries_per_lookup: float


class DnsClient(Schema):
    """A client and what its lookups cost. A trailing dot makes each of these lookups one query."""

    address: str
    workloads: list[DnsWorkload]
    queries: int
    lookups: int
    wasted: int
    queries_per_lookup: float = Field(description="Over the names that took more than one query")
    search: list[str]
    ndots: int | None
    source: Source = Field(description="Source of the search list")
    costliest: list[DnsLookup]
    best_ndots: DnsAdvice | None = Field(description="null: no safe value of ndots saves 10 %")


class DnsClients(Schema):
    from_us: int
    to_us: int
    node: DnsNode | None
    seconds: float
    queries: int
    nxdomain: int
    wasted: int
    nonexistent: int = Field(description="Queries for names that do not exist")
    queries_per_lookup: float
    items: list[DnsClient]


class DnsAffected(Schema):
    """Am I affected by NodeLocal DNSCache exhausting kube-dns?"""

    from_us: int
    to_us: int
    node: DnsNode | None
    verdict: Verdict
    statement: str
    answers: list[Answer]
