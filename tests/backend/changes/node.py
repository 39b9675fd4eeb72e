"""A node whose collector reports facts, for the tests of changes."""

from __future__ import annotations

from fastapi.testclient import TestClient

from jitterscope.kit.instant import time_of
from tests.backend.conftest import Organization
from tests.support.batches import CGROUP, BatchBuilder, now_us

HOUR_US = 3600 * 1_000_000


class Node:
    """One machine whose facts are reported in chronological order."""

    def __init__(self, api: TestClient, organization: Organization, name: str = "machine-1") -> None:
        self._api, self._organization, self._name = api, organization, name
        self._start_us = now_us()
        self._spool: bytes | None = None
        self._sequence = 0

    def tell(
        self, hours_ago: float, kind: int, key: str, parent: tuple[int, str] | None = None, /, **facts: str
    ) -> None:
        """Facts of one resource; `_` in a name stands for a dot, `__` for `_`."""
        builder = self._batch()
        at = 0 if parent is None else builder.resource(parent[0], parent[1], 0)
        index = 0 if key == "" else builder.resource(kind, key, at)
        for name, value in facts.items():
            plain = name.replace("__", "\0").replace("_", ".").replace("\0", "_")
            builder.fact(index, plain, value, self._start_us - round(hours_ago * HOUR_US))
        self._send(builder)

    def replica(
        self, pod: str, created_h: float, seen_h: float = 0.0, owner: str = "Deployment/cart", revision: str = ""
    ) -> None:
        """A pod of a workload that was created and last seen this many hours ago."""
        builder = self._batch()
        builder.batch.sealed_at_us = self._start_us - round(seen_h * HOUR_US)
        index = builder.resource(CGROUP, f"/kubepods/{pod}/cart", 0)
        created = time_of((self._start_us - round(created_h * HOUR_US)) // 1_000_000 * 1_000_000)
        facts = {"namespace": "shop", "owner": owner, "pod": pod, "container": "cart", "image": "cart:1",
                 "created_at": created.isoformat().replace("+00:00", "Z")}  # fmt: skip
        facts |= {"revision": revision} if revision else {}
        for name, value in facts.items():
            builder.fact(index, f"workload.{name}", value, self._start_us - round(max(created_h, seen_h) * HOUR_US))
        self._send(builder)

    def evicted(self, hours_ago: float, pod: str, **attributes: str) -> None:
        builder = self._batch()
        builder.batch.events.add(
            resource=0, kind="pod.evicted", start_us=self._start_us - round(hours_ago * HOUR_US),
            attributes={"namespace": "shop", "pod": pod, **attributes},
        )  # fmt: skip
        self._send(builder)

    def _batch(self) -> BatchBuilder:
        self._sequence += 1
        builder = BatchBuilder(self._name, self._spool, self._sequence)
        self._spool = builder.batch.spool_id
        return builder

    def _send(self, builder: BatchBuilder) -> None:
        answer = self._api.post("/api/v1/ingest", content=builder.body(), headers=self._organization.ingest_headers)
        assert answer.status_code == 200, answer.text

    def pod(self, hours_ago: float, pod: str, image: str, cpus: str = "0.5") -> None:
        """A container of the deployment `cart`, as it starts."""
        self.tell(
            hours_ago, CGROUP, f"/kubepods/{pod}/cart", workload_namespace="shop", workload_owner="Deployment/cart",
            workload_pod=pod, workload_container="cart", workload_image=image,
            cpu_quota__us=str(int(float(cpus) * 100_000)), cpu_period__us="100000",
        )  # fmt: skip
