"""Fixes for memory: numbers that hold when tried, versions, and what must not be proposed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from jitterscope.diagnosis.areas.memory.causes import limit_oom, query_burst_oom, reclaim_stall
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Fix, Found
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from jitterscope.diagnosis.scenarios.memory.query_burst_oom_scenario import CASE
from jitterscope.diagnosis.scenarios.memory.reclaim_stall_scenario import NODE, _node
from jitterscope.diagnosis.scenarios.memory.simulate import MIB, MemoryWorkload, simulate_memory
from jitterscope.diagnosis.scenarios.telemetry import facts_of
from tests.diagnosis.memory_recorded import load, snapshot

BEFORE = replace(CASE, seconds=21.1)


def fixes(made: Snapshot) -> dict[str, Fix]:
    findings = diagnose(made, [query_burst_oom.CAUSE, limit_oom.CAUSE, reclaim_stall.CAUSE]).findings
    assert len(findings) == 1
    return {fix.id: fix for fix in findings[0].fixes}


def of_version(made: Snapshot, version: str) -> Snapshot:
    server = made.dns_servers[0]
    kept = tuple(fact for fact in server.facts if fact.name != "dns.version")
    return replace(made, dns_servers=(replace(server, facts=(*kept, *facts_of({"dns.version": version}))),))


def managed(made: Snapshot, **facts: str) -> Snapshot:
    given = facts_of({f"workload.{name}": value for name, value in facts.items()})
    kept = tuple(fact for fact in made.subject.facts if not fact.name.startswith("workload."))
    return replace(made, subject=replace(made.subject, facts=(*kept, *given)))


def cap(fix: Fix) -> int:
    return int(fix.patches[0].text.split("max_concurrent ")[1].split()[0])


@pytest.mark.parametrize(
    "load_", [BEFORE, replace(BEFORE, limit_mib=80), replace(BEFORE, query_kib=60, bursts=((20, 30, 2000),))]
)
def test_the_proposed_cap_survives_the_same_burst(load_: MemoryWorkload) -> None:
    number = cap(fixes(simulate_memory(load_).snapshot)["max_concurrent"])
    tried = simulate_memory(replace(load_, seconds=60, max_concurrent=number))
    assert not tried.kills
    assert tried.net.max() <= 0.9 * (load_.limit_mib or 0) * MIB
    # Not a cap that is stricter than necessary: three times as many would not survive.
    assert simulate_memory(replace(load_, seconds=60, max_concurrent=3 * number)).kills


def test_the_summary_says_what_a_larger_cap_would_do() -> None:
    summary = fixes(simulate_memory(BEFORE).snapshot)["max_concurrent"].summary
    found = re.search(r"With ([\d,]+) it would be killed ([\d.]+) to ([\d.]+) s", summary)
    assert found is not None
    tried = simulate_memory(replace(BEFORE, seconds=60, max_concurrent=int(found[1].replace(",", ""))))
    assert float(found[2]) - 0.3 <= tried.kills[0] / 10 - 20 <= float(found[3]) + 0.3


def test_the_proposed_limit_survives_the_same_burst() -> None:
    fix = fixes(simulate_memory(BEFORE).snapshot)["raise_memory_limit"]
    wanted = int(fix.title.split(" to ")[1].removesuffix(" MiB"))
    assert not simulate_memory(replace(BEFORE, seconds=60, limit_mib=wanted)).kills
    assert fix.verdict == "removes"


def test_the_cap_of_a_real_burst_is_of_the_size_that_survived() -> None:
    run = load("fault-170")
    number = cap(fixes(snapshot(run, run.burst_tick + 12))["max_concurrent"])
    # 1000 stayed at 53 of 170 MiB in the run beside it; 8050 were killed.
    assert 2_000 <= number <= 4_500


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("1.6.7", "cannot_help"), ("1.6.8", "removes"), ("1.12.0", "removes"), ("1.14.7", "removes")],
)
def test_max_concurrent_by_version(version: str, verdict: str) -> None:
    fix = fixes(of_version(simulate_memory(BEFORE).snapshot, version))["max_concurrent"]
    assert fix.verdict == verdict
    assert bool(fix.patches) == (verdict == "removes")


@pytest.mark.parametrize(("version", "word"), [("1.8.0", "SERVFAIL"), ("1.8.1", "REFUSED")])
def test_what_clients_get(version: str, word: str) -> None:
    assert word in fixes(of_version(simulate_memory(BEFORE).snapshot, version))["max_concurrent"].summary


def test_an_unknown_version_is_a_precondition() -> None:
    fix = fixes(of_version(simulate_memory(BEFORE).snapshot, "unknown"))["max_concurrent"]
    assert fix.precondition is not None
    assert "1.6.8" in fix.precondition


def test_shed_is_for_servers_that_have_it_and_cannot_write() -> None:
    made = simulate_memory(BEFORE).snapshot
    assert fixes(of_version(made, "1.14.6"))["shed"].verdict == "cannot_help"
    # The queries wait for an upstream: shed drops nothing, although this version has it.
    assert fixes(of_version(made, "1.14.7"))["shed"].verdict == "cannot_help"
    behind = simulate_memory(replace(CASE, forwards=False, seconds=23.0)).snapshot
    assert fixes(of_version(behind, "1.14.7"))["shed"].verdict == "reduces"
    assert not fixes(of_version(behind, "1.14.6"))["shed"].patches


def test_throttle_never_came() -> None:
    fix = fixes(simulate_memory(BEFORE).snapshot)["throttle"]
    assert fix.verdict == "cannot_help"
    assert "never merged" in fix.summary
    assert not fix.patches


def test_a_cap_that_is_set_is_lowered_or_left_alone() -> None:
    high = fixes(simulate_memory(replace(BEFORE, max_concurrent=20_000)).snapshot)["max_concurrent"]
    assert "instead of 20000" in high.title


def test_the_forward_line_of_the_server_itself_is_patched() -> None:
    forward = "forward . 10.1.1.1 10.1.1.2 {\n        policy sequential\n        max_concurrent 90000\n    }"
    corefile = f".:53 {{\n    errors\n    {forward}\n}}\n"
    made = simulate_memory(BEFORE).snapshot
    server = made.dns_servers[0]
    made = replace(made, dns_servers=(replace(server, facts=(*server.facts, *facts_of(corefile_facts(corefile)))),))
    text = fixes(made)["max_concurrent"].patches[0].text
    assert text.startswith("forward . 10.1.1.1 10.1.1.2 {\n    policy sequential\n    max_concurrent ")
    assert "90000" not in text


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"manager": "kubernetes", "namespace": "dns", "container": "coredns", "owner": "Deployment/coredns"},
         "deployment/coredns"),
        ({"manager": "docker", "container": "dns"}, "docker update --memory"),
        ({"manager": "systemd", "container": "coredns.service"}, "MemoryMax="),
        ({"manager": "none"}, "/sys/fs/cgroup/lab/server/memory.max"),
    ],
)  # fmt: skip
def test_the_limit_for_whoever_manages_it(facts: dict[str, str], word: str) -> None:
    found = fixes(managed(simulate_memory(BEFORE).snapshot, **facts))
    assert word in found["raise_memory_limit"].patches[0].text
    assert ("more_replicas" in found) == (facts["manager"] == "kubernetes")


def test_a_leak_gets_no_cap_of_queries() -> None:
    found = fixes(simulate_memory(MemoryWorkload(seconds=27, leaks=((10, 100, 6.0),))).snapshot)
    assert "max_concurrent" not in found
    assert found["find_growth"].verdict == "unknown"
    assert found["raise_memory_limit"].verdict == "reduces"
    assert "buys time" in " ".join(found["raise_memory_limit"].caveats)


def test_a_cache_without_bounds_is_named() -> None:
    made = simulate_memory(MemoryWorkload(seconds=27, leaks=((10, 100, 6.0),))).snapshot
    server = made.dns_servers[0]
    for capacity, named in (("9984", False), ("10000000", True)):
        text = f".:53 {{\n    cache 3600 {{\n        success {capacity} 3600\n    }}\n    forward . 10.1.1.1\n}}\n"
        changed = replace(server, facts=(*server.facts, *facts_of(corefile_facts(text))))
        assert ("cache_capacity" in fixes(replace(made, dns_servers=(changed,)))) == named


def _kernel(made: Snapshot, version: str, cgroups: str = "2") -> Snapshot:
    node = replace(
        made.node, facts=(*made.node.facts, *facts_of({"node.kernel": version, "node.cgroup_version": cgroups}))
    )
    return replace(made, subject=node, node=node)


def test_watermarks_by_kernel_and_memory() -> None:
    made = _node(NODE)
    fix = fixes(made)["watermark_scale_factor"]
    # 600 MiB/s of 24 GiB: about 244 ten-thousandths.
    assert 200 <= int(fix.title.split()[1]) <= 300
    assert fixes(_kernel(made, "4.5.0"))["watermark_scale_factor"].verdict == "cannot_help"
    assert fixes(_kernel(made, "4.6.0"))["watermark_scale_factor"].verdict == "reduces"


def test_memory_high_needs_cgroup_v2() -> None:
    made = _node(NODE)
    assert "importer" in fixes(made)["memory_high"].title
    assert fixes(made)["memory_high"].patches
    assert fixes(_kernel(made, "6.1.0", "1"))["memory_high"].verdict == "cannot_help"


def test_every_found_names_numbers_of_its_prediction() -> None:
    found = next(iter(diagnose(simulate_memory(BEFORE).snapshot, [query_burst_oom.CAUSE]).findings))
    assert isinstance(found, Found)
    said = next(item for item in found.evidence if item.id == "time_to_oom").numbers
    assert said["low_s"] <= said["seconds"] <= said["high_s"]
    assert said["predicted_us"] == pytest.approx(said["made_us"] + 1e6 * said["seconds"])
