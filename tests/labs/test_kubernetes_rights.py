"""The rights of the chart's collector in a cluster and on its node: the docs say what stops without each."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping

import pytest

from labs.kubernetes import capabilities, case, chart, dns, layout, objects, rights
from labs.kubernetes.capabilities import Capabilities, States
from labs.kubernetes.case import Watched
from labs.kubernetes.rights import Right
from tests.support import privileges
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
SELECTOR = f"app.kubernetes.io/instance={chart.RELEASE}"
ACCOUNT = f"{chart.NAMESPACE}:{chart.COLLECTOR}"
# The kubelet of a cluster that has nodes/pods requests the broader one if that is rejected.
BROADER = Right("get", "", "nodes/proxy", name=layout.NODE)
# As long as a source that sends requests takes for two tries.
SETTLES_S, PATIENCE_S = 12.0, 120.0
# How the collector reports an answer of the API server, and of a kubelet.
FORBIDDEN = re.compile("forbidden", re.IGNORECASE)


def said(here: Watched) -> Mapping[str, str]:
    """Source → what the collector says about it."""
    [own] = here.product.collectors().values()
    return {one["name"]: f"{one['state']} {one['detail']}".strip() for one in own["sources"]}


def asked(here: Watched) -> rights.Asked:
    return rights.asked(here.cluster.files.audit_log, ACCOUNT)


def unused(here: Watched, held: set[Right]) -> set[Right]:
    used = asked(here).allowed
    return {one for one in held if not any(one.covers(other) for other in used)}


def wait_for_use(here: Watched, held: set[Right]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while left := unused(here, held):
        assert time.monotonic() < deadline, f"not used: {', '.join(map(str, left))}"
        time.sleep(0.5)


def restart(here: Watched) -> None:
    """What a collector has requested once it will not request again soon."""
    here.cluster.kubectl("-n", chart.NAMESPACE, "rollout", "restart", f"daemonset/{chart.COLLECTOR}")
    chart.wait_for_collectors(here.cluster)


def refusals(here: Watched) -> dict[str, str]:
    """The sources that do less because of a rejection, with what the collector says about them.

    The rest depends on what else runs on this machine: a collector sees the processes of all of it.
    """
    return {name: text for name, text in said(here).items() if not text.startswith("active") and FORBIDDEN.search(text)}


def try_without(here: Watched, right: Right, wanted: set[str]) -> None:
    """Take a right away from a collector that then starts."""
    made, earlier = here.cluster, asked(here).refused

    def refused() -> set[Right]:
        return set(asked(here).refused - earlier)

    with rights.without(made, SELECTOR, right):
        assert right not in rights.granted(made, SELECTOR)
        restart(here)
        here.product.wait_for(f"that it was refused to {right}", refused, PATIENCE_S)
        here.product.wait_for(f"what stops without {right}", lambda: refusals(here).keys() == wanted, PATIENCE_S)
        time.sleep(SETTLES_S)
        found = refusals(here)
        say(f"{right}: {found}")
        assert found.keys() == wanted, found
        assert {one for one in refused() if not right.covers(one)} <= {BROADER}


@pytest.mark.timeout(2400)
@live(240, cpus=0.0, by_turn=False)
def test_each_right_is_used_and_stops_what_is_said() -> None:
    of_docs = {privileges.words(row[0])[0]: set(privileges.words(row[1])) for row in privileges.rows("right")}
    with case.watched(say) as here:
        made = here.cluster
        objects.load_coredns(made)
        objects.load_driver(made)
        # A collector knows a server that listens on every address by its queries.
        asks = objects.driver("dns-load", "--names=kubernetes.default.svc.cluster.local.", "--seconds=2400", "--qps=10")
        with objects.running(made, (dns.cluster_dns(), asks)):
            held = rights.granted(made, SELECTOR)
            assert {str(one) for one in held} == of_docs.keys()
            wait_for_use(here, held)
            # No other account of the chart requests anything, and this one nothing that others allow.
            assert rights.accounts(made.files.audit_log, chart.NAMESPACE) == {ACCOUNT}
            used = asked(here)
            assert not used.refused
            assert all(any(one.covers(other) for one in held) for other in used.allowed), used.allowed
            here.product.wait_for("that nothing was refused", lambda: not refusals(here), PATIENCE_S)
            for right in sorted(held):
                try_without(here, right, of_docs[str(right)])
            assert rights.granted(made, SELECTOR) == held
            restart(here)
            here.product.wait_for("that all works again", lambda: not refusals(here), PATIENCE_S)


def stopped(found: Capabilities) -> dict[str, States]:
    """Without what the flight recorder lacks, which it only says once it has captured something."""
    return {
        missing: {name: state for name, state in less.items() if name != "flight_recorder"}
        for missing, less in found.without.items()
    }


@pytest.mark.timeout(2400)
@live(240, cpus=0.0, by_turn=False)
def test_each_capability_stops_what_is_said() -> None:
    found = capabilities.run(say)
    say(str(found))
    # `jitterscope lab kubernetes --capabilities --store` and `make gen` bring docs/sources.md up to date.
    known = capabilities.stored()
    assert found.whole.keys() == known.whole.keys()
    assert stopped(found) == stopped(known)
