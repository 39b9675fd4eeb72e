"""Files are changed where a value stands: every other byte stays, and what cannot be changed safely is refused."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
import yaml

from jitterscope.diagnosis.core.finding import CorefileChange, WorkloadChange
from jitterscope.pulls.files import corefile_text, helm, kustomization, manifest
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
        (DEPLOYMENT.replace("  500m", " {{ .Values.cpu }}"), LIMIT, "no plain scalar"),
        ("spec:\n  a: [", LIMIT, "not plain YAML (line 2)"),
        ("", LIMIT, "no object"),
        (DEPLOYMENT.replace("  500m", " &cpu 500m"), LIMIT, "no plain scalar"),
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


VALUES = """\
# chart
coredns:
  replicaCount: 2
  resources:
    limits: {cpu: 100m} # low
  env:
  - name: A
    value: a
plain:
  env: {A: a}
"""


@pytest.mark.parametrize(
    ("below", "change", "expected"),
    [
        (
            "coredns",
            LIMIT,
            ["-    limits: {cpu: 100m} # low", "+    limits: {cpu: 2000m} # low"],
        ),
        (
            "coredns",
            workload({"spec": {"replicas": 4}}),
            ["-  replicaCount: 2", "+  replicaCount: 4"],
        ),
        (
            "coredns",
            container(env=[{"name": "B", "value": "b"}]),
            ["+  - name: B", "+    value: b"],
        ),
        (
            "plain",
            container(env=[{"name": "B", "value": "b"}]),
            ["-  env: {A: a}", "+  env: {A: a, B: b}"],
        ),
    ],
)
def test_values_of_a_chart(below: str, change: WorkloadChange, expected: list[str]) -> None:
    assert lines(VALUES, helm.change_values(VALUES, change, below)) == expected


@pytest.mark.parametrize(
    ("below", "change", "says"),
    [
        ("", LIMIT, "does not set resources"),
        ("plain", LIMIT, "does not set plain.resources"),
        (
            "coredns",
            container(resources={"limits": {"memory": "1Mi"}}),
            "the chart's own values",
        ),
        (
            "plain",
            workload({"spec": {"replicas": 4}}),
            "plain.replicaCount or plain.replicas",
        ),
    ],
)
def test_what_a_chart_calls_it_is_not_guessed(below: str, change: WorkloadChange, says: str) -> None:
    with pytest.raises(CannotChange) as refused:
        helm.change_values(VALUES, change, below)
    assert says in refused.value.text


COREFILE = """\
.:53 {
    errors # all
    forward . /etc/resolv.conf # up
    cache 30 {
        success 1
    }
}
corp:53 {
\tforward . 10.0.0.1 {
\t\t# keep
\t\tforce_tcp
\t\tmax_concurrent 1000 # many
\t}
}
"""


def corefile(plugin: str = "forward", **options: str | None) -> CorefileChange:
    return CorefileChange(
        namespace="kube-system",
        owner="deployment/coredns",
        plugin=plugin,
        options=options,
    )


def test_options_of_a_corefile_alone_and_in_a_config_map() -> None:
    change = corefile(max_concurrent="500", force_tcp=None)
    expected = [
        "-    forward . /etc/resolv.conf # up", "+    forward . /etc/resolv.conf { # up", "+        max_concurrent 500",
        "+    }", "-\t\tforce_tcp", "-\t\tmax_concurrent 1000 # many", "+\t\tmax_concurrent 500 # many",
    ]  # fmt: skip
    assert lines(COREFILE, corefile_text.change_corefile(COREFILE, change)) == expected
    spaced = COREFILE.replace("\t", "    ")
    body = "".join(f"    {line}\n" for line in spaced.splitlines())
    config_map = f"# DNS\nkind: ConfigMap\nmetadata: {{name: coredns}}\ndata:\n  Corefile: |\n{body}  other: x # y\n"
    new = corefile_text.change_corefile(config_map, change)
    assert yaml.safe_load(new)["data"] == {
        "Corefile": corefile_text.change_corefile(spaced, change),
        "other": "x",
    }
    assert new.startswith("# DNS\n")
    assert new.endswith("  other: x # y\n")
    in_block = corefile_text.change_corefile(COREFILE, corefile("cache", serve_stale="1h immediate"))
    assert lines(COREFILE, in_block) == ["+        serve_stale 1h immediate"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: Service\nmetadata: {name: x}\n", "no ConfigMap with a Corefile"),
        (". {\n  errors\n}\n", "does not use the plugin forward"),
        (". {\n  forward . 1.1.1.1\n", "not closed"),
        (
            'kind: ConfigMap\ndata:\n  Corefile: ". {\\n forward . 1.1.1.1\\n}"\n',
            "no text block",
        ),
    ],
)
def test_a_corefile_that_cannot_be_changed_says_why(text: str, says: str) -> None:
    with pytest.raises(CannotChange) as refused:
        corefile_text.change_corefile(text, corefile(max_concurrent="1"))
    assert says in refused.value.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resources:\n- a.yaml", "resources:\n- a.yaml\npatches:\n- path: p.yaml\n"),
        (
            "patches:\n  - path: b.yaml # x\n# end\n",
            "patches:\n  - path: b.yaml # x\n  - path: p.yaml\n# end\n",
        ),
    ],
)
def test_a_kustomization_lists_the_patch(text: str, expected: str) -> None:
    assert not kustomization.lists(text, "p.yaml")
    assert kustomization.with_patch(text, "p.yaml") == expected
    assert kustomization.lists("patchesStrategicMerge: [./p.yaml]", "p.yaml")
