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
from labs import applying, commands
from labs.applying import attempt, podstart, service
from labs.applying.ongoing import Ongoing
from labs.hosting import own_product
from labs.podstart import watched as podstart_watched
from labs.service import watched as service_watched
from tests.support.lab_plan import live
from tests.support.said import say


def modules_of(package: Any) -> list[Any]:
    return [importlib.import_module(f"{package.__name__}.{one.name}") for one in pkgutil.iter_modules(package.__path__)]


NAMES = {one.NAME for one in modules_of(commands)}
# What applies the fixes of each lab to its running faults.
APPLYING = {one.LAB: one for one in modules_of(applying) if hasattr(one, "FIXES")}
# Declared with the first lab that tries it.
ELSEWHERE = {service_watched.LAB: {"raise_cpu_limit"}}


def test_fixes_name_the_labs_that_try_them() -> None:
    named: dict[str, set[str]] = {}
    # Two areas can declare a fix with the same ID; one of them is what the lab makes.
    for kind in (kind for area in all_areas() for kind in fixes_of(area)):
        if kind.lab is not None:
            lab, *_, option, fix = kind.lab.split()
            assert (option, fix) == ("--apply", kind.id)
            named.setdefault(lab, set()).add(fix)
    assert named == {lab: set(one.FIXES) - ELSEWHERE.get(lab, set()) for lab, one in APPLYING.items()}
    assert set(named) <= NAMES


Made = Iterator[tuple[AbstractContextManager[Ongoing], str]]


def read(applied: Any, variant: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """The variant and its parameters."""
    one = applied.Variant(variant)
    return one, importlib.import_module(applied.Variant.__module__).parameters_of(one, given)


@contextmanager
def starting_pods(variant: str, folder: Path) -> Made:
    with podstart_watched.kubelet() as served:
        chosen, parameters = read(podstart, variant, {})
        yield podstart.ongoing(served, chosen, parameters, folder, say), served.collector_config


@contextmanager
def others(lab: str, variant: str, given: dict[str, Any], folder: Path) -> Made:
    applied = APPLYING[lab]
    yield applied.ongoing(*read(applied, variant, given), folder, say), ""


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
    tried(260, "dns/dnsmasq_connection_exhaustion", "nodelocal-dnsmasq fault", "more_replicas", "seen", "verified"),
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
WITHOUT_A_LAB = {
    "cpu/steal", "kernel/negative_dentry_limit_missing", "kernel/node_freeze", "unexplained/slow_answers",
}  # fmt: skip


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
        made = starting_pods(variant, folder) if lab == podstart_watched.LAB else others(lab, variant, given, folder)
        with made as (fault, config), own_product(say, config, attempt.ENVIRONMENT) as product, fault as going:
            done = attempt.attempt(product, going, fix, say)
    say(done.model_dump_json())
    assert (done.noticed, done.verdict) == (noticed, verdict), attempt.table(done)
