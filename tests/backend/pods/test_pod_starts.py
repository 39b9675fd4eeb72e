"""Pod starts as the API shows them: from ingested data, for one organization."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from jitterscope.diagnosis.scenarios.pods.simulate import CILIUM_112
from jitterscope.recordings.model import Recording
from tests.backend.conftest import Organization


def test_starts_that_wait_for_the_verifier(service: Any, verified: Recording) -> None:
    node_id = service.feed(verified)
    page = service.get("/pod-starts")
    assert page["node"] == {"id": node_id, "name": page["nodes"][0]["name"]}
    assert (page["basis"], page["missed"], page["kubelet"], page["cilium"]) == ("sli", True, "v1.30.5", "1.12.3")
    starts = page["starts"]
    assert 25 <= starts["starts"] <= 30
    assert starts["late"] == pytest.approx(starts["starts"], abs=4)
    assert page["chance_ratio"] < 1e-9
    assert 5e6 < starts["p50_us"] < starts["p99_us"] < 8e6
    assert page["with_images"]["p50_us"] == pytest.approx(starts["p50_us"] + 6e6, rel=0.05)
    parts = {part["id"]: part for part in page["parts"]}
    top = [part for part in page["parts"] if part["inside"] is None and part["in_objective"]]
    assert sum(part["share_ratio"] for part in top) == pytest.approx(1.0, abs=0.03)
    assert parts["verifier"]["inside"] == "bpf_load"
    assert parts["verifier"]["mean_us"] == pytest.approx(4e6, rel=0.05)
    assert not parts["image_pull"]["in_objective"]
    for stack in page["stacks"]:
        assert sum(piece["us"] for piece in stack["parts"]) == pytest.approx(stack["start_us"], rel=0.01)
    assert [stack["q"] for stack in page["stacks"]] == [0.5, 0.9, 0.99]
    assert sum(point["starts"] for point in page["over_time"]) == starts["starts"]
    assert sum(point["late"] for point in page["over_time"]) == starts["late"]
    named = page["slowest"]
    assert len(named) == 20
    assert named == sorted(named, key=lambda pod: -pod["start_us"])
    assert named[0]["start_us"] == pytest.approx(page["over_time"][0]["max_us"], rel=0.3)
    assert {pod["namespace"] for pod in named} == {"shop"}
    assert all(pod["total_us"] == pytest.approx(pod["start_us"] + pod["image_pull_us"], rel=1e-3) for pod in named)
    verifier = page["verifier"]
    assert (verifier["command"], verifier["waits"], verifier["reason"]) == ("cilium-agent", True, None)
    assert verifier["share_ratio"] == pytest.approx(0.66, abs=0.05)
    assert {program["name"] for program in verifier["programs"]} == set(CILIUM_112)
    assert sum(program["share_ratio"] for program in verifier["programs"]) == pytest.approx(1.0)
    assert [one["name"] for one in verifier["programs"] if one["unused"]] == ["tail_nodeport_n"]


def test_without_programs(service: Any, verified: Recording) -> None:
    service.feed(verified)
    everything = service.get("/pod-starts/what-if")
    assert everything["command"] == "cilium-agent"
    assert set(everything["programs"]) == set(CILIUM_112)
    assert everything["removed_us"] == pytest.approx(4e6, rel=0.05)
    assert everything["late"] > 20
    assert everything["late_ratio"]["expected"] == 0
    for item in everything["percentiles"]:
        after = item["after_us"]
        assert after["low"] <= after["expected"] <= after["high"] < item["before_us"]
        assert after["expected"] == pytest.approx(item["before_us"] - everything["removed_us"], rel=0.02)
    one = service.get("/pod-starts/what-if", without="tail_nodeport_n")
    assert one["programs"] == ["tail_nodeport_n"]
    assert one["removed_us"] == pytest.approx(0.23 * everything["removed_us"], rel=0.05)
    wrong = service.get("/pod-starts/what-if", status=422, without="nobody")
    assert wrong["type"].endswith("unknown-program")
    assert "nobody" in wrong["detail"]


def test_an_incident_of_the_node_opens(service: Any, verified: Recording) -> None:
    node_id = service.feed(verified)
    outcome = service.diagnose(node_id)
    assert outcome is not None
    assert outcome.causes[0] == "pods/bpf_verification"
    assert outcome.changed_incidents
    [incident] = service.get("/pod-starts")["incidents"]
    assert incident["severity"] == "critical"
    assert "cilium-agent" in incident["title"]
    shown = service.get(f"/incidents/{incident['id']}")
    assert [rival["cause"] for rival in shown["rivals"]] == ["pods/pod_slo"]
    assert {fix["id"] for fix in shown["fixes"]} >= {"newer_cilium", "leave_out", "images_first"}


def test_slow_images_alone(service: Any, images: Recording) -> None:
    node_id = service.feed(images)
    page = service.get("/pod-starts", node=node_id)
    assert not page["missed"]
    assert page["starts"]["late"] == 0
    assert page["with_images"]["p50_us"] > 40e6
    assert page["verifier"] is None
    assert "No eBPF program was loaded in this window." in page["notes"]
    assert service.get("/pod-starts/what-if", status=422)["type"].endswith("not-enough-data")
    outcome = service.diagnose(node_id)
    assert outcome is not None
    assert not [cause for cause in outcome.causes if cause.startswith("pods/")]


def test_before_and_after_a_moment(service: Any, verified: Recording) -> None:
    service.feed(verified)
    page = service.get("/pod-starts")
    middle = page["over_time"][len(page["over_time"]) // 2]["at_us"]
    [change] = service.get("/pod-starts", split=str(middle))["changes"]
    assert (change["what"], change["at_us"]) == (None, middle)
    assert change["before"]["starts"] + change["after"]["starts"] == page["starts"]["starts"]
    assert page["changes"] == []


def test_before_and_after_an_upgrade(service: Any, verified: Recording, upgraded: Recording) -> None:
    """As in case 5: p50, p90, and p99 with the old and the new agent."""
    now_us = time.time_ns() // 1000
    service.feed(verified, ends_us=now_us - 125_000_000)
    service.feed(upgraded, ends_us=now_us)
    page = service.get("/pod-starts")
    [change] = page["changes"]
    assert (change["what"], change["old"], change["new"]) == ("Cilium", "1.12.3", "1.19.3")
    before, after = change["before"], change["after"]
    assert before["starts"] + after["starts"] == page["starts"]["starts"]
    for name in ("p50_us", "p90_us", "p99_us"):
        assert before[name] - after[name] == pytest.approx(3e6, rel=0.2)
    assert before["late"] > 20
    assert after["late"] == 0


def test_bad_requests_and_empty_windows(service: Any, verified: Recording) -> None:
    assert service.get("/pod-starts")["node"] is None
    assert service.get("/pod-starts/what-if", status=422)["type"].endswith("not-enough-data")
    node_id = service.feed(verified)
    early = service.get("/pod-starts", node=node_id, **{"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z"})
    assert early["starts"] is None
    assert early["node"]["id"] == node_id
    assert early["notes"]
    wrong = service.get("/pod-starts", status=422, **{"from": "2026-01-01T00:00:00Z", "to": "2026-03-01T00:00:00Z"})
    assert wrong["type"].endswith("invalid-window")
    assert service.get("/pod-starts", status=422, to="noon")["type"].endswith("invalid-time")
    assert service.get("/pod-starts", status=404, node=10**12)["type"].endswith("not-found")


def test_other_organizations_see_nothing(
    service: Any, verified: Recording, make_organization: Callable[..., Organization]
) -> None:
    node_id = service.feed(verified)
    other = make_organization()
    for path, status in (("", 200), (f"?node={node_id}", 404)):
        response = service.client.get(f"/api/v1/pod-starts{path}", headers=other.headers)
        assert response.status_code == status
        if status == 200:
            assert response.json()["nodes"] == []
