"""The chart as real Helm renders it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from labs.kubernetes import building, chart
from tests.support.lab_plan import live
from tests.support.said import say

# The first build takes minutes of CPU: if it was not made, `make test` leaves these to `make test-labs`.
BUILT = building.are_built()
# Nothing here times anything.
RENDERS = live(10, cpus=0.0, by_turn=BUILT)
# Of the Gateway API and of the Prometheus Operator.
OF_OPERATORS = {"HTTPRoute", "ServiceMonitor"}
# kubernetes-validate has the OpenAPI schemas of every minor version, as JSON Schema.
VERSIONS = [f"1.{minor}" for minor in range(30, 38)]

EVERYTHING = """
existingSecret: jitterscope
publicUrl: https://jitterscope.example.com
image: {repository: "registry.example.com:5000/team/jitterscope", tag: "0.1.0"}
imagePullSecrets: [{name: registry}]
settings: {JITTERSCOPE_LOG_LEVEL: DEBUG, JITTERSCOPE_EVIDENCE_MAX_BYTES: 402653184, JITTERSCOPE_API_LANE: true}
evidence: {existingClaim: evidence}
api:
  trustedProxies: 10.0.0.0/8
  service: {type: NodePort, port: 8080}
  resources: {requests: {cpu: 0.5, memory: 1Gi}, limits: {memory: 2560Mi}}
  drainSeconds: 10
  podDisruptionBudget: {maxUnavailable: 25%}
  autoscaling: {enabled: true, maxReplicas: 9, averageCpu: 0.5}
worker:
  autoscaling: {enabled: true}
topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, minDomains: 2}
  - {maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, nodeTaintsPolicy: Honor}
serviceMonitor: {enabled: true, interval: 1m, labels: {release: prometheus}}
httpRoute: {enabled: true, parentRefs: [{name: public, namespace: gateways, sectionName: web}], hostnames: [a.example]}
demo: {enabled: true}
nodeSelector: {kubernetes.io/arch: amd64}
tolerations: [{key: dedicated, operator: Equal, value: monitoring, effect: NoSchedule}]
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: b}}}}
ingress: {enabled: true, className: nginx, annotations: {a.b/c: "1"}, host: jitterscope.example.com, tlsSecret: tls}
networkPolicy:
  enabled: true
  apiFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
collector:
  kubeletInsecureTls: true
  kubeletResources: [nodes/proxy]
  metricsAddress: 0.0.0.0
  config: |
    [sources.tcp_requests]
    read_status = false
  priorityClassName: system-node-critical
"""


def helm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([building.ready(say)["helm"], *words], capture_output=True, text=True, check=False)


def rendered(version: str, *options: str | Path) -> list[dict[str, Any]]:
    """What Helm would send to a cluster of this version."""
    done = helm("template", "jitterscope", chart.CHART, "--kube-version", version, *options)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def by_name(objects: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}
