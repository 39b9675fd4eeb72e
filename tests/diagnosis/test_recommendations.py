"""Recommendations that would do harm: what does not fit, starts nothing, or overwrites something gets no patch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.app.causes import lock_or_dependency
from jitterscope.diagnosis.areas.cpu.causes import _waiting as waiting
from jitterscope.diagnosis.areas.cpu.causes import neighbours
from jitterscope.diagnosis.areas.cpu.fixes import cpu_weight, neighbour_limit, udp_sockets
from jitterscope.diagnosis.areas.cpu.readings import run_waits
from jitterscope.diagnosis.areas.cpu.readings.run_waits import Neighbour
from jitterscope.diagnosis.areas.cpu.readings.throttling import analyse
from jitterscope.diagnosis.areas.dns.fixes import negative_cache, rate_limit
from jitterscope.diagnosis.areas.memory.fixes import memory_limit, reclaim
from jitterscope.diagnosis.areas.memory.fixes import patches as memory_patches
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import CorefileChange, Fix, Found
from jitterscope.diagnosis.core.landing import Seen
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from jitterscope.diagnosis.programs import cpu_requests, jvm_tuning, node_tuning, option_patches
from jitterscope.diagnosis.scenarios.cpu.neighbours_scenario import KUBERNETES
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from tests.diagnosis.scenarios import built

MIB = 1 << 20


def told(view: ResourceView, facts: Mapping[str, str | None]) -> ResourceView:
    kept = tuple(fact for fact in view.facts if fact.name not in facts)
    return replace(view, facts=kept + tuple(FactValue(k, v, 0) for k, v in facts.items() if v is not None))


def text(fix: Fix) -> str:
    return "\n".join(patch.text for patch in fix.patches)


def with_facts(name: str, subject: Mapping[str, str | None], node: Mapping[str, str | None] | None = None) -> Snapshot:
    whole = built(name)
    return replace(whole, subject=told(whole.subject, subject), node=told(whole.node, node or {}))


def found_in(snapshot: Snapshot) -> Found:
    return diagnose(snapshot).findings[0]


# --- CPU requests
@pytest.mark.parametrize(
    ("version", "weight", "low", "high"),
    [
        ("1", 20.0, 0.2, 0.2),
        ("2", 20.0, 0.12, 0.51),  # 500m by the linear formula, 125m by the other
        ("2", 59.0, 0.5, 1.51),  # 1,500m or 512m
        ("2", 1.0, 0.0, 0.02),  # best effort
    ],
)
def test_a_weight_bounds_the_request(version: str, weight: float, low: float, high: float) -> None:
    node = ResourceView(0, "node", "n", "n", facts=(FactValue("node.cgroup_version", version, 0),))
    cgroup = ResourceView(1, "cgroup", "/a", "/a", facts=(FactValue("cpu.weight", str(weight), 0),))
    request = cpu_requests.of_weight(cgroup, node)
    assert request is not None
    assert request.low == pytest.approx(low, abs=0.01)
    assert request.high == pytest.approx(high, abs=0.02)


@pytest.mark.parametrize("shares", [102, 256, 512, 1024, 2048, 8192])
def test_the_request_is_within_its_bounds_by_either_formula(shares: int) -> None:
    node = ResourceView(0, "node", "n", "n", facts=(FactValue("node.cgroup_version", "2", 0),))
    power = np.log2(shares)
    for weight in (1 + (shares - 2) * 9999 // 262142, np.ceil(10 ** ((power**2 + 125 * power) / 612 - 7 / 34))):
        cgroup = ResourceView(1, "cgroup", "/a", "/a", facts=(FactValue("cpu.weight", str(weight), 0),))
        request = cpu_requests.of_weight(cgroup, node)
        assert request is not None
        # What the formulas round away is less than 30m.
        assert request.low - 0.03 <= shares / 1024 <= request.high + 0.03


KUBERNETES_CASE = "neighbours/one batch job in Kubernetes"


def request_fix(need: float | None, weight: str | None, limit: float | None = None) -> Fix | None:
    quota = "-1" if limit is None else str(int(limit * 100_000))
    snapshot = with_facts(
        KUBERNETES_CASE, {"cpu.weight": weight, "cpu.quota_us": quota, "cpu.period_us": "100000"},
        {"node.cgroup_version": "2"},
    )  # fmt: skip
    found = found_in(built(KUBERNETES_CASE))
    return cpu_weight.propose(snapshot, found, [], need)


def test_a_request_is_never_lowered() -> None:
    """A request of 500m, and a need of 300m: the patch would take 40 % of its weight away."""
    unsure = request_fix(0.3, "20")
    assert unsure is not None
    assert not unsure.patches
    assert unsure.precondition == (
        "Works only if the request is smaller now. It is between 0.12 and 0.5 CPU by its weight."
    )
    assert request_fix(0.1, "20") is None
    larger = request_fix(0.8, "20")
    assert larger is not None
    assert '"requests":{"cpu":"800m"}' in text(larger)
    unknown = request_fix(0.8, None)
    assert unknown is not None
    assert not unknown.patches


def reported(need: float | None, **facts: str) -> Fix | None:
    told = {f"workload.{name}": value for name, value in facts.items()}
    snapshot = with_facts(KUBERNETES_CASE, {"cpu.weight": "20", **told}, {"node.cgroup_version": "2"})
    return cpu_weight.propose(snapshot, found_in(built(KUBERNETES_CASE)), [], need)


def test_a_request_that_the_kubelet_reports_is_not_guessed() -> None:
    """By its weight of 20 it would be anything from 120m to 510m."""
    larger = reported(0.3, requested_cpus="0.25")
    assert larger is not None
    assert '"requests":{"cpu":"300m"}' in text(larger)
    assert larger.precondition is None
    assert "It requests 250m now." in larger.summary
    assert larger.undo == "Set resources.requests.cpu back to 250m."
    assert reported(0.3, requested_cpus="0.4") is None
    first = reported(0.3, requested_cpus="0")
    assert first is not None
    assert "It requests none now." in first.summary
    assert first.undo == "Remove resources.requests.cpu."
    unknown_need = reported(None, requested_cpus="0.25")
    assert unknown_need is not None
    assert "It requests 250m now." in unknown_need.summary


def test_a_running_pod_keeps_its_qos_class() -> None:
    burstable = reported(0.3, requested_cpus="0.1", qos_class="Burstable")
    assert burstable is not None
    assert "--subresource resize" in text(burstable)
    best_effort = reported(0.3, requested_cpus="0", qos_class="BestEffort")
    assert best_effort is not None
    assert best_effort.patches
    assert "--subresource resize" not in text(best_effort)


def test_a_request_stays_within_the_limit() -> None:
    """Kubernetes refuses a request above the limit."""
    fix = request_fix(0.8, "4", limit=0.6)
    assert fix is not None
    assert '"requests":{"cpu":"600m"}' in text(fix)
    assert any("more than its limit of 0.6 CPU" in caveat for caveat in fix.caveats)
    assert fix.verdict == "unknown"


def test_what_a_starved_server_got_is_not_what_it_needs() -> None:
    snapshot = built("neighbours/six loops and a weight of 2 shares")
    process = snapshot.processes[0]
    always = replace(process, series={**process.series, "process_run_delay_us": np.full(snapshot.ticks, 300_000.0)})
    starved = replace(snapshot, processes=(always,))
    waits = run_waits.read_waits(starved)
    assert waits is not None
    assert waiting.needed_cpus(starved, waits) is None
    fixes = {fix.id: fix for fix in neighbours.propose(starved, found_in(snapshot))}
    assert "dedicated_cpus" not in fixes
    assert (fixes["raise_cpu_weight"].verdict, fixes["raise_cpu_weight"].predicted) == ("unknown", {})
    assert "not known" in fixes["raise_cpu_weight"].summary
    moments = built("neighbours/moments")
    waits = run_waits.read_waits(moments)
    assert waits is not None
    assert waiting.needed_cpus(moments, waits) is not None


def neighbour(cpus: float, **facts: str) -> Neighbour:
    listed = tuple(FactValue(name.replace("__", "."), value, 0) for name, value in facts.items())
    return Neighbour(ResourceView(50, "cgroup", "/batch", "/batch", facts=listed), cpus / 4, cpus)


def test_a_neighbour_is_limited_only_if_that_frees_enough() -> None:
    snapshot, found = built("neighbours/moments"), found_in(built("neighbours/moments"))
    assert neighbour_limit.propose(snapshot, found, [neighbour(1.0)] * 3, 1.2, 3.0) is None
    fix = neighbour_limit.propose(snapshot, found, [neighbour(1.9)], 0.4, 1.9)
    assert fix is not None
    assert fix.title == "Limit /batch to 1.5 CPU"
    assert "frees 0.4 CPU. The server needs 0.4 CPU." in fix.summary


def test_a_limit_below_a_request_is_refused() -> None:
    snapshot, found = built("neighbours/moments"), found_in(built("neighbours/moments"))
    facts = {"workload__manager": "kubernetes", "workload__container": "batch"}
    fix = neighbour_limit.propose(snapshot, found, [neighbour(1.9, cpu__weight="79", **facts)], 1.0, 1.9)
    assert fix is not None
    assert not fix.patches
    assert "request of batch is at most 0.9 CPU" in (fix.precondition or "")
    reported = neighbour(1.9, cpu__weight="79", workload__requested_cpus="0.9", **facts)
    allowed = neighbour_limit.propose(snapshot, found, [reported], 1.0, 1.9)
    assert allowed is not None
    assert allowed.patches
    best_effort = neighbour_limit.propose(snapshot, found, [neighbour(1.9, cpu__weight="1", **facts)], 1.0, 1.9)
    assert best_effort is not None
    assert best_effort.patches
    assert best_effort.precondition is None


# --- limits and the node
def test_a_cpu_limit_is_no_larger_than_the_node() -> None:
    overload = "limit_too_low/small heap"
    fixes = {fix.id: fix for fix in found_in(built(overload)).fixes}
    assert fixes["raise_cpu_limit"].patches
    tiny = {fix.id: fix for fix in found_in(with_facts(overload, {}, {"node.cpus": "0.5"})).fixes}
    assert (tiny["raise_cpu_limit"].verdict, tiny["raise_cpu_limit"].patches) == ("cannot_help", [])


@pytest.mark.parametrize(
    ("node_mib", "wanted", "allowed"),
    [(16384, 24576, 14736), (13000, 24576, None), (65536, 24576, 24576), (None, 24576, 24576)],
)
def test_a_memory_limit_leaves_the_node_its_own(node_mib: int | None, wanted: int, allowed: int | None) -> None:
    node = None if node_mib is None else str(node_mib * MIB)
    snapshot = with_facts("limit_oom/a slow leak", {}, {"node.memory_bytes": node})
    found = memory_patches.within_node(snapshot, wanted * MIB, 12288 * MIB)
    assert found == (None if allowed is None else allowed * MIB)


def test_twice_the_limit_is_not_twice_the_node() -> None:
    def raised(node_mib: int) -> Fix:
        snapshot = with_facts("limit_oom/a slow leak", {}, {"node.memory_bytes": str(node_mib * MIB)})
        return next(fix for fix in found_in(snapshot).fixes if fix.id == "raise_memory_limit")

    limit = int(built("limit_oom/a slow leak").subject.fact("memory.limit_bytes") or 0) // MIB
    assert raised(16384).title.endswith(f"to {memory_patches.mebibytes(2 * limit * MIB)} MiB")
    capped = raised(int(1.5 * limit))
    assert "a tenth of it is left" in capped.summary
    assert (raised(limit).verdict, raised(limit).patches) == ("cannot_help", [])


def test_gomemlimit_is_above_what_the_program_needs() -> None:
    """Otherwise it makes the spiral that another cause reports."""
    snapshot = built("query_burst_oom/killed")
    roomy = memory_limit._soft_limit(snapshot, 1000 * MIB, 145 * MIB, leak=False)
    tight = memory_limit._soft_limit(snapshot, 170 * MIB, 145 * MIB, leak=False)
    assert [(fix.verdict, bool(fix.patches)) for fix in roomy] == [("reduces", True)]
    assert [(fix.verdict, fix.patches) for fix in tight] == [("cannot_help", [])]


def test_each_sysctl_has_its_own_file() -> None:
    first, second = (reclaim._sysctl(f"vm.{name}", 100).text for name in ("watermark_scale_factor", "min_free_kbytes"))
    assert first.rpartition(" > ")[2] != second.rpartition(" > ")[2]
    fixes = {fix.id: fix for fix in found_in(built("reclaim_stall/a node")).fixes}
    for name in ("watermark_scale_factor", "min_free_kbytes"):
        assert f"rm -f /etc/sysctl.d/60-jitterscope-{name}.conf" in fixes[name].undo


def test_memory_high_leaves_room_for_anonymous_memory() -> None:
    made = built("reclaim_stall/a node")

    def high(anon_mib: float | None) -> Fix:
        view = made.cgroups[-1]
        series = {name: values for name, values in view.series.items() if name != "memory_anon_bytes"}
        if anon_mib is not None:
            series["memory_anon_bytes"] = np.full(made.ticks, anon_mib * MIB)
        snapshot = replace(made, cgroups=(*made.cgroups[:-1], replace(view, series=series)))
        return next(fix for fix in found_in(snapshot).fixes if fix.id == "memory_high")

    peak = float(np.nanmax(made.cgroups[-1].series["memory_usage_bytes"])) / MIB
    assert high(0.1 * peak).patches
    assert high(0.9 * peak).verdict == "cannot_help"
    assert not high(None).patches


# --- options of runtimes
@pytest.mark.parametrize("manager", ["kubernetes", "docker", "systemd", "none"])
def test_no_patch_overwrites_the_options_of_a_runtime(manager: str) -> None:
    """JAVA_TOOL_OPTIONS can hold an agent and a heap limit: what it holds is not recorded."""
    made = with_facts("gc_throttling/JVM", {**KUBERNETES, "workload.manager": manager})
    for fix in found_in(made).fixes:
        for patch in fix.patches:
            assert "JAVA_TOOL_OPTIONS=" not in patch.text
            assert "JAVA_TOOL_OPTIONS:" not in patch.text
            assert not (patch.changes and "JAVA_TOOL_OPTIONS" in patch.model_dump_json())
        assert "JAVA_TOOL_OPTIONS-" not in fix.undo
    told_, undo, _ = option_patches.setting(option_patches.JAVA, "-XX:+UseG1GC")
    assert [patch.text for patch in told_] == ["-XX:+UseG1GC"]
    assert undo == "Remove -XX:+UseG1GC from JAVA_TOOL_OPTIONS and restart."


def test_compose_gets_a_value_for_what_is_to_be_unset() -> None:
    made = with_facts("gc_throttling/case 1", {"workload.manager": "docker"})
    [patch], _ = patches.environment(made, {"GOMEMLIMIT": None, "GOGC": "100"})
    assert patch.text == 'environment:\n  GOMEMLIMIT: "off"\n  GOGC: "100"'
    [patch], _ = patches.environment(made, {"GOMAXPROCS": None})
    assert patch.text == 'environment:\n  GOMAXPROCS: ""'


@pytest.mark.parametrize(
    ("memory_mib", "patched"),
    [(128, False), (1024, True), (-1, True), (None, False)],
)
def test_a_larger_gomemlimit_has_to_fit(memory_mib: int | None, patched: bool) -> None:
    limit = None if memory_mib is None else str(memory_mib * MIB if memory_mib > 0 else -1)
    made = with_facts("memory_limit_gc_spiral/case 1 with GOMEMLIMIT", {"memory.limit_bytes": limit})
    fixes = {fix.id: fix for fix in found_in(made).fixes}
    for name in ("raise_gomemlimit", "unset_gomemlimit"):
        assert bool(fixes[name].patches) is patched


def a_process(*options: str) -> ResourceView:
    facts = {"runtime.name": "jvm", "runtime.options": json.dumps(options)}
    return ResourceView(2, "process", "1:1", "java", facts=tuple(FactValue(k, v, 0) for k, v in facts.items()))


@pytest.mark.parametrize(("memory_mib", "patched"), [(512, False), (1024, True), (-1, True), (None, False)])
def test_a_larger_heap_has_to_fit(memory_mib: int | None, patched: bool) -> None:
    limit = None if memory_mib is None else str(memory_mib * MIB if memory_mib > 0 else -1)
    made = with_facts("gc_throttling/JVM", {"memory.limit_bytes": limit})
    fix = jvm_tuning.larger_heap(made, a_process("-Xmx420m"), "")
    assert fix is not None
    assert bool(fix.patches) is patched


@pytest.mark.parametrize(("memory_mib", "patched"), [(128, False), (512, False), (2048, True), (None, False)])
def test_a_larger_young_generation_has_to_fit(memory_mib: int | None, patched: bool) -> None:
    limit = None if memory_mib is None else str(memory_mib * MIB)
    made = with_facts("gc_throttling/JVM", {"memory.limit_bytes": limit})
    fix = node_tuning.larger_semi_space(made, a_process(), "")
    assert fix is not None
    assert bool(fix.patches) is patched


# --- DNS
@pytest.mark.parametrize(
    ("version", "verdict", "precondition"),
    [
        ("1.12.0", "reduces", None),
        ("1.11.3", "cannot_help", None),
        (None, "reduces", "Requires CoreDNS 1.12.0 or later: an older one refuses to start."),
    ],
)
def test_more_sockets_of_a_throttled_coredns_need_a_version(
    version: str | None, verdict: str, precondition: str | None
) -> None:
    """Queries that waited in the one socket while nothing was throttled."""
    whole = built("gc_throttling/case 1")
    [server] = whole.dns_servers
    assert server.queries is not None
    waited = replace(server.queries, queue_wait_us=np.full(len(server.queries.sent_us), 9_000, np.int64))
    facts = {"dns.software": "coredns", "dns.version": version, "dns.udp_sockets": "1"}
    made = replace(whole, dns_servers=(told(replace(server, queries=waited), facts),))
    fix = udp_sockets.propose(made, analyse(made), found_in(whole))
    assert fix is not None
    assert (fix.verdict, fix.precondition) == (verdict, precondition)
    assert text(fix) == ("multisocket 2" if version == "1.12.0" else "")


KUBEADM = """\
.:53 {
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        ttl 30
    }
    forward . 8.8.8.8
    cache 30 {
        disable success cluster.local
        disable denial cluster.local
    }
    reload
}
"""


def test_a_larger_cache_keeps_what_the_cache_is_told() -> None:
    whole = built("upstream_rate_limited/Google refuses what is above 1,500")
    facts = {"dns.version": "1.11.3", **corefile_facts(KUBEADM)}
    made = replace(
        whole,
        dns_servers=(told(whole.dns_servers[0], facts),),
        subject=told(whole.subject, {**KUBERNETES, "workload.owner": "deployment/coredns"}),
    )
    fix = next(one for one in found_in(made).fixes if one.id == "cache_more")
    assert "serve_stale" not in text(fix)
    changes = [change for patch in fix.patches for change in patch.changes]
    [change] = changes
    assert isinstance(change, CorefileChange)
    assert change.options == {"success": "9984 300", "prefetch": "10 1m 10%"}
    after = KUBEADM.replace("cache 30 {\n", "cache 30 {\n        success 9984 300\n        prefetch 10 1m 10%\n")
    landing = next(one for one in rate_limit.FIXES if one.id == "cache_more").landing
    assert isinstance(landing, Seen)
    assert landing.lands_as(corefile_facts(KUBEADM), corefile_facts(after))


def test_zones_that_are_not_cached_on_purpose_stay_so() -> None:
    """The edit removes every `disable` of the block: not where one of them names zones."""
    name = "no_negative_cache/CoreDNS with denials switched off"
    both = KUBEADM.replace("disable denial cluster.local", "disable denial")
    server = told(built(name).dns_servers[0], corefile_facts(both))
    made = replace(built(name), dns_servers=(server,), subject=told(built(name).subject, KUBERNETES))
    fix = negative_cache.propose(made, "", server)
    assert fix is not None
    assert [patch.language for patch in fix.patches] == ["diff"]
    assert not any(patch.changes for patch in fix.patches)
    zones_only = told(server, corefile_facts(KUBEADM))
    assert negative_cache.propose(made, "", zones_only) is None


# --- PostgreSQL
LOCKED = "lock_or_dependency/a lock in the database"


def test_idle_transactions_are_ended_for_one_role_after_a_time_that_people_choose() -> None:
    """Ordinary ORM work is idle in a transaction for more than 100 ms: no timeout for all roles."""
    fix = next(one for one in found_in(built(LOCKED)).fixes if one.id == "end_idle_transactions")
    assert "ALTER SYSTEM" not in text(fix)
    assert "ALTER ROLE ROLE SET idle_in_transaction_session_timeout = 'TIMEOUT'" in text(fix)


def test_late_answers_of_which_none_was_kept_are_not_none() -> None:
    made = built(LOCKED)
    blind = replace(made, tcp_servers=tuple(replace(one, queries=None) for one in made.tcp_servers))
    assert lock_or_dependency.CAUSE.detect(blind).kind == "not_enough_data"
