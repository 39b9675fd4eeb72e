"""Case 4 on the cluster, at its clients: pods with ndots:5 and six search domains, three of which get NXDOMAIN."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field

from labs import coredns
from labs.console import Say
from labs.kubernetes import dns, images, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import LOAD_S, Case, Fault, Parameters
from labs.kubernetes.layout import UPSTREAM_SERVICE
from labs.kubernetes.objects import CLIENTS, Object, Workload
from labs.search import variants
from labs.search.pods import PROGRAM, plan_of

_IMAGE = "jitterscope-lab/lookups:1"
# Each lookup waits for three delayed negative answers of the upstream before the name itself is queried: the cache has
# forgotten them when a name comes back.
_CACHE_S = 1
# The collector reads a pod's resolv.conf 1, 3, 7 … 63 s after its start.
_BEFORE_S = 100.0
_COREFILE = f""".:53 {{
    errors
    health
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }}
    prometheus :9153
    forward . {UPSTREAM_SERVICE}
    cache {_CACHE_S}
}}
"""


class Lookups(Parameters):
    """As in the lab search-domains."""

    pods: int = Field(3, ge=1, le=20, description="replicas of the Deployment that looks up names")
    qps: float = Field(20, gt=0, le=500, description="names looked up per second, by all pods together")
    delay_ms: float = Field(10, ge=0, le=1_000, description="answer time of the resolver of outside names in ms")


def _outside(delay_ms: float) -> str:
    """A resolver that knows every name but those of the cloud provider's search domains."""
    return f""".:53 {{
    errors
    health
    rewrite continue {{
        rcode suffix internal. NOERROR NXDOMAIN
    }}
    erratic {{
        {coredns.delay(delay_ms)}
    }}
}}
"""


@contextmanager
def _asked(cluster: Cluster, p: Lookups, say: Say) -> Iterator[Fault]:
    """The cluster's DNS, the resolver behind it, and the pods that query it."""
    say(f"Deploying CoreDNS and {p.pods} pods with ndots:5")
    objects.load_coredns(cluster)
    cluster.load(images.Image(_IMAGE, {"/pod.py": PROGRAM}))
    outside = objects.coredns("outside", _outside(p.delay_ms), UPSTREAM_SERVICE)
    server = dns.cluster_dns(_COREFILE)
    clients = _clients(p)
    with objects.running(cluster, (outside, server, clients)):
        [pod] = objects.pods_of(cluster, server)
        yield Fault(pod["metadata"]["name"], lambda: objects.must_run(cluster, server), before_s=_BEFORE_S)


def _clients(p: Lookups) -> Workload:
    """Pods that look up names with this machine's Python and C library, through the kubelet's resolv.conf."""
    volumes, mounts = objects.shown(*objects.programs(Path(sys.base_prefix)))
    container = {
        "name": "web",
        "image": _IMAGE,
        "imagePullPolicy": "Never",
        "command": [str(Path(sys.executable).resolve()), "-I", "/pod.py", "/plan/plan.json"],
        "volumeMounts": [*mounts, {"name": "plan", "mountPath": "/plan", "readOnly": True}],
    }
    pod: Object = {"containers": [container], "volumes": [*volumes, {"name": "plan", "configMap": {"name": "web"}}]}
    looked = variants.Parameters(pods=p.pods, qps=p.qps, delay_ms=p.delay_ms, services=0, seconds=LOAD_S)
    plan = objects.config("web", CLIENTS, {"plan.json": plan_of(looked, 0, {})})
    labels = {"app": "web"}
    made = objects.deployment("web", CLIENTS, labels, pod, replicas=p.pods)
    return Workload("web", CLIENTS, labels, (objects.namespace(CLIENTS), plan, made))


CASE = Case(
    name="4-ndots",
    title="pods whose search domains multiply their queries",
    cause="dns/search_domain_amplification",
    fix="ndots",
    parameters=Lookups,
    made=_asked,
)
