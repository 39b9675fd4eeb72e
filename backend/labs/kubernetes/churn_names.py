"""Names that the product gives to pods and containers, compared with the API server's."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from labs.kubernetes.churn_report import Named
from labs.product import Product

_UID = re.compile(r"/pod([0-9a-f-]{36})(?:/|$)")
# Concurrent requests.
_TOGETHER = 4
_SAYS = ("workload.namespace", "workload.pod", "workload.owner", "workload.container")


@dataclass(frozen=True, slots=True)
class Seen:
    """A pod as the API server reports it. `ran_since`: when a container was first seen running, in monotonic time."""

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
    """From a Pod, and what was already known of it."""
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
    """What the product said about each pod that ran, at any time."""
    of_pods = _cgroups(product, {pod.uid: pod for pod in pods})
    missing = [pod.name for pod, found in of_pods if not found and pod.ran]
    cgroups = [(pod, one) for pod, found in of_pods for one in found]
    with ThreadPoolExecutor(_TOGETHER) as asking:
        told = list(asking.map(lambda each: product.resource(int(each[1]["id"]))["history"], cgroups))
    right, wrong, unnamed = 0, list[str](), dict[str, float]()
    after_ms: list[float] = []
    for (pod, one), history in zip(cgroups, told, strict=True):
        problem, known_ms = judged(pod, one, history)
        if problem is not None:
            wrong.append(f"{one['key']}: {problem}")
        elif known_ms is None:
            unnamed[one["key"]] = _ms(one["first_seen_at"], one["last_seen_at"]) / 1e3
        else:
            right += 1
            after_ms.append(known_ms)
    after_ms.sort()
    return Named(
        cgroups=len(cgroups),
        right=right,
        wrong=wrong,
        unnamed=unnamed,
        pods_not_seen=missing,
        named_after_p50_ms=round(statistics.median(after_ms), 1) if after_ms else 0.0,
        named_after_p95_ms=round(after_ms[int(0.95 * (len(after_ms) - 1))], 1) if after_ms else 0.0,
        named_after_max_ms=round(after_ms[-1], 1) if after_ms else 0.0,
    )


def _cgroups(product: Product, pods: Mapping[str, Seen]) -> list[tuple[Seen, list[dict[str, Any]]]]:
    """The cgroups of each pod, which have its UID in their key."""
    found: dict[str, list[dict[str, Any]]] = {uid: [] for uid in pods}
    for one in product.all_cgroups():
        uid = _UID.search(one["key"])
        if uid is not None and uid[1] in found:
            found[uid[1]].append(one)
    return [(pods[uid], listed) for uid, listed in found.items()]


def judged(pod: Seen, cgroup: Mapping[str, Any], history: list[Any]) -> tuple[str | None, float | None]:
    """(what was ever wrong, how long until everything was known); None for what does not apply."""
    is_pod = cgroup["key"].endswith(f"pod{pod.uid}")
    wanted: dict[str, set[str]] = {"workload.namespace": {pod.namespace}, "workload.pod": {pod.name}}
    if pod.owner is not None:
        wanted["workload.owner"] = {pod.owner}
    if not is_pod:
        wanted["workload.container"] = set(pod.containers)
    known: dict[str, float] = {}
    for fact in history:
        # Until it knows better, the collector names a container by the start of its ID.
        if fact["name"] not in _SAYS or cgroup["key"].rpartition("/")[2].startswith(fact["value"]):
            continue
        if fact["value"] not in wanted.get(fact["name"], set()):
            return f"{fact['name']} was {fact['value']}", None
        known.setdefault(fact["name"], _ms(cgroup["first_seen_at"], fact["since"]))
    if cgroup["node"]["name"] != pod.node:
        return f"it was on {cgroup['node']['name']}", None
    return None, max(0.0, *known.values()) if known.keys() == wanted.keys() else None


def _ms(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds() * 1e3
