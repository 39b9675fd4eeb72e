"""The chart from `helm install` to `helm uninstall` on the cluster, with requests that never stop meanwhile."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from jitterscope.series.types import TICK_US
from labs import packages
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import backend, chart, cluster, dns, objects, traces, volumes
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import HOST_LINK, NODE_ADDRESS, SERVICE_NETWORK
from labs.kubernetes.sending import TICK, Requests, Sender, Traffic
from labs.product import Product

RELEASE = NAMESPACE = "jitterscope"
# What a trial's StatefulSets claim.
_CLAIMS = {f"data-{RELEASE}-timescaledb-0": "20Gi", f"data-{RELEASE}-valkey-0": "1Gi"}
# What docs/deploy.md says that `helm uninstall` leaves, and what a namespace has by itself.
LEFT_OBJECTS = {
    f"Namespace {NAMESPACE}",
    f"ServiceAccount {NAMESPACE}/default",
    f"ConfigMap {NAMESPACE}/kube-root-ca.crt",
    f"Secret {NAMESPACE}/{RELEASE}-trial",
    *(f"PersistentVolumeClaim {NAMESPACE}/{claim}" for claim in _CLAIMS),
}
LEFT_ON_NODE = {f"file {chart.SPOOL}"}
_SENDERS, _READERS = 6, 2
_PATIENCE = "180s"
_SETTLES_S = 120.0
_STORED_PATIENCE_S = 20.0
_LOW_BITS = 0x7FFFFFFF


class Phase(BaseModel):
    """What happened to requests. `retried`: attempts that were not the last, by request and reason."""

    model_config = ConfigDict(extra="forbid")

    phase: str
    seconds: float
    answered: int
    retried: dict[str, int]
    slowest_ms: float


class Stored(BaseModel):
    """What a node sent, and what the product has of it. `wrong`: ticks with another value than the one sent."""

    model_config = ConfigDict(extra="forbid")

    node: str
    batches: int
    stored_batches: int
    ticks: int
    missing: int
    wrong: int


class Report(BaseModel):
    """`ready_s`: from `helm install` to all pods ready; `signed_in_s`: to the first login; `data_s`: to the first data
    of the chart's own collector. `left_*`: what there is after `helm uninstall` that was not there before;
    `after_removal`: what of it stays once the commands of docs/deploy.md were run as well."""

    model_config = ConfigDict(extra="forbid")

    images_s: float
    ready_s: float
    signed_in_s: float
    data_s: float
    phases: list[Phase]
    stored: list[Stored]
    left_objects: list[str]
    left_on_node: list[str]
    after_removal: list[str]


@dataclass(frozen=True, slots=True)
class _Before:
    objects: set[str]
    node: set[str]


def run(say: Say) -> Report:
    """Install, upgrade, roll back, uninstall, remove. Raises LabError where a step fails."""
    with cluster.running(say) as made, _services_reached():
        began = time.monotonic()
        say("Loading images of the backend, TimescaleDB, Valkey, and the collector")
        for image in backend.images():
            made.load(image)
        objects.load_coredns(made)
        chart.load_collector(made)
        images_s = time.monotonic() - began
        with objects.running(made, (dns.cluster_dns(),)), volumes.for_claims(made, NAMESPACE, _CLAIMS):
            before = _Before(traces.objects(made), traces.node(made))
            try:
                report = _live(made, images_s, say)
                return _removed(made, before, report, say)
            finally:
                _remove(made)


def _live(made: Cluster, images_s: float, say: Say) -> Report:
    """From the installation to the last request."""
    began = time.monotonic()
    say("helm install")
    _helm(made, "install", "--create-namespace", "--set", "trial.enabled=true")
    ready_s = time.monotonic() - began
    url = f"http://{made.get('-n', NAMESPACE, 'service', RELEASE)['spec']['clusterIP']}"
    with Product.signed_in(url, *_first_login(made)) as product:
        signed_in_s = time.monotonic() - began
        product.wait_for("the chart's collector", product.receives, 60)
        data_s = time.monotonic() - began
        traffic = Traffic(url, _ingest_token(made), product.cookies, _SENDERS, _READERS)
        phases = _upgraded(made, traffic, say)
        say("Comparing what was sent with what is stored")
        return Report(
            images_s=round(images_s, 1),
            ready_s=round(ready_s, 1),
            signed_in_s=round(signed_in_s, 1),
            data_s=round(data_s, 1),
            phases=phases,
            stored=[_stored(product, one) for one in traffic.senders],
            left_objects=[],
            left_on_node=[],
            after_removal=[],
        )


def _upgraded(made: Cluster, traffic: Traffic, say: Say) -> list[Phase]:
    """Each step under requests, and the time before and after."""
    seconds: dict[str, float] = {}

    @contextmanager
    def phase(name: str) -> Iterator[None]:
        say(name)
        traffic.phase(name)
        began = time.monotonic()
        yield
        seconds[name] = time.monotonic() - began

    traffic.phase("before")
    with traffic.running():
        with phase("before"):
            time.sleep(5)
        with phase("helm upgrade"):
            _helm(made, "upgrade", "--reuse-values", "--set", f"image.tag={backend.NEWER}")
        with phase("after the upgrade"):
            time.sleep(10)
        with phase("helm rollback"):
            made.helm("rollback", RELEASE, "1", "-n", NAMESPACE, "--wait", "--wait-for-jobs", "--timeout", _PATIENCE)
        with phase("after the rollback"):
            time.sleep(10)
    return [_told(name, seconds[name], requests) for name, requests in traffic.phases.items()]


def _helm(made: Cluster, verb: str, *options: str) -> None:
    made.helm(
        verb, RELEASE, str(chart.CHART), "-n", NAMESPACE, *options, "--wait", "--wait-for-jobs", "--timeout", _PATIENCE
    )


def _told(name: str, seconds: float, requests: Requests) -> Phase:
    return Phase(
        phase=name,
        seconds=round(seconds, 1),
        answered=requests.answered,
        retried=dict(requests.retried),
        slowest_ms=round(requests.slowest_s * 1e3, 1),
    )


def _first_login(made: Cluster) -> tuple[str, str]:
    """As NOTES.txt says: from the log of the set-up."""
    log = made.kubectl("-n", NAMESPACE, "logs", f"job/{RELEASE}-setup")
    found = re.search(r"^ +(\S+@\S+) +(\S+)$", log, re.MULTILINE)
    if found is None:
        raise LabError(f"The set-up told no first login: {log}")
    return found[1], found[2]


def _ingest_token(made: Cluster) -> str:
    name = "{.data.JITTERSCOPE_COLLECTOR_TOKEN}"
    return made.shell(f"kubectl -n {NAMESPACE} get secret {RELEASE}-trial -o 'jsonpath={name}' | base64 -d")


def _stored(product: Product, sent: Sender) -> Stored:
    [resource] = [one for one in product.resources("node") if one["key"] == sent.key]

    def read() -> Mapping[int, float]:
        return product.values(int(resource["id"]), TICK.name, sent.from_us, sent.to_us)

    wanted = {at_us: at_us // TICK_US & _LOW_BITS for at_us in range(sent.from_us, sent.to_us, TICK_US)}
    deadline = time.monotonic() + _STORED_PATIENCE_S
    while len(found := read()) < len(wanted) and time.monotonic() < deadline:
        time.sleep(0.5)
    return Stored(
        node=sent.key,
        batches=sent.batches,
        stored_batches=product.collectors()[sent.key]["batches"],
        ticks=len(wanted),
        missing=len(wanted.keys() - found.keys()),
        wrong=sum(found[at_us] != value for at_us, value in wanted.items() if at_us in found),
    )


def _removed(made: Cluster, before: _Before, report: Report, say: Say) -> Report:
    """Uninstall it, and see what there is; then what there is after what the docs say of removing the rest."""
    say("helm uninstall")
    made.helm("uninstall", RELEASE, "-n", NAMESPACE, "--wait", "--timeout", _PATIENCE)
    left = traces.settled(lambda: traces.objects(made), before.objects, LEFT_OBJECTS, _SETTLES_S)
    on_node = traces.settled(lambda: traces.node(made), before.node, LEFT_ON_NODE, _SETTLES_S)
    _remove(made)
    after = traces.settled(lambda: traces.objects(made), before.objects, set(), _SETTLES_S)
    after |= traces.settled(lambda: traces.node(made), before.node, set(), _SETTLES_S)
    return report.model_copy(
        update={"left_objects": sorted(left), "left_on_node": sorted(on_node), "after_removal": sorted(after)}
    )


def _remove(made: Cluster) -> None:
    """What docs/deploy.md says under "Remove it"; also after a failure."""
    made.shell(f"helm uninstall {RELEASE} -n {NAMESPACE} --ignore-not-found")
    made.shell(f"kubectl delete namespace {NAMESPACE} --ignore-not-found")
    made.on_node("rm", "-rf", chart.SPOOL)


@contextmanager
def _services_reached() -> Iterator[None]:
    """This machine reaches the Services, as the node does."""
    route = [SERVICE_NETWORK, "via", NODE_ADDRESS, "dev", HOST_LINK]
    packages.run(["ip", "route", "replace", *route])
    try:
        yield
    finally:
        # With the link, which goes with a cluster that ends, the route has gone as well.
        subprocess.run(["ip", "route", "delete", *route], capture_output=True, check=False)


def table(report: Report) -> str:
    """For people."""
    lines = [
        f"Images loaded in {report.images_s:.1f} s; pods ready {report.ready_s:.1f} s after `helm install`, first login "
        f"after {report.signed_in_s:.1f} s, first data of its collector after {report.data_s:.1f} s"
    ]
    lines += [
        f"{one.phase:20} {one.seconds:6.1f} s  {one.answered:5} answered, slowest {one.slowest_ms:7.1f} ms, "
        f"tried again: {', '.join(f'{count} {why}' for why, count in one.retried.items()) or 'none'}"
        for one in report.phases
    ]
    sent, ticks = sum(one.batches for one in report.stored), sum(one.ticks for one in report.stored)
    lines.append(
        f"Sent {sent} batches with {ticks} ticks, stored {sum(one.stored_batches for one in report.stored)} batches; "
        f"{sum(one.missing for one in report.stored)} ticks missing, {sum(one.wrong for one in report.stored)} wrong"
    )
    found = {
        "After helm uninstall the cluster has": report.left_objects,
        "The node has": report.left_on_node,
        "After the removal of the rest there is": report.after_removal,
    }
    for title, left in found.items():
        lines += [f"{title}{':' if left else ' nothing more than before'}", *(f"  {one}" for one in left)]
    return "\n".join(lines)
