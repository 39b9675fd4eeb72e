"""Case 4 on the cluster: pods with Kubernetes' ndots:5 and six search domains, three of which get NXDOMAIN upstream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labs import coredns
from labs.console import Say
from labs.kubernetes import dns, images, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import Case, Fault
from labs.kubernetes.layout import UPSTREAM_SERVICE
from labs.kubernetes.objects import CLIENTS, Object, Workload
from labs.search.pods import PROGRAM, plan_of
from labs.search.variants import Parameters

_IMAGE = "jitterscope-lab/lookups:1"
# Each lookup waits for three delayed negative answers of the upstream before the name itself is queried: the cache has
# forgotten them when a name comes back.
_PODS, _DELAY_MS = 3, 10.0
_PARAMETERS = Parameters(pods=_PODS, delay_ms=_DELAY_MS, services=0, seconds=1_500)
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
    cache {_PARAMETERS.cache_s}
}}
"""
_OUTSIDE = f""".:53 {{
    errors
    health
    rewrite continue {{
        rcode suffix internal. NOERROR NXDOMAIN
    }}
    erratic {{
        {coredns.delay(_DELAY_MS)}
    }}
}}
"""


@contextmanager
def _asked(cluster: Cluster, say: Say) -> Iterator[Fault]:
    """The cluster's DNS, the resolver behind it, and the pods that query it."""
    say(f"Deploying CoreDNS and {_PODS} pods with ndots:5")
    objects.load_coredns(cluster)
    cluster.load(images.Image(_IMAGE, {"/pod.py": PROGRAM}))
    outside = objects.coredns("outside", _OUTSIDE, UPSTREAM_SERVICE)
    server = dns.cluster_dns(_COREFILE)
    clients = _clients()
    with objects.running(cluster, (outside, server, clients)):
        [pod] = objects.pods_of(cluster, server)
        yield Fault(pod["metadata"]["name"], lambda: objects.must_run(cluster, server), before_s=_BEFORE_S)


def _clients() -> Workload:
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
    plan = objects.config("web", CLIENTS, {"plan.json": plan_of(_PARAMETERS, 0, {})})
    labels = {"app": "web"}
    made = objects.deployment("web", CLIENTS, labels, pod, replicas=_PODS)
    return Workload("web", CLIENTS, labels, (objects.namespace(CLIENTS), plan, made))


CASE = Case(
    number=4,
    title="pods whose search domains multiply their queries",
    cause="dns/search_domain_amplification",
    fix="ndots",
    made=_asked,
)
