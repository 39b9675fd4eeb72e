"""The chart as real Helm reads it: every install of docs/deploy.md renders into objects that Kubernetes knows.

A mistake in values is rejected with the key that it is in.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from jitterscope.settings import REPOSITORY
from labs.kubernetes import building, chart
from tests.support.rendered_chart import OF_OPERATORS, RENDERS, VERSIONS, by_name, helm, rendered
from tests.support.said import say

# What people write → what Helm's error names.
MISTAKES = {
    "{existingSecret: s, api: {replica: 3}}": ["/api", "replica"],
    "{existingSecret: s, apis: {replicas: 3}}": ["apis"],
    "{existingSecret: s, worker: {replicas: two}}": ["/worker/replicas", "integer"],
    "{existingSecret: s, worker: {concurrency: 0}}": ["/worker/concurrency", "minimum"],
    "{existingSecret: s, image: {tag: 1.0}}": ["/image/tag", "string"],
    "{existingSecret: s, image: {repository: 'jitterscope:0.1.0'}}": ["/image/repository", "pattern"],
    "{existingSecret: s, image: {pullPolicy: always}}": ["/image/pullPolicy", "IfNotPresent"],
    "{existingSecret: s, imagePullSecrets: [registry]}": ["/imagePullSecrets/0", "object"],
    "{existingSecret: {name: s}}": ["/existingSecret", "string"],
    "{existingSecret: s, publicUrl: jitterscope.example.com}": ["/publicUrl", "https?://"],
    "{existingSecret: s, publicUrl: 'https://jitterscope.example.com/'}": ["/publicUrl", "pattern"],
    "{existingSecret: s, settings: {LOG_LEVEL: DEBUG}}": ["/settings", "LOG_LEVEL"],
    "{existingSecret: s, settings: {JITTERSCOPE_DATABASE_URL: 'postgresql:'}}": ["/settings/JITTERSCOPE_DATABASE_URL"],
    "{existingSecret: s, api: {resources: {limits: {memory: 2.5 GB}}}}": ["/api/resources/limits/memory", "pattern"],
    "{existingSecret: s, api: {resources: {memory: 2Gi}}}": ["/api/resources", "memory"],
    "{existingSecret: s, api: {service: {port: 80000}}}": ["/api/service/port", "65,535"],
    "{existingSecret: s, ingress: {enabled: 'yes'}}": ["/ingress/enabled", "boolean"],
    "{existingSecret: s, ingress: {host: 'https://jitterscope.example.com'}}": ["/ingress/host", "pattern"],
    "{existingSecret: s, api: {podDisruptionBudget: {maxUnavailable: 0}}}": ["/api/podDisruptionBudget", "minimum"],
    "{existingSecret: s, api: {podDisruptionBudget: {minAvailable: 1}}}": ["/api/podDisruptionBudget", "minAvailable"],
    "{existingSecret: s, api: {drainSeconds: 60}}": ["/api/drainSeconds", "maximum"],
    "{existingSecret: s, worker: {autoscaling: {enabled: true, averageCpu: 60%}}}": ["/worker/autoscaling/averageCpu"],
    "{existingSecret: s, topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: Never}]}": [
        "/topologySpreadConstraints/0/whenUnsatisfiable"
    ],
    "{existingSecret: s, topologySpreadConstraints: {maxSkew: 1}}": ["/topologySpreadConstraints", "array"],
    "{existingSecret: s, serviceMonitor: {enabled: true, interval: 30}}": ["/serviceMonitor/interval", "string"],
    "{existingSecret: s, httpRoute: {enabled: true, parentRefs: [gateway]}}": ["/httpRoute/parentRefs/0", "object"],
    "{existingSecret: s, httpRoute: {hostnames: ['https://a.example']}}": ["/httpRoute/hostnames/0", "pattern"],
    "{existingSecret: s, networkPolicy: {apiFrom: [10.0.0.0/8]}}": ["/networkPolicy/apiFrom/0", "object"],
    "{existingSecret: s, collector: {capabilities: [CAP_BPF]}}": ["/collector/capabilities/0", "SYS_PTRACE"],
    "{existingSecret: s, collector: {capabilities: BPF}}": ["/collector/capabilities", "array"],
    "{existingSecret: s, collector: {runtimeSocket: 'unix:///run/containerd.sock'}}": ["/collector/runtimeSocket"],
    "{existingSecret: s, collector: {journalFolders: /var/log}}": ["/collector/journalFolders", "array"],
    "{existingSecret: s, collector: {server: jitterscope.example.com}}": ["/collector/server", "https?://"],
    "{existingSecret: s, collector: {tolerations: [{operator: Exist}]}}": ["/collector/tolerations/0/operator"],
    "{existingSecret: s, collector: {config: {sources: {}}}}": ["/collector/config", "string"],
    "{trial: {enabled: true, storage: 20Gi}}": ["/trial", "storage"],
    "{trial: {enabled: true, timescaledb: {storage: 20 Gi}}}": ["/trial/timescaledb/storage", "pattern"],
    # Without a schema: these depend on each other.
    "{existingSecret: s, httpRoute: {enabled: true}}": ["httpRoute.parentRefs", "Gateway"],
    "{existingSecret: s, serviceMonitor: {enabled: true}, metricsPort: 0}": ["serviceMonitor.enabled", "metricsPort"],
    "{}": ["existingSecret", "trial.enabled"],
    "{backend: {enabled: false}, existingSecret: s}": ["collector.server"],
}  # fmt: skip


def installs() -> dict[str, list[str]]:
    """The options of each `helm install` in docs/deploy.md, by what the chart is told there."""
    text = (REPOSITORY / "docs" / "deploy.md").read_text().replace("\\\n", " ")
    found = re.findall(r"helm install jitterscope helm/jitterscope ([^`\n]+)", text)
    told = {}
    for command in found:
        words = shlex.split(command.replace("https://…", "https://jitterscope.example.com"))
        values = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
        told[",".join(values)] = [option for value in values for option in ("--set", value)]
    return told


@RENDERS
def test_helm_accepts_every_install_of_the_docs(everything: Path) -> None:
    modes = installs()
    assert len(modes) == 3, modes
    for options in (*modes.values(), ["--values", str(everything)]):
        done = helm("lint", "--strict", chart.CHART, *options)
        assert done.returncode == 0, done.stdout + done.stderr


@RENDERS
@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_one_that_kubernetes_knows(version: str, everything: Path) -> None:
    kinds: set[str] = set()
    with_everything = ["--values", str(everything)]
    modes = [*installs().values(), with_everything, [*with_everything, "--is-upgrade"]]
    for options in modes:
        for one in rendered(f"{version}.0", *options):
            kinds.add(one["kind"])
            if one["kind"] not in OF_OPERATORS:
                kubernetes_validate.validate(one, version, strict=True)
    assert kinds >= {"DaemonSet", "Deployment", "StatefulSet", "Job", "Ingress", "NetworkPolicy", "ClusterRole"}
    assert kinds >= {"PodDisruptionBudget", "HorizontalPodAutoscaler", *OF_OPERATORS}
    # The control: a wrong field in one of them is found.
    [daemon] = [one for one in rendered(f"{version}.0", "--values", everything) if one["kind"] == "DaemonSet"]
    daemon["spec"]["template"]["spec"]["hostPid"] = True
    with pytest.raises(kubernetes_validate.ValidationError, match="hostPid"):
        kubernetes_validate.validate(daemon, version, strict=True)


@RENDERS
def test_only_the_collector_has_a_token_of_the_cluster(everything: Path) -> None:
    holders: set[str] = set()
    for options in (["--values", str(everything)], ["--set", "trial.enabled=true"]):
        for one in rendered("1.34.0", *options):
            pod = one.get("spec", {}).get("template", {}).get("spec")
            if pod is not None and pod.get("automountServiceAccountToken") is not False:
                holders.add(f"{one['kind']}/{one['metadata']['name']}")
    assert holders == {"DaemonSet/jitterscope-collector"}


@RENDERS
def test_an_older_kubernetes_is_refused_by_its_version(everything: Path) -> None:
    done = helm("template", "jitterscope", chart.CHART, "--kube-version", "1.29.14", "--values", everything)
    assert done.returncode != 0
    assert "1.29.14" in done.stderr
    assert "1.30" in done.stderr


@RENDERS
def test_the_oldest_kubernetes_is_the_first_with_what_the_collector_needs(everything: Path) -> None:
    refused = {}
    for one in (one for one in rendered(f"{VERSIONS[0]}.0", "--values", everything) if one["kind"] not in OF_OPERATORS):
        try:
            kubernetes_validate.validate(one, "1.29", strict=True)
        except kubernetes_validate.ValidationError as error:
            refused[one["kind"]] = error.message
    [(kind, message)] = refused.items()
    assert (kind, "'appArmorProfile' was unexpected" in message) == ("DaemonSet", True), message


@RENDERS
def test_a_mistake_is_refused_with_its_key(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    for values, named in MISTAKES.items():
        file.write_text(values)
        done = helm("template", "jitterscope", chart.CHART, "--values", file)
        assert done.returncode != 0, values
        assert all(word in done.stderr for word in named), f"{values}: {done.stderr}"


@RENDERS
def test_a_large_number_stays_one(everything: Path) -> None:
    found = by_name(rendered("1.34.0", "--values", everything))
    api = found["Deployment", "jitterscope-api"]
    told = {one["name"]: one.get("value") for one in api["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert told["JITTERSCOPE_EVIDENCE_MAX_BYTES"] == "402653184"
    assert told["JITTERSCOPE_API_LANE"] == "true"


@RENDERS
def test_an_upgrade_of_a_trial_fits_on_two_cpus() -> None:
    """New pods run beside the old ones until they are ready: one more of each Deployment that does not recreate."""
    asked = 0
    for one in rendered("1.34.0", "--set", "trial.enabled=true"):
        if "template" not in (spec := one.get("spec", {})):
            continue
        pods = spec.get("replicas", 1)
        pods += 1 if one["kind"] == "Deployment" and spec.get("strategy", {}).get("type") != "Recreate" else 0
        for container in spec["template"]["spec"]["containers"]:
            asked += pods * int(container["resources"]["requests"]["cpu"].removesuffix("m"))
    # A node of 2 CPUs has about 900m left beside what a cluster runs by itself.
    assert 0 < asked <= 900


@RENDERS
@pytest.mark.parametrize("base", ["base", "collectors"])
def test_kustomize_makes_the_objects_of_the_chart(base: str) -> None:
    options = ["--set", "existingSecret=jitterscope"]
    if base == "collectors":
        options += ["--set", "backend.enabled=false,collector.server=https://jitterscope.example.com"]
    kubectl = building.ready(say)["kubectl"]
    folder = REPOSITORY / "kustomize" / base
    built = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True).stdout
    found = by_name(yaml.safe_load_all(built))
    assert found.pop(("Namespace", "jitterscope"))["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    wanted = by_name(rendered("1.33.0", "--namespace", "jitterscope", *options))
    assert found.keys() == wanted.keys()
    for key, one in found.items():
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
        space = None if key[0].startswith("Cluster") else "jitterscope"
        assert one["metadata"].pop("namespace", None) == wanted[key]["metadata"].pop("namespace", space)
        assert one == unmanaged(wanted[key])


@RENDERS
def test_the_overlay_of_the_docs_changes_the_images(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "deploy.md").read_text()
    [overlay] = [one for one in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "kustomize/base" in one]
    base = os.path.relpath(REPOSITORY / "kustomize" / "base", tmp_path)
    (tmp_path / "kustomization.yaml").write_text(overlay.replace("../jitterscope/kustomize/base", base))
    kubectl = building.ready(say)["kubectl"]
    built = subprocess.run([kubectl, "kustomize", tmp_path], capture_output=True, text=True, check=True).stdout
    images = set(re.findall(r"image: (.*)", built))
    assert images == {f"registry.example.com/{name}:0.1.0" for name in ("jitterscope", "jitterscope-collector")}


def unmanaged(tree: Any) -> Any:
    """Without the labels that say that Helm manages it."""
    if isinstance(tree, dict):
        return {name: unmanaged(value) for name, value in tree.items() if name != "app.kubernetes.io/managed-by"}
    return [unmanaged(one) for one in tree] if isinstance(tree, list) else tree
