"""A map with as many places and calls as an answer can have."""

from __future__ import annotations

from typing import Any

from jitterscope.services.callmap.listing import MAX_PLACES

_TEAMS = ("orders", "billing", "search", "identity", "shipping", "catalog")


def crowded() -> dict[str, Any]:
    """Six teams with a gateway, three services, and their stores each; DNS and some addresses outside."""
    places = [_place("dns", "coredns", "kube-system")]
    calls: list[dict[str, Any]] = []
    for number, team in enumerate(_TEAMS):
        gateway = f"{team}-gateway"
        places.append(_place(gateway, gateway, team))
        for service in ("api", "worker", "reports"):
            name = f"{team}-{service}"
            places += [_place(name, name, team), _place(f"{name}-db", f"{name}-postgresql-primary", team)]
            calls += [_call(gateway, name, 40.0), _call(name, f"{name}-db", 90.0), _call(name, "dns", 12.0, "dns")]
        outside = f"203.0.113.{number}:443"
        places.append({**_place(outside, outside, None), "kind": "address", "node": None})
        calls.append(_call(f"{team}-api", outside, 0.4))
        if number > 0:
            calls.append(_call(f"{_TEAMS[number - 1]}-api", f"{team}-api", 8.0))
    for at in (3, 17, 29):
        calls[at] |= {"slow_ratio": 0.04 / (1 + at % 7), "p99_us": 48_000.0, "max_us": 230_000.0}
    assert len(places) <= MAX_PLACES
    calls.sort(key=lambda one: -one["slow_ratio"])
    return {
        "from_us": 1_795_000_000_000_000, "to_us": 1_795_003_600_000_000, "center": None, "places": places,
        "calls": calls, "places_found": len(places) + 23, "calls_found": len(calls) + 40,
        "paths_seen": 400, "paths_compared": 400,
    }  # fmt: skip


def _place(identity: str, name: str, namespace: str | None) -> dict[str, Any]:
    return {
        "id": identity, "kind": "workload", "name": name, "namespace": namespace,
        "opens": {"id": 1, "kind": "tcp_server", "key": name, "name": name}, "node": None, "members": 3,
        "workloads": [], "slow_ratio": None, "throttled_ms_per_min": None, "incidents": [],
    }  # fmt: skip


def _call(caller: str, called: str, rate: float, protocol: str = "tcp") -> dict[str, Any]:
    return {
        "caller": caller, "called": called, "protocol": protocol,
        "opens": {"id": 1, "kind": "tcp_server", "key": called, "name": called}, "services": [],
        "calls_per_s": rate, "slow_ratio": 0.0, "p50_us": 700.0, "p99_us": 2_400.0,
        "max_us": None if protocol == "dns" else 9_000.0,
    }  # fmt: skip
