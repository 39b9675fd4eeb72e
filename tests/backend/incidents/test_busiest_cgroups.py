"""A diagnosis of a cgroup sees which others on its node used the most CPU, and so does a recording of it."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu import neighbours_scenario
from jitterscope.incidents import retention
from jitterscope.incidents.scheduling import snapshots
from jitterscope.inventory.busiest import MAX_CGROUPS, busiest
from jitterscope.recordings import file
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.recordings.snapshots import recording_of, snapshot_of

LOOPS = {f"/lab/loop-{n}" for n in range(6)}


@pytest.fixture(scope="module")
def recording() -> Recording:
    """The server in /lab/server, six loops beside it, the cgroup that contains them, an idle one, a nested one."""
    made = recording_of(snapshot_of(recording_of(neighbours_scenario.SCENARIOS[0].build()), to_us=_end(20.0)))
    busy = np.full(made.ticks, 190_000.0)
    more = (
        RecordedResource("cgroup", "/lab", "/lab", 0, series={"cpu_usage_us": busy}),
        RecordedResource("cgroup", "/lab/server/helper", "helper", 0, series={"cpu_usage_us": busy}),
        RecordedResource("cgroup", "/idle", "/idle", 0, series={"cpu_usage_us": np.full(made.ticks, 90.0)}),
    )
    return replace(made, resources=(*made.resources, *more))


def _end(seconds: float) -> int:
    return neighbours_scenario.SCENARIOS[0].build().start_us + int(seconds * 1e6)


def loaded(service: Any, subject_id: int) -> Snapshot:
    with organization_session(service.organization.id) as session:
        found = snapshots.load(session, subject_id, 30_000_000)
    assert found is not None
    return found.snapshot


def test_those_beside_it_are_read(service: Any, recording: Recording) -> None:
    snapshot = loaded(service, service.feed(recording))
    assert {one.key for one in snapshot.cgroups} == LOOPS
    for one in snapshot.cgroups:
        assert list(one.series) == ["cpu_usage_us"]
        assert one.fact("cpu.weight") == "1953.125"


def test_the_stored_run_gives_the_same_cause(service: Any, recording: Recording) -> None:
    [found] = diagnose(loaded(service, service.feed(recording))).findings
    assert (found.cause, found.severity) == ("cpu/neighbours", "critical")
    assert "loop-" in found.title
    assert "5 others" in found.title


def test_a_recording_carries_them(service: Any, recording: Recording) -> None:
    subject_id = service.feed(recording)
    now_us = time.time_ns() // 1000
    window = {"resource": subject_id, "from": str(now_us - 30_000_000), "to": str(now_us)}
    response = service.client.get("/api/v1/recordings", params=window, headers=service.organization.headers)
    assert response.status_code == 200, response.text
    replayed = snapshot_of(file.read(io.BytesIO(response.content)))
    again = snapshot_of(recording_of(replayed))
    for snapshot in (replayed, again):
        assert {one.key: sorted(one.series) for one in snapshot.cgroups} == {key: ["cpu_usage_us"] for key in LOOPS}
    assert [found.cause for found in diagnose(again).findings] == ["cpu/neighbours"]


def test_their_data_are_kept_with_an_incident(service: Any, recording: Recording) -> None:
    subject_id = service.feed(recording)
    service.diagnose(subject_id)
    with organization_session(service.organization.id) as session:
        kept = {identity for pin in retention.windows(session) for identity in pin.resource_ids}
    assert {one.id for one in loaded(service, subject_id).cgroups} <= kept


def test_what_runs_below_is_counted_once() -> None:
    used = {"/pods": 9e6, "/pods/a": 6e6, "/pods/a/x": 5e6, "/pods/b": 2e6, "/pods/own": 1e6, "/system": 3e6}
    assert busiest("/pods/own", used, 10_000_000) == {"/pods/a/x", "/system", "/pods/b"}
    # Most of it runs in the outer one itself.
    assert busiest("/own", {"/pods": 9e6, "/pods/a": 1e6}, 10_000_000) == {"/pods"}


def test_there_are_at_most_eight_and_none_that_is_idle() -> None:
    used = {f"/pods/{n}": 1e5 * (n + 1) for n in range(20)} | {"/pods/idle": 10.0}
    assert busiest("/own", used, 10_000_000) == {f"/pods/{n}" for n in range(20 - MAX_CGROUPS, 20)}
    assert busiest("/own", {"/pods/idle": 10.0, "/own/below": 9e6, "/": 9e6}, 10_000_000) == set()
