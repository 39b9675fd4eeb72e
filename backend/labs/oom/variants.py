"""Parameters of the coredns-oom lab and what each variant sets; command-line values override the variant's.

The fault: CoreDNS keeps a goroutine and a socket for each query that waits for the upstream, so rate × waiting time ×
bytes are needed, and the memory limit is less. Or programs beside it read a file larger than the limit, whose page
cache the kernel has to reclaim for each allocation. Parameters that are not given follow from those that are, so that a
variant keeps its meaning at any rate, delay, and limit.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Variant(StrEnum):
    FAULT = "fault"
    MAX_CONCURRENT = "max-concurrent"
    MORE_MEMORY = "more-memory"
    LEAK = "leak"
    RECLAIM = "reclaim"
    HEALTHY = "healthy"


class Parameters(BaseModel):
    """One run: `calm_qps` for `calm_seconds`, then `qps` for `seconds`, which is the measured window."""

    model_config = ConfigDict(extra="forbid")

    qps: float = Field(2_000, gt=0, le=20_000, description="queries per second from all clients")
    delay_ms: float = Field(4_000, ge=0, le=10_000, description="answer time of the upstream in ms")
    seconds: float = Field(20, ge=5, le=3_600, description="length of the measured window")
    calm_qps: float = Field(100, gt=0, le=20_000, description="queries per second before that window")
    calm_seconds: float = Field(8, ge=0, le=600, description="length of that time in seconds")
    memory_mib: float = Field(170, ge=32, le=65_536, description="memory limit of CoreDNS")
    max_concurrent: int | None = Field(None, ge=1, le=1_000_000, description="max_concurrent of forward; unset: none")
    file_mib: float = Field(0, ge=0, le=65_536, description="file that is read over and over beside CoreDNS; 0: none")
    readers: int = Field(4, ge=1, le=64, description="programs that read it at the same time")
    cached_names: int = Field(0, ge=0, description="answers that CoreDNS keeps for an hour; 0: no cache")
    addresses: int = Field(1, ge=1, le=25, description="addresses of each answer; with more than one, --delay-ms 0")
    clients: int = Field(4, ge=1, le=32, description="client addresses")

    @model_validator(mode="after")
    def _answers_at_once(self) -> Self:
        if self.addresses > 1 and self.delay_ms:
            raise ValueError("an upstream with several addresses answers at once: set --addresses 1 or --delay-ms 0")
        return self

    @property
    def waiting(self) -> float:
        """Concurrent waiting queries if nothing limits them."""
        waiting = self.qps * held_s(self.delay_ms)
        return waiting if self.max_concurrent is None else min(waiting, self.max_concurrent)

    @property
    def wanted_mib(self) -> float:
        """Memory for all of them."""
        return BASE_MIB + self.waiting * QUERY_KIB / 1024

    @property
    def reclaims(self) -> bool:
        """Whether the file does not fit into the limit beside the other memory that is needed."""
        return self.file_mib > self.memory_mib - BASE_MIB


# Measured with CoreDNS 1.12.0: its idle memory, and goroutine, socket, and buffers of a waiting query. A
# garbage-collected heap has up to twice that.
BASE_MIB = 24.0
QUERY_KIB = 15.0
_GC, _ROOM = 2.0, 3.0
_READ_TIMEOUT_S = 2.0  # of CoreDNS, for one attempt
# When CoreDNS gives a query up, on average: after 5 s and its last attempt.
GIVES_UP_S = 5.0 + _READ_TIMEOUT_S / 2
# Of a quick upstream's answers, those that wait for memory stand out.
_DELAY_MS = {Variant.LEAK: 0.0, Variant.HEALTHY: 20.0, Variant.RECLAIM: 2.0}
_QPS = {Variant.HEALTHY: 1_000.0, Variant.LEAK: 1_250.0, Variant.RECLAIM: 500.0}
_SECONDS = {Variant.LEAK: 90.0}
_MEMORY_MIB = {Variant.LEAK: 96.0, Variant.RECLAIM: 96.0}
_FILE = 3.0  # times the limit
_READERS = 8
_CACHED = 10_000_000  # more than any run needs
# So that the cache's default capacity, 9,984 answers, fits twice into the limit, and few queries fill it.
_ADDRESSES = 12


def held_s(delay_ms: float) -> float:
    """How long a query keeps its memory: until the answer, or until CoreDNS gives up after its last attempt."""
    delay_s = delay_ms / 1e3
    return delay_s if delay_s < _READ_TIMEOUT_S else GIVES_UP_S


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    chosen = {"delay_ms": _DELAY_MS.get(variant, 4_000.0), "seconds": _SECONDS.get(variant, 20.0), **given}
    chosen.setdefault("qps", _QPS.get(variant, 2_000.0))
    if variant in _MEMORY_MIB:
        chosen.setdefault("memory_mib", _MEMORY_MIB[variant])
    if variant is Variant.LEAK:
        # The load does not change: what grows is what CoreDNS keeps.
        chosen.setdefault("cached_names", _CACHED)
        chosen.setdefault("addresses", 1 if chosen["delay_ms"] else _ADDRESSES)
        chosen.setdefault("calm_qps", chosen["qps"])
    if variant is Variant.RECLAIM:
        chosen.setdefault("calm_qps", chosen["qps"])
        chosen.setdefault("file_mib", _FILE * chosen["memory_mib"])
        chosen.setdefault("readers", _READERS)
    chosen.setdefault("calm_qps", min(chosen["qps"], 100.0))
    limit = Parameters(**chosen).memory_mib
    if variant is Variant.MAX_CONCURRENT and "max_concurrent" not in chosen:
        # As in the documentation of forward, unless half of what the limit leaves is less.
        chosen["max_concurrent"] = max(20, min(1_000, math.floor((limit - BASE_MIB) * 1024 / QUERY_KIB / _GC / 2)))
    if variant is Variant.MORE_MEMORY and "memory_mib" not in chosen:
        chosen["memory_mib"] = float(math.ceil(_ROOM * Parameters(**chosen).wanted_mib))
    return Parameters(**chosen)


def expected_cause(variant: Variant, killed: bool, reclaims: bool = False) -> str:
    """The actual cause, by how the run ended, or "none"."""
    if not killed:
        return "memory/reclaim_stall" if reclaims else "none"
    return "memory/limit_oom" if variant is Variant.LEAK else "memory/query_burst_oom"
