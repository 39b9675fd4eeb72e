"""Resources that operators add to a cluster: the Prometheus Operator, the Gateway API, Argo Rollouts, and VPA.

Their definitions come from the Go modules of these projects; none of their programs runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labs import packages
from labs.kubernetes.cluster import Cluster

# Module → its file with the definition. What the chart can install, and what controls or scales workloads.
OF_CHART = {
    "sigs.k8s.io/gateway-api@v1.4.0": "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
    ),
}
OF_WORKLOADS = {
    "github.com/argoproj/argo-rollouts@v1.8.3": "manifests/crds/rollout-crd.yaml",
    "k8s.io/autoscaler/vertical-pod-autoscaler@v1.4.1": "deploy/vpa-v1-crd-gen.yaml",
}


def files(which: Mapping[str, str] = OF_CHART) -> list[Path]:
    """The files with the definitions, downloaded if missing. Raises LabError if that fails."""
    return [_module(name) / file for name, file in which.items()]


@contextmanager
def known(cluster: Cluster, which: Mapping[str, str] = OF_CHART) -> Iterator[None]:
    """The API server accepts these resources until the context ends."""
    try:
        for file in files(which):
            # A client-side apply would repeat the whole definition in an annotation, which is too long.
            cluster.kubectl("apply", "--server-side", "-f", str(file))
            # kubectl 1.34 ends with an error if it looks before the first condition is there.
            cluster.kubectl("wait", "--for=jsonpath={.status.conditions[0].type}", "-f", str(file), "--timeout=60s")
            cluster.kubectl("wait", "--for=condition=Established", "-f", str(file), "--timeout=60s")
        yield
    finally:
        for file in files(which):
            cluster.kubectl("delete", "-f", str(file), "--ignore-not-found", "--wait=false")


def _module(name: str) -> Path:
    told = packages.run(["go", "mod", "download", "-json", name], Path("/"), {"GOFLAGS": "-mod=mod"})
    return Path(json.loads(told)["Dir"])
