"""A change shortly before an incident is evidence that says it is a coincidence; other changes are not evidence."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import RecordedResource, Recording
from tests.backend.incidents.conftest import Service, service
from tests.backend.incidents.stories import changed, moved, recorded
from tests.backend.notify.conftest import Outbox

__all__ = ["service"]
FAULT = recorded(Workload())


def opened(service: Service) -> Any:
    """The incident of a CoreDNS throttled by its garbage collection."""
    service.diagnose(service.feed(moved(FAULT, "/kubepods/pod1/coredns", "coredns-668d6bf9bc-abcde")))
    return incident(service)


def incident(service: Service) -> Any:
    (found,) = service.get("/incidents")["items"]
    return service.get(f"/incidents/{found['id']}")


def line(incident: Any) -> Any:
    return next((one for one in incident["evidence"] if one["id"] == "changes.before"), None)


def at(incident: Any, **before: float) -> str:
    return (datetime.fromisoformat(incident["onset_at"]) - timedelta(**before)).isoformat()


def test_a_change_of_the_workload_just_before_is_told_as_a_coincidence(service: Service) -> None:
    made = opened(service)
    assert line(made) is None
    report = {"title": "CoreDNS", "version_from": "1.11.1", "version_to": "1.12.0", "workload": "coredns",
              "namespace": "kube-system"}  # fmt: skip
    service.post("/changes", {**report, "at": at(made, seconds=40)}, status=201)
    told = line(service.get(f"/incidents/{made['id']}"))
    assert told["value"] == "Began 40 s after CoreDNS 1.11.1 → 1.12.0"
    assert told["comparison"] == "coincidence in time, not proof; 1 change in the 24 h before"
    assert told["statement"] == "Change before the onset (kube-system/coredns)"
    post_mortem = service.client.get(
        f"/api/v1/incidents/{made['id']}/post-mortem", headers=service.organization.headers
    )
    assert "Began 40 s after CoreDNS 1.11.1 → 1.12.0" in post_mortem.text


def test_what_only_looks_like_it_is_not_told(service: Service) -> None:
    made = opened(service)
    node = made["subject"]["node"]
    for title, when, selectors in (
        ("After the onset", at(made, seconds=-1), {"workload": "coredns"}),
        ("An hour before", at(made, hours=1), {"workload": "coredns"}),
        ("Another workload", at(made, seconds=40), {"workload": "cart", "namespace": "kube-system"}),
        ("Another namespace", at(made, seconds=40), {"workload": "coredns", "namespace": "shop"}),
        ("Another node", at(made, seconds=40), {"node": f"not-{node}"}),
    ):
        service.post("/changes", {"title": title, "at": when, **selectors}, status=201)
    assert line(service.get(f"/incidents/{made['id']}")) is None
    service.post(
        "/changes", {"title": "Kernel", "version_to": "6.12", "node": node, "at": at(made, minutes=9)}, status=201
    )
    told = line(service.get(f"/incidents/{made['id']}"))
    assert told["value"] == "Began 9 min after Kernel 6.12"
    assert told["comparison"] == "coincidence in time, not proof; 2 changes in the 24 h before"


def test_a_rollout_that_facts_show_is_told_without_a_report(service: Service) -> None:
    """A healthy run, then the same workload in a new pod with another image, which stalls."""
    healthy = moved(recorded(Workload(quota_us=None)), "/kubepods/pod1/coredns", "coredns-668d6bf9bc-abcde")
    faulty = moved(FAULT, "/kubepods/pod2/coredns", "coredns-668d6bf9bc-x2x9q", "97:9")
    now_us = time.time_ns() // 1000
    outbox = Outbox(service.organization.id)
    outbox.add_channel("webhook", {"url": "http://127.0.0.1:9/hook", "secret": "0123456789abcdef-secret"})
    service.feed(image(healthy, "v1.11.1"), ends_us=now_us - faulty.ticks * 100_000)
    service.diagnose(service.feed(image(faulty, "v1.12.0"), ends_us=now_us))
    told = line(incident(service))
    assert re.fullmatch(
        r"Began (\d+ s|\d+ ms) after CPU limit no limit → 0.5 CPU; coredns v1.11.1 → v1.12.0", told["value"]
    )
    assert told["statement"] == "Change before the onset (kube-system/coredns/coredns)"
    (message,) = outbox.rows()
    assert message.payload["incident"]["evidence"][-1]["value"] == told["value"]


def image(recording: Recording, tag: str) -> Recording:
    name = "workload.image"

    def change(one: RecordedResource) -> RecordedResource:
        if one.kind != "cgroup":
            return one
        own = FactRow(name, f"registry.k8s.io/coredns/coredns:{tag}", recording.start_us)
        return replace(one, facts=(*(fact for fact in one.facts if fact.name != name), own))

    return changed(recording, change)
