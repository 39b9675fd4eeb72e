"""Pods come and go, a node is drained, and a kubelet is restarted, under the chart's collectors."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx

from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import api, case, chart, churn_names, objects
from labs.kubernetes.case import Watched
from labs.kubernetes.churn_names import Seen
from labs.kubernetes.churn_report import Collector, Report
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.configuration import KUBELET
from labs.kubernetes.layout import SANDBOX_IMAGE, Node
from labs.kubernetes.objects import Object

SPACE, _RESIDENTS, _WAVE = "churn", "residents", "wave-"
_PODS = f"/api/v1/namespaces/{SPACE}/pods"
# How long a pod lives once it runs: some end before they are ever queried.
_LIVES_S = (2.0, 5.0, 10.0, 20.0)
# When each step happens, as fractions of the whole run.
_DRAINED, _BACK, _RESTARTED = 0.3, 0.45, 0.65
_LOOKS_EVERY_S, _TICK_S = 0.5, 0.1
# Until data of the last pods are stored, and until the first pods are.
_SETTLES_S, _STORED_S = 15.0, 180.0
_LATE_US = 10_000
_COUNTED = {"counted_ticks": "ticks", "counted_missed_ticks": "ticks_missed", "counted_late_ticks": "ticks_late"}


def run(pods: int, seconds: float, say: Say) -> Report:
    """Create `pods` pods within `seconds`, and delete them. Raises LabError if the cluster does not keep up."""
    with case.watched(say, nodes=2) as here, _space(here.cluster), api.client(here.cluster.files) as asking:
        time.sleep(_SETTLES_S)
        churn = _Churn(here.cluster, asking)
        before, from_us = _pages(here.cluster), _now_us()
        told = churn.run(pods, seconds, say)
        to_us, after = _now_us(), _pages(here.cluster)
        time.sleep(_SETTLES_S)
        say("Waiting until everything is stored")
        for one in here.product.resources("node"):
            _wait_for_last(here, int(one["id"]), to_us)
        say("Comparing names and ticks with what ran")
        return Report(
            **told,
            names=churn_names.compared(here.product, list(churn.seen.values())),
            collectors=[
                _collector(here, node, churn.seen, (from_us, to_us), before[node], after[node])
                for node in here.cluster.nodes
            ],
        )


def _wait_for_last(here: Watched, node_id: int, to_us: int) -> None:
    """Wait until the last ticks are stored: a collector sends its spool in order."""

    def last() -> dict[int, float]:
        return here.product.values(node_id, "collector_tick", to_us - 1_000_000, to_us)

    here.product.wait_for("the last ticks of the collectors", last, _STORED_S)


class _Churn:
    """`seen`: every pod of the namespace by its UID, as the API server reported it."""

    def __init__(self, cluster: Cluster, asking: httpx.Client) -> None:
        self._cluster, self._asking = cluster, asking
        self.seen: dict[str, Seen] = {}
        self._deleted: set[str] = set()

    def run(self, pods: int, seconds: float, say: Say) -> dict[str, Any]:
        """From the first pod's creation until the last is gone."""
        first, second = self._cluster.nodes[:2]
        residents = {pod.uid for pod in self._look()}
        began = time.monotonic()
        say(f"Creating {pods} pods in {seconds:.0f} s")
        with ThreadPoolExecutor(1) as acting:
            steps = self._steps(first, second, say)
            acted: list[Future[float]] = []
            created = 0
            while (
                (passed := time.monotonic() - began) < seconds or created < pods or not all(one.done() for one in acted)
            ):
                while created < pods and passed >= created * seconds / pods:
                    self._create(created)
                    created += 1
                while len(acted) < len(steps) and passed >= steps[len(acted)][0] * seconds:
                    acted.append(acting.submit(steps[len(acted)][1]))
                self._delete_due(self._look())
                for one in acted:
                    if one.done():
                        one.result()  # its error, if it failed
                time.sleep(_LOOKS_EVERY_S)
            drain_s, _back, kubelet_away_s = (one.result() for one in acted)
        say("Deleting the pods that are left")
        self._cluster.kubectl("-n", SPACE, "delete", "pods", "-l", "app=wave", "--now", "--wait=true")
        left = {one.uid for one in self._look()}
        return {
            "seconds": round(time.monotonic() - began, 1),
            "created": created,
            "deleted": sum(one.owner is None and one.uid not in left for one in self.seen.values()),
            "drained": second.name,
            "drain_s": round(drain_s, 1),
            "moved": sum(one.owner is not None and one.uid not in residents for one in self.seen.values()),
            "kubelet_restarted": first.name,
            "kubelet_away_s": round(kubelet_away_s, 1),
        }

    def _steps(self, first: Node, second: Node, say: Say) -> list[tuple[float, Any]]:
        def drain() -> float:
            say(f"Draining {second.name}")
            began = time.monotonic()
            options = ("--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=120s")
            self._cluster.kubectl("drain", second.name, *options)
            return time.monotonic() - began

        def back() -> float:
            say(f"{second.name} takes pods again")
            self._cluster.kubectl("uncordon", second.name)
            return 0.0

        def restart() -> float:
            say(f"Restarting the kubelet of {first.name}")
            began, known = time.monotonic(), set(self.seen)
            self._cluster.restart(first, KUBELET)
            say("The kubelet is running again")
            while not any(
                one.node == first.name and one.ran for one in self.seen.copy().values() if one.uid not in known
            ):
                if time.monotonic() - began > 120:
                    raise LabError(f"{first.name} started no pod after its kubelet was restarted.")
                time.sleep(_LOOKS_EVERY_S)
            return time.monotonic() - began

        return [(_DRAINED, drain), (_BACK, back), (_RESTARTED, restart)]

    def _create(self, number: int) -> None:
        container = {"name": "room", "image": SANDBOX_IMAGE, "imagePullPolicy": "Never"}
        spec = {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
            # Otherwise most pods would land where most room is, instead of half of them on each node.
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"app": "wave"}},
                }
            ],
        }
        metadata = {"name": f"{_WAVE}{number}", "labels": {"app": "wave"}}
        self._asking.post(
            _PODS, json={"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        ).raise_for_status()

    def _look(self) -> list[Seen]:
        """Record the pods that exist now."""
        items = self._asking.get(_PODS).raise_for_status().json()["items"]
        now = [churn_names.seen(item, self.seen.get(item["metadata"]["uid"])) for item in items]
        self.seen.update({one.uid: one for one in now})
        return now

    def _delete_due(self, now: list[Seen]) -> None:
        for one in now:
            if one.owner is not None or one.uid in self._deleted:
                continue
            number = int(one.name.removeprefix(_WAVE))
            if one.ran_s > _LIVES_S[number % len(_LIVES_S)]:
                self._deleted.add(one.uid)
                answer = self._asking.delete(f"{_PODS}/{one.name}")
                if answer.status_code != httpx.codes.NOT_FOUND:  # already evicted
                    answer.raise_for_status()


@contextmanager
def _space(cluster: Cluster) -> Iterator[None]:
    """A namespace with a Deployment on both nodes, whose pods a drain moves."""
    container = {"name": "room", "image": SANDBOX_IMAGE, "imagePullPolicy": "Never"}
    labels = {"app": _RESIDENTS}
    pod: Object = {"automountServiceAccountToken": False, "containers": [container]}
    try:
        cluster.apply(objects.namespace(SPACE), objects.deployment(_RESIDENTS, SPACE, labels, pod, replicas=6))
        cluster.kubectl("-n", SPACE, "rollout", "status", f"deployment/{_RESIDENTS}", "--timeout=120s")
        yield
    finally:
        cluster.kubectl("delete", "namespace", SPACE, "--ignore-not-found", "--wait=false")
        for node in cluster.nodes:
            cluster.kubectl("uncordon", node.name)


def _now_us() -> int:
    return int(time.time() * 10) * 100_000


def _pages(cluster: Cluster) -> dict[Node, Mapping[str, float]]:
    """The counters of each collector's own metrics page."""
    return {node: _page(chart.page(cluster, node)) for node in cluster.nodes}


def _page(text: str) -> dict[str, float]:
    found = re.findall(r"^jitterscope_collector_(\w+)_total ([0-9.e+]+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def _collector(
    here: Watched,
    node: Node,
    seen: Mapping[str, Seen],
    window: tuple[int, int],
    before: Mapping[str, float],
    after: Mapping[str, float],
) -> Collector:
    [resource] = [one for one in here.product.resources("node") if one["name"] == node.name]
    [own] = [one for one in here.product.collectors().values() if one["node"]["name"] == node.name]

    def values(metric: str) -> dict[int, float]:
        return here.product.values(int(resource["id"]), metric, *window)

    ticks, lateness, memory = (values(f"collector_{name}") for name in ("tick", "lateness_us", "rss_bytes"))
    if not memory or not lateness:
        raise LabError(f"The product has nothing of the collector of {node.name}.")
    mib = [memory[at_us] / 2**20 for at_us in sorted(memory)]
    of_some_s = int(_SETTLES_S / _TICK_S)
    wanted = (window[1] - window[0]) // 100_000
    return Collector(
        node=node.name,
        pods=sum(one.node == node.name for one in seen.values()),
        ticks=len(ticks),
        missing_ticks=wanted - len(ticks),
        late_ticks=sum(late > _LATE_US for late in lateness.values()),
        latest_ms=round(max(lateness.values()) / 1e3, 1),
        **{field: int(after[name] - before[name]) for field, name in _COUNTED.items()},
        cpu=round(sum(values("collector_cpu_us").values()) / (window[1] - window[0]), 4),
        memory_first_mib=round(statistics.median(mib[:of_some_s]), 1),
        memory_max_mib=round(max(mib), 1),
        memory_last_mib=round(statistics.median(mib[-of_some_s:]), 1),
        memory_limit_mib=chart.memory_limit_mib(here.cluster),
        dropped_batches=own["dropped_batches"],
    )
