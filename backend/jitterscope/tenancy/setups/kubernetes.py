"""The collector on every node of a Kubernetes cluster, by the chart without its backend."""

from __future__ import annotations

import shlex

from jitterscope.tenancy.setups.setup import TOKEN, Setup


def setup(server: str) -> Setup:
    return Setup(
        name="kubernetes", title="Kubernetes", sends="ticks", file="Run this in a checkout of Jitterscope",
        text=_text(server),
        next="The nodes pull the image jitterscope-collector (collector/Dockerfile): push it to a registry that they "
        "reach and add --set collector.image.repository=REGISTRY/jitterscope-collector. A cluster in which the chart "
        "runs this service already has collectors.",
    )  # fmt: skip


def _text(server: str) -> str:
    values = shlex.quote(f"backend.enabled=false,existingSecret=jitterscope,collector.server={server}")
    return f"""\
kubectl create namespace jitterscope
kubectl label namespace jitterscope pod-security.kubernetes.io/enforce=privileged
kubectl -n jitterscope create secret generic jitterscope \\
  --from-literal=JITTERSCOPE_COLLECTOR_TOKEN={TOKEN}
helm install jitterscope helm/jitterscope -n jitterscope \\
  --set {values}
"""
