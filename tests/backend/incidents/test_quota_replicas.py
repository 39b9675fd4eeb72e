"""A diagnosis knows how many pods a higher limit applies to, where a quota counts them all."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from jitterscope.db import organization_session
from jitterscope.diagnosis.core import namespace_limits
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.incidents.scheduling import snapshots
from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import RecordedResource
from tests.backend.incidents.stories import changed, moved, recorded

QUOTA = json.dumps({"team": {"limits.cpu": {"hard": 4, "used": 3.5}}})


def fed(service: Any, pod: str, quota: str | None = QUOTA, ends_us: int | None = None) -> int:
    run = moved(recorded(Workload(seconds=5)), f"/kubepods/{pod}/coredns", pod)

    def told(one: RecordedResource) -> RecordedResource:
        if one.kind != "cgroup" or quota is None:
            return one
        return replace(one, facts=(*one.facts, FactRow(namespace_limits.QUOTA, quota, run.start_us)))

    return int(service.feed(changed(run, told), ends_us=ends_us, suffix=f"-{pod}"))


def replicas(service: Any, subject_id: int) -> int | None:
    with organization_session(service.organization.id) as session:
        found = snapshots.load(session, subject_id, 5_000_000)
    assert found is not None
    return found.snapshot.replicas


def test_pods_of_the_workload_on_all_nodes_are_counted(service: Any) -> None:
    now_us = time.time_ns() // 1000
    fed(service, "coredns-7c9d8bb6f4-gone0", ends_us=now_us - 3600_000_000)
    first = fed(service, "coredns-7c9d8bb6f4-x2x9q", ends_us=now_us)
    assert replicas(service, first) == 1
    for pod in ("coredns-7c9d8bb6f4-a1b2c", "coredns-7c9d8bb6f4-d3e4f", "other-7c9d8bb6f4-g5h6i"):
        fed(service, pod, ends_us=now_us)
    assert replicas(service, first) == 3


def test_without_a_quota_nothing_is_counted(service: Any) -> None:
    assert replicas(service, fed(service, "coredns-7c9d8bb6f4-x2x9q", quota="{}")) is None
    assert replicas(service, fed(service, "coredns-7c9d8bb6f4-a1b2c", quota=None)) is None
