"""REST shapes of services. Times are µs since the epoch, durations µs, ratios 0..1; None: not measured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.core.objective import Origin
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.schema import Page, Schema

Order = Literal["name", "rate", "failed", "p50", "p99", "slow", "worst", "runtime", "stalls"]


class ServiceCall(ResourceRef):
    """A server that a service calls over TCP, as seen from the service's end of the connection."""

    server: ResourceRef | None = Field(description="The server on the same node that listens there, if known")
    service: str | None = Field(description="NAMESPACE/NAME of the Kubernetes Service with that address, if known")
    workloads: list[str] = Field(description="What that Service selects, on any node, by name; empty: not known")
    calls_per_s: float = Field(description="Calls that ended: answered or given up")
    slow_ratio: float | None = Field(description="Calls answered after more than 20 ms, of all calls")
    p50_us: float | None = Field(description="From the request sent to the first data of its answer")
    p99_us: float | None
    max_us: float | None = Field(description="Slowest answer")


class ServiceObjective(Schema):
    """A latency objective, and how the window compares with it."""

    objective: str = Field(description="`p99<50ms`")
    origin: Origin = Field(description="Set for this port, for the whole workload, or by the pod's annotation")
    limit_us: int
    value_us: float | None = Field(description="Its quantile in the window, within 2 %; null: not measured")
    met: bool | None = Field(description="Null: not measured")


class ServiceItem(ResourceRef):
    """A server: one listening port of a container, or one address that answers DNS."""

    program: str | None
    node: ResourceRef
    container: ResourceRef | None = Field(description="The cgroup it runs in")
    runtime: str | None = Field(description="Go 1.25.3, JVM 17.0.13, …; null: none recognized")
    requests_per_s: float | None = Field(description="Mean over the recorded time")
    failed_ratio: float | None = Field(
        description="Requests without an answer; for DNS also SERVFAIL and REFUSED, for unencrypted HTTP status 5xx, "
        "for unencrypted gRPC codes 2, 4, and 12 to 15. Other protocols' errors are not read"
    )
    server_errors_per_s: float | None = Field(
        description="Answers of unencrypted HTTP with status 5xx; null: no answer with a status was seen"
    )
    grpc_errors_per_s: float | None = Field(
        description="Answers of unencrypted gRPC with UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, "
        "UNAVAILABLE, or DATA_LOSS; null: no answer with a code was seen"
    )
    slow_ratio: float | None = Field(description="Answers over 20 ms, of all requests")
    p50_us: float | None
    p99_us: float | None
    objective: ServiceObjective | None = Field(description="Null: none is set")
    max_us: float | None = Field(description="Slowest answer")
    worst_us: list[float | None] = Field(description="Slowest answer of each minute, starting at `from_us`")
    throttled_ms_per_min: float | None = Field(description="Throttled time of its container, summed over CPUs")
    asks: list[ServiceCall] = Field(description="What its container calls over TCP, the four called most")
    incidents: list[IncidentRef] = Field(description="Active incidents of its container, newest first")


class GrpcStatus(Schema):
    """Answers of a kind with one status of gRPC."""

    code: int
    name: str = Field(description="`UNAVAILABLE`")
    ratio: float = Field(description="Of the answers whose status was read")


class RequestKind(Schema):
    """Answered requests of one kind."""

    kind: str | None = Field(
        description="`GET /users/{id}`, `redis GET`, `postgresql SELECT`; null: all other kinds together"
    )
    requests: int
    requests_per_s: float = Field(description="Mean over the recorded time")
    mean_us: float = Field(description="Mean time to the answer")
    p50_us: float | None = Field(description="Within 6 %; null: not known for all")
    p99_us: float | None
    max_us: int
    slow_ratio: float = Field(description="Answers over 20 ms")
    client_errors_ratio: float | None = Field(
        description="Status 4xx of HTTP; of gRPC all codes but OK and those of a failed server; null: not measured, as "
        "no status was read"
    )
    server_errors_ratio: float | None = Field(
        description="Status 5xx of HTTP, codes 2, 4, and 12 to 15 of gRPC; null: not measured"
    )
    grpc_statuses: list[GrpcStatus] = Field(description="Of gRPC, other than OK, most frequent first")


class RequestKinds(Schema):
    """Kinds of requests to a server, the most total time first."""

    from_us: int
    to_us: int
    estimated: bool = Field(
        description="Whether the server got so many requests that only a part was looked into, which stands for all"
    )
    items: list[RequestKind] = Field(description="Empty where no plain-text protocol was recognized")


class Services(Page[ServiceItem]):
    from_us: int
    to_us: int
    found: int = Field(description="Servers that match")
    compared: int = Field(description="Of these, how many are listed: the most recently seen")
