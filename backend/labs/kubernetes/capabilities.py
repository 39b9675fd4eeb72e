"""What the chart's collector reads without each of its capabilities, as of the last stored run: docs/sources.md."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import case, chart, dns, objects
from labs.kubernetes.case import Watched
from labs.kubernetes.cluster import Cluster

STORED = Path(__file__).with_name("capabilities.json")
# Holders of the second may do what the first allows: what needs the first shows only without both.
INCLUDED = {"BPF": "SYS_ADMIN", "PERFMON": "SYS_ADMIN"}
WORKS = "works"
_WORDS = {"active": WORKS, "degraded": "works partially", "unavailable": "not available"}
_ORDER = tuple(_WORDS.values())
# Longer than a source that sends requests takes for two tries.
_SETTLES_S, _PATIENCE_S = 12.0, 120.0

Said = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`whole`: source → what it says with all. `without`: the missing ones, joined by spaces → what is less."""

    kernel: str
    whole: Said
    without: Mapping[str, Said]


def stored() -> Capabilities:
    return Capabilities(**json.loads(STORED.read_text()))


def store(found: Capabilities) -> None:
    STORED.write_text(json.dumps(asdict(found), indent=1) + "\n")


def missing(held: Iterable[str]) -> list[tuple[str, ...]]:
    """What is left out in turn."""
    return [(one,) for one in held] + [(one, INCLUDED[one]) for one in held if one in INCLUDED]


def run(say: Say) -> Capabilities:
    """Start the collector without each capability in turn. Raises LabError if it does not start, or never settles."""
    with case.watched(say) as here:
        made = here.cluster
        objects.load_coredns(made)
        objects.load_driver(made)
        # Servers in network namespaces of their own, with queries: some sources find fault only with what they find.
        asks = objects.driver("dns-load", "--names=kubernetes.default.svc.cluster.local.", "--seconds=2400", "--qps=10")
        with objects.running(made, (dns.cluster_dns(), asks)):
            held = _held(made)
            whole = _settled(here)
            without: dict[str, Said] = {}
            for left_out in missing(held):
                name = " ".join(left_out)
                say(f"Without {name}")
                _restart_with(made, [one for one in held if one not in left_out])
                said = _settled(here)
                without[name] = less(said, whole)
    return Capabilities(os.uname().release, whole, without)


def less(said: Said, whole: Said) -> dict[str, str]:
    """Of what sources say, what says that they can do less than with all capabilities.

    What else differs depends on the processes that come and go on this machine.
    """
    return {
        source: text
        for source, text in said.items()
        if _ORDER.index(_state(text)) > _ORDER.index(_state(whole.get(source, WORKS)))
    }


def _state(text: str) -> str:
    return text.partition(":")[0]


def _held(cluster: Cluster) -> list[str]:
    spec = cluster.get("-n", chart.NAMESPACE, "daemonset", chart.COLLECTOR)["spec"]["template"]["spec"]
    return [str(one) for one in spec["containers"][0]["securityContext"]["capabilities"]["add"]]


def _restart_with(cluster: Cluster, capabilities: Iterable[str]) -> None:
    value = f"collector.capabilities={{{','.join(capabilities)}}}"
    cluster.helm(
        "upgrade", chart.RELEASE, str(chart.CHART), "-n", chart.NAMESPACE, "--reuse-values", "--set", value
    )  # fmt: skip
    chart.wait_for_collectors(cluster)


def _settled(here: Watched) -> dict[str, str]:
    """What each source says once all have said the same for a while."""
    deadline = time.monotonic() + _PATIENCE_S
    said, since = _said(here), time.monotonic()
    while time.monotonic() - since < _SETTLES_S:
        time.sleep(0.5)
        if (now := _said(here)) != said:
            said, since = now, time.monotonic()
        if time.monotonic() > deadline:
            raise LabError(f"The sources still change: {said}")
    return said


def _said(here: Watched) -> dict[str, str]:
    [own] = here.product.collectors().values()
    return {one["name"]: _text(one["state"], one["needs"]) for one in own["sources"]}


def _text(state: str, needs: str) -> str:
    """Without details, which name processes of this machine."""
    word = _WORDS[state]
    return f"{word}: needs {needs}" if needs and word != WORKS else word
