"""A fix is measured and judged: fault and fix go through the real ingest, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from jitterscope.db import organization_session
from jitterscope.diagnosis.areas.dns import settings
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.verification.looks import ALPHA
from jitterscope.incidents.verification.measure import effective_s, window_of
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.notify.models import DeliveryRow
from jitterscope.notify.payload import Payload
from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import measures, moved, recorded, shortened, story, visit

pytestmark = pytest.mark.slow


def test_a_fix_that_works(service: Any, fault: Recording, more_cpu: Recording) -> None:
    incident = visit(service, story(service, fault, more_cpu))
    assert incident["state"] == "verified"
    verification = incident["verification"]
    assert verification["fix_id"] == "raise_cpu_limit"
    assert [(one["name"], one["old"], one["new"]) for one in verification["changes"]] == [("cpu.quota_us", "0.5", "4")]
    assert not [one for one in verification["notes"] if "did not see" in one]
    found = measures(incident)
    assert found["throttled_ms_per_min"]["before"] > 1000
    assert found["throttled_ms_per_min"]["after"] == 0
    assert found["slow_ratio"]["p_value"] < 0.05
    assert found["slow_ratio"]["decides"]
    assert found["slow_ratio"]["ratio"]["high"] < 0.8
    assert [one["action"] for one in incident["history"]][-2:] == ["fix_applied", "verified"]
    assert incident["resolved_at"] is not None
    assert len(verification["before"]["t_us"]) >= 6
    assert len(verification["after"]["t_us"]) >= 6


def test_a_fix_that_does_not_help(service: Any, fault: Recording, fault_again: Recording) -> None:
    incident = visit(service, story(service, fault, fault_again))
    assert incident["state"] == "did_not_help"
    assert incident["resolved_at"] is None, "the fault is still there"
    verification = incident["verification"]
    assert verification["fix_id"] == "gomaxprocs"
    names = [one["name"] for one in verification["changes"]]
    assert names == ["go.env.GOMAXPROCS", "restart"]
    assert measures(incident)["slow_ratio"]["p_value"] > 0.05 or measures(incident)["slow_ratio"]["ratio"]["low"] > 0.5


def test_a_change_for_the_worse(service: Any, fault: Recording, worse: Recording) -> None:
    incident = visit(service, story(service, fault, worse))
    assert incident["state"] == "made_worse"
    verification = incident["verification"]
    assert verification["fix_id"] is None
    assert verification["fix_title"] == "Another change"
    assert "worse" in verification["verdict"]
    assert service.get("/incidents", state="made_worse")["items"][0]["id"] == incident["id"]


def test_another_load_is_not_compared(service: Any, fault: Recording, quiet: Recording) -> None:
    """With a third of the queries there are fewer stalls, whatever was changed."""
    incident = visit(service, story(service, fault, quiet))
    assert incident["state"] == "fix_applied"
    assert "The load differs" in incident["verification"]["waiting_for"]
    assert incident["verification"]["state"] == "waiting"


def test_each_of_more_pods_has_a_part_of_the_load(service: Any) -> None:
    """A quarter of the queries is the same load once there are four times as many pods, and less load without them."""

    def pod(name: str, qps: float, seed: int) -> Recording:
        run = recorded(Workload(qps=qps, is_go=False, seconds=80, seed=seed))
        return moved(run, f"/pods/{name}", f"coredns-7d4b9c8f6d-{name}", f"47{seed}:1")

    incident_id = story(service, pod("x2k4v", 4000, 1), pod("x2k4v", 1000, 2))
    now_us = time.time_ns() // 1000
    scaled_at = datetime.fromtimestamp(now_us / 1e6 - 79, UTC).isoformat()
    service.post(f"/incidents/{incident_id}/verify", {"fix_id": "scale_out", "applied_at": scaled_at})
    assert "The load differs" in visit(service, incident_id)["verification"]["waiting_for"]
    for seed, name in enumerate(("b7w2q", "m5z9t", "q8c6n"), start=3):
        service.feed(pod(name, 1000, seed), ends_us=now_us)
    incident = visit(service, incident_id)
    assert incident["state"] == "verified"
    (note,) = [one for one in incident["verification"]["notes"] if "times as many" in one]
    assert note.startswith("4 times as many servers share the load")


def test_it_waits_for_enough_data(service: Any, fault: Recording, more_cpu: Recording) -> None:
    incident = visit(service, story(service, fault, shortened(more_cpu, 40)))
    assert incident["state"] == "fix_applied"
    assert "under comparable load" in incident["verification"]["waiting_for"]
    assert incident["verification"]["needed_s"] > incident["verification"]["collected_s"] > 0
    assert measures(incident)["throttled_ms_per_min"]["after"] == 0, "figures are there while it waits"


def test_being_quiet_is_no_resolution_while_it_is_measured(
    service: Any, fault: Recording, more_cpu: Recording, settings_override: Callable[..., Any]
) -> None:
    settings_override(incident_quiet_s=5)
    incident_id = story(service, fault, shortened(more_cpu, 40))
    assert visit(service, incident_id)["state"] == "fix_applied"
    subject = service.get(f"/incidents/{incident_id}")["subject"]["resource_id"]
    service.diagnose(subject)
    assert service.get(f"/incidents/{incident_id}")["state"] == "fix_applied"
    service.post(f"/incidents/{incident_id}/acknowledge")
    assert service.get(f"/incidents/{incident_id}")["state"] == "fix_applied"


def test_being_quiet_is_no_resolution_where_a_change_was_not_looked_at_yet(
    service: Any, fault: Recording, more_cpu: Recording, settings_override: Callable[..., Any]
) -> None:
    """The data of a minute can arrive at once, as after an outage: first the diagnosis, then the visit."""
    settings_override(incident_quiet_s=5)
    incident_id = story(service, fault, more_cpu)
    subject = service.get(f"/incidents/{incident_id}")["subject"]["resource_id"]
    service.diagnose(subject)
    assert service.get(f"/incidents/{incident_id}")["state"] == "open"
    assert visit(service, incident_id)["state"] == "verified"


def test_later_windows_follow_one_another_and_share_what_is_left_of_the_error() -> None:
    """Sliding along with the clock, every look would see other data."""
    minute_us = 60_000_000
    first = [window_of(0, at * minute_us, of_node=False, settle_s=10) for at in (1, 29)]
    assert {one.from_us for one in first} == {10_000_000}
    later = [window_of(0, at * minute_us, of_node=False, settle_s=10) for at in (31, 59, 61)]
    assert [one.from_us for one in later] == [1_810_000_000, 1_810_000_000, 3_610_000_000]
    assert first[0].budget + 47 * later[0].budget == pytest.approx(ALPHA)
    # Until a window has its first block, the one before is shown.
    assert window_of(0, 1_815_000_000, of_node=False, settle_s=10) == first[0]
    assert window_of(0, 61 * minute_us, of_node=True, settle_s=10).from_us == 10_000_000


@pytest.mark.parametrize(
    ("changed", "settle_s"),
    [
        (["dns.corefile", "dns.corefile_parsed"], 45.0),
        ([settings.IN_FRONT], 45.0),
        (["dns.corefile_parsed", "restart"], 0.0),
        (["cpu.quota_us"], 0.0),
        ([], 0.0),
    ],
)
def test_a_corefile_takes_effect_when_it_is_reloaded(changed: list[str], settle_s: float) -> None:
    """Until then the server goes on as before, which is not the fix's doing."""
    row = VerificationRow(fix_id="prefer_udp", changes=[{"name": name} for name in changed])
    assert effective_s("dns/dnsmasq_connection_exhaustion", row) == settle_s


def test_visiting_again_changes_nothing(service: Any, fault: Recording, more_cpu: Recording) -> None:
    incident_id = story(service, fault, more_cpu)
    first, second = visit(service, incident_id), visit(service, incident_id)
    assert first == second


def test_the_record(service: Any, fault: Recording, more_cpu: Recording) -> None:
    empty = service.get("/calibration")
    assert (empty["outcomes"], empty["inside_ratio"], empty["fixes"]) == (0, None, [])
    incident = visit(service, story(service, fault, more_cpu))
    kept = service.get("/calibration")
    assert kept["level"] == 0.9
    (fix,) = kept["fixes"]
    assert (fix["fix_id"], fix["verifications"], fix["verified"]) == ("raise_cpu_limit", 1, 1)
    assert {one["metric"] for one in kept["recent"]} >= {"throttled_ms_per_min", "slow_ratio"}
    assert {one["incident_id"] for one in kept["recent"]} == {incident["id"]}
    shown = measures(incident)
    for one in kept["recent"]:
        assert one["inside"] == shown[one["metric"]]["inside"]
        assert one["measured"] == shown[one["metric"]]["after"]
    assert incident["predictions"], "the fixes kept what they promised"


def test_predictions_stay_as_they_were(service: Any, fault: Recording, worse: Recording) -> None:
    incident_id = story(service, fault, worse)
    promised = service.get(f"/incidents/{incident_id}")["predictions"]
    visit(service, incident_id)
    service.diagnose(service.get(f"/incidents/{incident_id}")["subject"]["resource_id"])
    assert service.get(f"/incidents/{incident_id}")["predictions"] == promised


def test_a_fix_is_told(service: Any, fault: Recording, more_cpu: Recording, organization: Any) -> None:
    config = {"url": "http://127.0.0.1:9/hook", "secret": "0123456789abcdef"}
    made = service.post("/channels", {"kind": "webhook", "name": "ops", "config": config}, status=201)
    visit(service, story(service, fault, more_cpu))
    listed = service.get(f"/channels/{made['id']}/deliveries")["items"]
    assert [one["type"] for one in reversed(listed)] == ["incident.opened", "incident.fix_applied", "incident.verified"]
    with organization_session(organization.id) as session:
        newest = session.scalars(select(DeliveryRow.payload).order_by(DeliveryRow.id.desc())).first()
    payload = Payload.model_validate(newest)
    verification = payload.incident.verification
    assert verification is not None
    assert verification.state == "verified"
    assert {one.metric for one in verification.measures} >= {"throttled_ms_per_min", "slow_ratio"}
