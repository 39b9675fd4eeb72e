"""An incident without a known cause takes on its cause once that is found; the two never coexist."""

from __future__ import annotations

import time
from typing import Any

import pytest

from jitterscope.cache import valkey
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import Diagnosis
from jitterscope.diagnosis.core.finding import Found, NotFound
from jitterscope.diagnosis.scenarios.unexplained.simulate import Hold, Service, simulate
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.lifecycle.apply import apply_diagnosis
from jitterscope.incidents.verification.explained import key_of
from jitterscope.recordings.snapshots import recording_of
from tests.support.batches import CGROUP, DNS_SERVER, BatchBuilder

S = 1_000_000
ID, GC, DENTRIES, START = (
    "unexplained/slow_answers", "cpu/gc_throttling", "kernel/dentry_reclaim_contention", "pods/bpf_verification",
)  # fmt: skip
NOW_US = time.time_ns() // 1000 // S * S


def found(cause: str, onset: int, last: int, slow: int = 30) -> Found:
    """Times in seconds before now."""
    return Found(
        cause=cause, score=0.5, confidence="high", severity="warning", title=f"{cause} title", summary="summary",
        onset_us=NOW_US - onset * S, last_us=NOW_US - last * S, impact={"slow_queries": slow} if slow else {},
        evidence=[],
    )  # fmt: skip


class Subjects:
    """A server and its node, diagnosed on demand."""

    def __init__(self, service: Any) -> None:
        self.service = service
        builder = BatchBuilder("node-a")
        builder.resource(DNS_SERVER, "10.4.0.1:53", builder.resource(CGROUP, "/dns/a"))
        headers = service.organization.ingest_headers
        assert service.client.post("/api/v1/ingest", content=builder.body(), headers=headers).status_code < 300
        (self.server,) = (item["id"] for item in service.get("/resources", kind="cgroup")["items"])
        (self.node,) = (item["id"] for item in service.get("/resources", kind="node")["items"])

    def slow(self, at: int, count: int) -> None:
        """Slow answers of the server, `at` seconds before now."""
        builder = BatchBuilder("node-a")
        server = builder.resource(DNS_SERVER, "10.4.0.1:53", builder.resource(CGROUP, "/dns/a"))
        builder.block({(server, "dns_slow"): [float(count)]}, NOW_US - at * S)
        headers = self.service.organization.ingest_headers
        assert self.service.client.post("/api/v1/ingest", content=builder.body(), headers=headers).status_code < 300

    def diagnose(self, resource_id: int, *findings: Found, explained: bool = False, at_s: int = 0) -> None:
        kind = "node" if resource_id == self.node else "cgroup"
        subject = SubjectRef(resource_id=resource_id, kind=kind, key="k", name="a", node="node-a")
        reason = "30 of 30 late answers have a cause: GC."
        not_found = [NotFound(cause=ID, reason=reason)] if explained else []
        diagnosis = Diagnosis(findings=list(findings), not_found=not_found, not_enough_data=[])
        clock_us = NOW_US + at_s * S
        with organization_session(self.service.organization.id) as session:
            apply_diagnosis(session, subject, diagnosis, (clock_us - 120 * S, clock_us), clock_us)

    def incidents(self) -> list[dict[str, Any]]:
        return list(reversed(self.service.get("/incidents")["items"]))


@pytest.fixture
def place(service: Any) -> Subjects:
    return Subjects(service)


def test_it_becomes_the_incident_of_the_cause_that_is_found_later(place: Subjects) -> None:
    place.diagnose(place.server, found(ID, 30, 29))
    (unexplained,) = place.incidents()
    assert unexplained["cause"] == ID
    place.diagnose(place.server, found(GC, 31, 20), explained=True, at_s=2)
    (incident,) = place.incidents()
    assert (incident["id"], incident["cause"]) == (unexplained["id"], GC)
    detail = place.service.get(f"/incidents/{incident['id']}")
    (change,) = (one for one in detail["history"] if one["action"] == "reclassified")
    assert "30 of 30 late answers have a cause" in change["detail"]


def test_what_an_incident_with_a_cause_tells_opens_no_other(place: Subjects) -> None:
    """Even if most of it has left the window, so that the cause is no longer found."""
    place.diagnose(place.server, found(GC, 60, 20), explained=True)
    place.diagnose(place.server, found(ID, 40, 39), at_s=2)
    assert [one["cause"] for one in place.incidents()] == [GC]
    place.diagnose(place.server, found(ID, 10, 9), at_s=4)
    assert [one["cause"] for one in place.incidents()] == [GC, ID]


def test_the_node_s_own_trouble_explains_it(place: Subjects) -> None:
    place.diagnose(place.node, found(DENTRIES, 30, 20))
    place.diagnose(place.server, found(ID, 29, 28))
    (incident,) = place.incidents()
    assert incident["cause"] == DENTRIES
    assert [one["resource_id"] for one in place.service.get(f"/incidents/{incident['id']}")["also_affected"]] == [
        place.server
    ]


def test_the_node_s_own_trouble_explains_it_later(place: Subjects) -> None:
    place.diagnose(place.server, found(ID, 29, 28))
    place.diagnose(place.node, found(DENTRIES, 30, 20), at_s=2)
    first, second = place.incidents()
    assert (first["cause"], first["state"]) == (ID, "resolved")
    assert (second["cause"], second["state"]) == (DENTRIES, "open")


def test_trouble_of_a_node_that_made_no_answer_late_does_not(place: Subjects) -> None:
    place.diagnose(place.node, found(START, 30, 20, slow=0))
    place.diagnose(place.server, found(ID, 29, 28))
    assert [one["cause"] for one in place.incidents()] == [START, ID]


def test_the_share_of_all_slow_answers_that_have_a_cause_is_told(place: Subjects) -> None:
    """Those that no incident measured count too."""
    told = {"days": 7, "slow_answers": 0, "explained": 0, "ratio": None}
    assert place.service.get("/calibration")["explained"] == told
    place.slow(600, 90)
    place.slow(300, 10)
    place.slow(30, 100)
    place.diagnose(place.server, found(GC, 605, 595, slow=90))
    place.diagnose(place.server, found(ID, 301, 299, slow=10), at_s=2)
    assert place.service.get("/calibration")["explained"] == told, "read once in 10 min, not with every request"
    key = key_of(place.service.organization.id)
    assert 0 < valkey().ttl(key) <= 600
    valkey().delete(key)
    assert place.service.get("/calibration")["explained"] == told | {
        "slow_answers": 200, "explained": 90, "ratio": 0.45,
    }  # fmt: skip


def test_what_explains_a_node_explains_its_servers(place: Subjects) -> None:
    place.slow(600, 90)
    place.diagnose(place.node, found(DENTRIES, 605, 595))
    assert place.service.get("/calibration")["explained"]["ratio"] == 1.0


def test_a_stall_opens_an_incident_with_where_its_time_went(service: Any) -> None:
    snapshot = simulate(Service("dns", seconds=60.0, holds=(Hold(40.0, 0.3, "stopped"),)))
    subject = service.feed(recording_of(snapshot))
    service.diagnose(subject)
    (listed,) = service.get("/incidents")["items"]
    incident = service.get(f"/incidents/{listed['id']}")
    assert (incident["cause"], incident["severity"], incident["confidence"]) == (ID, "critical", "high")
    assert incident["title"].endswith(": all 4 threads were stopped by a signal")
    assert "waited unread" in incident["summary"]
    ids = {one["id"] for one in incident["evidence"]}
    assert {"late_in_stalls", "threads_stopped", "unread", "on_cpu", "run_delay"} <= ids
    assert {one["status"] for one in incident["rivals"]} >= {"ruled_out"}
