"""Manifests change only where a value stands: every other byte stays, and unsafe changes are rejected."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
import yaml

from jitterscope.diagnosis.core.finding import WorkloadChange
from jitterscope.pulls.files import manifest
from jitterscope.pulls.files.errors import CannotChange

DEPLOYMENT = """\
# Managed by Flux
apiVersion: apps/v1
kind: Deployment
metadata: {name: coredns, namespace: kube-system}
spec:
  replicas: 2   # two
  template:
    spec:
      containers:
        - name: coredns
          image: "x:1"

          resources:
            limits:
              cpu:   500m    # tight
              memory: '170Mi'
            requests: {cpu: 100m}
          env:
            - name: A
              value: "1"
            # about B
            - name: B
              value: |
                x
                y
        # the sidecar
        - name: other
          resources:
          args:
          - a
# end
---
kind: Service
metadata:
  name: coredns
"""


def workload(spec: dict[str, Any], owner: str = "deployment/coredns") -> WorkloadChange:
    return WorkloadChange(namespace="kube-system", owner=owner, patch=spec)


def container(name: str = "coredns", **content: Any) -> WorkloadChange:
    return workload({"spec": {"template": {"spec": {"containers": [{"name": name, **content}]}}}})


def lines(before: str, after: str) -> list[str]:
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in list(found)[2:] if not line.startswith("@@")]


LIMIT = container(resources={"limits": {"cpu": "2000m"}})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            LIMIT,
            [
                "-              cpu:   500m    # tight",
                "+              cpu:   2000m    # tight",
            ],
        ),
        (
            container(resources={"limits": {"memory": "256Mi"}}),
            ["-              memory: '170Mi'", "+              memory: '256Mi'"],
        ),
        (
            container(resources={"requests": {"memory": "1Mi"}}),
            [
                "-            requests: {cpu: 100m}",
                "+            requests: {cpu: 100m, memory: 1Mi}",
            ],
        ),
        (
            container(env=[{"name": "A", "value": "off"}]),
            ['-              value: "1"', '+              value: "off"'],
        ),
        (
            container(env=[{"name": "GOGC", "value": "off"}]),
            ["+            - name: GOGC", "+              value: 'off'"],
        ),
        (
            container(env=[{"name": "A", "$patch": "delete"}]),
            ["-            - name: A", '-              value: "1"'],
        ),
        (
            container("other", env=[{"name": "X", "value": "1"}]),
            ["+          env:", "+          - name: X", "+            value: '1'"],
        ),
        (
            container("other", resources={"requests": {"cpu": "1"}}),
            ["+            requests:", "+              cpu: '1'"],
        ),
        (
            workload({"spec": {"replicas": 5}}),
            ["-  replicas: 2   # two", "+  replicas: 5   # two"],
        ),
        (
            workload({"spec": {"template": {"spec": {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}}}}}),
            [
                "+      dnsConfig:",
                "+        options:",
                "+        - name: ndots",
                "+          value: '2'",
            ],
        ),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_only_the_named_lines_of_a_manifest_change(change: WorkloadChange, expected: list[str], line_end: str) -> None:
    text = DEPLOYMENT.replace("\n", line_end)
    new = manifest.change_manifest(text, change)
    assert lines(text, new) == expected
    assert new.count("\r\n") == (new.count("\n") if line_end == "\r\n" else 0)


@pytest.mark.parametrize(
    ("text", "change", "says"),
    [
        (DEPLOYMENT, workload({"spec": {"replicas": 1}}, "deployment/other"), "Deployment/coredns, Service/coredns"),
        (DEPLOYMENT.replace("kube-system", "dns"), LIMIT, "no deployment/coredns in namespace kube-system"),
        (DEPLOYMENT, container("nope", resources={"limits": {"cpu": "1"}}), "does not have"),
        (DEPLOYMENT, container("other", resources={"limits": {"cpu": "1"}}), "comes from somewhere else"),
        (DEPLOYMENT, container(env=[{"name": "C", "$patch": "delete"}]), "does not have"),
        (DEPLOYMENT + "---\n" + DEPLOYMENT, LIMIT, "2 objects"),
        (DEPLOYMENT.replace("  500m", " {{ .Values.cpu }}"), LIMIT, "not a plain scalar"),
        ("spec:\n  a: [", LIMIT, "not plain YAML (line 2)"),
        ("", LIMIT, "no object"),
        (DEPLOYMENT.replace("  500m", " &cpu 500m"), LIMIT, "not a plain scalar"),
        (
            DEPLOYMENT.replace('              value: "1"', "              valueFrom: {fieldRef: {fieldPath: x}}"),
            container(env=[{"name": "A", "value": "2"}]),
            "valueFrom",
        ),
        (
            DEPLOYMENT.replace("# Managed by Flux", "x: &limits {cpu: 1}").replace(
                "            limits:\n              cpu:   500m    # tight\n              memory: '170Mi'\n",
                "            limits: *limits\n",
            ),
            LIMIT,
            "alias",
        ),
        (
            DEPLOYMENT.replace("# Managed by Flux", "x: &limits {cpu: 1}").replace(
                "              cpu:   500m    # tight\n", "              <<: *limits\n"
            ),
            LIMIT,
            "anchor",
        ),
        (DEPLOYMENT.replace("              memory: '170Mi'\n", "              cpu: 1\n"), LIMIT, "more than once"),
    ],
)  # fmt: skip
def test_a_manifest_that_cannot_be_changed_says_why(text: str, change: WorkloadChange, says: str) -> None:
    with pytest.raises(CannotChange) as refused:
        manifest.change_manifest(text, change)
    assert says in refused.value.text
    assert refused.value.what_to_do


@pytest.mark.slow
def test_a_file_made_to_cost_is_refused_quickly() -> None:
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for n in range(1, 9):
        laughs += f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n"
    with pytest.raises(CannotChange, match="too many values"):
        manifest.change_manifest(laughs + "kind: Deployment\nmetadata: {name: coredns}\nspec: {replicas: 1}\n",
                                 workload({"spec": {"replicas": 2}}))  # fmt: skip
    with pytest.raises(CannotChange):
        manifest.change_manifest("[" * 5000, LIMIT)


def test_a_patch_is_made_then_added_to_then_changed() -> None:
    made = manifest.change_patch(None, LIMIT)
    assert yaml.safe_load(made) == {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "coredns", "namespace": "kube-system"},
        "spec": LIMIT.patch["spec"],
    }  # fmt: skip
    more = manifest.change_patch("# ours\n" + made, container(env=[{"name": "GOGC", "value": "50"}]))
    assert lines("# ours\n" + made, more) == [
        "+        env:",
        "+        - name: GOGC",
        "+          value: '50'",
    ]
    other = manifest.change_patch(more, workload({"spec": {"replicas": 3}}, "daemonset/cache"))
    assert other.startswith(more)
    assert [one["kind"] for one in yaml.safe_load_all(other)] == [
        "Deployment",
        "DaemonSet",
    ]
    removal = manifest.change_patch(None, container(env=[{"name": "A", "$patch": "delete"}]))
    assert "$patch: delete" in removal


ROLLOUT = DEPLOYMENT.replace("apps/v1", "argoproj.io/v1alpha1").replace("kind: Deployment", "kind: Rollout")


def test_a_rollout_changes_in_its_manifest_but_in_no_patch() -> None:
    """Kustomize knows no schema of it: the patch would replace its list of containers."""
    change = LIMIT.model_copy(update={"owner": "rollout/coredns"})
    assert lines(ROLLOUT, manifest.change_manifest(ROLLOUT, change)) == lines(
        DEPLOYMENT, manifest.change_manifest(DEPLOYMENT, LIMIT)
    )
    with pytest.raises(CannotChange, match="replace all of its containers"):
        manifest.change_patch(None, change)
    replicas = yaml.safe_load(manifest.change_patch(None, workload({"spec": {"replicas": 3}}, "rollout/coredns")))
    assert (replicas["apiVersion"], replicas["spec"]) == ("argoproj.io/v1alpha1", {"replicas": 3})


def test_a_cron_job_has_its_template_deeper() -> None:
    whole = {"spec": {"jobTemplate": LIMIT.patch}}
    change = LIMIT.model_copy(update={"owner": "cronjob/coredns", "patch": whole, "now": {}})
    made = manifest.change_patch(None, change)
    found = yaml.safe_load(made)
    assert (found["apiVersion"], found["kind"], found["spec"]) == ("batch/v1", "CronJob", whole["spec"])
    assert manifest.change_manifest(made, change) == made
