"""docker-compose.yml on a real Docker: nothing is lost while services restart and a release changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import psutil
import pytest
import yaml

from jitterscope.settings import REPOSITORY
from labs import packages
from labs.compose import engine, lifecycle
from labs.kubernetes import backend, tree
from labs.kubernetes.lifecycle import DEMO_CAUSE
from tests.support.lab_plan import live
from tests.support.said import say

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")


@NEEDS_ROOT
@pytest.mark.timeout(2400)
@live(420, DEMO_CAUSE, cpus=0.0, by_turn=False)
def test_compose_loses_nothing() -> None:
    report = lifecycle.run(say)
    say(report.model_dump_json())
    for part in (report.restarts, report.upgrade):
        assert all(phase.answered > 0 for phase in part.phases)
        for one in part.stored:
            assert (one.stored_batches, one.missing, one.wrong) == (one.batches, 0, 0), one
            assert one.ticks > 50
    assert {tuple(running) for running in report.returned.values()} == {tuple(sorted(lifecycle.SERVICES))}
    assert len(report.returned) == len(lifecycle.SERVICES) + 2
    assert (report.collector_dropped, report.collector_batches > 10) == (0, True)
    assert report.sources["cgroup_cpu"] == "active: "
    assert report.first_incident_subject == "demo"
    for one in report.restored:
        assert (one.missing, one.wrong) == (0, 0), one
        assert one.ticks > 50
    assert report.schemas[0] != report.schemas[1]


LAB = """
import time
from labs.compose import engine
with engine.running(lambda text: None) as made:
    print(made.machine.pid, flush=True)
    time.sleep(600)
"""


@NEEDS_ROOT
@pytest.mark.timeout(1200)
@live(60, cpus=0.0, by_turn=False)
def test_nothing_stays_of_a_killed_lab() -> None:
    lab = subprocess.Popen([sys.executable, "-c", LAB], stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    with lab.stdout as lines:
        machine = psutil.Process(int(lines.readline()))
    folders = [root / engine.CGROUP for root in tree.roots()]
    assert all(folder.exists() for folder in folders)
    guards = [one for one in psutil.process_iter(["cmdline"]) if "labs.compose.guard" in (one.info["cmdline"] or [])]
    assert len(guards) == 1
    lab.kill()
    lab.wait()
    assert psutil.wait_procs([machine, *guards], timeout=60)[1] == []
    assert not [folder for folder in folders if folder.exists()]
    assert not (packages.cache("compose") / "engine").exists()


def test_the_docs_have_the_commands_that_are_run() -> None:
    text = (REPOSITORY / "docs" / "deploy.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert f"{lifecycle.BACKUP}\n" in blocks
    assert lifecycle.RESTORE in blocks
    assert lifecycle.SECRETS in text
    assert lifecycle.LOGIN in text
    assert f"{lifecycle.UP} --build\n" in text
    assert lifecycle.RESET.format("…") in re.sub(r"\s+", " ", text)


def test_the_images_are_those_of_compose() -> None:
    services = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
    assert set(services) == {*lifecycle.SERVICES, "setup"}
    text = (REPOSITORY / "helm" / "jitterscope" / "values.yaml").read_text()
    for name in ("timescaledb", "valkey"):
        assert f"image: {services[name]['image']}\n" in text
    assert services["api"]["image"] == f"jitterscope:{backend.version()}"
