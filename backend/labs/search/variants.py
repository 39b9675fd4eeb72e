"""Parameters of the search-domains lab and what each variant sets; command-line values override the variant's.

The fault: pods as on GKE have six search domains and ndots:5, so a name such as api.shop.example is tried with each of
them first, for A and AAAA.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Variant(StrEnum):
    FAULT = "fault"
    TRAILING_DOT = "trailing-dot"
    NDOTS = "ndots"
    NONEXISTENT = "nonexistent"


class Parameters(BaseModel):
    """One run: every pod looks up names in turn, evenly spaced."""

    model_config = ConfigDict(extra="forbid")

    # Slow enough that no name comes back before the cache forgets it: a resolver of outside names is asked each time.
    qps: float = Field(20, gt=0, le=2_000, description="names looked up per second, by all pods together")
    cache_s: int = Field(1, ge=1, le=3_600, description="how long the cluster's DNS caches answers")
    # Of the six search domains three are asked there: a lookup takes 42 ms for them, which is late; one query is not.
    delay_ms: float = Field(14, ge=0, le=1_500, description="answer time of the resolver of outside names in ms")
    seconds: float = Field(60, ge=5, le=3_600, description="length of the measured window")
    pods: int = Field(3, ge=1, le=32, description="pods, each with a namespace and search list of its own")
    names: int = Field(12, ge=1, le=1_000, description="outside names that each pod looks up")
    services: int = Field(2, ge=0, le=100, description="services of the cluster that it also looks up, by short names")
    ndots: int = Field(5, ge=0, le=15, description="names with fewer dots are tried with search domains first")
    trailing_dot: bool = Field(False, description="outside names are written as absolute names")
    exist: bool = Field(True, description="outside names exist")


_VARIANTS: dict[Variant, dict[str, Any]] = {
    Variant.FAULT: {},
    Variant.TRAILING_DOT: {"trailing_dot": True},
    Variant.NDOTS: {"ndots": 2},
    # As many negative answers, but none that another spelling could save.
    Variant.NONEXISTENT: {"trailing_dot": True, "exist": False, "names": 40, "services": 0},
}

_PROJECT = "shop-prod-4711"
_DOTS = 2  # of the outside names


def parameters_of(variant: Variant, given: dict[str, Any]) -> Parameters:
    """The variant's parameters, overridden by those given."""
    return Parameters(**{**_VARIANTS[variant], **given})


def search_list(pod: int) -> list[str]:
    """As the kubelet writes it into the pods of a namespace on GKE (docs.cloud.google.com, kube-dns)."""
    zones = [f"europe-west1-b.c.{_PROJECT}.internal", f"c.{_PROJECT}.internal", "google.internal"]
    return [f"{namespace(pod)}.svc.cluster.local", "svc.cluster.local", "cluster.local", *zones]


def namespace(pod: int) -> str:
    return f"team-{chr(ord('a') + pod % 26)}{pod // 26 or ''}"


def names_of(parameters: Parameters, pod: int) -> list[str]:
    """The names that a pod's program looks up, in turn: outside names, and a service after every few."""
    zone = "example" if parameters.exist else "missing.example"
    dot = "." if parameters.trailing_dot else ""
    outside = [f"api{index}.partner{pod}.{zone}{dot}" for index in range(parameters.names)]
    services = [f"svc{index}" for index in range(parameters.services)]
    every = max(1, len(outside) // max(1, len(services)))
    mixed = list(outside)
    for index, service in enumerate(services):
        mixed.insert(min(len(mixed), (index + 1) * (every + 1) - 1), service)
    return mixed


def expected_cause(parameters: Parameters) -> str:
    """The actual cause, or "none"."""
    searched = parameters.ndots > _DOTS and not parameters.trailing_dot and parameters.exist
    return "dns/search_domain_amplification" if searched else "none"
