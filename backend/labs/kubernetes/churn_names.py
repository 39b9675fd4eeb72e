"""Names that the product gives to pods and containers, held against those of the API server."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from labs.kubernetes.churn_report import Named
from labs.product import Product

_SAYS = ("workload.namespace", "workload.pod", "workload.owner", "workload.container")


@dataclass(frozen=True, slots=True)
class Seen:
    """A pod as the API server tells of it. `ran_since`: when a container was first seen to run, in monotonic time."""

    uid: str
    namespace: str
    name: str
    node: str
    owner: str | None
    containers: frozenset[str]
    ran_since: float | None

    @property
    def ran(self) -> bool:
        return self.ran_since is not None

    @property
    def ran_s(self) -> float:
        return 0.0 if self.ran_since is None else time.monotonic() - self.ran_since


def seen(item: Mapping[str, Any], before: Seen | None) -> Seen:
    """From a Pod, and what was known of it."""
    metadata, spec = item["metadata"], item["spec"]
    if before is None:
        owners = [one["name"] for one in metadata.get("ownerReferences", [])]
        owner = f"Deployment/{owners[0].rsplit('-', 1)[0]}" if owners else None
        names = frozenset(one["name"] for one in spec["containers"])
        before = Seen(metadata["uid"], metadata["namespace"], metadata["name"], "", owner, names, None)
    runs = any("running" in one["state"] for one in item["status"].get("containerStatuses", []))
    since = time.monotonic() if runs and before.ran_since is None else before.ran_since
    return replace(before, node=spec.get("nodeName", ""), ran_since=since)


def compared(product: Product, pods: Iterable[Seen]) -> Named:
    """What the product said of each pod that ran, at any time."""
    right, wrong, unnamed, missing = 0, list[str](), dict[str, float](), list[str]()
    after_ms: list[float] = []
    cgroups = 0
    for pod in pods:
        found = product.cgroups_of(pod.uid)
        if not found and pod.ran:
            missing.append(pod.name)
        for one in found:
            cgroups += 1
            told = product.resource(int(one["id"]))
            problem, known_ms = judged(pod, one, told["history"])
            if problem is not None:
                wrong.append(f"{one['key']}: {problem}")
            elif known_ms is None:
                unnamed[one["key"]] = _ms(one["first_seen_at"], one["last_seen_at"]) / 1e3
            else:
                right += 1
                after_ms.append(known_ms)
    after_ms.sort()
    return Named(
        cgroups=cgroups,
        right=right,
        wrong=wrong,
        unnamed=unnamed,
        pods_not_seen=missing,
        named_after_p50_ms=round(statistics.median(after_ms), 1) if after_ms else 0.0,
        named_after_p95_ms=round(after_ms[int(0.95 * (len(after_ms) - 1))], 1) if after_ms else 0.0,
        named_after_max_ms=round(after_ms[-1], 1) if after_ms else 0.0,
    )


def judged(pod: Seen, cgroup: Mapping[str, Any], history: list[Any]) -> tuple[str | None, float | None]:
    """(what was ever wrong, how long until all was known); None for what is not the case."""
    is_pod = cgroup["key"].endswith(f"pod{pod.uid}")
    wanted: dict[str, set[str]] = {"workload.namespace": {pod.namespace}, "workload.pod": {pod.name}}
    if pod.owner is not None:
        wanted["workload.owner"] = {pod.owner}
    if not is_pod:
        wanted["workload.container"] = set(pod.containers)
    known: dict[str, float] = {}
    for fact in history:
        if fact["name"] not in _SAYS:
            continue
        if fact["value"] not in wanted.get(fact["name"], set()):
            return f"{fact['name']} was {fact['value']}", None
        known.setdefault(fact["name"], _ms(cgroup["first_seen_at"], fact["since"]))
    if cgroup["node"]["name"] != pod.node:
        return f"it was on {cgroup['node']['name']}", None
    return None, max(0.0, *known.values()) if known.keys() == wanted.keys() else None


def _ms(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds() * 1e3
