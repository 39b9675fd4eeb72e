"""The chart with its trial database on the cluster, from its images to its removal as in docs/deploy.md."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from labs import packages
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import backend, chart, cluster, dns, objects, volumes
from labs.kubernetes.case import Watched
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import HOST_LINK, NODE_ADDRESS, SERVICE_NETWORK
from labs.product import Product

RELEASE, NAMESPACE = chart.RELEASE, chart.NAMESPACE
# Claims of a trial's StatefulSets.
CLAIMS = {f"data-{RELEASE}-timescaledb-0": "20Gi", f"data-{RELEASE}-valkey-0": "1Gi"}
REMOVAL = (
    f"kubectl -n {NAMESPACE} delete pvc,secret -l app.kubernetes.io/instance={RELEASE}",
    f"kubectl -n {NAMESPACE} delete job {RELEASE}-setup-upgrade",
    f"kubectl delete namespace {NAMESPACE}",
)
TIMEOUT = "--timeout=180s"
UNTIL_READY = ("--wait", "--wait-for-jobs", TIMEOUT)


@contextmanager
def running(say: Say, *options: str) -> Iterator[Watched]:
    """A trial on two nodes, removed afterwards. `options` are those of `helm install`."""
    with cluster.running(say, nodes=2) as made:
        load(made, say)
        with objects.running(made, (dns.cluster_dns(),)), room(made):
            try:
                say("helm install")
                install(made, *options)
                with Product.signed_in(url(made), *first_login(made)) as product:
                    yield Watched(made, product)
            finally:
                remove(made)


def load(made: Cluster, say: Say) -> None:
    """Load the images of the chart and of the cluster's DNS."""
    say("Loading images of the backend, TimescaleDB, Valkey, and the collector")
    for image in backend.images():
        made.load(image)
    objects.load_coredns(made)
    chart.load_collector(made)


@contextmanager
def room(made: Cluster) -> Iterator[None]:
    """Volumes for its claims, and a way to its Services, until the context ends."""
    with volumes.for_claims(made, NAMESPACE, CLAIMS), services_reached():
        yield


def helm(made: Cluster, verb: str, *options: str) -> None:
    """`helm install` or `helm upgrade`, until all is ready. Raises LabError if it fails."""
    where = (RELEASE, str(chart.CHART), "-n", NAMESPACE)
    made.helm(verb, *where, *options, *UNTIL_READY)


def install(made: Cluster, *options: str) -> None:
    """`helm install`, until all is ready. Raises LabError if it fails."""
    helm(made, "install", "--create-namespace", "--set", "trial.enabled=true", *options)


def url(made: Cluster) -> str:
    """The URL of its API on this machine."""
    return f"http://{made.get('-n', NAMESPACE, 'service', RELEASE)['spec']['clusterIP']}"


def first_login(made: Cluster) -> tuple[str, str]:
    """The credentials from the set-up's log, as NOTES.txt describes."""
    return login_in(made.kubectl("-n", NAMESPACE, "logs", f"job/{RELEASE}-setup"))


def login_in(log: str) -> tuple[str, str]:
    """The credentials in a log of the set-up. Raises LabError if it has none."""
    found = re.search(r"^ +(\S+@\S+) +(\S+)$", log, re.MULTILINE)
    if found is None:
        raise LabError(f"The set-up log has no first login: {log}")
    return found[1], found[2]


def ingest_token(made: Cluster) -> str:
    """The token of the chart's own collector."""
    name = "{.data.JITTERSCOPE_COLLECTOR_TOKEN}"
    return made.shell(f"kubectl -n {NAMESPACE} get secret {RELEASE}-trial -o 'jsonpath={name}' | base64 -d")


def remove(made: Cluster) -> None:
    """Remove all of it as docs/deploy.md describes, also after a failure."""
    made.shell(f"helm uninstall {RELEASE} -n {NAMESPACE} --ignore-not-found --wait")
    for command in REMOVAL:
        made.shell(f"{command} --ignore-not-found")
    chart.remove_spools(made)


@contextmanager
def services_reached() -> Iterator[None]:
    """Let this machine reach the Services, as the node does."""
    route = [SERVICE_NETWORK, "via", NODE_ADDRESS, "dev", HOST_LINK]
    packages.run(["ip", "route", "replace", *route])
    try:
        yield
    finally:
        # If the cluster ends and takes its link along, the route is gone as well.
        subprocess.run(["ip", "route", "delete", *route], capture_output=True, check=False)
