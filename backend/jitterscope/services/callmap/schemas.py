"""REST shapes of the map. Times are µs since the epoch, durations µs, ratios 0..1; None: not measured."""

from __future__ import annotations

from pydantic import Field

from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.schema import Schema
from jitterscope.services.callmap.paths import Protocol
from jitterscope.services.callmap.places import PlaceKind


class MapPlace(Schema):
    """Where calls begin or end. Replicas of a workload are one place."""

    id: str = Field(description="Unique in this map, the same in the next one")
    kind: PlaceKind = Field(
        description="workload: containers of one controller. container: one without a controller. service: a "
        "Kubernetes Service with several workloads behind it, or none that is known. server: a DNS server whose "
        "container is not known. address: an address that belongs to no known container or Service. clients: callers "
        "that are not known to be in a container"
    )
    name: str
    namespace: str | None
    opens: ResourceRef | None = Field(
        description="Its busiest server, its container, or what measured the calls to the address; null: clients"
    )
    node: ResourceRef | None = Field(description="Null: on several nodes, or not known")
    members: int = Field(description="Containers that call or are called; for clients, their addresses")
    workloads: list[str] = Field(description="What a Service selects, by name; empty: not known, or no Service")
    slow_ratio: float | None = Field(description="Answers of its own servers over 20 ms, of all requests to them")
    throttled_ms_per_min: float | None = Field(description="Throttled time of its most throttled container")
    incidents: list[IncidentRef] = Field(description="Active incidents of these containers")


class MapCall(Schema):
    """All calls from one place to another over one protocol."""

    caller: str = Field(description="Id of the place that calls")
    called: str = Field(description="Id of the place that answers; the caller's if its containers call each other")
    protocol: Protocol = Field(
        description="tcp: timed at the caller's end of the connection. dns: queries, timed at the DNS server"
    )
    opens: ResourceRef = Field(description="The called server, or what measured the calls if the server is not known")
    services: list[str] = Field(description="NAMESPACE/NAME of the Kubernetes Services whose addresses were called")
    calls_per_s: float = Field(description="Mean over the recorded time")
    slow_ratio: float | None = Field(description="Calls answered after more than 20 ms, of all calls")
    p50_us: float | None = Field(description="From the request sent to the first data of its answer")
    p99_us: float | None
    max_us: float | None = Field(description="Slowest answer; not recorded for DNS")


class ServiceMap(Schema):
    """Calls between places; those with the most slow answers first, then the most frequent."""

    from_us: int
    to_us: int
    center: str | None = Field(description="Id of the place that the map is around, if one was given and is known")
    places: list[MapPlace]
    calls: list[MapCall]
    places_found: int = Field(description="Places with calls in the window; `places` has at most 60 of them")
    calls_found: int = Field(description="Calls in the window; `calls` has at most 150 of them")
    paths_seen: int = Field(description="Pairs of a caller and an address seen in the window")
    paths_compared: int = Field(description="Of these, how many the map is made of: the latest seen")
