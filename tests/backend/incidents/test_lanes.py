"""The picture of memory, kernel, and pod start incidents: lanes by the cause's area, marks for events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.diagnosis.core.snapshot import Distribution, Event, FloatArray, Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US, view
from jitterscope.incidents.timeline.lanes import _held
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import recording_of

TICKS = 600
S_US = 1_000_000


def every(step: int, values: FloatArray) -> FloatArray:
    """A gauge that is read every `step` ticks."""
    return np.where(np.arange(len(values)) % step == 0, values, np.nan)


def with_node(snapshot: Snapshot) -> Snapshot:
    """The GC fault on a node that measures its kernel, with a kill in the container and a slow pod start."""
    ramp = np.linspace(1e6, 4e6, TICKS)
    busy = {
        "host_user_us": np.full(TICKS, 150_000.0), "host_system_us": np.full(TICKS, 50_000.0),
        "host_irq_us": np.zeros(TICKS), "dentries_negative": every(10, ramp), "dentries_unused": every(10, ramp * 1.1),
        "vm_scan_direct_pages": np.full(TICKS, 3.0), "collector_lateness_us": np.full(TICKS, 200.0),
        "memory_available_bytes": every(10, ramp), "bpf_load_us": np.full(TICKS, 25_000.0),
    }  # fmt: skip
    started = bucket_of(np.array([2e6, 3e6, 12e6]))
    node = replace(
        view(0, "node", "node-1", busy, {"node.cpus": "2"}),
        distributions={"pod_start_sli_us": Distribution(np.full(3, 100), started, np.array([5, 4, 1]))},
        events=(
            Event("bpf.load", EPOCH_US + 20 * S_US, 2 * S_US, {"name": "cil_from_host", "command": "cilium-agent"}),
            Event("fs.unmount", EPOCH_US + 21 * S_US, 300_000, {"target": "/var/lib/x"}),
        ),
    )  # fmt: skip
    killed = Event("memory.oom_kill", EPOCH_US + 30 * S_US, 0, {"command": "coredns", "count": "1"})
    usage = {"memory_usage_bytes": every(2, np.linspace(1e8, 1.6e8, TICKS))}
    subject = replace(
        snapshot.subject,
        series={**snapshot.subject.series, **usage},
        events=(killed,),
        facts=tuple(
            replace(fact, value="170000000") if fact.name == "memory.limit_bytes" else fact
            for fact in snapshot.subject.facts
        ),
    )
    [server] = snapshot.processes
    goroutines = {"go_goroutines": every(10, np.full(TICKS, 400.0))}
    server = replace(server, series={**server.series, **goroutines})
    return replace(snapshot, subject=subject, node=node, processes=(server,))


@pytest.fixture(scope="module")
def made() -> Recording:
    return recording_of(with_node(simulate(Workload()).snapshot))


def told(service: Any, made: Recording, cause: str) -> Any:
    """The timeline of the throttling incident, as if it had another cause; the kill can have its own incident."""
    service.diagnose(service.feed(made))
    [incident] = service.get("/incidents", cause="cpu/gc_throttling")["items"]
    service.change(incident["id"], cause=cause)
    return service.get(f"/incidents/{incident['id']}/timeline")


def lines(timeline: Any, lane: str) -> dict[str, list[float | None]]:
    [found] = [one for one in timeline["lanes"] if one["id"] == lane]
    return {line["name"]: line["values"] for line in found["lines"]}


def known(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def test_memory(service: Any, made: Recording) -> None:
    timeline = told(service, made, "memory/query_burst_oom")
    assert [lane["id"] for lane in timeline["lanes"]] == ["memory", "concurrency", "margin", "reclaim"]
    memory = timeline["lanes"][0]
    assert memory["limits"] == [{"from_us": memory["limits"][0]["from_us"], "value": 1.7e8}]
    in_use = known(lines(timeline, "memory")["in use"])
    assert min(in_use) == pytest.approx(1e8)
    assert max(in_use) == pytest.approx(1.6e8, rel=0.01)
    assert set(known(lines(timeline, "concurrency")["goroutines"])) == {400.0}
    [mark] = timeline["marks"]
    assert (mark["kind"], mark["label"]) == ("memory.oom_kill", "coredns: OOM kill")
    assert mark["attributes"]["of"] == timeline["subject"]["name"]


def test_kernel(service: Any, made: Recording) -> None:
    timeline = told(service, made, "kernel/negative_dentry_growth")
    assert [lane["id"] for lane in timeline["lanes"]] == ["dentries", "kernel_cpu", "lateness", "reclaim", "margin"]
    negative = lines(timeline, "dentries")["negative"]
    # Read once a second, shown until the next sample: no gap inside.
    present = [at for at, value in enumerate(negative) if value is not None]
    assert present == list(range(present[0], present[-1] + 1))
    assert set(known(lines(timeline, "kernel_cpu")["kernel"])) == {0.5}
    assert [mark["label"] for mark in timeline["marks"]] == [
        "/var/lib/x: unmounted", "coredns: OOM kill",
    ]  # fmt: skip


def test_pod_start(service: Any, made: Recording) -> None:
    timeline = told(service, made, "pods/bpf_verification")
    assert [lane["id"] for lane in timeline["lanes"]] == ["pod_start", "bpf", "kernel_cpu", "lateness"]
    start = timeline["lanes"][0]
    assert start["limits"][0]["value"] == 5_000_000
    assert len(start["t_us"]) == 1
    found = {name: values[0] for name, values in lines(timeline, "pod_start").items()}
    assert found == {
        "p50": pytest.approx(2e6, rel=0.02), "p90": pytest.approx(3e6, rel=0.02), "p99": pytest.approx(3e6, rel=0.02),
    }  # fmt: skip
    assert set(known(lines(timeline, "bpf")["loading and verifying"])) == {0.25}
    [mark] = timeline["marks"]
    assert (mark["label"], mark["to_us"] - mark["from_us"]) == ("cil_from_host: eBPF program loaded", 2 * S_US)


def test_other_causes_have_their_picture_as_before(service: Any, made: Recording) -> None:
    timeline = told(service, made, "cpu/gc_throttling")
    assert ([lane["id"] for lane in timeline["lanes"]], timeline["marks"]) == (["kernel_cpu"], [])


def test_a_node_has_a_picture(service: Any, made: Recording) -> None:
    subject = service.feed(made)
    node = service.get(f"/resources/{subject}")["node"]["id"]
    timeline = service.get(f"/resources/{node}/timeline")
    assert timeline["subject"]["kind"] == "node"
    assert timeline["lanes"][0]["id"] == "dentries"
    # User and kernel time of all CPUs, without a limit.
    assert known(timeline["cpu"]["cpu_ratio"])[:2] == [2.0, 2.0]
    assert timeline["limits"] == []
    # What a stall harms: the node's DNS servers.
    assert len(timeline["queries"]["t_us"]) > 100


def test_fewer_points_keep_what_they_mean(service: Any, made: Recording) -> None:
    subject = service.feed(made)
    node = service.get(f"/resources/{subject}")["node"]["id"]
    timeline = service.get(f"/resources/{node}/timeline", points=60)
    kernel = known(lines(timeline, "kernel_cpu")["kernel"])
    assert kernel == pytest.approx([0.5] * len(kernel))
    counted = known(lines(timeline, "reclaim")["pages, by direct reclaim"])
    step = timeline["lanes"][0]["step_us"] // TICK_US
    assert max(counted) == 3.0 * step


def test_a_reading_holds_until_the_next_one_is_overdue() -> None:
    values = np.full(400, np.nan)
    values[[10, 20, 30, 300, 310]] = 7.0
    held = _held(values)
    assert np.isnan(held[:10]).all()
    assert (held[10:50] == 7.0).all()
    assert np.isnan(held[50:300]).all()
    # A metric that is read in each tick is missing wherever a tick is missing.
    every_tick = np.where(np.arange(50) == 20, np.nan, 1.0)
    assert np.isnan(_held(every_tick)[20:22]).tolist() == [True, False]
    assert np.isnan(_held(np.full(5, np.nan))).all()


def test_a_lane_of_zeros_is_left_out(service: Any) -> None:
    snapshot = with_node(simulate(Workload()).snapshot)
    node = replace(snapshot.node, series={**snapshot.node.series, "vm_scan_direct_pages": np.zeros(TICKS)})
    subject = service.feed(recording_of(replace(snapshot, node=node)))
    of = service.get(f"/resources/{subject}")["node"]["id"]
    assert "reclaim" not in [lane["id"] for lane in service.get(f"/resources/{of}/timeline")["lanes"]]
