"""Facts gate fixes: what is already set is not proposed, what cannot help says why, and patches fit the manager."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.fixes import predict
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Fix, FixSetting
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from jitterscope.diagnosis.programs import golang
from tests.diagnosis.recorded import snapshot as recorded
from tests.diagnosis.scenarios import built

MIB = 1 << 20
KUBERNETES = {
    "workload.manager": "kubernetes",
    "workload.namespace": "kube-system",
    "workload.pod": "coredns-7c9f-x2",
    "workload.container": "coredns",
    "workload.owner": "Deployment/coredns",
}


def told(view: ResourceView, facts: dict[str, str | None]) -> ResourceView:
    kept = tuple(fact for fact in view.facts if fact.name not in facts)
    return replace(view, facts=kept + tuple(FactValue(k, v, 0) for k, v in facts.items() if v is not None))


def case(
    subject: dict[str, str | None] | None = None,
    process: dict[str, str | None] | None = None,
    node: dict[str, str | None] | None = None,
) -> Snapshot:
    """The recorded fault with other facts."""
    whole = recorded("fault")
    return replace(
        whole,
        subject=told(whole.subject, subject or {}),
        processes=(told(whole.processes[0], process or {}),),
        node=told(whole.node, node or {}),
    )


def fixes(snapshot: Snapshot) -> dict[str, Fix]:
    return {fix.id: fix for fix in diagnose(snapshot).findings[0].fixes}


def text(fix: Fix) -> str:
    return "\n".join(patch.text for patch in fix.patches)


def test_patches_for_kubernetes() -> None:
    proposed = fixes(case(dict(KUBERNETES)))
    limit = text(proposed["raise_cpu_limit"])
    assert "kubectl -n kube-system patch deployment/coredns --type strategic" in limit
    assert '{"name":"coredns","resources":{"limits":{"cpu":"2000m"}}}' in limit
    assert "patch pod coredns-7c9f-x2 --subresource resize" in limit
    assert '"cpu":"500m"' in proposed["raise_cpu_limit"].undo
    assert any("1.35" in caveat for caveat in proposed["raise_cpu_limit"].caveats)
    assert any("kubelet cannot set it" in caveat for caveat in proposed["cfs_burst"].caveats)
    assert "resourceFieldRef" in text(proposed["gomaxprocs"])
    assert "kubectl -n kube-system set env deployment/coredns -c coredns" in text(proposed["gomaxprocs"])


def test_a_guaranteed_pod_keeps_its_class() -> None:
    """Kubernetes refuses a resize that would change it."""
    proposed = fixes(case({**KUBERNETES, "workload.qos_class": "Guaranteed"}))["raise_cpu_limit"]
    [lasting, now] = proposed.patches
    assert '"resources":{"limits":{"cpu":"2000m"},"requests":{"cpu":"2000m"}}' in now.text
    assert "requests" not in lasting.text
    assert any("or new pods are Burstable" in caveat for caveat in proposed.caveats)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"workload.manager": "docker", "workload.container": "dns"}, "docker update --cpus 2 dns"),
        ({"workload.manager": "systemd", "workload.container": "coredns.service"},
         "systemctl set-property coredns.service CPUQuota=200%"),
        ({"workload.manager": "none"}, "echo 200000 > /sys/fs/cgroup/cpu/jitterscope-lab-1/coredns/cpu.cfs_quota_us"),
    ],
)  # fmt: skip
def test_patches_for_others(facts: dict[str, str | None], expected: str) -> None:
    assert expected in text(fixes(case(facts))["raise_cpu_limit"])


def test_cgroup_v2_is_written_differently() -> None:
    proposed = fixes(case(node={"node.cgroup_version": "2"}))
    assert 'echo "200000 100000" > /sys/fs/cgroup/jitterscope-lab-1/coredns/cpu.max' in text(
        proposed["raise_cpu_limit"]
    )
    assert "echo 50000 > /sys/fs/cgroup/jitterscope-lab-1/coredns/cpu.max.burst" in text(proposed["cfs_burst"])


def test_hostile_names_are_quoted() -> None:
    whole = recorded("fault")
    evil = replace(whole.subject, key="/a; rm -rf $HOME")
    assert (
        "'/sys/fs/cgroup/cpu/a; rm -rf $HOME'"
        in patches.cpu_burst(whole, read_cpu(replace(whole, subject=evil)), 1).text
    )


def with_memory(limit_mib: int) -> Snapshot:
    """A live heap of 155 MiB in a container with this memory limit."""
    whole = case({"memory.limit_bytes": str(limit_mib * MIB)})
    heap = {"heap_live_bytes": whole.subject.series["cpu_usage_us"] * 0 + 155 * MIB}
    process = replace(whole.processes[0], series={**whole.processes[0].series, **heap})
    return replace(whole, processes=(process,))


def test_gogc_needs_room_for_the_heap() -> None:
    roomy, tight = (fixes(with_memory(mib))["gogc_off_gomemlimit"] for mib in (1000, 250))
    assert roomy.verdict == "reduces"
    assert "GOMEMLIMIT=800MiB" in text(roomy)
    # The heap can grow by some 600 MiB instead of 155 before a cycle starts: one cycle in this window instead of four.
    one_of_four = 0.02533 / 4
    assert roomy.predicted["slow_ratio"].low <= one_of_four <= roomy.predicted["slow_ratio"].high
    assert roomy.predicted["slow_ratio"].expected == pytest.approx(one_of_four, rel=0.35)
    assert any("spiral" in caveat for caveat in roomy.caveats)
    assert tight.verdict == "cannot_help"
    assert not tight.patches


def test_what_is_set_is_not_proposed() -> None:
    assert "gogc_off_gomemlimit" not in fixes(case(process={"go.env.GOGC": "off", "go.env.GOMEMLIMIT": "4GiB"}))
    assert "gomaxprocs" not in fixes(case(process={"go.env.GOMAXPROCS": "1"}))
    assert "cfs_burst" not in fixes(case({"cpu.burst_us": "50000"}))


def test_burst_needs_a_kernel() -> None:
    assert "cfs_burst" not in fixes(case({"cpu.burst_us": None}, node={"node.kernel": "5.10.0-28-amd64"}))
    assert "cfs_burst" in fixes(case({"cpu.burst_us": None}, node={"node.kernel": "5.14.0"}))


def test_gomaxprocs_at_the_limit_removes_it_from_one_cpu_on() -> None:
    whole = built("gc_throttling/case 1")
    many = told(whole.processes[0], {"go.env.GOMAXPROCS": None, "process.affinity_cpus": "8", "go.version": "1.23.4"})
    snapshot = replace(whole, subject=told(whole.subject, {"cpu.quota_us": "200000"}), processes=(many,))
    cpu = read_cpu(snapshot)
    assert golang.maxprocs(many, cpu.limit, 8).value == 8
    # The same stalls, had they happened at a limit of 2 with 8 threads.
    from jitterscope.diagnosis.areas.cpu.fixes import gomaxprocs
    from jitterscope.diagnosis.areas.cpu.readings.throttling import analyse

    finding = diagnose(whole).findings[0]
    proposed = gomaxprocs.propose(snapshot, analyse(snapshot), finding)
    assert proposed is not None
    assert (proposed.title, proposed.verdict) == ("Set GOMAXPROCS=2", "removes")


def test_go_does_not_read_the_limit_of_its_pod() -> None:
    """4 CPUs for the container, half of one for its pod: Go 1.25 takes the former, and the latter throttles."""
    whole = built("gc_throttling/case 1")
    pod = replace(whole.subject, id=77, key="/pod", facts=whole.subject.facts)
    modern = told(whole.processes[0], {"go.env.GOMAXPROCS": None, "go.version": "1.25.3"})
    modern = told(modern, {"go.gomaxprocs": None, "process.affinity_cpus": "8"})
    own = {"cpu.quota_us": "400000", "cpu.period_us": "100000"}
    snapshot = replace(whole, subject=told(whole.subject, dict(own)), ancestors=(pod,), processes=(modern,))
    quiet = {**snapshot.subject.series, "cpu_throttled_periods": np.zeros(snapshot.ticks)}
    snapshot = replace(snapshot, subject=replace(snapshot.subject, series=quiet))
    assert read_cpu(snapshot).owner.id == 77
    trace = from_snapshot(snapshot)
    assert not isinstance(trace, str)
    assert trace.setting.gomaxprocs == 4


@pytest.mark.parametrize(
    ("facts", "limit", "expected"),
    [
        ({"go.version": "1.23.4"}, 0.25, 8),
        ({"go.version": "1.25.1"}, 0.25, 2),
        ({"go.version": "1.25.1"}, 2.5, 3),
        ({"go.version": "1.25.1"}, 20.0, 8),
        ({"go.version": "1.25.1", "go.default_godebug": "containermaxprocs=0,updatemaxprocs=0"}, 2.5, 8),
        ({"go.version": "1.25.1", "go.default_godebug": "containermaxprocs=0",
          "go.env.GODEBUG": "containermaxprocs=1"}, 2.5, 3),
        ({"go.version": "1.25.3", "go.automaxprocs": "v1.6.0"}, 2.5, 2),
        ({"go.version": "1.20", "go.automaxprocs": "v1.5.3"}, 0.25, 1),
        ({"go.version": "1.20", "go.env.GOMAXPROCS": "5", "go.automaxprocs": "v1.5.3"}, 0.25, 5),
        ({"go.version": "1.20", "go.gomaxprocs": "3"}, 0.25, 3),
    ],
)  # fmt: skip
def test_gomaxprocs_in_effect(facts: dict[str, str], limit: float, expected: int) -> None:
    process = ResourceView(1, "process", "1:1", "x", facts=tuple(FactValue(k, v, 0) for k, v in facts.items()))
    assert golang.maxprocs(process, limit, 8).value == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("3GiB", 3 << 30), ("100", 100), ("512B", 512), ("off", None), ("12MB", None), ("", None), (None, None)],
)
def test_gomemlimit_is_read_as_go_reads_it(value: str | None, expected: int | None) -> None:
    facts = () if value is None else (FactValue("go.env.GOMEMLIMIT", value, 0),)
    assert golang.memory_limit_bytes(ResourceView(1, "process", "1:1", "x", facts=facts)) == expected


def test_the_culprit_is_moved_out() -> None:
    proposed = fixes(built("periodic_burst/beside a small heap"))
    assert "python3.11" in proposed["own_cgroup"].title
    assert proposed["own_cgroup"].verdict == "removes"
    assert "echo 4712 >" in text(proposed["own_cgroup"])


def test_a_spiral_gets_a_higher_limit() -> None:
    proposed = fixes(built("memory_limit_gc_spiral/case 1 with GOMEMLIMIT"))
    assert "GOMEMLIMIT=384MiB" in text(proposed["raise_gomemlimit"])
    assert "unset GOMEMLIMIT" in text(proposed["unset_gomemlimit"])
    assert proposed["raise_gomemlimit"].setting == FixSetting(gomemlimit_bytes=384 * MIB)
    assert proposed["unset_gomemlimit"].setting == FixSetting(gogc=100, gomemlimit_bytes="off")


def test_what_a_fix_sets_is_what_it_says_and_predicts() -> None:
    snapshot = with_memory(1000)
    proposed = fixes(snapshot)
    set_by = {name: fix.setting for name, fix in proposed.items() if fix.setting is not None}
    assert set_by["raise_cpu_limit"] == FixSetting(cpu_limit=2.0)
    assert set_by["cfs_burst"] == FixSetting(burst_us=50_000)
    assert set_by["gomaxprocs"] == FixSetting(gomaxprocs=1)
    assert set_by["gogc_off_gomemlimit"] == FixSetting(gogc="off", gomemlimit_bytes=800 * MIB)
    for name, setting in set_by.items():
        said = predict.replayed(snapshot, setting)
        assert said.throttled_ratio == proposed[name].predicted.get("throttled_ratio")
        assert said.slow_ratio == proposed[name].predicted.get("slow_ratio")
    assert all(fix.setting is None for name, fix in proposed.items() if name not in set_by)


def test_a_fix_that_was_stored_without_a_setting_is_read() -> None:
    fix = fixes(case())["raise_cpu_limit"]
    stored = fix.model_dump(mode="json")
    assert Fix.model_validate(stored) == fix
    del stored["setting"]
    assert Fix.model_validate(stored) == fix.model_copy(update={"setting": None})
