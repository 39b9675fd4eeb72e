"""What a LimitRange or a quota refuses is said before somebody tries it; what is not known is not claimed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jitterscope.diagnosis.core import namespace_limits
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.memory.simulate import MIB, simulate_memory
from tests.diagnosis.test_fixes import KUBERNETES, case, fixes, told
from tests.diagnosis.test_memory_fixes import BEFORE, managed
from tests.diagnosis.test_memory_fixes import fixes as memory_fixes

GIB = 1 << 30


def caveats(snapshot: Snapshot) -> list[str]:
    """Those of a CPU limit that rises from 0.5 to 2."""
    return fixes(snapshot)["raise_cpu_limit"].caveats


def limited(allowed: object = None, quotas: object = None, **facts: str) -> Snapshot:
    known = {"limit_range": allowed, "quota": quotas}
    given = {f"workload.{name}": json.dumps(value) for name, value in known.items() if value is not None}
    return case({**KUBERNETES, **given, **{f"workload.{name}": value for name, value in facts.items()}})


def quota(hard: float, used: float, of: str = "limits.cpu") -> object:
    return {"team": {of: {"hard": hard, "used": used}}}


def refusals(snapshot: Snapshot) -> list[str]:
    return [one for one in caveats(snapshot) if one.startswith("The namespace's")]


def test_a_limit_above_the_limit_range() -> None:
    assert refusals(limited({"container": {"max_cpus": 1}})) == [
        "The namespace's LimitRange allows a container at most 1 CPU: raise that to 2 CPU first."
    ]
    assert refusals(limited({"container": {"max_cpus": 2, "max_bytes": 1}, "pod": {"max_cpus": 2}})) == []
    assert refusals(limited({"pod": {"max_cpus": 1.5}})) == [
        "The namespace's LimitRange allows a pod at most 1.5 CPU, and this makes 2 CPU: raise that first."
    ]


def test_a_pod_with_other_containers() -> None:
    """The kubelet limits the pod's cgroup to the sum of its containers."""
    snapshot = limited({"pod": {"max_cpus": 3}})
    assert refusals(snapshot) == []
    pod = ResourceView(70, "cgroup", "/kubepods/pod1", "kube-system/coredns-7c9f-x2")
    pod = told(pod, {"workload.pod": "coredns-7c9f-x2", "cpu.quota_us": "200000", "cpu.period_us": "100000"})
    assert refusals(replace(snapshot, ancestors=(pod,))) == [
        "The namespace's LimitRange allows a pod at most 3 CPU, and this makes 3.5 CPU: raise that first."
    ]


def test_a_limit_that_is_too_many_times_the_request() -> None:
    allowed = {"container": {"max_cpu_ratio": 4}}
    assert refusals(limited(allowed, requested_cpus="0.25", qos_class="Burstable")) == [
        "The namespace's LimitRange allows a limit of at most 4 × the request, which is 0.25 CPU: raise the request "
        "to 0.5 CPU too."
    ]
    assert refusals(limited(allowed, requested_cpus="0.5", qos_class="Burstable")) == []
    assert refusals(limited(allowed, requested_cpus="0.1", qos_class="Guaranteed")) == []
    assert refusals(limited(allowed)) == []


def test_what_is_left_of_a_quota() -> None:
    assert refusals(limited(quotas=quota(10, 8.5))) == []
    assert refusals(limited(quotas=quota(10, 9.5))) == [
        "The namespace's quota team had 0.5 CPU of 10 CPU left (limits.cpu), and this takes 1.5 CPU more: raise "
        "limits.cpu to 11 CPU first."
    ]
    # Three replicas have the same limit.
    three = replace(limited(quotas=quota(10, 8)), replicas=3)
    assert refusals(three) == [
        "The namespace's quota team had 2 CPU of 10 CPU left (limits.cpu), and this takes 1.5 CPU more in each of 3 "
        "replicas: raise limits.cpu to 12.5 CPU first."
    ]
    # More is used than the quota has by now.
    assert "had 0 CPU of 4 CPU left" in refusals(limited(quotas=quota(4, 5)))[0]


def test_requests_count_where_they_rise_too() -> None:
    requests = quota(1, 0.5, "requests.cpu")
    assert refusals(limited(quotas=requests, qos_class="Burstable")) == []
    [said] = refusals(limited(quotas=requests, qos_class="Guaranteed"))
    assert "(requests.cpu)" in said


def test_what_is_not_known_is_not_claimed() -> None:
    own = "If the pod has a limit of its own"
    for value, expected in (
        (limited(), f"{own}, or a LimitRange or a quota caps it, raise that too."),
        (limited({}), f"{own}, or a quota caps it, raise that too."),
        (limited({}, {}), f"{own}, raise that too."),
    ):
        assert expected in caveats(value)
        assert refusals(value) == []
    broken = {**KUBERNETES, "workload.limit_range": "[", "workload.quota": '{"team": 3, "b": {"limits.cpu": {}}}'}
    assert refusals(case(dict(broken))) == []


def test_a_limit_of_the_pods_cgroup_is_not_set_through_the_api_server() -> None:
    snapshot = limited({"container": {"max_cpus": 1}})
    own = snapshot.subject
    limits = ("cpu.quota_us", "cpu.period_us", "cpu.burst_us")
    above = replace(own, id=71, key="/pod", facts=tuple(fact for fact in own.facts if fact.name in limits))
    subject = told(own, {"cpu.quota_us": "-1"})
    assert refusals(replace(snapshot, subject=subject, ancestors=(above,))) == []


def test_a_memory_limit() -> None:
    plain = simulate_memory(BEFORE).snapshot
    raised = memory_fixes(managed(plain, manager="kubernetes"))["raise_memory_limit"]
    wanted = int(raised.title.split(" to ")[1].removesuffix(" MiB").replace(",", ""))
    old = int(BEFORE.limit_mib or 0) * MIB
    allowed = {"container": {"max_bytes": 32 * MIB}}
    used = {"team": {"limits.memory": {"hard": GIB, "used": GIB - 16 * MIB}}}
    fix = memory_fixes(managed(plain, manager="kubernetes", limit_range=json.dumps(allowed), quota=json.dumps(used)))[
        "raise_memory_limit"
    ]
    needed = GIB - 16 * MIB + wanted * MIB - old
    assert [one for one in fix.caveats if one.startswith("The namespace's")] == [
        f"The namespace's LimitRange allows a container at most 32 MiB: raise that to {wanted:,} MiB first.",
        "The namespace's quota team had 16 MiB of 1,024 MiB left (limits.memory), and this takes "
        f"{wanted - old // MIB} MiB more: raise limits.memory to {needed // MIB:,} MiB first.",
    ]


@pytest.mark.parametrize(
    ("fact", "value", "shown"),
    [
        (namespace_limits.LIMIT_RANGE, {}, "none"),
        (
            namespace_limits.LIMIT_RANGE,
            {"container": {"min_cpus": 0.1, "max_cpus": 2, "max_memory_ratio": 2}, "pod": {"max_bytes": 2 * GIB}},
            "container: CPU at least 0.1, CPU at most 2, memory limit at most 2 × the request; "
            "pod: memory at most 2,048 MiB",
        ),
        (namespace_limits.QUOTA, {}, "none"),
        (
            namespace_limits.QUOTA,
            {
                "b": {"limits.cpu": {"hard": 10, "used": 3}, "limits.memory": {"hard": GIB, "used": 0}},
                "a": {"requests.cpu": {"hard": 0.5, "used": 0}},
            },
            "a: requests.cpu 0.5; b: limits.cpu 10, limits.memory 1,024 MiB",
        ),
    ],
)
def test_how_both_are_shown(fact: str, value: object, shown: str) -> None:
    [watched] = [one for one in namespace_limits.WATCHED if one.fact == fact]
    assert watched.text({fact: json.dumps(value)}) == shown
    assert watched.text({}) is None
    assert watched.text({fact: "3"}) is None
