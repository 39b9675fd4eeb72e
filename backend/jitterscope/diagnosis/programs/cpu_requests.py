"""The CPU request of a container in Kubernetes: as the kubelet reports it, or else what its CPU weight says about it.

The kubelet turns a request into shares (1024 a CPU), and the container runtime turns these into a weight of cgroup v2.
Two formulas are in use: the linear one of KEP-2254, and since runc 1.3.2 and crun 1.23 one by which 1024 shares are a
weight of 100. Which of them wrote a weight is not known, so a weight of cgroup v2 only bounds the request.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView

_SHARES_OF_A_CPU = 1024.0
_LEAST_SHARES, _MOST_SHARES, _MOST_WEIGHT = 2.0, 262_144.0, 10_000.0


@dataclass(frozen=True, slots=True)
class Request:
    """CPUs: the request is at least `low` and at most `high`."""

    low: float
    high: float


def reported(cgroup: ResourceView) -> float | None:
    """CPUs, 0: none is declared; None: the kubelet was not asked, or does not know the container yet."""
    return number(cgroup.fact("workload.requested_cpus"))


def read(cgroup: ResourceView, node: ResourceView) -> Request | None:
    """The request of a container; None: neither it nor the weight is known."""
    exact = reported(cgroup)
    return of_weight(cgroup, node) if exact is None else Request(exact, exact)


def of_weight(cgroup: ResourceView, node: ResourceView) -> Request | None:
    """The request behind the weight of a container's cgroup; None: the weight is not known."""
    weight = number(cgroup.fact("cpu.weight"))
    if weight is None or weight <= 0:
        return None
    if node.fact("node.cgroup_version") != "2":
        # The shares themselves, in units of the weight: see the fact.
        return Request(weight / 100, weight / 100)
    # A weight is a whole number: the request may be as much as half a unit away.
    low = min(_linear(weight - 0.5), _by_decades(weight - 0.5))
    high = max(_linear(weight + 0.5), _by_decades(weight + 0.5))
    return Request(low, high)


def _linear(weight: float) -> float:
    shares = _LEAST_SHARES + (weight - 1) * (_MOST_SHARES - _LEAST_SHARES) / (_MOST_WEIGHT - 1)
    return max(0.0, shares / _SHARES_OF_A_CPU)


def _by_decades(weight: float) -> float:
    """log10(weight) = (L² + 125 L) / 612 - 7 / 34 with L = log2(shares)."""
    value = 612 * (math.log10(max(weight, 0.5)) + 7 / 34)
    power = (math.sqrt(max(0.0, 125**2 + 4 * value)) - 125) / 2
    return float(2**power / _SHARES_OF_A_CPU)
