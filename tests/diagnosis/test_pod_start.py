"""Pod starts: what they are judged by, how they are split up, and what they would be without the verifier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.pods.causes import bpf_verification, pod_slo
from jitterscope.diagnosis.areas.pods.readings import bpf_loads
from jitterscope.diagnosis.areas.pods.readings import phases as pod_phases
from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings import verifier as pod_verifier
from jitterscope.diagnosis.areas.pods.readings.starts import PERCENTILES, Durations, PodStarts
from jitterscope.diagnosis.areas.pods.readings.verifier import Verifying
from jitterscope.diagnosis.areas.pods.whatif.pod_start import without
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.diagnosis.core.snapshot import Event, FactValue, Snapshot
from jitterscope.diagnosis.programs import cilium_versions
from jitterscope.diagnosis.scenarios.pods.simulate import CILIUM_112, Loader, PodLoad, run
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US


def cilium(times: float) -> Loader:
    return Loader("cilium-agent", {name: times * mean for name, mean in CILIUM_112.items()})


def verifying(snapshot: Snapshot) -> Verifying:
    found = pod_verifier.find(snapshot)
    assert isinstance(found, Verifying)
    return found


def starts_of(snapshot: Snapshot) -> PodStarts:
    found = pod_starts.read(snapshot)
    assert isinstance(found, PodStarts)
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("times", "alone"), [(1.0, 0.0), (5.0, 0.0), (8.0, 0.4)])
def test_starts_without_the_verifier_are_what_they_would_have_been(seed: int, times: float, alone: float) -> None:
    """The same pods, with the same random numbers, on a node that loads nothing."""
    load = PodLoad(pods=200, seconds=600, seed=seed, loader=cilium(times), host_network_ratio=alone)
    truth = starts_of(run(replace(load, loader=None)))
    case = verifying(run(load))
    assert case.per_start_us == pytest.approx(0.5e6 * times, rel=0.05)
    assert case.covered_ratio == pytest.approx(1 - alone, abs=0.02)
    for item in case.gone.percentiles:
        real = truth.starts.quantile_us(item.q)
        # Which pods were on the host network is not known: then the middle is a guess, the interval is not.
        assert item.after_us.expected == pytest.approx(real, rel=0.1 if not alone else 0.3)
        assert item.after_us.low <= 1.05 * real
        assert item.after_us.high >= 0.95 * real


def test_the_case_of_five_hundred_milliseconds() -> None:
    """p50 3088, p90 3701, p99 4126 ms with 500 ms of verifying; half of it gone made them 2584, 3169, 3573."""
    random = np.random.default_rng(5)
    q, values = [0.0, 0.5, 0.9, 0.99, 1.0], [2.2e6, 3.088e6, 3.701e6, 4.126e6, 4.4e6]
    taken = np.interp(random.uniform(0, 1, 2_500), q, values)
    buckets, counts = np.unique(bucket_of(taken), return_counts=True)
    told = without(Durations(buckets, counts), random.normal(0.504e6, 0.05e6, 2_500))
    for item, after in zip(told.percentiles, (2.584e6, 3.169e6, 3.573e6), strict=True):
        assert item.after_us.expected == pytest.approx(after, rel=0.04)
        assert item.after_us.low <= after <= item.after_us.high
    assert told.late == 0


def old_kubelet(snapshot: Snapshot) -> Snapshot:
    """As a kubelet before 1.27 reports it: only starts including image pulls."""
    node = snapshot.node
    told = {name: found for name, found in node.distributions.items() if name != "pod_start_sli_us"}
    facts = (*node.facts, FactValue("node.kubelet", "v1.24.4-gke.300", snapshot.end_us - 1))
    node = replace(node, distributions=told, facts=facts)
    return replace(snapshot, node=node, subject=node)


def test_an_old_kubelet_is_judged_by_whole_starts_where_images_hardly_took_time() -> None:
    [found] = diagnose(old_kubelet(run(PodLoad(loader=cilium(8), cilium="1.12.3", seed=3)))).findings
    assert found.cause == bpf_verification.ID
    assert found.severity == "critical"
    objective = next(item for item in found.evidence if item.id == "objective")
    assert "with image pulls" in (objective.comparison or "")
    pulled = pod_slo.detect(old_kubelet(run(PodLoad(pull_s=20.0, seed=3))))
    assert isinstance(pulled, NotEnoughData)
    assert "v1.24.4" in pulled.reason


@pytest.mark.parametrize(("late", "starts", "missed"), [(0, 3, False), (1, 3, False), (2, 3, True), (2, 200, False),
                                                        (3, 30, True), (12, 500, True), (5, 500, False)])  # fmt: skip
def test_chance_decides_whether_the_objective_is_missed(late: int, starts: int, missed: bool) -> None:
    assert pod_starts.missed(late, starts) is missed
    assert 0.0 <= pod_starts.chance_of_late(late, starts) <= 1.0


def test_parts_add_up_to_the_mean_start() -> None:
    snapshot = run(PodLoad(pods=60, loader=cilium(4), cilium="1.15.0", cilium_metrics=True, pull_s=8.0, seed=9))
    starts = starts_of(snapshot)
    parts = pod_phases.parts(starts, verifying(snapshot).per_start_us)
    top = [part for part in parts if part.inside is None and part.in_objective]
    assert sum(part.mean_us for part in top) == pytest.approx(starts.starts.mean_us, rel=0.02)
    inside = {part.id: part.inside for part in parts}
    assert inside["cni"] == "sandbox"
    assert inside["bpf_load"] == "cni"
    assert inside["verifier"] == "bpf_load"
    sizes = {part.id: part.mean_us for part in parts}
    assert sizes["sandbox"] > sizes["cni"] > sizes["bpf_load"] > sizes["verifier"]
    assert sizes["verifier"] == pytest.approx(2e6, rel=0.1)
    assert not next(part for part in parts if part.id == "image_pull").in_objective
    assert all(len(part.at_us) == len(PERCENTILES) for part in parts)


def test_programs_with_one_name_and_other_sizes_are_two() -> None:
    """The kernel keeps 15 characters: tail_handle_ipv4 and tail_handle_ipv6 are both tail_handle_ipv."""
    snapshot = run(PodLoad(pods=10, loader=cilium(4), seed=4))
    events = [
        replace(event, attributes={**event.attributes, "name": "tail_handle_ipv"})
        for event in bpf_loads.events_of(snapshot)
    ]
    [owner] = bpf_loads.owners(events)
    assert len(owner.programs) == len(CILIUM_112)
    assert owner.sets == 10
    assert owner.sets_us().sum() == pytest.approx(owner.total_us)
    assert owner.sets_us(["tail_handle_ipv"]).sum() == 0


@pytest.mark.parametrize("own_process", [True, False])
def test_sets_of_programs_whose_names_are_not_known(own_process: bool) -> None:
    """A process for each pod, as tc(8) was, or one agent that pauses between the pods."""
    loads, sets = list[Event](), 7
    for pod in range(sets):
        for program in range(5):
            at_us = EPOCH_US + pod * 3_000_000 + program * 210_000
            loads.append(Event("bpf.load", at_us, 200_000, {"command": "tc", "pid": str(100 + pod * own_process)}))
    [owner] = bpf_loads.owners(loads)
    assert owner.sets == sets
    assert owner.sets_us() == pytest.approx(np.full(sets, 1e6))


@pytest.mark.parametrize(
    ("version", "gates"),
    [("1.12.3", ["1.13", "1.16", "1.19"]), ("v1.15.1", ["1.16", "1.19"]), ("1.16.0", ["1.19"]), ("1.19.3", [])],
)
def test_newer_cilium_by_version(version: str, gates: list[str]) -> None:
    found = bpf_verification.detect(snapshot := run(PodLoad(loader=cilium(8), cilium=version, seed=6)))
    assert isinstance(found, Found)
    fixes = {fix.id: fix for fix in bpf_verification.propose(snapshot, found)}
    assert ("newer_cilium" in fixes) == bool(gates)
    if gates:
        fix = fixes["newer_cilium"]
        assert fix.title == "Upgrade Cilium to 1.19 or later"
        sources = [gate.source for gate in cilium_versions.GATES if gate.since_text in gates]
        assert fix.references[:-1] == sources
        assert fix.precondition is None
        # Only before 1.13 is it known which programs go away.
        assert ("late_start_ratio" in fix.predicted) == ("1.13" in gates)
        assert fix.verdict == ("reduces" if "1.13" in gates else "unknown")
    assert fixes["images_first"].verdict == "cannot_help"


def test_unknown_version_and_other_loaders() -> None:
    snapshot = run(PodLoad(loader=cilium(8), seed=6))
    found = bpf_verification.detect(snapshot)
    assert isinstance(found, Found)
    fixes = {fix.id: fix for fix in bpf_verification.propose(snapshot, found)}
    assert "not known" in (fixes["newer_cilium"].precondition or "")
    other = run(PodLoad(loader=Loader("felix", {"cali_from_wep": 3.0, "cali_to_wep": 2.0}), seed=6))
    found = bpf_verification.detect(other)
    assert isinstance(found, Found)
    assert [fix.id for fix in bpf_verification.propose(other, found)] == ["leave_out", "images_first"]


@pytest.mark.parametrize(
    ("name", "unused"),
    [("tail_nodeport_n", True), ("tail_nodeport_nat_egress_ipv4", True), ("tail_nodeport_d", False), ("tail", False),
     ("tail_handle_ipv", False)],
)  # fmt: skip
def test_only_names_that_can_be_told_are_called_unused(name: str, unused: bool) -> None:
    assert cilium_versions.unused_for_pods(name) is unused


def test_an_agent_that_starts_again_is_no_pod_that_waits() -> None:
    """It loads the programs of a hundred pods while three start."""
    load = PodLoad(pods=3, loader=replace(cilium(8), for_pods=False, sets=100), sandbox_s=6.0, seed=8)
    found = bpf_verification.detect(run(load))
    assert isinstance(found, NotFound)
    assert "not because of them" in found.reason


def test_the_log_of_the_kubelet_tells_the_same_as_its_page() -> None:
    load = PodLoad(pods=40, seconds=300, before_s=5.0, loader=cilium(2), pull_s=3.0, logged=True, seed=12)
    paged = starts_of(run(replace(load, logged=False)))
    logged = starts_of(run(replace(load, paged=False)))
    assert logged.basis == paged.basis == "sli"
    assert abs(logged.starts.n - paged.starts.n) <= 2
    for q in PERCENTILES:
        assert logged.starts.quantile_us(q) == pytest.approx(paged.starts.quantile_us(q), rel=0.06)
    assert logged.phase("pod_sandbox_us") is None
    assert set(logged.phases) == {"pod_start_sli_us", "pod_start_total_us", "pod_image_pull_us"}
    assert [part.id for part in pod_phases.parts(logged)] == ["rest", "image_pull"]
    [found] = diagnose(run(PodLoad(before_s=5.5, logged=True, paged=False, seed=88))).findings
    assert (found.cause, found.severity) == (pod_slo.ID, "critical")


def test_the_share_of_the_verifier_counts_pods_that_load_nothing() -> None:
    """Pods on the host network start in a fraction of the time that the others take."""
    load = PodLoad(
        pods=8, seconds=120, before_s=0.4, container_s=0.1, loader=cilium(12), host_network_ratio=0.5, seed=3
    )
    case = verifying(run(load))
    assert case.covered_ratio < 1
    assert case.per_start_us > case.starts.starts.mean_us
    assert 0.5 < case.share < 1
    assert bpf_verification._of_all(case).endswith(" %")
    # Programs are loaded for pods that have not started yet, while all that have were quick.
    early = Durations(bucket_of(np.array([1e6])), np.array([case.owner.sets]))
    ahead = replace(case, starts=replace(case.starts, starts=early))
    assert ahead.share > 1
    assert bpf_verification._of_all(ahead) == ""


@pytest.mark.parametrize(("logged", "late"), [(40, 0), (35, 0), (20, 40), (0, 40)])
def test_starts_that_the_page_counts_late_are_taken_from_the_log(logged: int, late: int) -> None:
    """Every pod runs after about 2 s, and the page of its kubelet says 10 s. A log that lacks many proves nothing."""
    snapshot = run(PodLoad(pods=40, seconds=600, logged=True))
    node = snapshot.node
    page = node.distributions["pod_start_sli_us"]
    slow = replace(page, bucket=np.full_like(page.bucket, bucket_of(np.array([10e6]))[0]))
    events = node.events[:logged]
    assert len(events) == logged
    view = replace(node, events=events, distributions={**node.distributions, "pod_start_sli_us": slow})
    starts = starts_of(replace(snapshot, node=view, subject=view))
    assert starts.late == late
    assert starts.late == round(float(starts.told.count[starts.told.bucket == slow.bucket[0]].sum()))


def test_nothing_to_judge_is_said() -> None:
    snapshot = run(PodLoad(pods=1, seconds=10, before_s=30.0, seed=1))
    for cause in (bpf_verification, pod_slo):
        quiet = cause.detect(snapshot)
        assert isinstance(quiet, NotFound)
        assert "No pod started" in quiet.reason
    node = replace(snapshot.node, facts=())
    blind = replace(snapshot, node=node, subject=node, unavailable={"kubelet_metrics": "forbidden"})
    lacking = pod_slo.detect(blind)
    assert isinstance(lacking, NotEnoughData)
    assert "forbidden" in lacking.reason


def test_old_kubelets_send_few_requests() -> None:
    snapshot = run(PodLoad(before_s=7.0, kubelet="v1.24.4", seed=2))
    found = pod_slo.detect(snapshot)
    assert isinstance(found, Found)
    ids = [fix.id for fix in pod_slo.propose(snapshot, found)]
    assert ids == ["request_limit", "look_at_rest", "images_first"]
    newer = run(PodLoad(before_s=7.0, kubelet="v1.30.5", seed=2))
    assert "request_limit" not in [fix.id for fix in pod_slo.propose(newer, found)]
