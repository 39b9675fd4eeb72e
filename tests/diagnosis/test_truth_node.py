"""What was not observed is never ruled out, and unmeasured harm is not "no harm": kernel, memory, and pods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.kernel.readings import kernel_memory
from jitterscope.diagnosis.core.engine import diagnose, judges
from jitterscope.diagnosis.core.finding import Found, NotEnoughData
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.views import without
from jitterscope.diagnosis.scenarios.kernel.node import Loss, Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from tests.diagnosis.scenarios import SCENARIOS, built

CAUSES = all_causes()
OWN = [one for one in CAUSES if one.partition("/")[0] in ("kernel", "memory", "pods")]
# Memory that cannot be reclaimed rules out reclaim, by the figures that the cause itself rests on.
EXCLUDED_BY_ITSELF = {("memory/limit_oom", "memory/reclaim_stall")}
STEPS = ("low", "medium", "high")
# What a rival's own detector needs and this cause does not: without it the rival cannot be judged.
GAPS = [
    (cause, rival, metric)
    for cause in OWN
    for rival in CAUSES[cause].rivals
    for metric in CAUSES[rival].needs
    if metric not in CAUSES[cause].needs
]


def _found(snapshot: Snapshot, cause: str) -> Found | None:
    return next((one for one in diagnose(snapshot).findings if one.cause == cause), None)


@pytest.mark.parametrize(("cause", "rival", "metric"), GAPS)
def test_a_rival_without_its_signal_is_not_ruled_out(cause: str, rival: str, metric: str) -> None:
    tried = said = 0
    for name, scenario in SCENARIOS.items():
        if scenario.expected != cause or not judges(CAUSES[rival], built(name)):
            continue
        blind = without(built(name), metric)
        whole, part = _found(built(name), cause), _found(blind, cause)
        if whole is None:
            continue
        if part is None:
            assert CAUSES[cause].detect(blind).kind == "not_enough_data", name
            said += 1
            continue
        judged = next(one for one in part.rivals if one.cause == rival)
        assert judged.status != "ruled_out", name
        before = next(one for one in whole.rivals if one.cause == rival)
        if before.status == "ruled_out":
            lower = STEPS.index(part.confidence) < STEPS.index(whole.confidence) or part.confidence == "low"
            assert lower or (cause, rival) in EXCLUDED_BY_ITSELF, name
            tried += 1
    assert tried or said, "no scenario shows it"


def _node_with(snapshot: Snapshot, **series: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Snapshot:
    node = replace(snapshot.node, series={**snapshot.node.series, **series})
    return replace(snapshot, node=node, subject=node)


def test_a_kernel_that_does_not_count_negative_dentries_rules_nothing_out() -> None:
    """Before Linux 5.0 the field reads 0, whatever is cached."""
    storm = simulate(Node(storms=(Storm(20, 120, 40_000),), kernel="4.15.0-112-generic", seed=3))
    blind = _node_with(storm, dentries_negative=np.zeros(storm.ticks))
    assert not kernel_memory.counts_negative(blind)
    for cause in ("kernel/negative_dentry_growth", "kernel/nss_stat_storm", "kernel/negative_dentry_limit_missing"):
        result = CAUSES[cause].detect(blind)
        assert result.kind == "not_enough_data", cause
        assert "4.15.0" in result.reason
    assert CAUSES["kernel/negative_dentry_growth"].detect(storm).kind == "found"


def test_names_that_were_not_counted_are_not_zero_negative_ones() -> None:
    dropped = simulate(Node(negative=2e6, losses=(Loss(60, "drop"),), kernel="4.15.0", seed=23))
    found = _found(_node_with(dropped, dentries_negative=np.zeros(dropped.ticks)), "kernel/dentry_reclaim_contention")
    assert found is not None
    assert "was not counted" in found.summary
    freed = next(item for item in found.evidence if item.id == "freed")
    assert "negative" not in freed.numbers
    assert "negative" not in freed.value


def test_a_drop_whose_kernel_time_is_missing_is_not_denied() -> None:
    snapshot = built("dentry_reclaim_contention/dropped by hand")
    busy = snapshot.node.series["host_system_us"].copy()
    busy[595:640] = np.nan
    result = CAUSES["kernel/dentry_reclaim_contention"].detect(_node_with(snapshot, host_system_us=busy))
    assert result.kind == "not_enough_data"


def test_waiting_without_a_count_of_reclaims_is_not_denied() -> None:
    snapshot = built("reclaim_stall/a cgroup full of page cache")
    for metric in ("memory_limit_hits", "memory_high_events", "memory_reclaim_scanned_pages"):
        snapshot = without(snapshot, metric)
    result = CAUSES["memory/reclaim_stall"].detect(snapshot)
    assert result.kind == "not_enough_data"
    assert "memory_limit_hits" in result.reason


def test_loads_that_were_counted_but_not_recorded_are_not_denied() -> None:
    snapshot = built("bpf_verification/Cilium 1.12 on a slow node")
    node = replace(snapshot.node, events=())
    blind = replace(snapshot, node=node, subject=node)
    assert CAUSES["pods/bpf_verification"].detect(blind).kind == "not_enough_data"
    found = _found(blind, "pods/pod_slo")
    assert found is not None
    assert found.rivals[0].status == "not_enough_data"


def test_waiting_for_memory_harms_nobody_that_is_not_timed() -> None:
    snapshot = built("reclaim_stall/a cgroup that serves no DNS")
    few = snapshot.subject.series["psi_memory_some_us"].copy()
    few[172:] = 0.0
    short = replace(
        snapshot, subject=replace(snapshot.subject, series={**snapshot.subject.series, "psi_memory_some_us": few})
    )
    risk = CAUSES["memory/reclaim_stall"].detect(short)
    assert isinstance(risk, Found)
    assert (risk.severity, risk.harm) == (None, "not_measured")


def test_growth_that_may_be_page_cache_is_no_forecast() -> None:
    """A program that reads files, without the series that tells page cache from the rest."""
    leak = built("limit_oom/a slow leak")
    assert isinstance(CAUSES["memory/limit_oom"].detect(leak), Found)
    result = CAUSES["memory/limit_oom"].detect(without(leak, "memory_file_bytes"))
    assert isinstance(result, NotEnoughData)
    assert result.missing == ["memory_file_bytes"]


HARM = {
    "dentry_reclaim_contention/a pod is deleted": "measured",
    "negative_dentry_growth/slow": "predicted",
    "negative_dentry_limit_missing/no knob": "predicted",
    "nss_stat_storm/names are gone again": "measured",
    "limit_oom/a leak, killed": "measured",
    "limit_oom/a slow leak": "predicted",
    "query_burst_oom/killed": "measured",
    "query_burst_oom/it passed": "none",
    "query_burst_oom/a second after it began": "predicted",
    "reclaim_stall/a node": "measured",
    "reclaim_stall/a cgroup full of page cache, whose answers are as quick as ever": "none",
    "bpf_verification/half a second of three": "none",
    "pod_slo/the network plugin": "measured",
}


@pytest.mark.parametrize("name", HARM)
def test_harm_says_what_is_known_of_it(name: str) -> None:
    assert diagnose(built(name)).findings[0].harm == HARM[name]


def test_a_small_drop_is_harmless_only_where_waiting_was_measured() -> None:
    snapshot = built("dentry_reclaim_contention/a small drop")
    found = _found(snapshot, "kernel/dentry_reclaim_contention")
    blind = snapshot
    for metric in ("psi_cpu_some_us", "psi_memory_some_us"):
        blind = without(blind, metric)
    unknown = _found(blind, "kernel/dentry_reclaim_contention")
    assert found is not None
    assert unknown is not None
    assert (found.severity, found.harm) == (None, "none")
    assert (unknown.severity, unknown.harm) == (None, "not_measured")


def test_a_burst_that_passed_is_harmless_only_where_kills_are_counted() -> None:
    blind = without(built("query_burst_oom/it passed"), "memory_oom_kills")
    assert diagnose(blind).findings[0].harm == "not_measured"


def test_findings_stored_before_harm_was_told_apart_can_be_read() -> None:
    found = diagnose(built("query_burst_oom/it passed")).findings[0]
    stored = found.model_dump(mode="json", exclude={"harm"})
    assert Found.model_validate(stored).harm == "not_measured"
    assert Found.model_validate({**stored, "severity": "warning"}).harm == "measured"
