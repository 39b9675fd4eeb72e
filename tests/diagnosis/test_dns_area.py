"""What the DNS area declares: its figures are those of the data, and each fix lands as its settings change."""

from __future__ import annotations

import json
import pkgutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from jitterscope.diagnosis.areas.dns import fixes, settings
from jitterscope.diagnosis.areas.dns.area import AREA
from jitterscope.diagnosis.core.area import Amounts, Load, Measure, Sighting
from jitterscope.diagnosis.core.landing import Facts, Seen, Unseen
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from jitterscope.recordings import file
from jitterscope.recordings.snapshots import load_recording
from jitterscope.series.catalogue import EVENTS, FACTS, METRICS
from tests.diagnosis.dns_fix_cases import told
from tests.diagnosis.scenarios import SCENARIOS, built

RECORDINGS = Path(__file__).parents[1] / "fixtures" / "recordings"
MEASURES = {one.id: one for one in AREA.measures}


def figure(measure: str, given: Snapshot) -> float | None:
    amounts = MEASURES[measure].read(given)
    if amounts is None:
        return None
    assert isinstance(amounts, Amounts)
    assert amounts.part.shape == amounts.whole.shape == (given.ticks,)
    both = np.isfinite(amounts.part) & np.isfinite(amounts.whole)
    return float(amounts.part[both].sum() / amounts.whole[both].sum())


def total(given: Snapshot, metric: str) -> float:
    return sum(float(np.nansum(server.series[metric])) for server in given.dns_servers)


@pytest.fixture(scope="module")
def exhausted() -> Snapshot:
    return load_recording(RECORDINGS / "nodelocal-dnsmasq-fault.jitterscope")


@pytest.fixture(scope="module")
def searching() -> Snapshot:
    return load_recording(RECORDINGS / "search-domains-fault.jitterscope")


def test_failures_are_what_was_counted(exhausted: Snapshot) -> None:
    queries = total(exhausted, "dns_queries")
    for measure, metric in (("timeout_ratio", "dns_timeouts"), ("servfail_ratio", "dns_servfail")):
        assert figure(measure, exhausted) == pytest.approx(total(exhausted, metric) / queries)
    assert figure("failed_ratio", exhausted) == pytest.approx(
        sum(total(exhausted, one) for one in ("dns_timeouts", "dns_servfail", "dns_refused")) / queries
    )


def test_the_shortage_of_connections_shows_in_its_own_figures(exhausted: Snapshot) -> None:
    cured = load_recording(RECORDINGS / "nodelocal-dnsmasq-max-tcp-connections.jitterscope")
    for measure in ("connections_short_ratio", "accept_backlog", "overdue_ratio"):
        before, after = figure(measure, exhausted), figure(measure, cured)
        assert before is not None
        assert after is not None
        assert after < 0.5 * before, measure
    # An upstream of 50 ms makes every answer slow, before and after: that cannot show a fix.
    assert figure("slow_ratio", cured) > 0.9  # type: ignore[operator]


def test_lookups_and_their_queries(searching: Snapshot) -> None:
    measured = json.loads(file.load(RECORDINGS / "search-domains-fault.jitterscope").labels["measured"])
    assert figure("queries_per_lookup", searching) == pytest.approx(measured["queries_per_name"], rel=0.05)
    load = next(one for one in AREA.load if one.id == "lookups").read(searching)
    assert load is not None
    # The recording begins before the load does.
    assert float(np.nanmedian(load)) == pytest.approx(
        measured["queries_per_s"] / measured["queries_per_name"], rel=0.05
    )


def test_lookups_stay_where_queries_fall() -> None:
    """What a fix of search domains is compared at: the same lookups, although with a sixth of the queries."""
    loads = {}
    for variant in ("fault", "trailing-dot"):
        given = load_recording(RECORDINGS / f"search-domains-{variant}.jitterscope")
        loads[variant] = [float(np.nanmean(one.read(given))) for one in AREA.load]  # type: ignore[arg-type]
    assert loads["fault"][0] == pytest.approx(loads["trailing-dot"][0], rel=0.15)
    assert loads["fault"][1] > 4 * loads["trailing-dot"][1]


@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if (one.expected or "").startswith("dns/")])
def test_every_measure_reads_every_scenario(name: str) -> None:
    for measure in MEASURES:
        if measure != "p99_ms":
            figure(measure, built(name))


def test_all_that_is_declared_is_in_the_catalogue() -> None:
    known = {*METRICS, *EVENTS, *FACTS}
    declared: list[Measure | Load | Sighting] = [*AREA.measures, *AREA.load, *AREA.sightings]
    needed = {need for one in declared for need in one.needs}
    lines = {line.metric for lane in AREA.lanes for line in lane.lines}
    marked = {*(mark.kind for mark in AREA.marks), *(lane.fact for lane in AREA.lanes if lane.fact)}
    watched = {one.fact for one in AREA.facts}
    assert needed | lines | marked | watched <= known


FORWARD = (
    ".:53 {\n    errors\n    cache 30\n    forward . 10.0.0.1 {\n        force_tcp\n        expire 20s\n    }\n}\n"
)


def corefile(text: str, *upstreams: dict[str, object]) -> dict[str, str]:
    return corefile_facts(text) | {"dns.upstreams": json.dumps(upstreams or [up("10.0.0.1", force_tcp=True)])}


def up(address: str, **more: object) -> dict[str, object]:
    return {"zone": ".", "address": address, "port": 53} | more


def in_front(force_tcp: bool, software: str = "coredns", upstreams: int = 1) -> dict[str, str]:
    listed = [software] if software else []
    return {settings.IN_FRONT: json.dumps({"force_tcp": force_tcp, "software": listed, "upstreams": upstreams})}


def resolv_conf(ndots: list[int], timeout_s: list[float]) -> dict[str, str]:
    return {settings.RESOLV_CONF: json.dumps({"ndots": ndots, "timeout_s": timeout_s})}


def edited(old: str, new: str, *upstreams: dict[str, object]) -> tuple[Facts, Facts]:
    assert old in FORWARD
    return corefile(FORWARD), corefile(FORWARD.replace(old, new), *upstreams)


def added(line: str, *upstreams: dict[str, object]) -> tuple[Facts, Facts]:
    return edited("        expire 20s\n", f"        expire 20s\n        {line}\n", *upstreams)


def size(replicas: int) -> str:
    return json.dumps({"nodes": 9, "cores": 36, "kube_dns_replicas": replicas})


CHANGES: dict[str, list[tuple[Facts, Facts]]] = {
    "max_idle_conns": [added("max_idle_conns 2")],
    "receive_buffer": [({"node.rmem_default": "212992"}, {"node.rmem_default": "1048576"})],
    "larger_receive_buffer": [({"node.rmem_default": "212992"}, {"node.rmem_default": "4194304"})],
    "shorter_expire": [edited("expire 20s", "expire 1s")],
    "prefer_udp": [
        edited("force_tcp", "prefer_udp", up("10.0.0.1", prefer_udp=True)),
        (in_front(True), in_front(False)),
    ],
    "disable_nodelocal": [(in_front(True, "node-cache"), in_front(False, ""))],
    "autopath": [edited("    errors\n", "    errors\n    autopath @kubernetes\n")],
    "negative_cache": [
        (
            {"dns.negative_cache": "no", "dns.arguments": "dnsmasq -k --no-negcache"},
            {"dns.negative_cache": "yes", "dns.arguments": "dnsmasq -k --neg-ttl=30"},
        ),
        (
            {"dns.negative_cache": "no"} | corefile(FORWARD.replace("    cache 30\n", "")),
            {"dns.negative_cache": "yes"} | corefile(FORWARD),
        ),
    ],
    "nodelocal_dnscache": [(in_front(False, ""), in_front(True, "node-cache"))],
    "ndots": [
        (resolv_conf([5], [5.0]), resolv_conf([2, 5], [5.0])),
        (resolv_conf([2, 5], [5.0]), resolv_conf([2], [5.0])),
    ],
    "client_timeout": [(resolv_conf([5], [5.0]), resolv_conf([5], [1.0]))],
    "multisocket": [
        edited("    errors\n", "    errors\n    multisocket 2\n"),
        ({"dns.udp_sockets": "1"}, {"dns.udp_sockets": "2"}),
    ],
    "so_reuseport": [({"dns.udp_sockets": "1"}, {"dns.udp_sockets": "4"})],
    "scale_out": [({"kube.cluster_size": size(2)}, {"kube.cluster_size": size(4)})],
    "another_upstream": [
        edited("forward . 10.0.0.1", "forward . 10.0.0.2", up("10.0.0.2", force_tcp=True)),
        (
            {"dns.arguments": "dnsmasq -S 10.0.0.1", "dns.upstreams": json.dumps([up("10.0.0.1")])},
            {"dns.arguments": "dnsmasq -S 10.0.0.2", "dns.upstreams": json.dumps([up("10.0.0.2")])},
        ),
    ],
    "serve_stale": [edited("cache 30", "cache 30 {\n        serve_stale 1h\n    }")],
    "read_timeout": [added("read_timeout 4s")],
    "max_concurrent": [added("max_concurrent 1000", up("10.0.0.1", force_tcp=True, max_concurrent=1000))],
    "max_tcp_connections": [
        (
            {"dns.child_limit": "20", "dns.arguments": "dnsmasq -k"},
            {"dns.child_limit": "80", "dns.arguments": "dnsmasq -k --max-tcp-connections=80"},
        )
    ],
    "more_connections": [
        (
            {"dns.child_limit": "20", "dns.arguments": "dnsmasq -k"},
            {"dns.child_limit": "80", "dns.arguments": "dnsmasq -k --max-tcp-connections=80"},
        )
    ],
    "newer_kubernetes_dns": [
        (
            {"workload.image": "registry.k8s.io/dns/k8s-dns-dnsmasq-nanny:1.22.28", "dns.version": "2.78"},
            {"workload.image": "registry.k8s.io/dns/k8s-dns-dnsmasq-nanny:1.23.1", "dns.version": "2.90"},
        )
    ],
    "newer_gke": [
        (
            {"kube.server_version": "v1.35.2-gke.100", "dns.software": "dnsmasq"},
            {"kube.server_version": "v1.36.0-gke.100", "dns.software": "coredns"},
        )
    ],
    "more_replicas": [
        ({"kube.cluster_size": size(2)}, {"kube.cluster_size": size(6)}),
        (in_front(True, upstreams=1), in_front(True, upstreams=3)),
    ],
    "cache_more": [
        edited("cache 30", "cache 300 {\n        prefetch 10\n    }"),
        edited("cache 30", "cache 30 {\n        success 9984 300\n        prefetch 10 1m 10%\n    }"),
        (
            {"dns.negative_cache": "no"} | corefile(FORWARD.replace("    cache 30\n", "")),
            {"dns.negative_cache": "yes"} | corefile(FORWARD),
        ),
        ({"dns.arguments": "dnsmasq -k"}, {"dns.arguments": "dnsmasq -k --cache-size=10000"}),
    ],
    "more_resolvers": [
        edited("forward . 10.0.0.1", "forward . 10.0.0.1 10.0.0.9", up("10.0.0.1"), up("10.0.0.9")),
    ],
    "force_tcp": [
        (
            corefile(FORWARD.replace("        force_tcp\n", ""), up("10.0.0.1")),
            corefile(FORWARD),
        )
    ],
}  # fmt: skip
DECLARED = [
    kind
    for module in pkgutil.iter_modules(fixes.__path__, fixes.__name__ + ".")
    for kind in getattr(import_module(module.name), "FIXES", ())
]
OF_DNS = {kind.id: kind for kind in DECLARED}
# Another upstream instead of this one, or this one instead of another: both are the fix.
BOTH_WAYS = {"another_upstream"}


def seen(fix: str) -> Seen:
    landing = OF_DNS[fix].landing
    assert isinstance(landing, Seen)
    return landing


@pytest.mark.parametrize(
    ("fix", "before", "after", "ratio"),
    [
        ("more_replicas", in_front(True, upstreams=1), in_front(True, upstreams=5), 5.0),
        ("more_replicas", {"kube.cluster_size": size(2)}, {"kube.cluster_size": size(6)}, 3.0),
        # A Service in front is one address, however many replicas it has.
        (
            "more_replicas",
            {"kube.cluster_size": size(2), **in_front(True, upstreams=1)},
            {"kube.cluster_size": size(6), **in_front(True, upstreams=1)},
            3.0,
        ),
        ("scale_out", {"kube.cluster_size": size(2)}, {"kube.cluster_size": size(4)}, 2.0),
        ("scale_out", {}, {"kube.cluster_size": size(4)}, 1.0),
    ],
)
def test_how_many_times_as_many_servers_share_the_load(fix: str, before: Facts, after: Facts, ratio: float) -> None:
    landing = seen(fix)
    assert landing.servers_ratio is not None
    assert landing.servers_ratio(before, after) == ratio


@pytest.mark.parametrize("fix", CHANGES)
def test_a_fix_lands_as_its_settings_change(fix: str) -> None:
    landing = seen(fix)
    for before, after in CHANGES[fix]:
        assert landing.lands_as(before, after)
        assert landing.lands_as(after, before) == (fix in BOTH_WAYS)
        assert not landing.lands_as(before, before)
        assert not landing.lands_as({}, {})
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        assert changed <= set(landing.facts)


def test_every_fix_that_can_be_seen_has_a_change_here() -> None:
    assert len(OF_DNS) == len(DECLARED)
    assert all(kind.measures and set(kind.measures) <= set(MEASURES) for kind in DECLARED)
    assert {kind.id for kind in OF_DNS.values() if isinstance(kind.landing, Seen)} == set(CHANGES)
    assert all(len(kind.landing.why) > 40 for kind in OF_DNS.values() if isinstance(kind.landing, Unseen))


@pytest.mark.parametrize("fix", ["max_idle_conns", "shorter_expire", "max_concurrent", "read_timeout", "cache_more"])
def test_another_change_of_the_corefile_beside_it_is_another_change(fix: str) -> None:
    before, after = CHANGES[fix][0]
    more = dict(after) | corefile_facts(after["dns.corefile"].replace("    errors\n", "    errors\n    log\n"))
    assert not seen(fix).lands_as(before, more)


def test_a_fix_is_not_mistaken_for_another() -> None:
    """Alternatives that touch the same settings are distinguished."""
    apart = ["max_idle_conns", "shorter_expire", "read_timeout", "max_concurrent", "cache_more", "multisocket"]
    for one in apart:
        for before, after in CHANGES[one][:1]:
            assert [other for other in apart if seen(other).lands_as(before, after)] == [one]


def test_the_servers_in_front_are_seen(exhausted: Snapshot) -> None:
    found = next(one for one in AREA.sightings if one.id == settings.IN_FRONT).read(exhausted)
    assert found is not None
    assert json.loads(found.value) == {"force_tcp": True, "software": ["coredns"], "upstreams": 1}


@pytest.mark.parametrize(("selects", "seen"), [("10.0.1.5", False), ("10.113.0.53", True)])
def test_a_server_that_forwards_to_a_service_is_in_front(exhausted: Snapshot, selects: str, seen: bool) -> None:
    """Also where no single queries are read, as in the windows that are compared."""
    [behind] = exhausted.dns_servers
    [front] = [one for one in exhausted.neighbours if "force_tcp" in (one.fact("dns.upstreams") or "")]
    service = json.dumps([up("10.113.0.53", force_tcp=True, port=int(behind.key.rpartition(":")[2]))])
    whole = replace(
        exhausted,
        dns_servers=(told(behind, {"dns.service_addresses": json.dumps([selects])}),),
        neighbours=(replace(told(front, {"dns.upstreams": service}), queries=None),),
        dns_paths=(),
    )
    found = next(one for one in AREA.sightings if one.id == settings.IN_FRONT).read(whole)
    assert (found is not None and json.loads(found.value)["force_tcp"]) == seen


def test_ndots_of_the_clients_is_seen(searching: Snapshot) -> None:
    found = next(one for one in AREA.sightings if one.id == settings.RESOLV_CONF).read(searching)
    assert found is not None
    assert json.loads(found.value) == {"ndots": [5], "timeout_s": [5.0]}


def test_settings_are_shown_short() -> None:
    shown = {one.fact: one.show for one in AREA.facts}
    parsed = '[{"zones":["."],"plugins":[{"name":"forward","args":["."],"options":[]},{"name":"cache","args":[]}]}]'
    assert shown["dns.corefile_parsed"](parsed) == ".: forward, cache"
    assert shown["dns.upstreams"](json.dumps([up("10.0.0.1")])) == "10.0.0.1 (.)"
