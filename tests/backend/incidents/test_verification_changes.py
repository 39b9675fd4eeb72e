"""Which changes are verified: detected, declared by hand, rolled out to new cgroups, reverted, one after another."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.recordings.snapshots import recording_of
from tests.backend.incidents.stories import S_US, changed, moved, recorded, shortened, story, visit, without_facts
from tests.diagnosis.scenarios import built

pytestmark = pytest.mark.slow


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
    """Facts do not show everything: here a user declares the fix, and the collector saw no change."""
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
    [note] = [one for one in incident["verification"]["notes"] if "did not see" in one]
    assert note.endswith("The CPU quota per period of the container rises, or the limit is removed.")
    assert len(service.get(f"/incidents/{incident_id}/verifications")) == 1
    # Shortly after the data that the verdict rests on there is nothing to compare with.
    service.post(path, {"applied_at": incident["verification"]["after_to"]}, status=422)


def test_a_rollout_gives_new_cgroups(service: Any, fault: Recording, more_cpu: Recording) -> None:
    """A deployment's pod is replaced: another cgroup, another process, the same workload."""
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


def test_the_next_run_of_a_cron_job_is_no_change(service: Any, fault: Recording, unchanged: Recording) -> None:
    def run(recording: Recording, key: str, pod: str, process: str) -> Recording:
        owner = FactRow("workload.owner", "CronJob/backup", 0)
        return with_facts(moved(recording, key, pod, process=process), "cgroup", owner)

    old = run(fault, "/kubepods/pod1/a", "backup-29927715-x2x9q", "4711:1")
    new = run(unchanged, "/kubepods/pod2/b", "backup-29927775-k8s2p", "9000:1")
    incident_id = story(service, old, new)
    assert visit(service, incident_id)["state"] == "open", "its runs follow one another without a change"


def test_what_a_replaced_pod_did_is_told_once(service: Any, fault: Recording, more_cpu: Recording) -> None:
    """Its data stay in a diagnosis's window for two minutes after it is gone."""
    old = moved(fault, "/kubepods/pod1/a", "coredns-7c9d8bb6f4-x2x9q")
    new = moved(shortened(more_cpu, 30), "/kubepods/pod2/b", "coredns-6f5c9bd47f-k8s2p", process="9000:1")
    # Pods have their own addresses, and so do their servers.
    new = changed(new, lambda one: replace(one, key="10.112.0.4:53") if one.kind == "dns_server" else one)
    incident_id = story(service, old, new)
    incident = visit(service, incident_id)
    assert incident["state"] == "fix_applied"
    outcome = service.diagnose(incident["subject"]["resource_id"])
    assert outcome.causes == ["cpu/gc_throttling"]
    assert [one["id"] for one in service.get("/incidents")["items"]] == [incident_id]


def test_a_rollout_that_does_not_help_is_one_incident(service: Any, fault: Recording, unchanged: Recording) -> None:
    old = moved(fault, "/kubepods/pod1/a", "coredns-7c9d8bb6f4-x2x9q")
    new = moved(unchanged, "/kubepods/pod2/b", "coredns-6f5c9bd47f-k8s2p", process="9000:1")
    incident_id = story(service, old, new)
    successor = service.get("/resources", kind="cgroup", q="coredns-6f5c9bd47f-k8s2p")["items"][0]["id"]
    service.diagnose(successor)
    [before] = service.get("/incidents")["items"]
    assert [one["resource_id"] for one in before["also_affected"]] == [successor], "a replica, as far as is known"
    incident = visit(service, incident_id)
    assert incident["state"] == "did_not_help", incident["verification"]["waiting_for"]
    assert incident["also_affected"] == []
    assert [one["name"] for one in incident["verification"]["changes"]] == ["restart"]
    assert "comes back" in " ".join(incident["verification"]["notes"])
    service.diagnose(successor)
    assert len(service.get("/incidents")["items"]) == 1


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


def test_a_neighbour_that_gets_a_limit_is_the_fix(service: Any) -> None:
    """Its limit is a fact of another cgroup, which the evidence names."""
    fault = recording_of(built("neighbours/one batch job in Kubernetes"))
    server = fault.resources[fault.subject].key

    def limited(one: RecordedResource) -> RecordedResource:
        if one.kind != "cgroup" or one.key == server:
            return one
        facts = {fact.name: fact for fact in one.facts}
        limit = {"cpu.quota_us": "20000", "cpu.period_us": "100000"}
        given = {name: FactRow(name, value, fault.start_us) for name, value in limit.items()}
        return replace(one, facts=tuple((facts | given).values()))

    incident = visit(service, story(service, fault, shortened(changed(fault, limited), 30)))
    assert (incident["cause"], incident["state"]) == ("cpu/neighbours", "fix_applied")
    assert incident["verification"]["fix_id"] == "limit_neighbour"
    (change,) = incident["verification"]["changes"]
    assert (change["name"], change["old"], change["new"]) == ("neighbour.cpu.quota_us", "no limit", "0.2")


def with_facts(recording: Recording, kind: str, *facts: FactRow) -> Recording:
    """`since_us` of the facts is relative to the recording's start."""
    added = tuple(replace(one, since_us=recording.start_us + one.since_us) for one in facts)
    names = {one.name for one in facts}

    def change(one: RecordedResource) -> RecordedResource:
        if one.kind != kind:
            return one
        return replace(one, facts=(*(fact for fact in one.facts if fact.name not in names), *added))

    return changed(recording, change)


SMALL, LARGE = str(256 << 20), str(512 << 20)
GO = {"go.version": "1.23"}


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        # A cgroup has no limit until one is written.
        ("cgroup", [FactRow("memory.limit_bytes", "-1", 0), FactRow("memory.limit_bytes", SMALL, 15 * S_US)]),
        ("cgroup", [FactRow("memory.limit_bytes", SMALL, 15 * S_US)]),
        ("cgroup", [FactRow("workload.image", "coredns:1.12.0", 40 * S_US)]),
        ("dns_server", [FactRow("dns.corefile", ".:53 {\n    cache\n}\n", 40 * S_US)]),
        ("dns_server", [FactRow("dns.version", "1.12.0", 40 * S_US)]),
        ("process", [FactRow("go.env.GOGC", "50", 40 * S_US)]),
    ],
)
def test_a_first_reading_is_no_change(service: Any, fault: Recording, kind: str, facts: list[FactRow]) -> None:
    incident_id = story(service, with_facts(fault, kind, *facts))
    incident = visit(service, incident_id)
    assert (incident["state"], incident["verification"]) == ("open", None)


def test_a_limit_that_is_changed_while_the_container_runs_is_a_change(service: Any, fault: Recording) -> None:
    facts = FactRow("memory.limit_bytes", SMALL, 0), FactRow("memory.limit_bytes", LARGE, 60 * S_US)
    incident_id = story(service, with_facts(fault, "cgroup", *facts))
    found = visit(service, incident_id)["verification"]["changes"]
    assert [(one["name"], one["old"], one["new"]) for one in found] == [("memory.limit_bytes", "256 MiB", "512 MiB")]


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        ("cgroup", {"memory.limit_bytes": SMALL}, {"memory.limit_bytes": LARGE}, ["memory.limit_bytes"]),
        # Read on one side only, so unknown on the other.
        ("cgroup", {"memory.limit_bytes": None}, {"memory.limit_bytes": LARGE}, []),
        ("cgroup", {"memory.limit_bytes": SMALL}, {"memory.limit_bytes": None}, []),
        ("cgroup", {"workload.image": None}, {"workload.image": "coredns:1.12.0"}, []),
        ("dns_server", {"dns.version": None}, {"dns.version": "1.12.0"}, []),
        # Its environment was read, and did not have it.
        ("process", {"go.env.GOGC": None, **GO}, {"go.env.GOGC": "50", **GO}, ["go.env.GOGC"]),
        ("process", {"go.env.GOGC": "50", **GO}, {"go.env.GOGC": None, **GO}, ["go.env.GOGC"]),
        ("process", {"go.env.GOGC": None, "go.version": None}, {"go.env.GOGC": "50", **GO}, []),
    ],
)
def test_what_a_new_container_has_that_nobody_read_before(
    service: Any,
    fault: Recording,
    unchanged: Recording,
    kind: str,
    before: dict[str, str | None],
    after: dict[str, str | None],
    expected: list[str],
) -> None:
    def made(recording: Recording, facts: dict[str, str | None]) -> Recording:
        known = [FactRow(name, value, 0) for name, value in facts.items() if value is not None]
        return with_facts(without_facts(recording, *facts), kind, *known)

    old = moved(made(fault, before), "/kubepods/pod1/a", "coredns-7c9d8bb6f4-x2x9q")
    new = moved(made(unchanged, after), "/kubepods/pod2/b", "coredns-6f5c9bd47f-k8s2p", process="9000:1")
    incident_id = story(service, old, new)
    found = visit(service, incident_id)["verification"]["changes"]
    assert [one["name"] for one in found if one["name"] != "restart"] == expected
