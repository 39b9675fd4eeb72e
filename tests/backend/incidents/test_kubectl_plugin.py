"""`kubectl jitterscope` against the real API: a namespace's incidents, a fix's command, and what it runs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import Recording
from jitterscope.settings import REPOSITORY
from tests.backend.incidents.stories import changed, moved
from tests.support.serving import serving

pytestmark = pytest.mark.slow

PLUGIN = REPOSITORY / "bin" / "kubectl-jitterscope"
CONTAINER = (
    "/kubepods/burstable/pod9118fc9a-5622-43c2-a6a9-ea0a582ea247/"
    "0c8cd1b2ec1d8877d7a6a412759d20646f39aec47ff5e3bfd6cfe96f7c9bcfff"
)
POD = "coredns-668d6bf9bc-x2x9q"
Run = Callable[..., subprocess.CompletedProcess[str]]


def owned(recording: Recording, owner: str) -> Recording:
    fact = FactRow("workload.owner", owner, recording.start_us)
    return changed(recording, lambda one: replace(one, facts=(*one.facts, fact)) if one.kind == "cgroup" else one)


@pytest.fixture
def incident_id(service: Any, gc_fault: Recording) -> int:
    subject = service.feed(owned(moved(gc_fault, CONTAINER, POD), "Deployment/coredns"))
    assert service.diagnose(subject).causes == ["cpu/gc_throttling"]
    return int(service.get("/incidents")["items"][0]["id"])


@pytest.fixture
def run(service: Any, tmp_path: Path) -> Iterator[Run]:
    """Runs the plugin as kubectl would, beside a kubectl that records how it is called."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        '#!/bin/sh\ncase "$2" in view) echo kube-system;; current-context) echo a-cluster;;\n'
        f'*) printf "%s\\n" "$@" >> {tmp_path}/called;; esac\n'
    )
    kubectl.chmod(0o755)
    with serving() as url:

        def call(*words: object, typed: str = "", **more: str) -> subprocess.CompletedProcess[str]:
            environment = {
                "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "JITTERSCOPE_SERVER": url,
                "JITTERSCOPE_API_TOKEN": service.organization.api_token, **more,
            }  # fmt: skip
            return subprocess.run(
                [PLUGIN, *map(str, words)], input=typed, env=environment, capture_output=True, text=True, check=False
            )

        yield call


def called(folder: Path) -> list[str]:
    file = folder / "called"
    return file.read_text().splitlines() if file.exists() else []


def test_incidents_of_a_namespace(run: Run, incident_id: int, tmp_path: Path) -> None:
    listed = run("incidents", "-n", "kube-system")
    assert listed.returncode == 0, listed.stderr
    head, row = listed.stdout.splitlines()
    assert head.split() == ["ID", "SEVERITY", "STATE", "LAST", "SEEN", "SUBJECT", "TITLE"]
    assert row.split()[0] == str(incident_id)
    assert f"kube-system/{POD}/coredns" in row
    # Without one, the namespace of kubectl's context.
    assert run("incidents").stdout.splitlines()[1].split()[0] == str(incident_id)
    assert run("incidents", "--all-namespaces").stdout.splitlines()[1].split()[0] == str(incident_id)
    other = run("incidents", "-n", "kube")
    assert (other.returncode, other.stdout) == (0, "")
    assert "No incidents in namespace kube" in other.stderr


def test_resolved_incidents_are_listed_when_asked_for(run: Run, service: Any, incident_id: int) -> None:
    service.post(f"/incidents/{incident_id}/resolve")
    assert run("incidents", "-n", "kube-system").stdout == ""
    assert f"\n{incident_id} " in run("incidents", "-n", "kube-system", "--resolved").stdout


def test_the_patch_alone_is_printed_and_nothing_runs(run: Run, service: Any, incident_id: int, tmp_path: Path) -> None:
    incident = service.get(f"/incidents/{incident_id}")
    fixes = {one["id"]: one for one in incident["fixes"]}
    listed = run("patch", incident_id)
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == list(fixes)
    told = run("patch", incident_id, "raise_cpu_limit")
    assert told.stdout == fixes["raise_cpu_limit"]["patches"][0]["text"] + "\n"
    assert told.stdout.startswith("kubectl -n kube-system patch deployment/coredns ")
    assert fixes["raise_cpu_limit"]["title"] in told.stderr
    second = run("patch", incident_id, "raise_cpu_limit", "--patch", 2)
    assert second.stdout == fixes["raise_cpu_limit"]["patches"][1]["text"] + "\n"
    assert called(tmp_path) == []


def test_a_patch_is_applied_as_it_is_once_one_agrees(run: Run, incident_id: int, tmp_path: Path) -> None:
    refused = run("patch", incident_id, "raise_cpu_limit", "--apply", typed="n\n")
    assert (refused.returncode, called(tmp_path)) == (1, [])
    assert "Run it in kubectl's context a-cluster? [y/N]" in refused.stderr
    assert "not applied" in refused.stderr
    assert run("patch", incident_id, "raise_cpu_limit", "--apply").returncode == 1  # no server to query
    assert called(tmp_path) == []
    applied = run("patch", incident_id, "raise_cpu_limit", "--apply", typed="y\n")
    assert applied.returncode == 0, applied.stderr
    words = called(tmp_path)
    assert words[:6] == ["-n", "kube-system", "patch", "deployment/coredns", "--type", "strategic"]
    assert words[6] == "-p"
    assert words[7].startswith(
        '{"spec":{"template":{"spec":{"containers":[{"name":"coredns","resources":{"limits":{"cpu":'
    )
    assert run("patch", "--yes", incident_id, "--apply", "raise_cpu_limit").returncode == 0
    assert called(tmp_path) == words * 2


def test_a_patch_with_a_gap_is_not_applied(run: Run, service: Any, gc_fault: Recording, tmp_path: Path) -> None:
    service.diagnose(service.feed(moved(gc_fault, CONTAINER, POD)))
    gap = run("patch", service.get("/incidents")["items"][0]["id"], "raise_cpu_limit", "--apply", "--yes")
    assert gap.returncode == 1
    assert "fill in NAME" in gap.stderr
    assert called(tmp_path) == []


def test_the_address_of_the_page(run: Run, incident_id: int) -> None:
    told = run("open", incident_id)
    assert told.stdout.strip().endswith(f"/incidents/{incident_id}")
    missing = run("open", incident_id + 1000)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.startswith("kubectl-jitterscope: ")
    unknown = run("open", incident_id, JITTERSCOPE_API_TOKEN="jsa_wrong")
    assert unknown.returncode == 1
    assert "jsa_wrong" not in unknown.stderr


def test_the_incidents_of_others_are_not_seen(run: Run, incident_id: int, other_organization: Any) -> None:
    theirs = {"JITTERSCOPE_API_TOKEN": other_organization.api_token}
    assert run("open", incident_id, **theirs).returncode == 1
    assert run("incidents", "-A", **theirs).stdout == ""
