"""Parameters of the dns-forward lab and what each variant sets; command-line values override the variant's."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from labs.rise import VOLLEY_QPS


class Variant(StrEnum):
    RATE_LIMITED = "rate-limited"
    UDP_LOSS = "udp-loss"
    NO_NEGATIVE_CACHE = "no-negative-cache"
    NEGATIVE_CACHE = "negative-cache"
    ONE_SOCKET = "one-socket"
    HEALTHY = "healthy"


class Parameters(BaseModel):
    """One run: `calm_qps` for `calm_seconds`, then `qps` for `seconds`, which is the measured window."""

    model_config = ConfigDict(extra="forbid")

    qps: float = Field(300, gt=0, le=5_000, description="queries per second from all clients")
    seconds: float = Field(30, ge=10, le=3_600, description="length of the measured window")
    calm_qps: float = Field(100, gt=0, le=5_000, description="queries per second before that window")
    calm_seconds: float = Field(8, ge=0, le=600, description="length of that time in seconds")
    clients: int = Field(4, ge=1, le=32, description="client addresses")
    delay_ms: float = Field(5, ge=0, le=1_000, description="answer time of the upstream in ms")
    limit_qps: int | None = Field(
        None, ge=10, le=5_000, description="queries per second that the upstream answers per client address"
    )
    loss_percent: float = Field(0, ge=0, le=50, description="share of packets to the upstream that are dropped")
    missing: int = Field(0, ge=0, le=1_000, description="names that do not exist, looked up repeatedly; 0: none")
    volley: int = Field(0, ge=0, le=2_000, description="queries at once, after each --calm-seconds; 0: none")
    logged: int = Field(0, ge=0, le=200, description="addresses of each name, which a dnsmasq logs; 0: a CoreDNS")
    denial_cache: bool = Field(True, description="CoreDNS caches negative answers")

    @property
    def queue_ms(self) -> float:
        """Minimum wait of a volley's last query for its reader."""
        return self.volley * max(0.0, self.logged * _LINE_MS - 1e3 / (VOLLEY_QPS * self.clients))


_QUEUE_MS = 10.0  # from then on, enough queries of a volley wait for more than 5 ms
_LINE_MS = 0.001  # what dnsmasq takes to log an address, by far the most of its work for such an answer
_VARIANTS: dict[Variant, dict[str, Any]] = {
    Variant.RATE_LIMITED: {"qps": 600.0, "limit_qps": 300},
    Variant.UDP_LOSS: {"loss_percent": 1.5},
    Variant.NO_NEGATIVE_CACHE: {"missing": 20, "denial_cache": False, "delay_ms": 30.0},
    Variant.NEGATIVE_CACHE: {"missing": 20, "delay_ms": 30.0},
    # dnsmasq takes 0.12 ms per answer, and the clients send one query every 0.05 ms: the last ones wait for 17 ms or
    # more. The socket's queue holds 277 datagrams, so none is dropped however slow the machine is.
    Variant.ONE_SOCKET: {"qps": 100.0, "calm_seconds": 4.0, "volley": 250, "logged": 120},
    Variant.HEALTHY: {},
}


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    chosen = {**_VARIANTS[variant], **given}
    if variant is Variant.RATE_LIMITED and "qps" in given and "limit_qps" not in given:
        chosen["limit_qps"] = max(10, round(given["qps"] / 2))
    chosen.setdefault("calm_qps", min(100.0, chosen.get("qps", 300.0)))
    return Parameters(**chosen)


def expected_cause(parameters: Parameters) -> str:
    """The actual cause, or "none"."""
    if parameters.limit_qps is not None and parameters.qps > parameters.limit_qps:
        return "dns/upstream_rate_limited"
    if parameters.loss_percent > 0:
        return "dns/udp_loss"
    if parameters.missing and not parameters.denial_cache:
        return "dns/no_negative_cache"
    if parameters.queue_ms >= _QUEUE_MS:
        return "dns/single_socket_serialization"
    return "none"
