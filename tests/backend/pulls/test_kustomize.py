"""A fix as a Kustomize patch, for people whose repository is not known here."""

from __future__ import annotations

from typing import Any

import yaml

from jitterscope.diagnosis.core.finding import Change, CorefileChange, Fix, Patch, WorkloadChange
from jitterscope.pulls import kustomize
from jitterscope.pulls.files import kustomization, manifest
from jitterscope.recordings.model import Recording
from tests.backend.pulls.conftest import Opener


def container(**content: Any) -> WorkloadChange:
    whole = {"spec": {"template": {"spec": {"containers": [{"name": "coredns", **content}]}}}}
    return WorkloadChange(namespace="kube-system", owner="deployment/coredns", patch=whole)


LIMIT = container(resources={"limits": {"cpu": "2000m"}})
COREFILE = CorefileChange(
    namespace="kube-system", owner="deployment/coredns", plugin="forward", options={"max_concurrent": "2000"}
)


def fix(*changes: Change, **more: Any) -> Fix:
    patch = Patch(label="kubectl", language="shell", text="kubectl …", changes=list(changes))
    given: dict[str, Any] = {"verdict": "removes", "title": "", "summary": "", "verify": "", "undo": ""}
    return Fix(id="a_fix", patches=[patch], **given | more)


def files(one: Fix) -> dict[str, str]:
    return {file.path: file.text for file in kustomize.files_of(one)}


def test_a_limit_becomes_a_patch_and_its_entry() -> None:
    made = files(fix(LIMIT))
    assert list(made) == ["jitterscope-deployment-coredns.yaml", "kustomization.yaml"]
    patch = yaml.safe_load(made["jitterscope-deployment-coredns.yaml"])
    assert (patch["apiVersion"], patch["kind"]) == ("apps/v1", "Deployment")
    assert patch["metadata"] == {"name": "coredns", "namespace": "kube-system"}
    assert patch["spec"] == LIMIT.patch["spec"]
    assert kustomization.lists(made["kustomization.yaml"], "jitterscope-deployment-coredns.yaml")


def test_changes_of_one_workload_are_one_patch_and_of_two_are_two() -> None:
    both = files(fix(LIMIT, container(env=[{"name": "GOGC", "value": "50"}])))
    assert len(both) == 2
    (patched,) = yaml.safe_load(both["jitterscope-deployment-coredns.yaml"])["spec"]["template"]["spec"]["containers"]
    assert patched == {
        "name": "coredns", "resources": {"limits": {"cpu": "2000m"}}, "env": [{"name": "GOGC", "value": "50"}],
    }  # fmt: skip
    cache = WorkloadChange(namespace="kube-system", owner="daemonset/node-local-dns", patch={"spec": {"a": "b"}})
    assert list(files(fix(LIMIT, cache))) == [
        manifest.patch_name(LIMIT), "jitterscope-daemonset-node-local-dns.yaml", "kustomization.yaml",
    ]  # fmt: skip


def test_what_kustomize_cannot_change_has_none() -> None:
    assert files(fix()) == {}
    assert files(fix(LIMIT, verdict="cannot_help")) == {}
    assert files(fix(COREFILE)) == files(fix(LIMIT, COREFILE)) == {}
    assert files(fix(LIMIT.model_copy(update={"owner": "rollout/coredns"}))) == {}


def test_an_incident_has_them_without_a_repository(github: Opener, kubernetes_fault: Recording) -> None:
    incident = github.incident(kubernetes_fault)
    made = {one["fix_id"]: one["files"] for one in github.service.get(f"/incidents/{incident}/kustomize")}
    (patch, entry) = made["raise_cpu_limit"]
    assert "cpu: 2000m" in patch["text"]
    assert entry == {"path": "kustomization.yaml", "text": f"patches:\n- path: {patch['path']}\n"}
    # A value on the node is in no manifest.
    assert "cfs_burst" not in made
    github.service.get("/incidents/0/kustomize", status=404)
