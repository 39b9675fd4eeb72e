"""docs/deploy.md as a reader follows it on a real Kubernetes: its own commands, with the reader's values filled in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from jitterscope.kit.secretbox import new_key
from jitterscope.tenancy.secrets import new_secret
from jitterscope.tenancy.tokens import INGEST_PREFIX
from labs.errors import LabError
from labs.hosting import product_for_others
from labs.kubernetes import backend, chart, cluster, dns, forwarding, lifecycle, objects, servers, trial, volumes
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.sending import Traffic
from labs.kubernetes.servers import Servers
from labs.product import Product
from tests.support.deploy_docs import Reader, commands, leaving_nothing, the_one
from tests.support.lab_plan import live
from tests.support.said import say

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces and cgroups: needs root")
LIVE = live(600, cpus=0.0, together="the docs on deployment", by_turn=False)
REGISTRY, URL = "registry.example.com", "https://jitterscope.example.com"
# There is no TLS proxy here, and with https:// the session's cookie is not sent over HTTP.
PUBLIC_URL = "http://jitterscope.example.com"

UNINSTALL = "helm uninstall jitterscope -n jitterscope"
DELETE_NAMESPACE = "kubectl delete namespace jitterscope"
DELETE_SPOOL = "rm -rf /var/lib/jitterscope-collector"
UPGRADE = "image.tag=TAG"
LOGIN = "kubectl -n jitterscope logs job/jitterscope-setup"
# What each test runs, in its order: a command, or a text that only one command has in it.
TRIAL = [
    "--set trial.enabled=true",
    "--set demo.enabled=false",
    UNINSTALL,
    "kubectl -n jitterscope delete pvc,secret -l app.kubernetes.io/instance=jitterscope",
    DELETE_NAMESPACE,
    DELETE_SPOOL,
]
PREPARATION = [
    "kubectl create namespace jitterscope\n"
    "kubectl label namespace jitterscope pod-security.kubernetes.io/enforce=privileged",
    "jitterscope bootstrap &&",
    "kubectl -n jitterscope create secret generic jitterscope --from-env-file=FILE",
    "-f your-values.yaml",
    LOGIN,
]
PRODUCTION = [
    *PREPARATION,
    UPGRADE,
    "helm rollback jitterscope -n jitterscope --wait",
    UPGRADE,  # fails on purpose
    UNINSTALL,
    "kubectl -n jitterscope delete job jitterscope-setup-upgrade",
    DELETE_NAMESPACE,
    DELETE_SPOOL,
]
KUSTOMIZE = [
    "kubectl apply -f kustomize/base/namespace.yaml",
    "-l app.kubernetes.io/component=setup",
    "kubectl delete -k OVERLAY",
    DELETE_SPOOL,
]
COLLECTORS = [
    "--set backend.enabled=false",
    UNINSTALL,
    DELETE_NAMESPACE,
    DELETE_SPOOL,
    "kubectl apply -f kustomize/collectors/namespace.yaml",
    "kubectl delete -k OVERLAY",
    DELETE_SPOOL,
]
BY_NAME = "names a command that is run with its options"
ON_THE_MACHINE = "about the machine, not about a cluster"
NOT_RUN = {
    "docker buildx build": "needs Docker's buildx and a registry; the tests load images that follow the Dockerfiles",
    "docker compose up -d --scale worker=3": "Docker Compose: tests/labs/test_compose.py",
    "make up": ON_THE_MACHINE,
    "make build-collector": ON_THE_MACHINE,
    "make test-collector-arm64": ON_THE_MACHINE,
    "make cluster-up": "the tests' own cluster is started by the same function; a second one cannot run beside it",
    'make cluster-up ARGS="--nodes 1"': "as above",
    "make cluster-down": "as above",
    "kubectl jitterscope incidents -n shop": "needs an incident: tests/labs/test_kubernetes.py runs the plugin",
    "helm template": "tests/labs/test_chart.py renders the chart with it",
    "helm uninstall": BY_NAME,
    "kubectl set": "names a kind of patch",
    "jitterscope setup": BY_NAME,
    "jitterscope bootstrap": BY_NAME,
    "jitterscope new-secrets": BY_NAME,
}


def test_every_command_is_run_or_says_why_not() -> None:
    of_docs = commands()
    run = {the_one(mark, of_docs) for mark in (*TRIAL, *PRODUCTION, *KUSTOMIZE, *COLLECTORS)}
    not_run = {the_one(mark, of_docs) for mark in NOT_RUN}
    assert not run & not_run
    assert set(of_docs) - run - not_run == set()


@pytest.fixture(scope="module")
def made() -> Iterator[Cluster]:
    """Two nodes with the images of two releases, under the names that the reader's registry gives them."""
    with cluster.running(say, nodes=2) as made:
        release, newer, *own = backend.images()
        collector = chart.collector_image()
        of_newer = replace(collector, name=f"{collector.name.partition(':')[0]}:{backend.NEWER}")
        say("Loading images")
        for image in (release, newer, collector, of_newer):
            made.load(replace(image, name=f"{REGISTRY}/{image.name}"))
        for image in own:
            made.load(image)
        objects.load_coredns(made)
        with objects.running(made, (dns.cluster_dns(),)), trial.services_reached():
            yield made


def reader_of(made: Cluster, folder: Path, own: Servers | None = None) -> Reader:
    values = {"REGISTRY": REGISTRY, "TAG": backend.NEWER, URL: PUBLIC_URL}
    if own is not None:
        values |= {"HOST": own.host, "PASSWORD": own.password}
        values |= {"VALKEY_HOST": own.valkey_host, "VALKEY_PASSWORD": own.valkey_password}
    # A run that is made again begins anew.
    reader = Reader(made, Path(tempfile.mkdtemp(dir=folder)), values)
    reader.write("repository: REGISTRY/jitterscope }", "your-values.yaml")
    return reader


def wait_until_ready(made: Cluster) -> None:
    """What `--wait` does, for commands of the docs that return earlier."""
    for one in made.get("-n", chart.NAMESPACE, "deployments,statefulsets,daemonsets")["items"]:
        name = f"{one['kind'].lower()}/{one['metadata']['name']}"
        made.kubectl("-n", chart.NAMESPACE, "rollout", "status", name, "--timeout=180s")


def tags(made: Cluster) -> set[str]:
    """The tags of the product's images in what runs continuously."""
    found = made.get("-n", chart.NAMESPACE, "deployments,daemonsets")["items"]
    specs = [one["spec"]["template"]["spec"] for one in found]
    return {container["image"].rpartition(":")[2] for spec in specs for container in spec["containers"]}


def wait_for_both(product: Product) -> None:
    """Wait until the collectors of both nodes deliver."""

    def receiving() -> bool:
        return [one["state"] for one in product.collectors().values()].count("receiving") == 2

    product.wait_for("the collectors of both nodes", receiving, 90)


@NEEDS_ROOT
@pytest.mark.timeout(2400)
@LIVE
def test_a_trial(made: Cluster, tmp_path: Path) -> None:
    with volumes.for_claims(made, chart.NAMESPACE, trial.CLAIMS), leaving_nothing(made):
        reader = reader_of(made, tmp_path)
        notes = reader.run(TRIAL[0], " --set demo.enabled=true -f your-values.yaml")
        assert LOGIN in notes
        wait_until_ready(made)
        with Product.signed_in(trial.url(made), *trial.first_login(made)) as product:
            wait_for_both(product)
            demo = ("-n", chart.NAMESPACE, "deployments", "-l", "app.kubernetes.io/component in (demo,demo-clients)")
            assert made.get(*demo)["items"]
            reader.run(TRIAL[1])
            assert not made.get(*demo)["items"]
        for mark in TRIAL[2:-1]:
            reader.run(mark)
        reader.run_on_nodes(DELETE_SPOOL)
    assert reader.ran == TRIAL


@NEEDS_ROOT
@pytest.mark.timeout(2400)
@LIVE
def test_production_with_servers_of_its_own(made: Cluster, tmp_path: Path) -> None:
    with servers.running(made) as own, leaving_nothing(made, beside="postgres"):
        reader = reader_of(made, tmp_path, own)
        *_, log = [reader.run(mark) for mark in PREPARATION]
        url = trial.url(made)
        with Product.signed_in(url, *trial.login_in(log)) as product:
            wait_for_both(product)
            traffic = Traffic(
                url, reader.secrets()["JITTERSCOPE_COLLECTOR_TOKEN"], product.cookies, senders=2, readers=1
            )
            newer = reader.newer_chart()
            traffic.phase("helm upgrade")
            with traffic.running():
                with pytest.raises(LabError, match="nil pointer"):
                    made.helm("upgrade", chart.RELEASE, str(newer), "-n", chart.NAMESPACE, "--reuse-values")
                reader.run(UPGRADE)
                assert tags(made) == {backend.NEWER}
                traffic.phase("helm rollback")
                reader.run("helm rollback jitterscope -n jitterscope --wait")
                assert tags(made) == {backend.version()}
            wait_for_both(product)
            for phase in traffic.phases.values():
                assert phase.answered > 0
                assert not [why for why in phase.retried if "ConnectError" in why], phase
            for one in [lifecycle.stored(product, sender) for sender in traffic.senders]:
                assert (one.stored_batches, one.missing, one.wrong) == (one.batches, 0, 0), one
                assert one.ticks > 50
        reader.values["TAG"] = "never-pushed"
        with pytest.raises(LabError, match="pre-upgrade"):
            reader.run(UPGRADE, " --timeout=10s")
        for mark in PRODUCTION[-4:-1]:
            reader.run(mark)
        reader.run_on_nodes(DELETE_SPOOL)
    assert reader.ran == PRODUCTION


@NEEDS_ROOT
@pytest.mark.timeout(2400)
@LIVE
def test_without_helm(made: Cluster, tmp_path: Path) -> None:
    with servers.running(made) as own, leaving_nothing(made, beside="postgres"):
        reader = reader_of(made, tmp_path, own)
        # With the superuser's URL, the setup job creates roles and database.
        at = f"@{own.host}"
        reader.keep_secrets(
            JITTERSCOPE_SUPERUSER_DATABASE_URL=f"postgresql://postgres:{own.password}{at}/postgres",
            JITTERSCOPE_OWNER_DATABASE_URL=f"postgresql://jitterscope_owner:of-owner{at}/jitterscope",
            JITTERSCOPE_DATABASE_URL=f"postgresql://jitterscope_app:of-app{at}/jitterscope",
            JITTERSCOPE_VALKEY_URL=f"redis://:{own.valkey_password}@{own.valkey_host}:6379/0",
            JITTERSCOPE_SECRET_KEY=new_key(),
            JITTERSCOPE_COLLECTOR_TOKEN=new_secret(INGEST_PREFIX),
        )
        overlay = reader.write("kustomize/base", "../overlay/kustomization.yaml")
        login = trial.login_in(reader.run(KUSTOMIZE[0]))
        wait_until_ready(made)
        assert tags(made) == {backend.version()}
        with Product.signed_in(trial.url(made), *login) as product:
            wait_for_both(product)
        overlay.write_text(overlay.read_text().replace(f"newTag: {backend.version()}", f"newTag: {backend.NEWER}"))
        reader.run(KUSTOMIZE[1])
        wait_until_ready(made)
        assert tags(made) == {backend.NEWER}
        with Product.signed_in(trial.url(made), *login) as product:
            wait_for_both(product)
        reader.run(KUSTOMIZE[2])
        reader.run_on_nodes(DELETE_SPOOL)
    assert reader.ran == KUSTOMIZE


@NEEDS_ROOT
@pytest.mark.timeout(2400)
@LIVE
def test_collectors_for_an_installation_elsewhere(made: Cluster, tmp_path: Path) -> None:
    with product_for_others(say, {}) as (product, token):
        port = urlsplit(product.url).port
        assert port is not None
        with forwarding.forwarded(port) as server, leaving_nothing(made):
            reader = reader_of(made, tmp_path)
            reader.values |= {"TOKEN": token, URL: server}
            reader.run(COLLECTORS[0])
            wait_for_both(product)
            reader.run(UNINSTALL)
            reader.run(DELETE_NAMESPACE)
            reader.run_on_nodes(DELETE_SPOOL)
            before = {key: one["batches"] for key, one in product.collectors().items()}
            reader.write("kustomize/collectors", "../overlay/kustomization.yaml")
            reader.run(COLLECTORS[4])

            def more() -> bool:
                # On a machine without an ID, a collector keeps its own in its spool.
                now = product.collectors().items()
                return [one["batches"] > before.get(key, 0) for key, one in now].count(True) == 2

            product.wait_for("batches from collectors installed with Kustomize", more, 90)
            reader.run("kubectl delete -k OVERLAY")
            reader.run_on_nodes(DELETE_SPOOL)
    assert reader.ran == COLLECTORS
