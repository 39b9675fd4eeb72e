"""Fixes applied to running faults: what fixes say about the labs that try them, and a real one of each lab."""

from __future__ import annotations

import importlib
import os
import pkgutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from jitterscope.diagnosis.core.registry import all_areas, all_causes, fixes_of
from labs import commands
from labs import variants as coredns_variants
from labs import watched as coredns_watched
from labs.applying import (
    attempt,
    coredns_gc,
    crowd,
    dentries,
    dependency,
    disk,
    eventloop,
    forwarding,
    loss,
    nodelocal,
    noisy,
    oom,
    pagecache,
    podstart,
    search,
    service,
)
from labs.applying.ongoing import Ongoing
from labs.crowd import variants as crowd_variants
from labs.crowd import watched as crowd_watched
from labs.dentries import variants as dentries_variants
from labs.dentries import watched as dentries_watched
from labs.dependency import variants as dependency_variants
from labs.dependency import watched as dependency_watched
from labs.disk import variants as disk_variants
from labs.disk import watched as disk_watched
from labs.eventloop import variants as eventloop_variants
from labs.eventloop import watched as eventloop_watched
from labs.forwarding import variants as forwarding_variants
from labs.forwarding import watched as forwarding_watched
from labs.hosting import own_product
from labs.loss import variants as loss_variants
from labs.loss import watched as loss_watched
from labs.nodelocal import variants as nodelocal_variants
from labs.nodelocal import watched as nodelocal_watched
from labs.noisy import variants as noisy_variants
from labs.noisy import watched as noisy_watched
from labs.oom import variants as oom_variants
from labs.oom import watched as oom_watched
from labs.pagecache import variants as pagecache_variants
from labs.pagecache import watched as pagecache_watched
from labs.podstart import variants as podstart_variants
from labs.podstart import watched as podstart_watched
from labs.podstart.watched import kubelet
from labs.search import variants as search_variants
from labs.search import watched as search_watched
from labs.service import variants as service_variants
from labs.service import watched as service_watched
from tests.support.lab_plan import live
from tests.support.said import say

NAMES = {
    importlib.import_module(f"{commands.__name__}.{one.name}").NAME for one in pkgutil.iter_modules(commands.__path__)
}


TRIED = {
    coredns_watched.LAB: set(coredns_gc.FIXES),
    nodelocal_watched.LAB: set(nodelocal.FIXES),
    search_watched.LAB: set(search.FIXES),
    forwarding_watched.LAB: set(forwarding.FIXES),
    oom_watched.LAB: set(oom.FIXES),
    dentries_watched.LAB: set(dentries.FIXES),
    podstart_watched.LAB: set(podstart.FIXES),
    noisy_watched.LAB: set(noisy.FIXES),
    disk_watched.LAB: set(disk.FIXES),
    pagecache_watched.LAB: set(pagecache.FIXES),
    dependency_watched.LAB: set(dependency.FIXES),
    crowd_watched.LAB: set(crowd.FIXES),
    loss_watched.LAB: set(loss.FIXES),
    eventloop_watched.LAB: set(eventloop.FIXES),
    # A CPU limit is declared with the first lab that tries it.
    service_watched.LAB: set(service.FIXES) - {"raise_cpu_limit"},
}


def test_fixes_name_the_labs_that_try_them() -> None:
    named: dict[str, set[str]] = {}
    # Two areas can declare a fix with the same ID; one of them is what the lab makes.
    for kind in (kind for area in all_areas() for kind in fixes_of(area)):
        if kind.lab is not None:
            lab, *_, option, fix = kind.lab.split()
            assert (option, fix) == ("--apply", kind.id)
            named.setdefault(lab, set()).add(fix)
    assert named == TRIED
    assert set(named) <= NAMES


Made = Iterator[tuple[AbstractContextManager[Ongoing], str]]


@contextmanager
def starting_pods(variant: str, folder: Path) -> Made:
    with kubelet() as served:
        chosen = podstart_variants.Variant(variant)
        parameters = podstart_variants.parameters_of(chosen, {})
        yield podstart.ongoing(served, chosen, parameters, folder, say), served.collector_config


# What applies fixes, and what makes the faults that they are applied to.
MADE_BY: dict[str, tuple[Any, Any]] = {
    coredns_watched.LAB: (coredns_gc, coredns_variants),
    nodelocal_watched.LAB: (nodelocal, nodelocal_variants),
    search_watched.LAB: (search, search_variants),
    forwarding_watched.LAB: (forwarding, forwarding_variants),
    oom_watched.LAB: (oom, oom_variants),
    dentries_watched.LAB: (dentries, dentries_variants),
    service_watched.LAB: (service, service_variants),
    noisy_watched.LAB: (noisy, noisy_variants),
    disk_watched.LAB: (disk, disk_variants),
    pagecache_watched.LAB: (pagecache, pagecache_variants),
    dependency_watched.LAB: (dependency, dependency_variants),
    crowd_watched.LAB: (crowd, crowd_variants),
    loss_watched.LAB: (loss, loss_variants),
    eventloop_watched.LAB: (eventloop, eventloop_variants),
}


@contextmanager
def others(lab: str, variant: str, given: dict[str, Any], folder: Path) -> Made:
    applied, variants = MADE_BY[lab]
    one = variants.Variant(variant)
    yield applied.ongoing(one, variants.parameters_of(one, given), folder, say), ""


def tried(
    seconds: float,
    cause: str,
    made: str,
    fix: str,
    noticed: str,
    verdict: str,
    given: dict[str, Any] | None = None,
    *,
    by_turn: bool = False,
) -> Any:
    """`made`: the lab and its variant. Each takes three minutes: all by turns would be a third of `make test`.

    The effect of a CPU limit is tried in tests/e2e/test_fix_live.py, by turns.
    """
    marks = live(seconds, cause, by_turn=by_turn)
    return pytest.param(*made.split(), given or {}, fix, noticed, verdict, marks=marks, id=f"{made} {fix}")


# Names that look like those of NSS are another cause.
SESSION = {"names": "session"}
# A file that half as much memory again has room for.
FITS = {"file_mib": 105.0}


TRIES = [
    tried(170, "cpu/gc_throttling", "coredns-gc fault", "raise_cpu_limit", "seen", "verified"),
    tried(170, "cpu/gc_throttling", "service-gc go", "raise_cpu_limit", "seen", "verified"),
    tried(170, "cpu/gc_throttling", "service-gc jvm-parallel", "raise_cpu_limit", "seen", "verified"),
    tried(200, "runtime/gc_pause", "service-gc gc-pause", "jvm_collector", "seen", "verified"),
    tried(200, "cpu/event_loop_blocked", "event-loop fault-node", "off_loop", "declared", "verified"),
    tried(200, "memory/reclaim_stall", "coredns-oom reclaim", "raise_memory_limit", "seen", "verified", FITS),
    tried(170, "cpu/neighbours", "noisy-neighbour fault", "raise_cpu_weight", "seen", "verified"),
    tried(170, "io/disk_stall", "disk-stall fault", "raise_io_limit", "seen", "verified"),
    tried(
        180, "memory/page_cache_thrashing", "page-cache fault", "raise_memory_limit_for_files", "seen", "verified"
    ),
    tried(200, "app/lock_or_dependency", "slow-dependency fault", "end_idle_transactions", "declared", "verified"),
    tried(170, "net/accept_queue", "accept-queue fault", "raise_backlog", "seen", "verified"),
    tried(170, "net/connect_churn", "accept-queue connect-churn", "reuse_connections", "declared", "verified"),
    tried(170, "net/retransmission", "packet-loss fault", "repair_path", "declared", "verified"),
    tried(180, "cpu/periodic_burst", "coredns-gc periodic-burst", "raise_cpu_limit", "seen", "verified"),
    tried(170, "cpu/request_burst", "coredns-gc request-burst", "raise_cpu_limit", "seen", "verified"),
    tried(200, "cpu/memory_limit_gc_spiral", "coredns-gc gc-spiral", "unset_gomemlimit", "seen", "verified"),
    tried(200, "cpu/limit_too_low", "coredns-gc overload", "raise_cpu_limit", "seen", "verified"),
    tried(200, "dns/dnsmasq_connection_exhaustion", "nodelocal-dnsmasq fault", "prefer_udp", "seen", "verified",
          by_turn=True),
    tried(200, "dns/slow_upstream", "nodelocal-dnsmasq slow-upstream", "another_upstream", "seen", "verified"),
    tried(260, "dns/connection_pool_churn", "nodelocal-dnsmasq pool-churn", "prefer_udp", "seen", "verified"),
    tried(200, "dns/upstream_rate_limited", "dns-forward rate-limited", "cache_more", "seen", "did_not_help"),
    tried(240, "dns/search_domain_amplification", "search-domains fault", "ndots", "seen", "verified"),
    tried(200, "dns/no_negative_cache", "dns-forward no-negative-cache", "negative_cache", "seen", "verified"),
    tried(240, "dns/single_socket_serialization", "dns-forward one-socket", "multisocket", "declared",
          "did_not_help"),
    tried(200, "dns/udp_loss", "dns-forward udp-loss", "force_tcp", "seen", "verified"),
    tried(240, "memory/query_burst_oom", "coredns-oom fault", "max_concurrent", "seen", "verified"),
    tried(420, "memory/limit_oom", "coredns-oom leak", "cache_capacity", "seen", "verified"),
    tried(200, "kernel/negative_dentry_growth", "negative-dentries storm", "stop_lookups", "declared", "verified",
          SESSION),
    tried(200, "kernel/negative_dentry_growth", "negative-dentries storm", "vfs_cache_pressure", "seen",
          "did_not_help", SESSION),
    tried(200, "kernel/nss_stat_storm", "negative-dentries nss", "nss_variable", "declared", "verified",
          by_turn=True),
    tried(330, "kernel/dentry_reclaim_contention", "negative-dentries unmount", "find_maker", "declared",
          "verified"),
    tried(260, "pods/bpf_verification", "bpf-startup fault", "leave_out", "seen", "verified"),
    tried(220, "pods/pod_slo", "bpf-startup slow-start", "look_at_rest", "declared", "verified"),
]  # fmt: skip


# No lab makes them.
WITHOUT_A_LAB = {"cpu/steal", "kernel/negative_dentry_limit_missing", "unexplained/slow_answers"}


def test_a_fix_of_every_cause_is_tried() -> None:
    made = {mark.kwargs["cause"] for one in TRIES for mark in one.marks if mark.name == "live"}
    assert made == set(all_causes()) - WITHOUT_A_LAB


@pytest.mark.parametrize(
    ("title", "command"),
    [
        ("Use G1 instead of Parallel (-XX:+UseG1GC)", "java -XX:+UseG1GC -XX:ActiveProcessorCount=4 -Xmx840m Service"),
        (
            "Raise the heap limit from 840 MiB to 1,680 MiB (-Xmx1680m)",
            "java -Xmx1680m -XX:ActiveProcessorCount=4 -XX:+UseParallelGC Service",
        ),
        (
            "Set a pause goal of 50 ms (-XX:MaxGCPauseMillis=50)",
            "java -XX:MaxGCPauseMillis=50 -XX:ActiveProcessorCount=4 -XX:+UseParallelGC -Xmx840m Service",
        ),
    ],
)
def test_options_of_a_jvm_replace_what_set_the_same(title: str, command: str) -> None:
    now = ["java", "-XX:ActiveProcessorCount=4", "-XX:+UseParallelGC", "-Xmx840m", "Service"]
    assert service.with_options(now, service.options_of({"title": title})) == command.split()


@pytest.mark.skipif(os.geteuid() != 0, reason="makes real faults: needs root")
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("lab", "variant", "given", "fix", "noticed", "verdict"), TRIES)
def test_a_fix_is_judged(lab: str, variant: str, given: dict[str, Any], fix: str, noticed: str, verdict: str) -> None:
    with tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as name:
        folder = Path(name)
        made = starting_pods(variant, folder) if lab == "bpf-startup" else others(lab, variant, given, folder)
        with made as (fault, config), own_product(say, config, attempt.ENVIRONMENT) as product, fault as going:
            done = attempt.attempt(product, going, fix, say)
    say(done.model_dump_json())
    assert (done.noticed, done.verdict) == (noticed, verdict), attempt.table(done)
