"""Fixes of nodes are verified like those of containers: names that the kernel keeps, and pods that start late."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from jitterscope.diagnosis.scenarios.kernel import simulate as kernel
from jitterscope.diagnosis.scenarios.kernel.node import Node, Storm
from jitterscope.diagnosis.scenarios.pods import simulate as pods
from jitterscope.diagnosis.scenarios.pods.simulate import CILIUM_112, Loader, PodLoad
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import recording_of
from tests.backend.incidents.stories import measures, story, visit

pytestmark = pytest.mark.slow

_STORM = Node(storms=(Storm(0, 120, 40_000),), seed=1)
_LATE = PodLoad(pods=24, loader=Loader("cilium-agent", {name: 8 * mean for name, mean in CILIUM_112.items()}),
                cilium="1.12.3", cilium_metrics=True, seed=61)  # fmt: skip
_QUICK = Loader("cilium-agent", {name: 0.3 * mean for name, mean in CILIUM_112.items()})


def node(load: Node) -> Recording:
    return recording_of(kernel.simulate(load))


def starts(load: PodLoad) -> Recording:
    return recording_of(pods.run(load))


def declared(service: Any, parts: tuple[Recording, ...], fix_id: str) -> Any:
    """The story, with a user declaring the fix between its parts."""
    applied_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - parts[-1].ticks / 10))
    incident_id = story(service, *parts)
    service.post(f"/incidents/{incident_id}/verify", {"fix_id": fix_id, "applied_at": applied_at})
    return visit(service, incident_id)


@pytest.mark.parametrize(
    ("after", "state"),
    [(replace(_STORM, storms=(), seed=2), "verified"), (replace(_STORM, seed=3), "did_not_help")],
)
def test_lookups_that_were_stopped(service: Any, after: Node, state: str) -> None:
    """Nothing shows what a program looks up, so a user declares the fix."""
    incident = declared(service, (node(_STORM), node(after)), "stop_lookups")
    assert incident["cause"] == "kernel/negative_dentry_growth"
    assert incident["subject"]["kind"] == "node"
    landing = {one["fix_id"]: one for one in incident["landings"]}["stop_lookups"]
    assert not landing["seen"]
    assert landing["measures"][0] == "Negative dentries created"
    assert incident["state"] == state, incident["verification"]["waiting_for"]
    made = measures(incident)["made_dentries_per_s"]
    assert made["decides"]
    assert made["before"] > 10_000
    assert (made["after"] < 100) == (state == "verified")
    assert incident["verification"]["before"]["lanes"][0]["id"] == "made_dentries_per_s"


def test_a_kernel_that_forgets_names_is_seen(service: Any) -> None:
    removed = Storm(0, 120, 25_000, rows=(("sort", 9, "/scratch/x#", 1.0),), fails=0.02)
    before = Node(storms=(removed,), limit='{"fs.dentry-negative": "0"}', seed=8)
    after = replace(before, storms=(), limit='{"fs.dentry-negative": "1"}', seed=9)
    incident = visit(service, story(service, node(before), node(after)))
    verification = incident["verification"]
    assert verification["fix_id"] == "forget_removed"
    assert [one["name"] for one in verification["changes"]] == ["node.dentry_limit"]
    assert incident["state"] == "verified", verification["waiting_for"]


@pytest.mark.parametrize(
    ("after", "state", "fix_id"),
    [
        (replace(_LATE, loader=_QUICK, cilium="1.19.3", seed=91), "verified", "newer_cilium"),
        (replace(_LATE, cilium="1.13.0", seed=92), "did_not_help", "newer_cilium"),
    ],
)
def test_pods_that_start_late(service: Any, after: PodLoad, state: str, fix_id: str) -> None:
    incident = visit(service, story(service, starts(_LATE), starts(after)))
    assert incident["cause"] == "pods/bpf_verification"
    verification = incident["verification"]
    assert (verification["fix_id"], [one["name"] for one in verification["changes"]]) == (fix_id, ["node.cilium"])
    assert incident["state"] == state, verification["waiting_for"]
    late = measures(incident)["late_start_ratio"]
    assert late["before"] > 0.5
    assert (late["after"] < 0.1) == (state == "verified")
