"""A pod's cgroup has its own limit and throttling beside its containers': one trouble is reported once, by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jitterscope.db import organization_session
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import RecordedResource, Recording
from tests.backend.incidents.stories import moved

POD = "/kubepods/burstable/pod9118fc9a-5622-43c2-a6a9-ea0a582ea247"
CONTAINER = f"{POD}/0c8cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcfff"
IMAGE = "workload.image"


def in_a_pod(recording: Recording, pod_quota_us: str, container_quota_us: str) -> Recording:
    """The run in a container below its pod, both with the container's kernel counters, as seen on a cluster."""
    made = moved(recording, CONTAINER, "coredns-668d6bf9bc-x2x9q")
    own = made.resources[made.subject]
    start_us = made.start_us

    def with_facts(one: RecordedResource, without: set[str], **values: str) -> RecordedResource:
        kept = [fact for fact in one.facts if fact.name not in without | values.keys()]
        return replace(one, facts=(*kept, *(FactRow(name, value, start_us) for name, value in values.items())))

    limits = {"cpu.quota_us": container_quota_us, "cpu.period_us": "100000"}
    container = with_facts(replace(own, parent=1), set(), **{IMAGE: "coredns:1.12.0"}, **limits)
    pod = with_facts(replace(own, key=POD, name=POD), {"workload.container"}, **limits | {"cpu.quota_us": pod_quota_us})
    node, *others = made.resources
    # The pod comes second, before its container.
    later = [container if one is own else replace(one, parent=one.parent and one.parent + 1) for one in others]
    return replace(made, subject=made.subject + 1, resources=(node, pod, *later))


def pod_id(service: Any) -> int:
    [one] = [one for one in service.get("/resources", kind="cgroup", limit=50)["items"] if one["key"] == POD]
    return int(one["id"])


def test_the_container_is_told_of_and_not_its_pod(service: Any, gc_fault: Recording) -> None:
    container_id = service.feed(in_a_pod(gc_fault, "50000", "50000"))
    assert service.diagnose(pod_id(service)).causes == []
    assert service.diagnose(container_id).causes == ["cpu/gc_throttling"]
    [incident] = service.get("/incidents")["items"]
    assert incident["subject"]["name"] == "kube-system/coredns-668d6bf9bc-x2x9q/coredns"
    assert service.get("/risks")["items"] == []


@pytest.mark.parametrize(("pod_us", "own"), [("-1", False), ("50000", True)])
def test_a_pod_without_a_limit_is_told_of_by_its_containers(
    service: Any, gc_fault: Recording, pod_us: str, own: bool
) -> None:
    service.feed(in_a_pod(gc_fault, pod_us, "-1"))
    with organization_session(service.organization.id) as session:
        assert inventory.is_told_by_its_containers(session, pod_id(service)) is not own


@pytest.mark.parametrize(("pod_us", "container_us"), [("50000", "-1"), ("50000", "100000")])
def test_a_limit_of_the_pod_alone_is_told_of(service: Any, gc_fault: Recording, pod_us: str, container_us: str) -> None:
    service.feed(in_a_pod(gc_fault, pod_us, container_us))
    assert service.diagnose(pod_id(service)).causes == ["cpu/gc_throttling"]
