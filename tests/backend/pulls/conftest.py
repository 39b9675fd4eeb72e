"""An incident of a CoreDNS on Kubernetes, and a repository with its manifest on a stand-in for GitHub or GitLab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.recordings.model import Recording
from tests.backend.incidents.conftest import Service, fault, service
from tests.backend.incidents.stories import recorded
from tests.support.git_hosts import REPOSITORY, TOKEN, GitHost, GitHub
from tests.support.gitlab_host import GitLab

__all__ = ["fault", "service"]  # fixtures
FACTS = {
    "workload.manager": "kubernetes", "workload.namespace": "kube-system", "workload.owner": "Deployment/coredns",
    "workload.pod": "coredns-7c9d8bb6f4-x2x9q", "workload.container": "coredns",
}  # fmt: skip
MANIFEST = """\
# DNS of the cluster
apiVersion: apps/v1
kind: Deployment
metadata:
  name: coredns
  namespace: kube-system
spec:
  replicas: 2
  template:
    spec:
      containers:
        - name: coredns
          image: "registry.k8s.io/coredns/coredns:v1.11.1"
          resources:
            limits:
              cpu:  500m   # raised in June
              memory: '170Mi'
---
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
"""
PATH = "clusters/prod/coredns.yaml"


@pytest.fixture(scope="session")
def kubernetes_fault() -> Recording:
    return recorded(Workload(seconds=80, facts=FACTS))


@pytest.fixture(scope="session")
def kubernetes_more_cpu() -> Recording:
    return recorded(Workload(seconds=80, quota_us=400_000, seed=2, facts=FACTS))


@pytest.fixture(scope="session")
def kubernetes_no_help() -> Recording:
    """A little more CPU, which is not enough."""
    return recorded(Workload(seconds=80, quota_us=52_000, seed=3, facts=FACTS))


@dataclass
class Opener:
    """Opens pull requests of one organization at one host."""

    service: Service
    host: GitHost
    kind: str

    def connect(self, *files: dict[str, Any], status: int = 201, **more: Any) -> Any:
        given = list(files) or [
            {
                "namespaces": ["kube-*"],
                "workloads": ["coredns"],
                "path": PATH,
                "format": "manifest",
            }
        ]
        request = {
            "kind": self.kind,
            "url": self.host.url,
            "repository": REPOSITORY,
            "token": TOKEN,
            "files": given,
        }
        return self.service.post("/repositories", request | more, status=status)

    def incident(self, fault: Recording) -> int:
        self.service.diagnose(self.service.feed(fault))
        return int(self.service.get("/incidents")["items"][0]["id"])

    def open(
        self,
        incident: int,
        fix: str = "raise_cpu_limit",
        status: int = 200,
        **options: Any,
    ) -> Any:
        return self.service.post(
            f"/incidents/{incident}/fixes/{fix}/pull-request",
            options or None,
            status=status,
        )

    def preview(
        self,
        incident: int,
        fix: str = "raise_cpu_limit",
        status: int = 200,
        **options: Any,
    ) -> Any:
        path = f"/incidents/{incident}/fixes/{fix}/pull-request/preview"
        return self.service.post(path, options or None, status=status)

    def listed(self, incident: int) -> dict[str, Any]:
        return {one["fix_id"]: one for one in self.service.get(f"/incidents/{incident}/pull-requests")}


@pytest.fixture
def make_host() -> Iterator[Callable[..., GitHost]]:
    running: list[GitHost] = []

    def make(kind: str, files: dict[str, str] | None = None) -> GitHost:
        made = (GitHub if kind == "github" else GitLab)({PATH: MANIFEST} if files is None else files)
        running.append(made)
        return made

    yield make
    for one in running:
        one.close()


@pytest.fixture(params=["github", "gitlab"])
def opener(request: pytest.FixtureRequest, service: Service, make_host: Callable[..., GitHost]) -> Opener:
    """The same tests on both hosts."""
    return Opener(service, make_host(request.param), request.param)


@pytest.fixture
def github(service: Service, make_host: Callable[..., GitHost]) -> Opener:
    return Opener(service, make_host("github"), "github")
