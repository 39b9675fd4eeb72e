"""What is a change to verify: noticed, said by hand, rolled out to new cgroups, taken back, one after another."""

from __future__ import annotations

import time
from typing import Any

from jitterscope.diagnosis.scenarios.cpu.simulate import Workload
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import S_US, moved, recorded, shortened, story, visit, without_facts


def test_a_change_that_is_taken_back(service: Any, fault: Recording, more_cpu: Recording) -> None:
    incident_id = story(service, fault, shortened(more_cpu, 20))
    assert visit(service, incident_id)["state"] == "fix_applied"
    back = shortened(fault, 20)
    service.feed(back, ends_us=time.time_ns() // 1000 + 20 * S_US)
    incident = visit(service, incident_id)
    assert incident["state"] == "open"
    assert incident["verification"]["state"] == "replaced"
    assert incident["history"][-1]["action"] == "fix_withdrawn"


def test_said_by_hand(service: Any, fault: Recording, more_cpu: Recording) -> None:
    """Facts do not tell everything: here somebody says what was done, and the collector saw no change."""
    silent = without_facts(more_cpu, "cpu.quota_us", "cpu.period_us", "cpu.burst_us")
    applied_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - silent.ticks / 10))
    incident_id = story(service, fault, silent)
    assert visit(service, incident_id)["state"] in ("open", "acknowledged")
    path = f"/incidents/{incident_id}/verify"
    service.post(path, {"fix_id": "nonsense"}, status=422)
    service.post(path, {"applied_at": "2020-01-01T00:00:00Z"}, status=422)
    service.post(path, {"applied_at": "2026-01-01T00:00:00"}, status=422)
    service.post("/incidents/999999999/verify", {}, status=404)
    given = service.post(path, {"fix_id": "raise_cpu_limit", "applied_at": applied_at, "note": "in place"})
    assert given["state"] == "fix_applied"
    assert given["history"][-1]["detail"].endswith(": in place")
    assert given["verification"]["started_by"] != "jitterscope"
    incident = visit(service, incident_id)
    assert incident["state"] == "verified"
    assert len(service.get(f"/incidents/{incident_id}/verifications")) == 1
    service.post(path, {}, status=422)  # a moment after the verdict there is nothing to compare with


def test_a_rollout_gives_new_cgroups(service: Any, fault: Recording, more_cpu: Recording) -> None:
    """The pod of a deployment is replaced: another cgroup, another process, the same workload."""
    old = moved(fault, "/kubepods/pod1/a", "coredns-7c9d8bb6f4-x2x9q")
    new = moved(more_cpu, "/kubepods/pod2/b", "coredns-6f5c9bd47f-k8s2p", process="9000:1")
    other = moved(fault, "/kubepods/pod3/c", "kube-proxy-k8s2p", process="9001:1", container="proxy")
    incident_id = story(service, old, other, new)
    incident = visit(service, incident_id)
    assert incident["state"] == "verified"
    verification = incident["verification"]
    assert verification["subject_id"] != incident["subject"]["resource_id"]
    assert "coredns-6f5c9bd47f-k8s2p" in verification["subject_name"]
    assert {one["name"] for one in verification["changes"]} == {"cpu.quota_us", "restart"}
    assert verification["fix_id"] == "raise_cpu_limit"


def test_a_rollout_that_does_not_help_is_one_incident(service: Any, fault: Recording, unchanged: Recording) -> None:
    old = moved(fault, "/kubepods/pod1/a", "coredns-7c9d8bb6f4-x2x9q")
    new = moved(unchanged, "/kubepods/pod2/b", "coredns-6f5c9bd47f-k8s2p", process="9000:1")
    incident_id = story(service, old, new)
    successor = service.get("/resources", kind="cgroup", q="coredns-6f5c9bd47f-k8s2p")["items"][0]["id"]
    service.diagnose(successor)
    assert len(service.get("/incidents")["items"]) == 2, "nobody knew yet that it is the same"
    incident = visit(service, incident_id)
    assert incident["state"] == "did_not_help", incident["verification"]["waiting_for"]
    listed = {one["id"]: one["state"] for one in service.get("/incidents")["items"]}
    assert [state for one, state in listed.items() if one != incident_id] == ["resolved"]
    assert [one["name"] for one in incident["verification"]["changes"]] == ["restart"]
    assert "comes back" in " ".join(incident["verification"]["notes"])
    service.diagnose(successor)
    assert len(service.get("/incidents")["items"]) == 2


def test_the_second_fix_is_held_against_the_time_after_the_first(
    service: Any, fault: Recording, fault_again: Recording
) -> None:
    now_us = time.time_ns() // 1000
    last = recorded(Workload(seconds=80, quota_us=400_000, gomaxprocs=1, seed=9), process="4712:7")
    subject = service.feed(fault, ends_us=now_us - 162 * S_US)
    service.diagnose(subject)
    incident_id = int(service.get("/incidents")["items"][0]["id"])
    service.feed(fault_again, ends_us=now_us - 81 * S_US)
    assert visit(service, incident_id)["state"] == "did_not_help"
    service.feed(last, ends_us=now_us)
    incident = visit(service, incident_id)
    assert incident["state"] == "verified"
    second, first = service.get(f"/incidents/{incident_id}/verifications")
    assert (first["fix_id"], second["fix_id"]) == ("gomaxprocs", "raise_cpu_limit")
    assert [one["name"] for one in second["changes"]] == ["cpu.quota_us"]
    assert {one["metric"] for one in second["measures"] if one["predicted"] is not None} >= {"throttled_ms_per_min"}
    assert second["before"]["t_us"][0] >= first["after"]["t_us"][0]
    kinds = {one["fix_id"]: one for one in service.get("/calibration")["fixes"]}
    assert (kinds["gomaxprocs"]["did_not_help"], kinds["raise_cpu_limit"]["verified"]) == (1, 1)
