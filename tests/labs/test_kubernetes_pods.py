"""What a collector knows of the pods of a real node, of each kind, and while one of its sources is missing."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import psutil
import pytest

from labs.kubernetes import case, chart, layout, objects, tree
from labs.kubernetes.case import Watched
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.configuration import CONTAINERD, KUBELET
from labs.kubernetes.layout import FIRST, SANDBOX_IMAGE
from labs.kubernetes.objects import Object
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
SPACE = "pods"
# What is promised of a name, and as much again for a machine that others use.
NAMED_WITHIN_S, TOLERANCE_S = 10.0, 10.0
# The collector reads pods that it knows, and the state of its node, every 60 to 75 s.
READ_S, PATIENCE_S = 100.0, 60.0
# What a resource has within 20 s of its first data is no change.
SETTLED_S = 25.0
OBJECTIVE = "jitterscope.io/objective"
NAMES = ("namespace", "pod", "container", "owner")
KUBELET_PORT = 10250
RUNTIME = "/run/containerd/containerd.sock"
# What a resize in place changes, as old and new values of facts.
LIMITS = {
    "cpu.quota_us": [("0.2", "0.4")],
    "memory.limit_bytes": [("64 MiB", "128 MiB")],
    "workload.requested_cpus": [("0.1", "0.15")],
}


def container(name: str, *command: str, **more: object) -> Object:
    """One that runs until it is killed, or a command of this machine."""
    made: Object = {"name": name, "image": SANDBOX_IMAGE, "imagePullPolicy": "Never", **more}
    if command:
        made |= {"command": list(command), "volumeMounts": objects.shown(*objects.programs())[1]}
    return made


def pod(*containers: Object, **more: object) -> Object:
    volumes = objects.shown(*objects.programs())[0]
    always = {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1, "volumes": volumes}
    return {**always, "containers": list(containers), **more}


def single(name: str, spec: Object, **labels: str) -> Object:
    made = objects.made("v1", "Pod", name, SPACE, spec=spec)
    made["metadata"]["labels"] = labels
    return made


@contextmanager
def space(cluster: Cluster) -> Iterator[None]:
    try:
        cluster.apply(objects.namespace(SPACE))
        cluster.kubectl("-n", SPACE, "wait", "--for=create", "serviceaccount/default", "--timeout=60s")
        yield
    finally:
        cluster.kubectl("delete", "namespace", SPACE, "--wait=false", "--ignore-not-found")


def started(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Container ID → what the API server says of each container of the namespace that has started."""
    found = {}
    for one in cluster.get("-n", SPACE, "pods")["items"]:
        declared = [each for kind in ("initC", "c", "ephemeralC") for each in one["spec"].get(f"{kind}ontainers", [])]
        images = {each["name"]: each["image"] for each in declared}
        lists = [one["status"].get(f"{kind}ontainerStatuses", []) for kind in ("initC", "c", "ephemeralC")]
        for status in (status for listed in lists for status in listed):
            [state] = status["state"].values()
            if "containerID" in status and "startedAt" in state:
                found[status["containerID"].partition("://")[2]] = {
                    "app": one["metadata"]["labels"]["app"], "pod": one["metadata"]["name"],
                    "container": status["name"], "image": images[status["name"]], "at": state["startedAt"],
                    "restarts": status["restartCount"],
                }  # fmt: skip
    return found


def known(here: Watched) -> dict[str, dict[str, Any]]:
    """Container ID → the product's resource of it, with the history of its facts; also of those that have ended."""
    listed = {one["key"].rpartition("/")[2]: one for one in here.product.all_cgroups()}
    wanted = listed.keys() & started(here.cluster).keys()
    return {each: here.product.resource(int(listed[each]["id"])) for each in wanted}


def facts(of: Mapping[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in of["facts"]}


def called(here: Watched) -> dict[str, dict[str, str | None]]:
    """Container ID → its names and image."""
    return {
        each: {name: facts(one).get(f"workload.{name}") for name in (*NAMES, "image")}
        for each, one in known(here).items()
    }


def expected(of: Mapping[str, Any], owner: str | None) -> dict[str, str | None]:
    return {"namespace": SPACE, "owner": owner} | {name: of[name] for name in ("pod", "container", "image")}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def named_after_s(of: Mapping[str, Any], wanted: Mapping[str, str | None], since: str) -> float:
    """From the start of a container, in whole seconds, until the collector had observed each of its facts."""
    first: dict[str, datetime] = {}
    for one in of["history"]:
        name = one["name"].removeprefix("workload.")
        if one["value"] == wanted.get(name):
            first.setdefault(name, at(one["since"]))
        elif name in NAMES:
            # Before it is known, a container is called by the start of its ID, and has no other name.
            assert name == "container", one
            assert of["key"].rpartition("/")[2].startswith(one["value"]), one
    assert first.keys() == wanted.keys(), (wanted, of["history"])
    return max((each - at(since)).total_seconds() for each in first.values())


def sources(here: Watched) -> Mapping[str, str]:
    """Source → what the Collectors page says about it."""
    [own] = here.product.collectors().values()
    return {one["name"]: f"{one['state']} {one['detail']}".strip() for one in own["sources"]}


@pytest.mark.timeout(2400)
@live(180, cpus=0.0, by_turn=False)
def test_containers_of_every_kind_have_names() -> None:
    owners = {"cart": "Deployment/cart", "db": "StatefulSet/db", "report": "CronJob/report"}
    sleep = "/usr/bin/sleep"
    with case.watched(say) as here, space(here.cluster):
        made = here.cluster
        inits = [container("proxy", restartPolicy="Always"), container("prepare", sleep, "8")]
        cart = objects.deployment("cart", SPACE, {"app": "cart"}, pod(container("cart"), initContainers=inits))
        cart["spec"]["template"]["metadata"]["annotations"] = {OBJECTIVE: "p99<50ms"}
        template = {"metadata": {"labels": {"app": "db"}}, "spec": pod(container("db"))}
        stateful = {"serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template}
        job = pod(container("report", sleep, "300"), restartPolicy="Never")
        jobs = {"spec": {"template": {"metadata": {"labels": {"app": "report"}}, "spec": job}}}
        each_minute = {"schedule": "* * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": jobs}
        made.apply(
            cart,
            objects.made("apps/v1", "StatefulSet", "db", SPACE, spec=stateful),
            objects.made("batch/v1", "CronJob", "report", SPACE, spec=each_minute),
        )
        made.kubectl("-n", SPACE, "rollout", "status", "deployment/cart", "--timeout=120s")
        [of_cart] = {one["pod"] for one in started(made).values() if one["app"] == "cart"}
        debug = ("debug", of_cart, f"--image={SANDBOX_IMAGE}", "--image-pull-policy=Never", "--container=debugger")
        made.kubectl("-n", SPACE, *debug, "--profile=general", "--attach=false")
        every = {"proxy", "prepare", "cart", "debugger", "db", "report"}

        def all_started() -> bool:
            return {one["container"] for one in started(made).values()} == every

        here.product.wait_for("a container of each kind", all_started, READ_S)
        ran = started(made)
        wanted = {each: expected(of, owners[of["app"]]) for each, of in ran.items()}
        here.product.wait_for("their names", lambda: called(here) == wanted, PATIENCE_S)
        found = known(here)
        took = {ran[each]["container"]: named_after_s(found[each], wanted[each], ran[each]["at"]) for each in ran}
        say(f"Known after (s): {took}")
        assert max(took.values()) <= NAMED_WITHIN_S + TOLERANCE_S

        def objectives() -> dict[str, str | None]:
            return {ran[each]["container"]: facts(of).get("workload.objective") for each, of in known(here).items()}

        without = dict.fromkeys(every)
        of_pod = ("cart", "proxy", "prepare", "debugger")
        assert objectives() == without | dict.fromkeys(of_pod, "p99<50ms")
        made.kubectl("-n", SPACE, "annotate", "pod", of_cart, "--overwrite", f"{OBJECTIVE}=p95<2s")
        # What has ended keeps what it had.
        changed = without | dict.fromkeys(of_pod, "p95<2s") | {"prepare": "p99<50ms"}
        here.product.wait_for("the new objective", lambda: objectives() == changed, READ_S)


def steps(here: Watched, fact: str) -> list[dict[str, Any]]:
    """What the product lists as changes of a fact of the node or of this namespace, oldest first."""
    mine = [one for one in here.product.changes() if one["what"] in (f"node {FIRST.name}",) or SPACE in one["what"]]
    return [step | {"change": one} for one in reversed(mine) for step in one["steps"] if step["name"] == fact]


def condition(cluster: Cluster, status: str) -> None:
    """As the node-problem-detector reports one."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"type": "ReadonlyFilesystem", "status": status, "reason": "Lab", "message": "of the lab"}
    patch = {"status": {"conditions": [{**told, "lastHeartbeatTime": now, "lastTransitionTime": now}]}}
    words = ("patch", "node", FIRST.name, "--subresource=status", "--type=strategic", "-p", json.dumps(patch))
    cluster.kubectl(*words)


@pytest.mark.timeout(2400)
@live(270, cpus=0.0, by_turn=False)
def test_what_happens_to_a_node_and_its_pods_is_a_change() -> None:
    with case.watched(say) as here, space(here.cluster), ThreadPoolExecutor(1) as acting:
        made, product = here.cluster, here.product
        asks = {"requests": {"cpu": "100m", "memory": "32Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}}
        # As PID 1 it gets no SIGTERM that it does not handle.
        stubborn = pod(container("room", "/usr/bin/sleep", "600"), terminationGracePeriodSeconds=75)
        made.apply(
            objects.deployment("sized", SPACE, {"app": "sized"}, pod(container("room", resources=asks))),
            single("stays", stubborn, app="evicted"),
            single("leaves", pod(container("room")), app="evicted"),
        )
        made.kubectl("-n", SPACE, "wait", "--for=condition=Ready", "pods", "--all", "--timeout=90s")
        before = started(made)
        product.wait_for("the containers", lambda: called(here).keys() == before.keys(), PATIENCE_S)
        [node] = product.resources("node")
        product.wait_for(
            "the node's state", lambda: facts(product.resource(int(node["id"]))).get("node.taints"), READ_S
        )
        time.sleep(SETTLED_S)
        assert not [one for one in product.changes() if one["what"] == f"node {FIRST.name}" or SPACE in one["what"]]

        say("Resizing a pod, and draining its node")
        [(sized, of_sized)] = [(each, of) for each, of in before.items() if of["app"] == "sized"]
        more = {"requests": {"cpu": "150m"}, "limits": {"cpu": "400m", "memory": "128Mi"}}
        patch = json.dumps({"spec": {"containers": [{"name": "room", "resources": more}]}})
        made.kubectl("-n", SPACE, "patch", "pod", of_sized["pod"], "--subresource=resize", "-p", patch)
        condition(made, "True")
        made.kubectl("taint", "nodes", FIRST.name, "lab/maintenance=yes:NoSchedule")
        try:
            forced = ("--ignore-daemonsets", "--force", "--timeout=150s")
            drained = acting.submit(made.kubectl, "drain", FIRST.name, "--pod-selector=app=evicted", *forced)

            def evicted() -> str | None:
                told = made.get("-n", SPACE, "pod", "stays")["status"]["conditions"]
                found = [one for one in told if one["type"] == "DisruptionTarget"]
                return str(found[0]["lastTransitionTime"]) if found else None

            evicted_at = product.wait_for("the eviction in the API", evicted, PATIENCE_S)

            def tainted() -> bool:
                return bool(shown := steps(here, "node.taints")) and "unschedulable" in str(shown[-1]["new"])

            product.wait_for("the taints", tainted, READ_S)
            product.wait_for("the eviction", lambda: steps(here, "pod.evicted"), READ_S)
            drained.result()
        finally:
            made.kubectl("uncordon", FIRST.name)
            made.kubectl("taint", "nodes", FIRST.name, "lab/maintenance-")
            condition(made, "False")
        taints = steps(here, "node.taints")
        assert taints[0]["old"] == "none"
        listed = {"node.kubernetes.io/unschedulable:NoSchedule", "lab/maintenance=yes:NoSchedule"}
        assert set(taints[-1]["new"].split(", ")) == listed
        assert [(one["old"], one["new"]) for one in steps(here, "node.conditions")] == [
            ("healthy", "ReadonlyFilesystem")
        ]

        # One that ends at once can be missed.
        [eviction] = steps(here, "pod.evicted")
        assert eviction["text"] in {
            f"{SPACE}/stays evicted through the API",
            f"{SPACE}/stays, {SPACE}/leaves evicted through the API",
            f"{SPACE}/leaves, {SPACE}/stays evicted through the API",
        }
        assert eviction["change"]["what"] == f"node {FIRST.name}"
        assert abs((at(eviction["change"]["at"]) - at(evicted_at)).total_seconds()) <= 1

        # The same container has other limits.
        limits = {fact: [(one["old"], one["new"]) for one in steps(here, fact)] for fact in LIMITS}
        assert limits == LIMITS
        assert started(made)[sized] == of_sized
        own = facts(known(here)[sized])
        assert (own["cpu.quota_us"], own["memory.limit_bytes"]) == ("40000", str(128 << 20))

        product.wait_for("that the node is as it was", lambda: steps(here, "node.taints")[-1]["new"] == "none", READ_S)
        assert steps(here, "node.conditions")[-1]["new"] == "healthy"
        say(json.dumps([(one["kind"], one["what"], one["text"]) for one in product.changes()], ensure_ascii=False))


@contextmanager
def without_runtime(cluster: Cluster) -> Iterator[None]:
    """The collector may not connect to containerd; the kubelet, which may do everything, still does."""
    mode = cluster.on_node("stat", "--format=%a", RUNTIME).strip()
    cluster.on_node("chmod", "0", RUNTIME)
    try:
        yield
    finally:
        cluster.on_node("chmod", mode, RUNTIME)


@contextmanager
def without(cluster: Cluster, rule: str) -> Iterator[None]:
    """A rule for the packets that the node's programs send."""
    table = "inet lab-pods"
    chain = f"add chain {table} out {{ type filter hook output priority -300; }}"
    cluster.on_node("nft", f"add table {table}; {chain}; add rule {table} out {rule}")
    try:
        yield
    finally:
        cluster.on_node("nft", f"delete table {table}")


@contextmanager
def stopped_kubelet(cluster: Cluster) -> Iterator[None]:
    """It accepts connections and answers nothing."""
    below = psutil.Process(cluster.pid(FIRST)).children(recursive=True)
    [kubelet] = [one for one in below if one.name() == "kubelet"]
    kubelet.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        kubelet.send_signal(signal.SIGCONT)


def of_name(here: Watched, name: str) -> str | None:
    """The newest ID of the container of a pod."""
    found = [(one["at"], each) for each, one in started(here.cluster).items() if one["pod"] == name]
    return max(found)[1] if found else None


def start(here: Watched, name: str) -> str:
    """A pod that is started now; returns the ID of its container."""
    here.cluster.apply(single(name, pod(container("room")), app=name))
    return here.product.wait_for(f"that {name} runs", lambda: of_name(here, name), PATIENCE_S)


def wait_for_name(here: Watched, each: str, owner: str | None = None, image: bool = True) -> None:
    """`image`: with the image as the pod declares it, which older runtimes do not know."""
    wanted = expected(started(here.cluster)[each], owner)
    if not image:
        del wanted["image"]

    def has_name() -> bool:
        return wanted.items() <= called(here).get(each, {}).items()

    here.product.wait_for(f"the name of {wanted['pod']}", has_name, READ_S)


@pytest.mark.timeout(2400)
@live(210, cpus=0.0, by_turn=False)
def test_names_come_from_what_remains() -> None:
    with case.watched(say) as here, space(here.cluster):
        made, product = here.cluster, here.product
        made.apply(objects.deployment("web", SPACE, {"app": "web"}, pod(container("web"))))
        made.kubectl("-n", SPACE, "rollout", "status", "deployment/web", "--timeout=90s")
        [web] = started(made)
        wait_for_name(here, web, "Deployment/web")
        right = called(here)[web]
        product.wait_for("that nothing is missing", lambda: sources(here)["names"] == "active", PATIENCE_S)

        def is_right() -> None:
            """It never had another name, or another image."""
            of = product.resource(int(known(here)[web]["id"]))
            assert called(here)[web] == right
            assert named_after_s(of, right, started(made)[web]["at"]) <= NAMED_WITHIN_S + TOLERANCE_S
            assert len({one["value"] for one in of["history"] if one["name"] == "workload.image"}) == 1, of["history"]

        def missing(what: str) -> None:
            product.wait_for(f"that {what} is missing", lambda: what in sources(here)["names"], READ_S)
            say(sources(here)["names"])
            assert sources(here)["names"].startswith("degraded")

        def works() -> None:
            product.wait_for("that nothing is missing", lambda: sources(here)["names"] == "active", READ_S)

        say("Without the runtime")
        with without_runtime(made):
            wait_for_name(here, start(here, "no-runtime"))
            missing(f"container runtime at {RUNTIME}")
            is_right()
        start(here, "runtime-back")  # whose name the collector asks for
        works()

        say("With a runtime that was restarted, and without the kubelet's answers")
        # The collector's mount keeps the old socket, where nobody listens.
        made.restart(FIRST, CONTAINERD)
        with without(made, f"tcp dport {KUBELET_PORT} reject with tcp reset"):
            of_runtime = start(here, "no-kubelet")
            wait_for_name(here, of_runtime, image=False)
            say(str(called(here)[of_runtime]))
            missing(f"{FIRST.address}:{KUBELET_PORT}")
            is_right()
        start(here, "kubelet-back")
        works()
        wait_for_name(here, of_runtime)

        say("With a kubelet that hangs")
        with stopped_kubelet(made):
            # A container that ends makes the collector ask.
            key = str(known(here)[web]["key"])
            pids = next(one for root in tree.roots() if (one := root / key.lstrip("/") / "cgroup.procs").exists())
            os.kill(int(pids.read_text().split()[0]), signal.SIGKILL)
            missing(f"{FIRST.address}:{KUBELET_PORT}")
            is_right()

        def again() -> str | None:
            ids = [each for each, one in started(made).items() if one["app"] == "web" and one["restarts"] == 1]
            return ids[0] if ids else None

        wait_for_name(here, product.wait_for("that it was started again", again, PATIENCE_S), "Deployment/web")
        works()
        assert not [one for one in product.changes() if SPACE in one["what"]]


def token(cluster: Cluster) -> tuple[str, str]:
    """The collector's pod, with how often it was started, and its service account token as the file has it."""
    [own] = cluster.get("-n", chart.NAMESPACE, "pods")["items"]
    folder = f"/var/lib/kubelet/pods/{own['metadata']['uid']}/volumes/kubernetes.io~projected"
    text = cluster.on_node("sh", "-c", f"cat {folder}/kube-api-access-*/token")
    return f"{own['metadata']['name']} {own['status']['containerStatuses'][0]['restartCount']}", text


def is_valid(cluster: Cluster, text: str) -> bool:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": text}}
    told = json.loads(cluster.kubectl("create", "-f", "-", "-o", "json", standard_input=json.dumps(review)))
    return bool(told["status"].get("authenticated"))


def nodes_listed(cluster: Cluster) -> int:
    """How often the API server gave the collector its list of nodes."""
    lines = cluster.files.audit_log.read_text().split("\n")[:-1]  # the last one may be incomplete
    events = [json.loads(line) for line in lines if '"nodes"' in line]
    return sum(
        one["user"]["username"] == f"system:serviceaccount:{chart.NAMESPACE}:{chart.COLLECTOR}"
        and one["verb"] == "list"
        and one["annotations"]["authorization.k8s.io/decision"] == "allow"
        for one in events
        if one["objectRef"]["resource"] == "nodes"
    )


@pytest.mark.timeout(2400)
@live(270, cpus=0.0, by_turn=False)
def test_a_collector_without_the_api_server_and_with_another_token() -> None:
    with case.watched(say) as here, space(here.cluster):
        made, product = here.cluster, here.product
        product.wait_for("the node's state", lambda: sources(here).get("node_state") == "active", PATIENCE_S)
        say("Without the API server")
        with without(made, f"ip daddr {layout.API_SERVICE} drop"):
            made.apply(objects.deployment("web", SPACE, {"app": "web"}, pod(container("web"))))
            made.kubectl("-n", SPACE, "rollout", "status", "deployment/web", "--timeout=90s")
            [web] = started(made)
            wait_for_name(here, web, "Deployment/web")

            def misses() -> bool:
                return sources(here)["node_state"].startswith("degraded API server")

            product.wait_for("that the API server is missing", misses, READ_S)
            say(sources(here)["node_state"])
            assert sources(here)["names"] == "active"
        product.wait_for("that the API server is back", lambda: sources(here)["node_state"] == "active", READ_S)

        say("With a token of a new service account")
        runs, before = token(made)
        account = made.get("-n", chart.NAMESPACE, "serviceaccount", chart.COLLECTOR)
        kept = {name: account["metadata"][name] for name in ("name", "namespace", "labels", "annotations")}
        made.kubectl("-n", chart.NAMESPACE, "delete", "serviceaccount", chart.COLLECTOR)
        made.kubectl("create", "-f", "-", standard_input=json.dumps({**account, "metadata": kept, "secrets": []}))
        product.wait_for("that the old token is invalid", lambda: not is_valid(made, before), PATIENCE_S)
        made.restart(FIRST, KUBELET)  # which requests a new token at once, not when 80 % of its hour have passed
        product.wait_for("the new token", lambda: token(made)[1] != before, PATIENCE_S)
        assert is_valid(made, token(made)[1])
        made.apply(objects.deployment("later", SPACE, {"app": "later"}, pod(container("web"))))
        later = product.wait_for(
            "its pod", lambda: [e for e, one in started(made).items() if one["app"] == "later"], READ_S
        )
        # Only the kubelet knows the owner.
        wait_for_name(here, later[0], "Deployment/later")
        product.wait_for("that the kubelet answers", lambda: sources(here)["names"] == "active", READ_S)
        lists = nodes_listed(made)
        product.wait_for("that the API server answers", lambda: nodes_listed(made) > lists, READ_S)
        assert sources(here)["node_state"] == "active"
        assert token(made)[0] == runs, "it did not have to start again"
