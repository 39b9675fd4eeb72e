"""Parameters of the nodelocal-dnsmasq lab and what each variant sets; command-line values override the variant's.

The fault: each query that CoreDNS forwards over TCP occupies a connection for as long as the upstream takes, so rate ×
delay connections are needed, and dnsmasq serves 20. Or the rate is low, and a volley of queries now and then opens more
connections than dnsmasq serves, which CoreDNS's pool then keeps although it does not use them. Parameters that are not
given follow from those that are, so that a variant keeps its meaning at any rate and delay.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from jitterscope.diagnosis.core.query_results import GIVEN_UP_US
from labs.dnsmasq import DEFAULT_CHILD_LIMIT
from labs.errors import LabError


class Variant(StrEnum):
    FAULT = "fault"
    MAX_TCP_CONNECTIONS = "max-tcp-connections"
    PREFER_UDP = "prefer-udp"
    MORE_REPLICAS = "more-replicas"
    SLOW_UPSTREAM = "slow-upstream"
    EDGE = "edge"
    POOL_CHURN = "pool-churn"
    HEALTHY = "healthy"


class Parameters(BaseModel):
    """One run: `calm_qps` for `calm_seconds`, then `qps` for `seconds`, which is the measured window.

    `volley`: this many additional queries at once, when the window begins and every `calm_seconds` after that.
    """

    model_config = ConfigDict(extra="forbid")

    qps: float = Field(800, gt=0, le=10_000, description="queries per second from all clients")
    delay_ms: float = Field(50, ge=0, le=10_000, description="answer time of the upstream in ms")
    seconds: float = Field(30, ge=5, le=3_600, description="length of the measured window")
    calm_qps: float = Field(100, gt=0, le=10_000, description="queries per second before that window")
    calm_seconds: float = Field(8, ge=0, le=600, description="length of that time in seconds")
    children_limit: int | None = Field(
        None, ge=1, le=1_000, description="--max-tcp-connections of dnsmasq (2.90 or newer); unset: its own 20"
    )
    replicas: int = Field(1, ge=1, le=15, description="dnsmasq processes, queried at random")
    transport: Literal["force_tcp", "prefer_udp"] = Field("force_tcp", description="option of the node-local CoreDNS")
    volley: int = Field(0, ge=0, le=500, description="queries at once, after each --calm-seconds; 0: none")
    clients: int = Field(4, ge=1, le=32, description="client addresses")
    idle: bool = Field(False, description="idle connections of other nodes use up the remaining ones")

    @property
    def limit(self) -> int:
        """TCP connections that one dnsmasq serves at once."""
        return self.children_limit or DEFAULT_CHILD_LIMIT

    @property
    def demand(self) -> float:
        """TCP connections that each dnsmasq would be busy with if none waited."""
        if self.transport == "prefer_udp":
            return 0.0
        return self.qps * (self.delay_ms + _HOPS_MS) / 1e3 / self.replicas

    @property
    def opened_at_once(self) -> float:
        """TCP connections that a volley opens at each dnsmasq."""
        return 0.0 if self.transport == "prefer_udp" else self.volley / self.replicas

    @property
    def slow_ms(self) -> float:
        """A later answer waited for something other than the upstream, or its client has already given up."""
        return min(2 * self.delay_ms + 50, GIVEN_UP_US / 1e3)

    @property
    def slow_without_load(self) -> bool:
        """The upstream alone causes the fault, whatever the rate."""
        return self.delay_ms >= _SLOW_MS

    def is_disturbed(self, calm_slow_share: float | None) -> bool:
        """Queries were slow before the load although the upstream is not: the machine was busy with other work."""
        return not self.slow_without_load and (calm_slow_share or 0.0) > _CALM_SLOW_SHARE


_HOPS_MS = 0.6  # what an answer takes besides the upstream's delay
# Demand as a multiple of the limit: 800/s × 50 ms need 40 connections of 20. Healthy variants leave room for a stall of
# the machine: 14 connections of 20 are those of 117 ms at 120/s.
_LOAD = {Variant.EDGE: 0.6, Variant.HEALTHY: 0.3}
_FAULT_LOAD = 2.0
_DELAY_MS = {Variant.SLOW_UPSTREAM: 3_000.0, Variant.EDGE: 200.0}
_QPS = {Variant.SLOW_UPSTREAM: 300.0}
_SLOW_MS = 1_000.0
_CALM_SLOW_SHARE = 0.02
# Each new connection costs dnsmasq a fork: a large step briefly needs more connections than the load does afterwards.
_CALM = {Variant.EDGE: 0.6, Variant.HEALTHY: 0.6}
_BURST_CALM = 0.125
# A volley finds the one busy connection of 10/s × 50 ms, and opens twice as many as the limit allows. CoreDNS closes
# unused ones when it cleans up, every 10 s.
_CHURN = {"qps": 10.0, "delay_ms": 50.0, "calm_seconds": 12.0}
_VOLLEY = 2.0
# Of the connections of a replica, if there are enough: they are queried at random, not evenly. dnsmasq closes a
# connection after 100 queries (TCP_MAX_QUERIES), so those that the rise opened together end together, and are replaced.
_SPARE = 0.25
_RATES = (10.0, 4_000.0)


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given. Raises LabError if they contradict the variant."""
    chosen = dict(given)
    if variant is Variant.PREFER_UDP:
        chosen.setdefault("transport", "prefer_udp")
    if variant is Variant.POOL_CHURN:
        _churn(chosen)
    if "qps" not in chosen or variant is Variant.SLOW_UPSTREAM:
        chosen.setdefault("delay_ms", _DELAY_MS.get(variant, 50.0))
    if variant is Variant.SLOW_UPSTREAM:
        _slow(chosen)
    # For max-tcp-connections the limit is part of the fix, and the load is not scaled to it.
    own = variant is not Variant.MAX_TCP_CONNECTIONS and given.get("children_limit")
    limit = own or DEFAULT_CHILD_LIMIT
    replicas = 1 if variant is Variant.MORE_REPLICAS else given.get("replicas", 1)
    _fill(chosen, _LOAD.get(variant, _FAULT_LOAD) * limit * replicas)
    if variant is Variant.EDGE:
        chosen.setdefault("idle", True)
    demand = chosen["qps"] * chosen["delay_ms"] / 1e3
    if variant is Variant.MAX_TCP_CONNECTIONS and "children_limit" not in chosen:
        chosen["children_limit"] = max(10 * DEFAULT_CHILD_LIMIT, min(1_000, math.ceil(4 * demand)))
    if variant is Variant.MORE_REPLICAS and "replicas" not in chosen:
        chosen["replicas"] = max(3, math.ceil(demand / (_SPARE * limit)))
    calm = max(5.0, _CALM.get(variant, _BURST_CALM) * chosen["qps"])
    if variant is Variant.SLOW_UPSTREAM:
        # Slow before any load: the connections run short because of it.
        calm = max(2.0, 0.5e3 * limit / chosen["delay_ms"])
    calm = round(calm, 1)
    chosen.setdefault("calm_qps", min(chosen["qps"], calm))
    parameters = Parameters(**chosen)
    if parameters.calm_qps > parameters.qps:
        raise LabError(
            f"--calm-qps {parameters.calm_qps:g} is more than --qps {parameters.qps:g}: the calm comes first."
        )
    return parameters


def _slow(chosen: dict[str, Any]) -> None:
    chosen.setdefault("qps", _QPS[Variant.SLOW_UPSTREAM])
    if chosen["delay_ms"] < _SLOW_MS:
        raise LabError(
            f"Variant slow-upstream needs an upstream that takes {_SLOW_MS:g} ms or more: "
            f"--delay-ms {chosen['delay_ms']:g} is less."
        )


def _churn(chosen: dict[str, Any]) -> None:
    for name, value in _CHURN.items():
        chosen.setdefault(name, value)
    chosen.setdefault("calm_qps", chosen["qps"])
    limit = chosen.get("children_limit") or DEFAULT_CHILD_LIMIT
    chosen.setdefault("volley", round(_VOLLEY * limit * chosen.get("replicas", 1)))


def _fill(chosen: dict[str, Any], busy: float) -> None:
    """Fill in rate or delay from the other one, so that `busy` connections are in use."""
    if "delay_ms" not in chosen:
        chosen["delay_ms"] = round(1e3 * busy / chosen["qps"], 1)
    if "qps" not in chosen:
        chosen["qps"] = _rate(busy, chosen["delay_ms"])


def _rate(busy: float, each_ms: float) -> float:
    lowest, highest = _RATES
    return round(min(max(1e3 * busy / each_ms if each_ms else highest, lowest), highest), 1)


def expected_cause(parameters: Parameters) -> str:
    """The actual cause, or "none"."""
    if parameters.slow_without_load:
        return "dns/slow_upstream"
    if parameters.demand > parameters.limit:
        return "dns/dnsmasq_connection_exhaustion"
    return "dns/connection_pool_churn" if parameters.opened_at_once > parameters.limit else "none"
