"""Which sources of the chart's collector work without each of its capabilities, as of the last stored run."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import chart, cluster, dns, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.layout import HOST_ADDRESS

STORED = Path(__file__).with_name("capabilities.json")
# Holders of the second may do what the first allows: what needs the first shows only without both.
INCLUDED = {"BPF": "SYS_ADMIN", "PERFMON": "SYS_ADMIN"}
# As on the collector's metrics page.
_WORDS = {"1": "works", "0.5": "works partially", "0": "not available"}
_ORDER = tuple(_WORDS.values())
# Partial for processes that come and go on this machine, whatever the capabilities.
_OF_OTHERS = {"python_gc"}
# Nothing listens there: what the sources say doesn't depend on a product.
_NOWHERE = f"http://{HOST_ADDRESS}:9"
# Longer than a source that sends requests takes for two tries.
_SETTLES_S, _PATIENCE_S = 12.0, 180.0

States = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """`whole`: source → its state with all. `without`: the missing ones, joined by spaces → what does less."""

    kernel: str
    whole: States
    without: Mapping[str, States]


def stored() -> Capabilities:
    return Capabilities(**json.loads(STORED.read_text()))


def store(found: Capabilities) -> None:
    STORED.write_text(json.dumps(asdict(found), indent=1) + "\n")


def missing(held: Iterable[str]) -> list[tuple[str, ...]]:
    """What is left out in turn."""
    held = tuple(held)
    return [(one,) for one in held] + [(one, INCLUDED[one]) for one in held if one in INCLUDED]


def run(say: Say) -> Capabilities:
    """Start the collector without each capability in turn. Raises LabError if it does not start, or never settles."""
    with cluster.running(say) as made, made.only_first_node():
        objects.load_coredns(made)
        objects.load_driver(made)
        # Servers in network namespaces of their own, with queries: some sources find fault only with what they find.
        asks = objects.driver("dns-load", "--names=kubernetes.default.svc.cluster.local.", "--seconds=2400", "--qps=10")
        with objects.running(made, (dns.cluster_dns(), asks)):
            try:
                chart.install_collectors(made, _NOWHERE, "none", say)
                return _tried(made, say)
            finally:
                chart.uninstall(made)


def _tried(made: Cluster, say: Say) -> Capabilities:
    spec = made.get("-n", chart.NAMESPACE, "daemonset", chart.COLLECTOR)["spec"]["template"]["spec"]
    held: list[str] = spec["containers"][0]["securityContext"]["capabilities"]["add"]
    whole = _settled(made)
    without: dict[str, States] = {}
    for left_out in missing(held):
        say(f"Without {' and '.join(left_out)}")
        _restart_with(made, [one for one in held if one not in left_out])
        less = {name: state for name, state in _settled(made).items() if _is_less(state, whole.get(name))}
        without[" ".join(left_out)] = less
    return Capabilities(os.uname().release, whole, without)


def _is_less(state: str, whole: str | None) -> bool:
    return whole is None or _ORDER.index(state) > _ORDER.index(whole)


def _restart_with(made: Cluster, capabilities: Iterable[str]) -> None:
    value = f"collector.capabilities={{{','.join(capabilities)}}}"
    where = (chart.RELEASE, str(chart.CHART), "-n", chart.NAMESPACE)
    made.helm("upgrade", *where, "--reuse-values", "--set", value)
    chart.wait_for_collectors(made)


def _settled(made: Cluster) -> dict[str, str]:
    """The state of each source once none has changed for a while."""
    deadline = time.monotonic() + _PATIENCE_S
    states, since = _states(made), time.monotonic()
    while time.monotonic() - since < _SETTLES_S:
        time.sleep(0.5)
        if (now := _states(made)) != states:
            states, since = now, time.monotonic()
        if time.monotonic() > deadline:
            raise LabError(f"The sources still change: {states}")
    return states


def _states(made: Cluster) -> dict[str, str]:
    """From the running collector's own page: a product also shows what the one before it said."""
    found = re.findall(r'^jitterscope_collector_source_up\{source="(\w+)"\} (\S+)$', chart.page(made), re.MULTILINE)
    return {name: _WORDS[up] for name, up in sorted(found) if name not in _OF_OTHERS}
