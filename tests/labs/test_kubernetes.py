"""The lab on a real Kubernetes: what starts is named, a fault is found by those names, its fix lands, nothing stays."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jitterscope.settings import REPOSITORY
from labs.errors import LabError
from labs.kubernetes import (
    building,
    case,
    chart,
    cluster,
    gc,
    layout,
    rights,
    tree,
)
from labs.kubernetes.case import Watched
from labs.kubernetes.rights import Right
from labs.product import Product
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
# The first build takes 11 min of CPU: if it was not made, `make test` leaves these to `make test-labs`.
BUILT = building.are_built()


def resources(product: Product, kind: str) -> dict[str, str]:
    """Key → name of what the product lists of a kind."""
    return {one["key"]: one["name"] for one in product.resources(kind)}


def names_of(here: Watched) -> set[str]:
    return set(resources(here.product, "cgroup").values())


@contextmanager
def placeholder(here: Watched) -> Iterator[None]:
    """A container with a sandbox's own program and image: only the runtime knows which of the two is the sandbox."""
    room = {"name": "room", "image": layout.SANDBOX_IMAGE, "imagePullPolicy": "Never"}
    here.cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "placeholder", "namespace": "default"},
            "spec": {"automountServiceAccountToken": False, "containers": [room]},
        }
    )
    try:
        yield
    finally:
        here.cluster.kubectl("-n", "default", "delete", "pod", "placeholder", "--wait=false")


@contextmanager
def bounded(here: Watched) -> Iterator[None]:
    """A namespace with a LimitRange, a quota, and a pod that counts in it."""
    cluster = here.cluster
    cluster.kubectl("create", "namespace", "bounded")
    try:
        sizes = {"type": "Container", "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "4"}}
        cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "sizes", "namespace": "bounded"},
                "spec": {"limits": [sizes]},
            }
        )
        cluster.kubectl("-n", "bounded", "create", "quota", "team", "--hard=limits.cpu=4,limits.memory=1Gi,pods=5")
        # Until its status is known, the API server refuses pods.
        known = "--for=jsonpath={.status.hard.pods}=5"
        cluster.kubectl("-n", "bounded", "wait", known, "quota/team", "--timeout=60s")
        resources = {"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": "125m"}}
        room = {
            "name": "room",
            "image": layout.SANDBOX_IMAGE,
            "imagePullPolicy": "Never",
            "resources": resources,
        }
        cluster.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "small", "namespace": "bounded"},
                "spec": {"automountServiceAccountToken": False, "containers": [room]},
            }
        )
        yield
    finally:
        cluster.kubectl("delete", "namespace", "bounded", "--wait=false")


def facts_of(here: Watched, name: str) -> dict[str, str]:
    """The facts of the cgroup with a name; none while it is not there."""
    found = [one["id"] for one in here.product.resources("cgroup") if one["name"] == name]
    facts = here.product.resource(int(found[0]))["facts"] if found else []
    return {one["name"]: one["value"] for one in facts}


def bounds_are_told(here: Watched) -> None:
    """What the API server stores of a LimitRange and a quota arrives as facts of the container."""
    with bounded(here):

        def told() -> dict[str, str] | None:
            facts = facts_of(here, "bounded/small/room")
            return facts if "workload.limit_range" in facts and "workload.quota" in facts else None

        # The next request of the collector, as soon as a namespace is new to its node.
        facts = here.product.wait_for("what its namespace allows", told, 90)
        assert json.loads(facts["workload.limit_range"]) == {"container": {"max_cpus": 1, "max_cpu_ratio": 4}}
        assert json.loads(facts["workload.quota"]) == {
            "team": {
                "limits.cpu": {"hard": 4, "used": 0.5},
                "limits.memory": {"hard": 1 << 30, "used": 64 << 20},
            }
        }
        # Nothing restricts another namespace, which is known as well.
        here.product.wait_for(
            "that nothing restricts others",
            lambda: facts_of(here, "default/placeholder/room").get("workload.limit_range") == "{}",
            30,
        )


def plugin(here: Watched, words: str) -> str:
    """Output of `kubectl jitterscope`."""
    product = here.product
    told = f"JITTERSCOPE_SERVER={product.url} JITTERSCOPE_API_TOKEN={product.token} PATH={REPOSITORY / 'bin'}:$PATH"
    return here.cluster.shell(f"{told} kubectl jitterscope {words}")


def cpu_limit(here: Watched) -> str:
    [container] = here.cluster.get("-n", "kube-system", "deployment", "coredns")["spec"]["template"]["spec"][
        "containers"
    ]
    return str(container["resources"]["limits"]["cpu"])


@pytest.mark.timeout(2400)
@live(90, gc.CASE.cause, by_turn=BUILT)
def test_a_fault_is_found_by_the_names_of_the_cluster() -> None:
    with case.watched(say) as here, placeholder(here), gc.CASE.made(here.cluster, gc.Load(), say) as fault:
        server = f"kube-system/{fault.pod}/coredns"
        here.product.wait_for("the server's name", lambda: server in names_of(here), 30)
        here.product.wait_for("the placeholder's name", lambda: "default/placeholder/room" in names_of(here), 30)

        def in_pods() -> set[str]:
            found = resources(here.product, "cgroup")
            return {name for key, name in found.items() if "/kubepods/" in key and "/pod" in key}

        # Each with its pod; no sandbox, which would have a hash for a name.
        here.product.wait_for("only names", lambda: {name.count("/") for name in in_pods()} == {1, 2}, 30)
        containers = in_pods()
        [collector] = [one for one in containers if one.startswith("jitterscope/") and one.count("/") == 2]
        [load] = [one for one in containers if one.startswith("shop/") and one.count("/") == 2]
        assert containers == {
            name.rsplit("/", cut)[0] for name in (server, collector, load, "default/placeholder/room") for cut in (0, 1)
        }, containers  # fmt: skip
        assert list(resources(here.product, "node").values()) == [layout.NODE]

        def incidents() -> list[str]:
            return [one["subject"]["name"] for one in here.product.all_incidents() if one["cause"] == gc.CASE.cause]

        here.product.wait_for("the incident", incidents, 60)
        assert incidents() == [server]

        # From the kubelet's journal, which the collector reads in its pod, where there is no journalctl.
        def started() -> set[tuple[str, str]]:
            return {(one["namespace"], one["pod"]) for one in here.product.slowest_starts()}

        here.product.wait_for("the pod that started", lambda: ("kube-system", fault.pod) in started(), 30)

        bounds_are_told(here)

        # Each right of the chart's roles is used, and nothing was requested without one.
        held = rights.granted(here.cluster, f"app.kubernetes.io/instance={chart.RELEASE}")
        account = f"{chart.NAMESPACE}:{chart.COLLECTOR}"

        def unused() -> set[Right]:
            used = rights.asked(here.cluster.files.audit_log, account).allowed
            return {one for one in held if not any(one.covers(other) for other in used)}

        assert len(held) == 11, held
        here.product.wait_for("the use of every right", lambda: not unused(), 60)
        assert not rights.asked(here.cluster.files.audit_log, account).refused

        # The API server accepts what docs/deploy.md installs without Helm.
        for base in ("base", "collectors"):
            taken = here.cluster.kubectl("apply", "-k", str(REPOSITORY / "kustomize" / base), "--dry-run=server")
            assert "daemonset.apps/jitterscope-collector" in taken
        setup = ("-k", str(REPOSITORY / "kustomize" / "base"), "-l", "app.kubernetes.io/component=setup")
        first = here.cluster.kubectl("apply", *setup, "--dry-run=server").splitlines()
        assert [line.split()[0] for line in first] == ["job.batch/jitterscope-setup"]

        # Finally, the fix through kubectl's plugin.
        [row] = [line for line in plugin(here, "incidents -n kube-system").splitlines() if server in line]
        before = cpu_limit(here)
        plugin(here, f"patch {row.split()[0]} {gc.CASE.fix} --apply --yes")
        assert cpu_limit(here) != before == "500m"


COREDNS, DNSMASQ = r"kube-system/coredns-[^/]+/coredns", r"kube-system/kube-dns-[^/]+/dnsmasq"


def fixed(name: str, subject: str, owner: str | None, patched: str, seconds: int, *given: str, patch: int = 1) -> Any:
    """A case, whom its incident names, and how the command begins that the fix offers; a node has no owner."""
    marks = live(seconds, case.CASES[name].cause, by_turn=False)
    return pytest.param(name, subject, owner, patched, given, patch, marks=marks, id="-".join([name, patched, *given]))


@pytest.mark.timeout(2400)
@pytest.mark.parametrize(
    ("name", "subject", "owner", "patched", "given", "patch"),
    [
        fixed("1", COREDNS, "Deployment/coredns", "kube-system patch deployment/coredns", 240),
        fixed("1", COREDNS, "Deployment/coredns", "kube-system patch pod coredns-", 240, "cpu_limit_m=450", patch=2),
        fixed("2", COREDNS, "Deployment/coredns", "kube-system patch deployment/coredns", 400),
        fixed("3", layout.NODE, None, "shop set env deployment/checks", 270),
        fixed("4", DNSMASQ, "Deployment/kube-dns", "kube-system get daemonset/node-local-dns", 330),
        fixed("4-ndots", COREDNS, "Deployment/coredns", "shop patch deployment/web", 330),
        fixed("5", layout.NODE, None, "kube-system set env deployment/network-agent", 360),
    ],
)
def test_the_patch_lands_and_is_verified(
    name: str, subject: str, owner: str | None, patched: str, given: tuple[str, ...], patch: int
) -> None:
    chosen = case.CASES[name]
    report = case.run(chosen, chosen.given(given), say, patch=patch)
    say(report.model_dump_json())
    assert re.fullmatch(subject, report.subject), report.subject
    assert (report.namespace, report.workload, report.node) == (owner and "kube-system", owner, layout.NODE)
    assert report.command.removeprefix("names=$(").startswith(f"kubectl -n {patched}")
    assert (report.attempt.noticed, report.attempt.verdict) == ("seen", "verified")


@pytest.mark.timeout(2400)
@live(240, gc.CASE.cause, by_turn=False)
def test_a_wrong_fix_is_told_from_a_right_one() -> None:
    """Somebody raises the limit, but by far too little."""
    body = '{"spec":{"template":{"spec":{"containers":[{"name":"coredns","resources":{"limits":{"cpu":"510m"}}}]}}}}'
    timid = f"kubectl -n kube-system patch deployment/coredns -p '{body}'"
    with case.watched(say) as here, gc.CASE.made(here.cluster, gc.Load(), say) as fault:
        tried = replace(fault, command=lambda _fix: timid)
        report = case.tried(here, gc.CASE, gc.Load(), tried, say, gc.CASE.fix)
    say(report.model_dump_json())
    assert (report.attempt.noticed, report.attempt.verdict) == ("seen", "did_not_help")


@pytest.mark.timeout(2400)
@live(300, gc.CASE.cause, by_turn=False)
def test_replicas_that_one_limit_throttles_are_one_incident() -> None:
    """One patch of their Deployment fixes all of them."""
    given = gc.CASE.given(["replicas=4", "records=150000", "cpu_limit_m=200", "qps=800"])
    report = case.run(gc.CASE, given, say)
    say(report.model_dump_json())
    affected = {report.subject, *report.also_affected}
    assert len(affected) == 4, affected
    assert all(re.fullmatch(COREDNS, one) for one in affected), affected
    assert report.command.startswith("kubectl -n kube-system patch deployment/coredns")
    assert (report.attempt.noticed, report.attempt.verdict) == ("seen", "verified")


@pytest.mark.parametrize(
    ("pair", "why"),
    [("records", "takes NAME=VALUE"), ("memory_mib=1", "records, cpu_limit_m"), ("qps=0", "--set qps=0")],
)
def test_a_parameter_that_a_case_does_not_take_is_refused(pair: str, why: str) -> None:
    with pytest.raises(LabError, match=re.escape(why)):
        gc.CASE.given([pair])


@pytest.mark.timeout(2400)
@live(30, cpus=0.0, by_turn=False)
@pytest.mark.parametrize("killed", ["starter", "node1", "node2"])
def test_nothing_stays_of_a_cluster_that_was_killed(killed: str) -> None:
    before = _traces()
    files, command = layout.Files.of_this_user(), [sys.executable, "-c", _START]
    with subprocess.Popen(command, cwd=REPOSITORY / "backend", stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "up\n"
        assert _traces() != before
        nodes = {node.name: node for node in files.nodes()}
        pids = {"starter": starter.pid, **{name: cluster.running_pid(files, node) for name, node in nodes.items()}}
        pid = pids[killed]
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        # The nodes end with their starter, and the others with the first.
        ending = [nodes["node2"]] if killed == "node2" else list(nodes.values())
        deadline = time.monotonic() + 30
        while any(cluster.running_pid(files, node) is not None for node in ending):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert cluster.found() is None
        starter.kill()
    cluster.remove(say)
    assert _traces() == before


_START = """
import os, time
from labs.kubernetes import cluster
made = cluster.up(lambda text: None, os.getpid(), nodes=2)
made.kubectl("create", "deployment", "idle", "--image=registry.k8s.io/pause:3.10", "--replicas=4")
made.kubectl("rollout", "status", "deployment/idle", "--timeout=60s")
print("up", flush=True)
time.sleep(600)
"""


def _traces() -> set[str]:
    """What a cluster leaves on a machine: its processes, cgroups, links, mounts, and folders at fixed paths."""
    found = {str(root / layout.CGROUP) for root in tree.roots() if (root / layout.CGROUP).exists()}
    for place in ("/var/log/pods", "/var/log/containers", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni"):
        found |= {place} if Path(place).exists() else set()
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    found |= {place for place in mounts if "/jitterscope-lab-" not in place}  # another, concurrent lab's
    found |= {link.name for link in Path("/sys/class/net").iterdir()}
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = process.read_bytes()
        except OSError:
            continue
        if b"/kubernetes/bin/" in command or b"containerd" in command or command == b"/pause\0":
            found.add(f"process {process.parent.name}")
    folder = layout.Files.of_this_user().folder
    return found | ({str(folder)} if folder.exists() else set())
