"""Parameters, figures, and cleanup of the labs coredns-oom, negative-dentries, and bpf-startup, without a product."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest

from jitterscope.analyses.load_file import LoadResult
from jitterscope.diagnosis.core.query_results import REFUSED, TIMEOUT
from labs.cgroups import PREFIX, Hierarchies, remove_stale
from labs.dentries import bench as dentries_bench
from labs.dentries import variants as dentries
from labs.errors import LabError
from labs.oom import bench as oom_bench
from labs.oom import figures as oom_figures
from labs.oom import truth as oom_truth
from labs.oom import variants as oom_variants
from labs.podstart import bench as pod_bench
from labs.podstart import variants as pods
from labs.podstart.pages import KubeletPage, image_path, serving
from tests.support.said import say

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups, mounts and eBPF programs: needs root")
MIB = 1 << 20


def test_oom_parameters_fit_each_other() -> None:
    of, V = oom_variants.parameters_of, oom_variants.Variant
    assert of(V.FAULT, {}).wanted_mib > of(V.FAULT, {}).memory_mib
    assert of(V.MAX_CONCURRENT, {}).max_concurrent == 1_000
    small = of(V.MAX_CONCURRENT, {"memory_mib": 64})
    assert small.max_concurrent is not None
    assert small.wanted_mib < 64
    big = of(V.MORE_MEMORY, {"qps": 6_000})
    assert big.memory_mib > 2 * big.wanted_mib
    assert of(V.LEAK, {"qps": 500}).calm_qps == 500
    assert oom_variants.expected_cause(V.LEAK, killed=True) == "memory/limit_oom"
    assert oom_variants.expected_cause(V.FAULT, killed=False) == "none"


def test_oom_figures_end_with_the_kill() -> None:
    """10 queries/s that all wait; the kill is in the third second, and what follows it does not count."""
    sent = np.arange(0, 5_000_000, 100_000, dtype=np.int64)
    load = LoadResult(
        sent, np.full(50, 12_000_000, np.int32), np.full(50, TIMEOUT, np.uint8), np.zeros((0, 6), np.int64)
    )
    load.latency_us[0], load.result[0] = 50, REFUSED
    at = np.arange(0, 5_000_000, 10_000, dtype=np.int64)
    killed = at >= 3_000_000
    readings = oom_truth.Readings(at, np.where(killed, 0, at + MIB), np.where(killed, 1, 0), np.where(killed, 0, 7))
    found = oom_figures.measured(load, readings, 1_000_000, 5_000_000)
    assert (found.killed_s, found.oom_kills, found.fds_peak) == (2.0, 1, 7)
    assert found.memory_peak_mib == pytest.approx((2_990_000 + MIB) / MIB)
    assert found.waiting_peak == 29, "of 30 queries sent until then one was refused"
    assert found.refused_share == 0, "it was refused before the window"
    assert oom_truth.count_of("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill") == 3


def test_dentry_and_pod_parameters() -> None:
    expected, V = dentries.expected_cause, dentries.Variant
    assert expected(V.NSS, dentries.parameters_of(V.NSS, {"use_cache": "no"})) == "none"
    assert expected(V.NSS, dentries.parameters_of(V.NSS, {})) == "kernel/nss_stat_storm"
    session = dentries.parameters_of(V.STORM, {"names": "session"})
    assert expected(V.STORM, session) == "kernel/negative_dentry_growth"
    fault = pods.parameters_of(pods.Variant.FAULT, {})
    assert pods.settle(fault, 3.0, 0.2).wait_s == pytest.approx(3.0)
    assert pods.settle(fault, 60.0, 0.2).wait_s == pytest.approx(0.3)
    assert pods.settle(fault, 1.0, 0.2).wait_s == pytest.approx(4.2), "in time again without five of eight programs"
    assert pods.parameters_of(pods.Variant.PRUNED, {"sections": 16}).unused == 10
    with pytest.raises(LabError, match="--unused"):
        pods.parameters_of(pods.Variant.FAULT, {"sections": 2, "unused": 3})
    assert pods.expected_cause(3, 0.5) == "pods/bpf_verification"
    assert pods.expected_cause(3, 0.01) == "pods/pod_slo"
    assert pods.expected_cause(0, 0.5) == "none"


def test_kubelet_page() -> None:
    page = KubeletPage()
    for seconds in (0.4, 3.5, 3.0):
        page.observe("kubelet_pod_start_sli_duration_seconds", seconds)
    page.observe("kubelet_runtime_operations_duration_seconds", 0.02, 'operation_type="pull_image"')
    with serving(page) as url:
        began = time.monotonic()
        assert len(httpx.get(url + image_path(300_000, 0.3), timeout=60).content) == 300_000
        assert time.monotonic() - began >= 0.25, "at the registry's pace"
        text = httpx.get(f"{url}/metrics", timeout=60).text
        assert httpx.get(f"{url}/pods", timeout=60).status_code == 404
    assert 'kubelet_pod_start_sli_duration_seconds_bucket{le="3"} 2\n' in text
    assert 'kubelet_pod_start_sli_duration_seconds_bucket{le="+Inf"} 3\n' in text
    assert "kubelet_pod_start_sli_duration_seconds_sum 6.9\n" in text
    assert 'kubelet_runtime_operations_duration_seconds_count{operation_type="pull_image"} 1\n' in text
    assert "kubelet_cgroup_manager" not in text


@ROOT
@pytest.mark.timeout(120)
def test_burst_kills_and_a_cap_prevents_it(tmp_path: Path) -> None:
    given = {"qps": 1_000, "memory_mib": 48, "seconds": 5, "calm_seconds": 1}
    for variant in (oom_variants.Variant.FAULT, oom_variants.Variant.MAX_CONCURRENT):
        folder = tmp_path / variant
        folder.mkdir()
        with oom_bench.bench(oom_variants.parameters_of(variant, given), folder, say) as made:
            done = oom_bench.run(made, say)
        figures = done.figures
        assert figures.memory_peak_mib is not None
        assert figures.refused_share is not None
        if variant is oom_variants.Variant.FAULT:
            assert figures.killed_s is not None
            assert 0.5 < figures.killed_s < 5
            assert figures.oom_kills == 1
            assert figures.memory_peak_mib > 46
            assert figures.refused_share == 0
        else:
            assert figures.killed_s is None
            assert figures.memory_peak_mib < 48
            assert figures.refused_share > 0.3


@ROOT
@pytest.mark.timeout(120)
@pytest.mark.parametrize("variant", [dentries.Variant.UNMOUNT, dentries.Variant.FILES, dentries.Variant.NSS])
def test_names_come_and_go(variant: dentries.Variant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters are machine-wide: others also make and free names, so the tolerance is wide."""
    monkeypatch.setattr(dentries_bench, "BEFORE_DROP_S", 1.0)  # no product looks back
    given = {"seconds": 5, "calm_seconds": 1, "settle_seconds": 1, "dentries": 60_000}
    if variant is dentries.Variant.NSS:
        del given["dentries"]
    with dentries_bench.bench(variant, dentries.parameters_of(variant, given), tmp_path, say) as made:
        mounted = made.place.folder
        figures = dentries_bench.run(made, say).figures
    assert not os.path.ismount(mounted)
    assert figures.gained is not None
    assert figures.negative_gained is not None
    if variant is dentries.Variant.UNMOUNT:
        assert figures.failures == 60_000
        assert figures.negative_gained == pytest.approx(60_000, rel=0.3)
        assert figures.dropped == pytest.approx(60_000, rel=0.3)
        assert figures.pause_s is not None
        assert 0 < figures.pause_s < 5
    elif variant is dentries.Variant.FILES:
        assert figures.gained == pytest.approx(60_000, rel=0.3)
        assert figures.negative_gained < 20_000
        assert figures.failures is None
    else:
        # 10,000 or 33 ms in each of two folders, at each start, and nothing of it is left.
        assert figures.failures is not None
        assert figures.failures > 20_000


@ROOT
@pytest.mark.timeout(120)
def test_pods_wait_for_the_verifier(tmp_path: Path) -> None:
    given = {
        "pods": 1,
        "sections": 4,
        "verified": 40_000,
        "wait_s": 0.1,
        "image_s": 0.2,
        "image_mib": 0.1,
        "gap_s": 0.0,
    }
    page = KubeletPage()
    took = {}
    with serving(page) as url, pod_bench.node(tmp_path, url, page, say) as made:
        for variant in (pods.Variant.FAULT, pods.Variant.PRUNED):
            done = pod_bench.run(made, pods.parameters_of(variant, given), say)
            (pod,) = done.pods
            assert len(pod.programs) == (4 if variant is pods.Variant.FAULT else 2)
            assert pod.verifier_s <= pod.sandbox_s <= pod.start_s < pod.total_s
            assert pod.total_s - pod.start_s > 0.19, "its image"
            took[variant] = sum(program.verified for program in pod.programs)
    assert took[pods.Variant.FAULT] == pytest.approx(160_000, rel=0.3)
    assert took[pods.Variant.PRUNED] == pytest.approx(80_000, rel=0.3)
    assert "kubelet_pod_start_sli_duration_seconds_count 2\n" in page.text()


KILLED = {
    "oom": """
from labs.oom.bench import bench
from labs.oom.variants import Variant, parameters_of
with bench(parameters_of(Variant.FAULT, {}), pathlib.Path(sys.argv[1]), lambda text: None) as made:
    print(made.server.pid, made.upstream.pid, flush=True)
    time.sleep(60)
""",
    "dentries": """
from labs import processes
from labs.dentries.bench import bench
from labs.dentries.variants import Variant, parameters_of
parameters = parameters_of(Variant.STORM, {"seconds": 60, "dentries": 50_000_000})
with bench(Variant.STORM, parameters, pathlib.Path(sys.argv[1]), lambda text: None) as made:
    inside = made.place.inside(made.command)
    storm = processes.spawn(inside, cgroup_procs=made.cgroup.procs_files(), environment={})
    print(storm.pid, made.place.pid, flush=True)
    time.sleep(60)
""",
    "podstart": """
from labs.podstart.bench import node
from labs.podstart.pages import KubeletPage, serving
from labs.podstart.variants import Variant, parameters_of
page = KubeletPage()
given = {"verified": 1000, "wait_s": 0, "image_s": 0}
with serving(page) as url, node(pathlib.Path(sys.argv[1]), url, page, lambda text: None) as made:
    made.start(0, parameters_of(Variant.FAULT, given))
    print(*made.pids, flush=True)
    time.sleep(60)
""",
}


@ROOT
@pytest.mark.timeout(120)
@pytest.mark.parametrize("lab", KILLED)
def test_killed(lab: str, tmp_path: Path) -> None:
    """What a killed lab started ends with it, including its mount; the next lab removes its cgroups."""
    program = "import pathlib, sys, time" + KILLED[lab]
    running = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    with running.stdout as lines:
        started = [psutil.Process(int(pid)) for pid in lines.readline().split()]
        assert len(started) >= 2
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert psutil.wait_procs(started, timeout=10)[1] == []
    hierarchies = Hierarchies.of_this_machine()
    name = f"{PREFIX}{running.pid}"
    remove_stale(hierarchies)
    assert not any(folder.exists() for folder in hierarchies.folders(name))
    deadline = time.monotonic() + 10
    while str(tmp_path) in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout:
        assert time.monotonic() < deadline, "a loop device is left"
        time.sleep(0.1)
