"""A kubelet with static pods on cgroup v2 and systemd, in qemu: names, limits, and counters are the kernel's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from labs.vm import node, node_report
from labs.vm.node_files import CACHE, DNS, PODS, WEB, Parameters
from labs.vm.node_report import CAUSE, Report
from tests.support.lab_plan import live
from tests.support.said import say

CONTAINER = re.compile(
    r"/kubepods\.slice/kubepods-(burstable|besteffort)\.slice/kubepods-\1-pod[0-9a-f]{32}\.slice"
    r"/cri-containerd-[0-9a-f]{64}\.scope"
)


@pytest.mark.timeout(1800)
@live(180, CAUSE, by_turn=False)
def test_static_pods_on_cgroup_v2(tmp_path: Path) -> None:
    parameters = Parameters()
    with node.watched(tmp_path, parameters, say) as seen:
        found = node_report.report(seen, parameters, None, say)
    say(found.model_dump_json())
    assert found.node["node.cgroup_version"] == "2"
    named_and_limited(found, parameters)

    # Each counter since the cgroup was created; without events there is nothing to compare.
    assert found.unequal == []
    counted = {(found.names[one.cgroup], one.file, one.counter): one.kernel for one in found.compared}
    dns, web, cache = DNS.name, WEB.name, CACHE.name.rpartition("/")[0]
    for counter in ("nr_throttled", "throttled_usec", "nr_bursts", "burst_usec"):
        assert counted[dns, "cpu.stat", counter] > 0, counter
    assert counted[dns, "cpu.stat.local", "throttled_usec"] > 0
    assert counted[dns, "cpu.pressure", "full"] > 0
    assert counted[web, "io.stat", "wbytes"] > 0
    assert counted[web, "io.pressure", "some"] > 0
    assert counted[cache, "memory.events.local", "max"] > 0
    assert counted[cache, "memory.pressure", "some"] > 0

    # A kill counts in all cgroups above, and the kernel logs it twice. It is shown once: at the container, or at the
    # pod if the collector did not see the container.
    assert {one.at for one in found.kills} <= {CACHE.name, cache}
    logged = [one.attributes["pid"] for one in found.kills if one.attributes.get("constraint") == "memcg"]
    assert len(logged) == len(set(logged)) > 0
    assert [one.subject for one in found.incidents if one.cause == CAUSE] == [dns]
    assert not [one for one in found.incidents if one.subject.startswith("/kubepods")]
    # What docs/sources.md says of a stored run holds for this one.
    assert found.absent == node_report.stored().absent


def named_and_limited(found: Report, parameters: Parameters) -> None:
    """Each pod and container under its name, no sandbox, and what the kubelet and the runtime have set."""
    pods = {f"{one.namespace}/{one.pod}" for one in PODS}
    # One of them is killed every few seconds.
    assert {*pods, DNS.name, WEB.name} <= set(found.names.values()) <= {*pods, *(one.name for one in PODS)}
    assert all(CONTAINER.fullmatch(key) for key, name in found.names.items() if name.count("/") == 2)
    dns = found.facts[DNS.name]
    assert dns["workload.manager"] == "kubernetes"
    assert (dns["workload.namespace"], dns["workload.pod"], dns["workload.container"]) == (
        DNS.namespace, DNS.pod, DNS.container,
    )  # fmt: skip
    assert dns["workload.qos_class"] == "Burstable"
    assert (dns["cpu.quota_us"], dns["cpu.period_us"]) == (str(100 * parameters.cpu_limit_m), "100000")
    assert dns["cpu.burst_us"] == str(parameters.burst_us)
    assert dns["memory.limit_bytes"] == str(256 << 20)
    cache = found.facts[f"{CACHE.namespace}/{CACHE.pod}"]
    assert cache["memory.limit_bytes"] == str(parameters.memory_limit_mib << 20)
    assert found.facts[WEB.name]["disk.device"] == "vda"
