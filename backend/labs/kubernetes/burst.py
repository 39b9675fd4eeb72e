"""Case 2 on the cluster: query bursts for a CoreDNS with a memory limit whose upstream is slow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import Field

from labs import coredns
from labs.applying.oom import EVERY_S
from labs.console import Say
from labs.kubernetes import objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import LOAD_S, Case, Fault, Parameters
from labs.kubernetes.layout import DNS_SERVICE, UPSTREAM_SERVICE
from labs.oom.bench import NAMES
from labs.oom.variants import Variant, parameters_of

_USUAL = parameters_of(Variant.FAULT, {})
_TIMEOUT_MS, _BEFORE_S = 12_000, 80.0
# A killed container answers again some seconds later. Most of each block is burst, so that blocks with a kill have
# about the same load as those without.
_BURST_S = 0.9 * EVERY_S
_COREFILE = f""".:53 {{
    errors
    health
    prometheus :9153
    forward . {UPSTREAM_SERVICE} {{
        max_fails 0
    }}
    reload
}}
"""


class Bursts(Parameters):
    """As in the lab coredns-oom."""

    qps: float = Field(_USUAL.qps, gt=0, le=20_000, description="queries per second in a burst")
    calm_qps: float = Field(_USUAL.calm_qps, gt=0, le=20_000, description="queries per second between bursts")
    delay_ms: float = Field(_USUAL.delay_ms, gt=0, le=10_000, description="answer time of the upstream in ms")
    memory_mib: int = Field(round(_USUAL.memory_mib), ge=32, le=65_536, description="memory limit in MiB")


def _slow(delay_ms: float) -> str:
    return f""".:53 {{
    errors
    health
    erratic {{
        {coredns.delay(delay_ms)}
    }}
}}
"""


@contextmanager
def _flooded(cluster: Cluster, p: Bursts, say: Say) -> Iterator[Fault]:
    """The server, its upstream, and the pod whose bursts end in an OOM kill."""
    say(f"Deploying CoreDNS with {p.memory_mib} MiB before an upstream that takes {p.delay_ms:g} ms")
    objects.load_coredns(cluster)
    objects.load_driver(cluster)
    upstream = objects.coredns("upstream", _slow(p.delay_ms), UPSTREAM_SERVICE)
    limits = {"memory": f"{p.memory_mib}Mi"}
    server = objects.coredns("coredns", _COREFILE, DNS_SERVICE, limits=limits)
    load = objects.driver(
        "dns-load",
        f"--names={','.join(NAMES)}",
        "--unique=true",
        f"--seconds={LOAD_S}",
        f"--timeout-ms={_TIMEOUT_MS}",
        f"--qps={p.calm_qps:g}",
        f"--burst-qps={p.qps:g}",
        f"--burst-ms={1e3 * _BURST_S:g}",
        f"--every-ms={1e3 * EVERY_S:g}",
    )
    with objects.running(cluster, (upstream, server, load)):
        [pod] = objects.pods_of(cluster, server)
        yield Fault(pod["metadata"]["name"], lambda: objects.must_run(cluster, load), before_s=_BEFORE_S)


CASE = Case(
    name="2",
    title="bursts of queries that end in OOM kills of CoreDNS",
    cause="memory/query_burst_oom",
    fix="raise_memory_limit",
    parameters=Bursts,
    made=_flooded,
)
