"""The chart from `helm install` to `helm uninstall` on the cluster, under continuous requests."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jitterscope.series.types import TICK_US
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import backend, chart, cluster, dns, extensions, objects, traces, trial
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import NODE
from labs.kubernetes.lifecycle_report import Phase, Report, Stored
from labs.kubernetes.sending import TICK, Requests, Sender, Traffic
from labs.kubernetes.trial import NAMESPACE, RELEASE
from labs.product import Product

# What `helm uninstall` leaves according to docs/deploy.md, and what every namespace has by default.
LEFT_OBJECTS = {
    f"Namespace {NAMESPACE}",
    f"ServiceAccount {NAMESPACE}/default",
    f"ConfigMap {NAMESPACE}/kube-root-ca.crt",
    f"Secret {NAMESPACE}/{RELEASE}-trial",
    *(f"PersistentVolumeClaim {NAMESPACE}/{claim}" for claim in trial.CLAIMS),
}
LEFT_ON_NODE = {f"file {chart.SPOOL}"}
# What the upgrade turns on, and the kinds of objects that it adds.
_OPTIONS = ",".join(
    (
        "demo.enabled=true",
        "api.autoscaling.enabled=true",
        "worker.autoscaling.enabled=true",
        "serviceMonitor.enabled=true",
        "serviceMonitor.labels.release=prometheus",
        "ingress.enabled=true",
        "httpRoute.enabled=true",
        "httpRoute.parentRefs[0].name=public",
        "httpRoute.hostnames[0]=jitterscope.example.com",
        "networkPolicy.enabled=true",
    )
)
_OPTIONAL = ("HorizontalPodAutoscaler", "HTTPRoute", "Ingress", "NetworkPolicy", "ServiceMonitor")
DEMO_CAUSE = "cpu/limit_too_low"
_SENDERS, _READERS = 6, 2
_QUIET_S, _INCIDENT_PATIENCE_S = 10.0, 180.0
_SETTLES_S = 120.0
_STORED_PATIENCE_S = 20.0
_LOW_BITS = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class _Before:
    objects: set[str]
    node: set[str]


def run(say: Say) -> Report:
    """Install, upgrade, roll back, uninstall, remove. Raises LabError if a step fails."""
    with cluster.running(say) as made:
        began = time.monotonic()
        trial.load(made, say)
        images_s = time.monotonic() - began
        with objects.running(made, (dns.cluster_dns(),)), extensions.known(made), trial.room(made):
            before = _Before(traces.objects(made), traces.node(made))
            try:
                report = _live(made, images_s, say)
                return _removed(made, before, report, say)
            finally:
                trial.remove(made)


def _live(made: Cluster, images_s: float, say: Say) -> Report:
    """From the installation to the last request."""
    began = time.monotonic()
    say("helm install")
    trial.install(made)
    ready_s = time.monotonic() - began
    url = trial.url(made)
    with Product.signed_in(url, *trial.first_login(made)) as product:
        signed_in_s = time.monotonic() - began
        product.wait_for("the chart's collector", product.receives, 60)
        data_s = time.monotonic() - began
        traffic = Traffic(url, trial.ingest_token(made), product.cookies, _SENDERS, _READERS)
        upgraded = _upgraded(made, product, traffic, say)
        say("Comparing what was sent with what is stored")
        [own] = [one for one in product.collectors().values() if one["node"]["name"] == NODE]
        return Report(
            images_s=round(images_s, 1),
            ready_s=round(ready_s, 1),
            signed_in_s=round(signed_in_s, 1),
            data_s=round(data_s, 1),
            **upgraded,
            stored=[stored(product, one) for one in traffic.senders],
            collector_batches=own["batches"],
            collector_dropped=own["dropped_batches"],
            left_objects=[],
            left_on_node=[],
            after_removal=[],
        )


def _upgraded(made: Cluster, product: Product, traffic: Traffic, say: Say) -> dict[str, Any]:
    """Each step under requests, and the time before and after."""
    seconds: dict[str, float] = {}

    @contextmanager
    def phase(name: str) -> Iterator[None]:
        say(name)
        traffic.phase(name)
        began = time.monotonic()
        yield
        seconds[name] = time.monotonic() - began

    def incidents() -> list[str]:
        of_demo = [one for one in product.all_incidents() if "-demo-" in one["subject"]["name"]]
        return [one["title"] for one in of_demo if one["cause"] == DEMO_CAUSE]

    def objects_of_chart() -> set[str]:
        return {one for one in traces.objects(made) if one.split()[0] in _OPTIONAL}

    traffic.phase("before")
    with traffic.running():
        with phase("before"):
            time.sleep(_QUIET_S)
        before = objects_of_chart()
        with phase("helm upgrade"):
            trial.helm(made, "upgrade", "--reuse-values", "--set", f"image.tag={backend.NEWER}", "--set", _OPTIONS)
        added = objects_of_chart() - before
        with phase("first incident"):
            [title, *_] = product.wait_for("the demo's incident", incidents, _INCIDENT_PATIENCE_S)
        with phase("helm rollback"):
            made.helm("rollback", RELEASE, "1", "-n", NAMESPACE, *trial.UNTIL_READY)
        if stayed := objects_of_chart() - before:
            raise LabError(f"After the rollback the cluster still has {', '.join(sorted(stayed))}.")
        with phase("after"):
            time.sleep(_QUIET_S)
    return {
        "first_incident": title,
        "first_incident_s": round(seconds["first incident"], 1),
        "added": sorted(added),
        "phases": [told(name, seconds[name], requests) for name, requests in traffic.phases.items()],
    }


def told(name: str, seconds: float, requests: Requests) -> Phase:
    """What happened to the requests of a phase."""
    return Phase(
        phase=name,
        seconds=round(seconds, 1),
        answered=requests.answered,
        retried=dict(requests.retried),
        failed=requests.failed,
        slowest_ms=round(requests.slowest_s * 1e3, 1),
    )


def stored(product: Product, sent: Sender) -> Stored:
    """Compare what a node has sent with what the product has of it."""
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
    """Uninstall it and list what is left, then again after following the docs on removing the rest."""
    say("helm uninstall")
    made.helm("uninstall", RELEASE, "-n", NAMESPACE, "--wait", trial.TIMEOUT)
    left = traces.settled(lambda: traces.objects(made), before.objects, LEFT_OBJECTS, _SETTLES_S)
    on_node = traces.settled(lambda: traces.node(made), before.node, LEFT_ON_NODE, _SETTLES_S)
    trial.remove(made)
    after = traces.settled(lambda: traces.objects(made), before.objects, set(), _SETTLES_S)
    after |= traces.settled(lambda: traces.node(made), before.node, set(), _SETTLES_S)
    return report.model_copy(
        update={"left_objects": sorted(left), "left_on_node": sorted(on_node), "after_removal": sorted(after)}
    )
