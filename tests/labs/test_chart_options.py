"""What the chart has beside its pods: budgets, autoscalers, spreading, metrics for Prometheus, and its notes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from jitterscope.settings import REPOSITORY
from labs.kubernetes import chart, extensions
from tests.support.rendered_chart import OF_OPERATORS, RENDERS, by_name, helm, rendered


@RENDERS
def test_resources_of_operators_are_as_these_define_them(everything: Path) -> None:
    found = [one for one in rendered("1.34.0", "--values", everything) if one["kind"] in OF_OPERATORS]
    assert {one["kind"] for one in found} == OF_OPERATORS
    for one in found:
        _, _, version = one["apiVersion"].partition("/")
        definition = jsonschema_rs.validator_for(without_others(schema_of(one["kind"], version)))
        definition.validate(one)
        one["spec"]["parentRef"] = []
        with pytest.raises(jsonschema_rs.ValidationError, match="parentRef"):
            definition.validate(one)


def schema_of(kind: str, version: str) -> dict[str, Any]:
    """As its operator defines it for the API server."""
    for file in extensions.files():
        definition = yaml.safe_load(file.read_text())["spec"]
        for one in definition["versions"]:
            if (definition["names"]["kind"], one["name"]) == (kind, version):
                return dict(one["schema"]["openAPIV3Schema"])
    raise AssertionError(f"{kind} {version}")


def without_others(schema: Any) -> Any:
    """The schema, rejecting properties that it does not name: the API server would drop them."""
    if isinstance(schema, list):
        return [without_others(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: without_others(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        strict["additionalProperties"] = False
    return strict


@RENDERS
def test_prometheus_finds_the_pods_that_serve_metrics(everything: Path) -> None:
    found = rendered("1.34.0", "--values", everything)
    [monitor] = [one for one in found if one["kind"] == "ServiceMonitor"]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    pods = [one["spec"]["template"] for one in found if one["kind"] == "Deployment"]
    scraped = set()
    for one in (one for one in found if one["kind"] == "Service"):
        if not matches(monitor["spec"]["selector"]["matchLabels"], one):
            continue
        [port] = [port for port in one["spec"]["ports"] if port["name"] == monitor["spec"]["endpoints"][0]["port"]]
        for pod in (pod for pod in pods if matches(one["spec"]["selector"], pod)):
            told = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}
            assert told["JITTERSCOPE_METRICS_LISTEN"] == f"0.0.0.0:{port['port']}"
            scraped.add(pod["spec"]["containers"][0]["name"])
    assert scraped == {"api", "worker"}


def matches(selector: dict[str, str], one: dict[str, Any]) -> bool:
    labels: dict[str, str] = one["metadata"]["labels"]
    return selector.items() <= labels.items()


@RENDERS
def test_an_autoscaler_alone_says_how_many_pods_there_are(everything: Path) -> None:
    found = by_name(rendered("1.34.0", "--values", everything))
    fixed = by_name(rendered("1.34.0", "--set", "existingSecret=s,api.replicas=3"))
    for name in ("jitterscope-api", "jitterscope-worker"):
        deployment, budget = found["Deployment", name], found["PodDisruptionBudget", name]
        assert "replicas" not in deployment["spec"]
        assert found["HorizontalPodAutoscaler", name]["spec"]["scaleTargetRef"]["name"] == name
        assert ("HorizontalPodAutoscaler", name) not in fixed
        pod = deployment["spec"]["template"]
        for selector in (budget["spec"]["selector"], *(one["labelSelector"] for one in spread(pod))):
            assert selector["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]
        assert len(spread(pod)) == 2
    assert fixed["Deployment", "jitterscope-api"]["spec"]["replicas"] == 3
    assert found["HorizontalPodAutoscaler", "jitterscope-api"]["spec"]["maxReplicas"] == 9


def spread(pod: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pod["spec"]["topologySpreadConstraints"]
    return found


@RENDERS
def test_a_pod_of_the_api_ends_in_the_time_that_it_has(everything: Path) -> None:
    """It drains, then uvicorn finishes what it has begun, before the kubelet kills it."""
    graceful = re.search(r'"--timeout-graceful-shutdown", "(\d+)"', (REPOSITORY / "Dockerfile").read_text())
    assert graceful is not None
    schema = json.loads((chart.CHART / "values.schema.json").read_text())
    longest = schema["properties"]["api"]["properties"]["drainSeconds"]["maximum"]
    api = by_name(rendered("1.34.0", "--values", everything))["Deployment", "jitterscope-api"]["spec"]["template"]
    assert {"name": "JITTERSCOPE_DRAIN_SECONDS", "value": "10"} in api["spec"]["containers"][0]["env"]
    assert longest + int(graceful[1]) < api["spec"].get("terminationGracePeriodSeconds", 30)


@RENDERS
def test_collectors_find_the_api_by_the_first_name_that_they_ask_for() -> None:
    """In their own namespace's search domain: each further one would cost two wasted queries."""
    found = by_name(rendered("1.34.0", "--set", "existingSecret=s", "--namespace", "shop"))
    container = found["DaemonSet", "jitterscope-collector"]["spec"]["template"]["spec"]["containers"][0]
    told = {one["name"]: one.get("value") for one in container["env"]}
    assert told["JITTERSCOPE_SERVER"] == "http://jitterscope:80"
    assert found["Service", "jitterscope"]["spec"]["ports"][0]["port"] == 80


@RENDERS
def test_the_notes_lead_to_the_first_incident(tmp_path: Path) -> None:
    """Each object named by a command in the notes is one that the chart makes."""
    trial = ["--set", "trial.enabled=true"]
    # `helm template` omits the notes, and `helm install` queries a cluster even with --dry-run=client.
    copy = tmp_path / "chart"
    shutil.copytree(chart.CHART, copy)
    (copy / "templates/NOTES.txt").rename(copy / "notes.txt")
    (copy / "templates/notes.yaml").write_text(
        'kind: Notes\ntext: |\n{{ tpl (.Files.Get "notes.txt") . | indent 2 }}\n'
    )
    told = helm("template", "jitterscope", copy, *trial, "--show-only", "templates/notes.yaml")
    assert told.returncode == 0, told.stderr
    notes = yaml.safe_load(told.stdout)["text"]
    made = by_name(rendered("1.34.0", *trial))
    named = re.findall(r"(job|service|daemonset)/(\S+)", notes)
    assert {kind for kind, _ in named} == {"job", "service", "daemonset"}
    kinds = {"job": "Job", "service": "Service", "daemonset": "DaemonSet"}
    assert all((kinds[kind], name) in made for kind, name in named)
    values = re.findall(r"--set (\S+)", notes)
    assert values == ["demo.enabled=true"]
    demo = by_name(rendered("1.34.0", *trial, "--set", values[0]))
    server = demo["Deployment", "jitterscope-demo"]["spec"]["template"]["spec"]["containers"][0]
    assert server["resources"]["limits"]["cpu"] == "50m"
