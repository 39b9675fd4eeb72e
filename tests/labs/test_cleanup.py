"""A killed lab leaves no process, and the next one removes its cgroups."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from labs.cgroups import PREFIX, Hierarchies, LabCgroup, remove_stale

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups: needs root")
LAB = """
import pathlib, sys, time
from labs.coredns_gc import bench
from labs.variants import Variant, parameters_of
variant = Variant.FAULT
with bench(variant, parameters_of(variant, {"records": 1000}), pathlib.Path(sys.argv[1]), print) as made:
    print(made.server.pid, flush=True)
    time.sleep(60)
"""


def test_killed_lab(tmp_path: Path) -> None:
    lab = subprocess.Popen([sys.executable, "-c", LAB, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    with lab.stdout as lines:
        # The lab's output comes first: one line, or more if it finds cgroups of a killed one.
        server = psutil.Process(next(int(line) for line in lines if line.strip().isdigit()))
        lab.send_signal(signal.SIGKILL)
        lab.wait()
    assert psutil.wait_procs([server], timeout=10)[1] == []
    hierarchies = Hierarchies.of_this_machine()
    name = f"{PREFIX}{lab.pid}"
    assert any(folder.exists() for folder in hierarchies.folders(name))
    assert name in remove_stale(hierarchies)
    assert not any(folder.exists() for folder in hierarchies.folders(name))


CHAINS = {
    "nodelocal": """
import pathlib, sys, time
from labs.nodelocal.bench import bench
from labs.nodelocal.variants import Variant, parameters_of
with bench(parameters_of(Variant.MORE_REPLICAS, {"replicas": 2}), pathlib.Path(sys.argv[1]), lambda text: None) as made:
    print(*(one.pid for one in made.servers), flush=True)
    time.sleep(60)
""",
    "search": """
import pathlib, sys, time
from labs.search.bench import bench
from labs.search.variants import Variant, parameters_of
with bench(parameters_of(Variant.FAULT, {}), pathlib.Path(sys.argv[1]), lambda text: None) as made:
    print(*(one.pid for one in (made.cluster_dns, made.outside, *made.pods)), flush=True)
    time.sleep(60)
""",
}


@pytest.mark.parametrize("chain", CHAINS)
def test_killed_chain(chain: str, tmp_path: Path) -> None:
    """Every server and pod ends with its lab; a pod's network ends with it."""
    lab = subprocess.Popen([sys.executable, "-c", CHAINS[chain], str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    with lab.stdout as lines:
        started = [psutil.Process(int(pid)) for pid in lines.readline().split()]
        assert len(started) >= 4
        lab.send_signal(signal.SIGKILL)
        lab.wait()
    assert psutil.wait_procs(started, timeout=10)[1] == []
    deadline = time.monotonic() + 10
    while any(name.startswith(f"jsl{lab.pid}-") for name in psutil.net_if_stats()):
        assert time.monotonic() < deadline, "a network link is left"
        time.sleep(0.1)
    hierarchies = Hierarchies.of_this_machine()
    assert f"{PREFIX}{lab.pid}" in remove_stale(hierarchies)


@pytest.mark.parametrize("alone", [False, True])
def test_a_running_lab_is_left_alone(alone: bool) -> None:
    hierarchies = Hierarchies.of_this_machine()
    mine = LabCgroup(hierarchies, "probe", alone=alone)
    mine.create()
    try:
        assert remove_stale(hierarchies) == []
        mine.limit_cpu(20_000, 100_000, 20_000)
        assert "nr_periods" in mine.cpu_stat.read_text()
    finally:
        mine.remove()
    assert not any(list(root.glob(f"{PREFIX}{os.getpid()}*")) for root in hierarchies.folders(""))


def test_a_killed_labs_cgroup_at_the_top_is_removed() -> None:
    hierarchies = Hierarchies.of_this_machine()
    code = "from labs.cgroups import *; LabCgroup(Hierarchies.of_this_machine(), 'probe', alone=True).create()"
    with subprocess.Popen([sys.executable, "-c", code]) as lab:
        lab.wait()
    assert f"{PREFIX}{lab.pid}-probe" in remove_stale(hierarchies)


def test_remove_ends_what_runs_inside() -> None:
    mine = LabCgroup(Hierarchies.of_this_machine(), "probe")
    mine.create()
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        for path in mine.procs_files():
            path.write_text(str(sleeper.pid))
        mine.remove()
        assert sleeper.wait(30) == -signal.SIGKILL
