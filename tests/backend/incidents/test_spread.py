"""Trouble that several servers have at the same time is one incident, and ends when all of them are quiet."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import Diagnosis
from jitterscope.diagnosis.core.finding import Found, NotFound, Severity
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.incidents import retention
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.lifecycle import shared_trouble
from jitterscope.incidents.lifecycle.apply import apply_diagnosis
from jitterscope.incidents.store import incidents
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.settings import Settings
from tests.support.batches import CGROUP, DNS_SERVER, BatchBuilder

S = 1_000_000
SPREADING = next(cause.id for cause in all_causes().values() if cause.spreads)
STAYING, OTHER = [cause.id for cause in all_causes().values() if not cause.spreads][:2]
DNS_PATH = pb.RESOURCE_KIND_DNS_PATH
NOW_US = time.time_ns() // 1000 // S * S


def found(
    cause: str = SPREADING,
    *,
    onset: int,
    last: int,
    severity: Severity = "warning",
    slow: int = 10,
    upstream: str | None = None,
) -> Found:
    """Times in seconds before now."""
    return Found(
        cause=cause, score=0.9, confidence="high", severity=severity, title=f"{cause} title", summary="summary",
        onset_us=NOW_US - onset * S, last_us=NOW_US - last * S, impact={"slow_queries": slow, "max_ms": 900.0},
        evidence=[], upstream=upstream,
    )  # fmt: skip


class Servers:
    """Cgroups of three nodes, diagnosed on demand."""

    def __init__(self, service: Any) -> None:
        self.service = service
        for number, node in enumerate("abc"):
            builder = BatchBuilder(f"node-{node}")
            cgroup = builder.resource(CGROUP, f"/dns/{node}")
            server = builder.resource(DNS_SERVER, f"10.4.{number}.38:53", cgroup)
            builder.resource(DNS_PATH, f"10.128.0.{(number - 1) % 256}>10.4.{number}.38:53", server)
            builder.fact(cgroup, "net.addresses", f'["10.128.0.{number}", "169.254.20.10"]', NOW_US - 3600 * S)
            headers = service.organization.ingest_headers
            assert service.client.post("/api/v1/ingest", content=builder.body(), headers=headers).status_code < 300
        items = service.get("/resources", kind="cgroup")["items"]
        self.ids = {item["key"][-1]: item["id"] for item in items}

    def diagnose(self, name: str, *findings: Found, not_found: tuple[NotFound, ...] = (), at_s: int = 0) -> None:
        subject = SubjectRef(
            resource_id=self.ids[name], kind="cgroup", key=f"/dns/{name}", name=f"dns {name}", node=f"node-{name}"
        )
        diagnosis = Diagnosis(findings=list(findings), not_found=list(not_found), not_enough_data=[])
        clock_us = NOW_US + at_s * S
        with organization_session(self.service.organization.id) as session:
            apply_diagnosis(session, subject, diagnosis, (clock_us - 120 * S, clock_us), clock_us)

    def incidents(self) -> list[dict[str, Any]]:
        return list(reversed(self.service.get("/incidents")["items"]))


@pytest.fixture
def trio(service: Any) -> Servers:
    return Servers(service)


def test_the_second_server_joins_the_first_ones_incident(trio: Servers) -> None:
    trio.diagnose("a", found(onset=30, last=20))
    trio.diagnose("b", found(onset=29, last=12, severity="critical", slow=40))
    trio.diagnose("c", found(onset=15, last=11))
    [incident] = trio.incidents()
    assert incident["subject"]["name"] == "dns a"
    assert [(one["name"], one["node"], one["impact"]["slow_queries"]) for one in incident["also_affected"]] == [
        ("dns b", "node-b", 40), ("dns c", "node-c", 10),
    ]  # fmt: skip
    for one in incident["also_affected"]:
        assert [(figure["id"], figure["title"]) for figure in one["figures"]] == [
            ("slow_queries", "Number of slow answers"), ("max_ms", "Slowest answer"),
        ]  # fmt: skip
    # It is as bad as the worst of them, and its last-seen time is the latest of theirs.
    assert incident["severity"] == "critical"
    full = trio.service.get(f"/incidents/{incident['id']}")
    assert [one["action"] for one in full["history"]] == ["opened", "spread", "escalated", "spread"]
    assert full["last_seen_at"] == full["also_affected"][1]["last_at"]
    # Each of them leads to it, in lists and on the schedule; retention keeps their data.
    for name in ("a", "b", "c"):
        assert trio.service.get("/incidents", subject=trio.ids[name])["items"] == [incident]
    with organization_session(trio.service.organization.id) as session:
        assert set(trio.ids.values()) <= incidents.active_subjects(session)
        assert set(trio.ids.values()) <= set(retention.subjects(session))


def test_looking_again_changes_nothing_and_new_symptoms_do(trio: Servers) -> None:
    trio.diagnose("a", found(onset=30, last=20))
    trio.diagnose("b", found(onset=29, last=19))
    before = trio.incidents()
    trio.diagnose("b", found(onset=29, last=19))
    assert trio.incidents() == before
    trio.diagnose("b", found(onset=29, last=5))
    [incident] = trio.incidents()
    assert incident["last_seen_at"] > before[0]["last_seen_at"]
    assert len(incident["also_affected"]) == 1


def test_troubles_apart_in_time_are_apart(trio: Servers) -> None:
    trio.diagnose("a", found(onset=100, last=90))
    trio.diagnose("b", found(onset=60, last=50))
    assert [one["subject"]["name"] for one in trio.incidents()] == ["dns a", "dns b"]


def test_causes_that_do_not_spread_stay_apart(trio: Servers) -> None:
    trio.diagnose("a", found(STAYING, onset=30, last=20))
    trio.diagnose("b", found(STAYING, onset=30, last=20))
    assert [one["also_affected"] for one in trio.incidents()] == [[], []]


def test_it_ends_when_all_of_them_are_quiet(trio: Servers, settings_override: Callable[..., Settings]) -> None:
    settings_override(incident_quiet_s=60)
    trio.diagnose("a", found(onset=30, last=20))
    trio.diagnose("b", found(onset=29, last=19))
    # The first server has been quiet for a long time, the other has not.
    trio.diagnose("b", found(onset=-35, last=-38), at_s=40)
    trio.diagnose("a", at_s=50)
    assert trio.incidents()[0]["state"] == "open"
    trio.diagnose("a", at_s=99)
    [incident] = trio.incidents()
    assert incident["state"] == "resolved"
    # What the other server still has in its window was part of it; later trouble is new, and its own.
    trio.diagnose("b", found(onset=-35, last=-38), at_s=100)
    assert len(trio.incidents()) == 1
    trio.diagnose("b", found(onset=-120, last=-121), at_s=125)
    assert [(one["subject"]["name"], one["state"]) for one in trio.incidents()] == [
        ("dns a", "resolved"), ("dns b", "open"),
    ]  # fmt: skip


def test_an_incident_that_proves_to_be_part_of_another_is_closed(trio: Servers) -> None:
    trio.diagnose("a", found(onset=30, last=20))
    trio.diagnose("b", found(STAYING, onset=29, last=19))
    assert len(trio.incidents()) == 2
    trio.diagnose("b", found(onset=29, last=12), not_found=(NotFound(cause=STAYING, reason="not it"),))
    first, second = trio.incidents()
    assert [one["name"] for one in first["also_affected"]] == ["dns b"]
    assert second["state"] == "resolved"
    history = trio.service.get(f"/incidents/{second['id']}")["history"]
    assert f"Part of incident {first['id']}" in history[-1]["detail"]


# Each server's client is the one before it: a queries b, b queries c. A Service hides which server is queried.
@pytest.mark.parametrize("upstream", ["10.4.1.38:53", "10.0.0.10:53"], ids=["by its address", "behind a Service"])
def test_what_its_upstream_does_to_a_server_is_the_upstreams_incident(trio: Servers, upstream: str) -> None:
    trio.diagnose("b", found(STAYING, onset=30, last=20))
    trio.diagnose("a", found(OTHER, onset=29, last=15, upstream=upstream))
    [incident] = trio.incidents()
    assert (incident["cause"], incident["subject"]["name"]) == (STAYING, "dns b")
    assert [one["name"] for one in incident["also_affected"]] == ["dns a"]


def test_the_upstreams_own_incident_before_one_that_only_lists_it(trio: Servers) -> None:
    trio.diagnose("c", found(onset=40, last=20))
    trio.diagnose("b", found(onset=39, last=20), found(STAYING, onset=30, last=20))
    trio.diagnose("a", found(OTHER, onset=29, last=15, upstream="10.4.1.38:53"))
    affected = {one["subject"]["name"]: [of["name"] for of in one["also_affected"]] for one in trio.incidents()}
    assert affected == {"dns c": ["dns b"], "dns b": ["dns a"]}


def test_whoever_is_diagnosed_first(trio: Servers) -> None:
    trio.diagnose("a", found(OTHER, onset=29, last=15, upstream="10.4.1.38:53"))
    trio.diagnose("c", found(STAYING, onset=29, last=15))
    assert len(trio.incidents()) == 2  # a does not query c
    trio.diagnose("b", found(STAYING, onset=30, last=20))
    follower, stranger, incident = trio.incidents()
    assert (follower["state"], stranger["state"], incident["state"]) == ("resolved", "open", "open")
    assert [one["name"] for one in incident["also_affected"]] == ["dns a"]
    assert stranger["also_affected"] == []


@pytest.mark.parametrize("upstream", ["8.8.8.8:53", "10.4.2.38:53", "10.0.0.10:5353", "nonsense"])
def test_trouble_of_another_upstream_stays_apart(trio: Servers, upstream: str) -> None:
    trio.diagnose("b", found(STAYING, onset=30, last=20))
    trio.diagnose("a", found(OTHER, onset=29, last=15, upstream=upstream))
    assert [one["also_affected"] for one in trio.incidents()] == [[], []]


def test_more_members_than_people_read_are_not_listed(trio: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_trouble, "MAX_MEMBERS", 1)
    trio.diagnose("a", found(onset=30, last=20))
    trio.diagnose("b", found(onset=29, last=19))
    trio.diagnose("c", found(onset=28, last=12))
    [incident] = trio.incidents()
    assert [one["name"] for one in incident["also_affected"]] == ["dns b"]
    assert incident["last_seen_at"] > incident["also_affected"][0]["last_at"]


def test_workers_at_once_open_one_incident(trio: Servers) -> None:
    """Three workers, and one that decides about a subject without a spreading cause, in every order that occurs."""
    with ThreadPoolExecutor(4) as workers:
        for round_ in range(8):
            at_s = 40 * round_
            spreading = found(onset=10 - at_s, last=5 - at_s)
            jobs = [workers.submit(trio.diagnose, name, spreading, at_s=at_s) for name in "abc"]
            jobs.append(workers.submit(trio.diagnose, "a", at_s=at_s))
            for job in jobs:
                job.result(timeout=30)  # a deadlock would end this
    [active] = [one for one in trio.incidents() if one["state"] == "open"]
    assert len(active["also_affected"]) == 2


class Replicas(Servers):
    """Pods `a` and `b` of one Deployment on two nodes, `c` of another one."""

    def get_names(self) -> None:
        """The kubelet lists them."""
        for name, owner in (("a", "coredns"), ("b", "coredns"), ("c", "web")):
            builder = BatchBuilder(f"node-{name}")
            cgroup = builder.resource(CGROUP, f"/dns/{name}")
            facts = {
                "manager": "kubernetes", "namespace": "kube-system", "owner": f"Deployment/{owner}",
                "pod": f"{owner}-{name}", "container": "server",
            }  # fmt: skip
            for fact, value in facts.items():
                builder.fact(cgroup, f"workload.{fact}", value, NOW_US - 3600 * S)
            headers = self.service.organization.ingest_headers
            sent = self.service.client.post("/api/v1/ingest", content=builder.body(), headers=headers)
            assert sent.status_code < 300


def test_replicas_of_one_workload_have_one_incident_of_a_cause(service: Any) -> None:
    pods = Replicas(service)
    pods.get_names()
    pods.diagnose("a", found(STAYING, onset=90, last=60))
    # Apart in time, but the first one's incident is still open.
    pods.diagnose("b", found(STAYING, onset=30, last=20))
    pods.diagnose("c", found(STAYING, onset=30, last=20))
    [shared, other] = pods.incidents()
    assert shared["subject"]["name"] == "dns a"
    assert [(one["name"], one["node"]) for one in shared["also_affected"]] == [("dns b", "node-b")]
    assert (other["subject"]["name"], other["also_affected"]) == ("dns c", [])
    # Another cause is another fault.
    pods.diagnose("b", found(OTHER, onset=30, last=19))
    assert [one["cause"] for one in pods.incidents()] == [STAYING, STAYING, OTHER]


def test_what_a_replica_showed_before_the_end_opens_nothing(
    service: Any, settings_override: Callable[..., Settings]
) -> None:
    settings_override(incident_quiet_s=60)
    pods = Replicas(service)
    pods.get_names()
    pods.diagnose("a", found(STAYING, onset=30, last=20))
    pods.diagnose("b", found(STAYING, onset=29, last=19))
    pods.diagnose("a", at_s=60)
    [incident] = pods.incidents()
    assert incident["state"] == "resolved"
    pods.diagnose("b", found(STAYING, onset=29, last=19), at_s=61)
    assert len(pods.incidents()) == 1
    pods.diagnose("b", found(STAYING, onset=-70, last=-71), at_s=75)
    assert len(pods.incidents()) == 2


def test_replicas_that_get_their_names_late_are_joined(service: Any) -> None:
    pods = Replicas(service)
    for name in "abc":
        pods.diagnose(name, found(STAYING, onset=30, last=20))
    assert len(pods.incidents()) == 3
    pods.get_names()
    for name in "abc":
        pods.diagnose(name, found(STAYING, onset=30, last=10))
    told = {one["subject"]["name"]: (one["state"], len(one["also_affected"])) for one in pods.incidents()}
    assert told == {"dns a": ("open", 1), "dns b": ("resolved", 0), "dns c": ("open", 0)}
