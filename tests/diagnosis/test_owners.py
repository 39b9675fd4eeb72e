"""Patches of Rollouts, CronJobs, and what cannot be patched: commands are run with a `kubectl` that records them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jitterscope.diagnosis.core import owner_commands, owners, patches
from jitterscope.diagnosis.core.finding import WorkloadChange
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from tests.diagnosis.recorded import snapshot as recorded

# Lists the containers of the template, and stores the arguments of a patch.
_KUBECTL = """#!/bin/sh
case "$*" in
  "-n shop get rollout/api -o jsonpath={range .spec.template.spec.containers[*]}{.name}{\\"\\\\n\\"}{end}")
    cat "$0.names" ;;
  "-n shop patch "*) for one; do printf '%s\\0' "$one"; done > "$0.patch" ;;
  *) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""
LIMIT = {"resources": {"limits": {"cpu": "500m"}}}


def of(owner: str | None, container: str = "app") -> Snapshot:
    facts = {"manager": "kubernetes", "namespace": "shop", "pod": "a-pod", "container": container, "owner": owner}
    told = tuple(FactValue(f"workload.{name}", value, 0) for name, value in facts.items() if value is not None)
    own = ResourceView(id=1, kind="cgroup", key="/kubepods/a", name="a", facts=told)
    return Snapshot(start_us=0, ticks=10, subject=own, node=ResourceView(id=3, kind="node", key="n", name="n"))


def run(tmp_path: Path, command: str | None, *containers: str) -> list[str]:
    """The arguments of the patch that a command makes, whose template has these containers."""
    assert command is not None
    assert command.startswith("kubectl "), "the plugin of kubectl runs nothing else"
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(_KUBECTL)
    kubectl.chmod(0o755)
    (tmp_path / "kubectl.names").write_text("".join(f"{one}\n" for one in containers))
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-euc", command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return (tmp_path / "kubectl.patch").read_text().split("\0")[:-1]


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        ("Deployment/web", "deployment/web"),
        ("ReplicaSet/web-668d6bf9bc", "deployment/web"),
        ("ReplicaSet/web-frontend", "replicaset/web-frontend"),
        ("Rollout/api", "rollout/api"),
        ("CronJob/backup", "cronjob/backup"),
        (None, "deployment/NAME"),
    ],
)
def test_what_is_patched(fact: str | None, expected: str) -> None:
    assert str(owners.of(of(fact))) == expected


def test_the_container_of_a_rollout_is_addressed_by_its_position(tmp_path: Path) -> None:
    command = owner_commands.container_command(of("Rollout/api"), LIMIT)
    arguments = run(tmp_path, command, "proxy", "app", "app-2")
    assert arguments[:-1] == ["-n", "shop", "patch", "rollout/api", "--type", "json", "-p"]
    at = "/spec/template/spec/containers/1"
    assert json.loads(arguments[-1]) == [
        {"op": "test", "path": f"{at}/name", "value": "app"},
        {"op": "add", "path": f"{at}/resources/limits/cpu", "value": "500m"},
    ]
    assert run(tmp_path, command, "proxy")[-1] == "", "without it nothing is patched: kubectl refuses an empty patch"


def test_an_image_of_a_rollout_stays_as_it_is_written(tmp_path: Path) -> None:
    image = 'registry.example:5000/a%20b/app"\\@sha256:1f2a'
    command = owner_commands.container_command(of("Rollout/api"), {"image": image})
    assert json.loads(run(tmp_path, command, "app")[-1])[1]["value"] == image


def test_of_a_pod_spec_only_what_replaces_no_list_is_merged(tmp_path: Path) -> None:
    options = {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}}
    arguments = run(tmp_path, owner_commands.template_command(of("Rollout/api"), options))
    assert arguments[4:6] == ["--type", "merge"]
    assert json.loads(arguments[-1]) == {"spec": {"template": {"spec": options}}}
    assert owner_commands.template_command(of("Rollout/api"), {"containers": [{"name": "app", **LIMIT}]}) is None


def test_a_cron_job_has_its_template_in_that_of_its_jobs(tmp_path: Path) -> None:
    snapshot = of("CronJob/backup")
    arguments = run(tmp_path, owner_commands.container_command(snapshot, LIMIT))
    assert arguments[3:6] == ["cronjob/backup", "--type", "strategic"]
    pod_spec = {"containers": [{"name": "app", **LIMIT}]}
    whole = {"spec": {"jobTemplate": {"spec": {"template": {"spec": pod_spec}}}}}
    assert json.loads(arguments[-1]) == whole
    patch = owner_commands.container_patch(snapshot, LIMIT)
    assert patch.label == "Permanently (from the next run on)"
    [change] = patch.changes
    assert isinstance(change, WorkloadChange)
    assert (change.owner, change.patch) == ("cronjob/backup", whole)


@pytest.mark.parametrize("owner", ["Job/once", "Node/node-1", "Foo/bar"])
def test_what_no_command_can_patch_is_said_in_words(owner: str) -> None:
    patch = owner_commands.container_patch(of(owner), LIMIT, LIMIT)
    kind, _, name = owner.partition("/")
    assert (patch.label, patch.language) == (f"In the manifest of {kind} {name}, container app", "yaml")
    assert patch.text == "resources:\n  limits:\n    cpu: 500m"
    assert owner_commands.container_undo(of(owner), LIMIT) == "Restore resources.limits.cpu: 500m in the manifest."


def test_requests_of_a_rollout_are_said_in_words() -> None:
    """Its template need not have any, and nothing adds them to a list of containers."""
    requests: dict[str, Any] = {"resources": {"requests": {"cpu": "1"}}}
    assert owner_commands.container_patch(of("Rollout/api"), requests).language == "yaml"
    assert owner_commands.container_patch(of("Rollout/api", container="a'; rm -rf /"), LIMIT).language == "yaml"


def test_the_environment_of_a_rollout_is_a_part_of_its_manifest() -> None:
    [patch], undo = patches.environment(of("Rollout/api"), {"GOMEMLIMIT": None, "GOGC": "100"})
    assert patch.label == "In the manifest of Rollout api, container app"
    assert patch.text == ' env:\n-- name: GOMEMLIMIT\n+- name: GOGC\n+  value: "100"'
    assert patch.changes
    assert undo == "Restore the lines in the manifest."
    [command, _], undo = patches.environment(of("CronJob/backup"), {"GOGC": "100"})
    assert (command.label, command.text) == (
        "kubectl (from the next run on)", "kubectl -n shop set env cronjob/backup -c app GOGC=100",
    )  # fmt: skip
    assert undo == "kubectl -n shop set env cronjob/backup -c app GOGC-"


def test_the_limit_of_a_rollout_and_its_undo(tmp_path: Path) -> None:
    whole = recorded("fault")
    kept = tuple(one for one in whole.subject.facts if not one.name.startswith("workload."))
    facts = kept + of("Rollout/api").subject.facts
    snapshot = replace(whole, subject=replace(whole.subject, facts=facts))
    (lasting, now), undo = patches.cpu_limit(snapshot, read_cpu(snapshot), 2.0)
    assert lasting.label == "Permanently (starts a rollout)"
    assert json.loads(run(tmp_path, lasting.text, "app")[-1])[1]["value"] == "2000m"
    assert "patch pod a-pod --subresource resize" in now.text
    assert json.loads(run(tmp_path, undo, "app")[-1])[1]["value"] == "500m"


@pytest.mark.parametrize(
    ("owner", "scales"), [("Rollout/api", True), ("CronJob/backup", False), ("DaemonSet/a", False)]
)
def test_what_can_be_scaled(owner: str, scales: bool) -> None:
    assert owners.of(of(owner)).can_scale is scales
