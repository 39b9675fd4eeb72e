"""A service that gets requests over TCP, from ingest to a verified fix, just like a DNS server."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

from jitterscope.db import organization_session
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.incidents.scheduling import diagnoses, signs, snapshots
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.verification import window
from jitterscope.inventory import service as inventory
from jitterscope.recordings.capture import capture
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import recording_of, snapshot_of
from jitterscope.series.types import TICK_US
from tests.backend.incidents.stories import measures, recorded, shortened, story, visit


@pytest.fixture(scope="module")
def fault() -> Recording:
    return recorded(Workload(serves="http", seconds=80))


@pytest.fixture(scope="module")
def more_cpu() -> Recording:
    return recorded(Workload(serves="http", seconds=80, quota_us=400_000, seed=2))


def test_slow_requests_become_an_incident_and_a_fix_is_verified_by_them(
    service: Any, fault: Recording, more_cpu: Recording
) -> None:
    incident = visit(service, story(service, fault, more_cpu))
    assert (incident["cause"], incident["harm"]) == ("cpu/gc_throttling", "measured")
    assert "requests took over 20 ms" in incident["summary"]
    (server,) = (one for one in fault.resources if one.kind == "tcp_server")
    slow = float(np.nansum(server.series["responses_slow"]))
    figures = {one["id"]: one for one in incident["figures"]}
    assert figures["slow_ratio"]["value"] == pytest.approx(slow / np.nansum(server.series["requests"]))
    assert re.fullmatch(
        rf"{slow:,.0f} of 80,000, over 20 ms, \d+ times its calm median", figures["slow_ratio"]["detail"]
    )
    assert incident["state"] == "verified"
    found = measures(incident)
    assert found["slow_ratio"]["before"] > 0.005
    assert found["slow_ratio"]["after"] == 0
    assert found["slow_ratio"]["p_value"] < 0.05


def test_a_slow_request_makes_a_diagnosis_due(service: Any) -> None:
    """Although nothing was throttled."""
    quiet = recording_of(simulate(Workload(serves="http", quota_us=None, stray_slow_ratio=0.01, seconds=10)).snapshot)
    subject = service.feed(quiet)
    with organization_session(service.organization.id) as session:
        entry = schedule.state(session, subject)
    assert entry is not None
    assert entry.due_at is not None
    assert entry.waiting == ("slow_request",)


def test_that_a_program_has_just_started_is_known_once_its_start_has_left_the_window(service: Any) -> None:
    """Otherwise the stalls of a start were reported as soon as the start itself was out of sight."""
    started = Workload(serves="http", quota_us=None, qps=20, starts_s=2.0, seconds=60)
    subject = service.feed(recording_of(simulate(started).snapshot))
    with organization_session(service.organization.id) as session:
        loaded = snapshots.load(session, subject, 20_000_000)
    assert loaded is not None
    (process,) = loaded.snapshot.processes
    (begin,) = [one.start_us for one in process.events if one.kind == "process.start"]
    assert loaded.snapshot.end_us - begin == pytest.approx(58_000_000, abs=TICK_US)
    assert begin < loaded.snapshot.start_us


def test_the_picture_has_its_requests(service: Any, fault: Recording) -> None:
    now_us = time.time_ns() // 1000
    ends_us = now_us - now_us % TICK_US
    subject = service.feed(fault, ends_us=ends_us)
    start_us = ends_us - fault.ticks * TICK_US
    shown = service.get(f"/resources/{subject}/timeline", **{"from": start_us, "to": ends_us})
    (server,) = (one for one in fault.resources if one.kind == "tcp_server")
    assert shown["served"] == ["requests"]
    assert server.queries is not None
    assert shown["queries"]["latency_us"] == server.queries.latency_us.tolist()
    rate = {name: np.array(shown["rate"][name], float) for name in ("queries", "slow", "latency_max_us")}
    assert np.nansum(rate["queries"]) == np.nansum(server.series["requests"])
    assert np.nansum(rate["slow"]) == np.nansum(server.series["responses_slow"])
    assert np.nanmax(rate["latency_max_us"]) == np.nanmax(server.series["request_latency_max_us"])


def test_everything_that_reads_a_subject_has_its_tcp_servers(service: Any, fault: Recording) -> None:
    subject = service.feed(fault)
    with organization_session(service.organization.id) as session:
        row = inventory.resource(session, subject)
        assert row is not None
        clock_us = inventory.node_clock_us(session, row.node_id)
        loaded = snapshots.load(session, subject, 60_000_000)
        assert loaded is not None
        assert clock_us is not None
        [narrow] = signs.load(session, [row], clock_us, 60_000_000).values()
        node = snapshots.load(session, row.node_id, 60_000_000)
        since_us, until_us = loaded.snapshot.start_us, loaded.snapshot.end_us
        compared = window.read(session, subject, since_us, until_us, ("requests", "responses_slow"))
        kept = capture(session, [subject], since_us, until_us)
        tree = inventory.subject_tree(session, subject, since_us, until_us)
    (server,) = loaded.snapshot.tcp_servers
    assert server.fact("tcp.program") == "worker"
    assert server.queries is not None
    assert "request_latency_us" in server.distributions
    assert [one.id for one in narrow.tcp_servers] == [server.id]
    assert node is not None
    assert [one.id for one in node.snapshot.tcp_servers] == [server.id]
    assert compared is not None
    assert np.nansum(compared.tcp_servers[0].series["requests"]) == np.nansum(server.series["requests"])
    (again,) = snapshot_of(kept).tcp_servers
    assert again.queries is not None
    assert again.queries.latency_us.tolist() == server.queries.latency_us.tolist()
    assert tree is not None
    assert server.id in window.members(tree)


def test_a_short_look_finds_it_too(service: Any, fault: Recording) -> None:
    """One cycle is enough: the first one, after a few seconds."""
    subject = service.feed(shortened(recorded(Workload(serves="http", seconds=6.0, seed=2)), 6))
    outcome = service.diagnose(subject)
    assert isinstance(outcome, diagnoses.Outcome)
    assert outcome.causes == ["cpu/gc_throttling"]
    assert outcome.harm_us > 0
