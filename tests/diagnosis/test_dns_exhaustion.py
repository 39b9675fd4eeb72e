"""dnsmasq out of connections: found before a query fails, at any rate, delay, and limit; fixes hold when tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.dns.causes import dnsmasq_connection_exhaustion as exhaustion
from jitterscope.diagnosis.areas.dns.readings import tcp_limit as dns_tcp_limit
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found, NotFound
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.dns.chains import nodelocal
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad
from jitterscope.diagnosis.scenarios.dns.simulate import DnsRun, simulate_dns
from tests.diagnosis.scenarios import built

ID = exhaustion.ID
# (limit, delay in ms, demand over limit): the load follows.
GRID = [(20, 50.0, 2.0), (20, 50.0, 1.3), (20, 8.0, 3.0), (20, 250.0, 1.6), (5, 40.0, 2.5), (60, 30.0, 1.5)]


def load(limit: int, delay_ms: float, times: float, seconds: float, seed: int = 1) -> DnsLoad:
    """A quarter of the limit for 4 s, then `times` the limit."""
    qps = limit * times / (delay_ms + 0.5) * 1000
    calm = 0.25 * qps / times
    return nodelocal(
        qps=calm, bursts=((4.0, seconds, qps),), seconds=seconds, evenness=0.9,
        kubedns={"delay_us": delay_ms * 1000}, dnsmasq={"child_limit": limit}, seed=seed,
    )  # fmt: skip


def only(snapshot: Snapshot) -> Found:
    findings = diagnose(snapshot).findings
    assert [found.cause for found in findings] == [ID]
    return findings[0]


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "delay_ms", "times"), GRID)
def test_an_incident_before_the_first_failure(limit: int, delay_ms: float, times: float) -> None:
    """Within a second of the shortage, 4 s before anything fails, and the incident says so."""
    made = simulate_dns(load(limit, delay_ms, times, 5.0 + 2 * delay_ms / 1000))
    assert made.failures == 0
    found = only(made.snapshot)
    assert found.severity is not None
    assert "no query has failed yet" in found.title
    assert "No query has failed yet" in found.summary
    onset_s = (found.onset_us - made.snapshot.start_us) / 1e6
    assert 4.0 <= onset_s <= 4.3 + 2 * delay_ms / 1000


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "delay_ms", "times"), GRID[:3])
def test_failures_are_counted_when_they_come(limit: int, delay_ms: float, times: float) -> None:
    made = simulate_dns(load(limit, delay_ms, times, 13.0, seed=3))
    assert made.first_failure_us is not None
    assert 4e6 + 4.9e6 <= made.first_failure_us <= 4e6 + 6.5e6
    found = only(made.snapshot)
    assert "failed" in found.title
    assert "yet" not in found.title
    assert found.severity == "critical"
    assert found.impact["slow_ratio"] > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "delay_ms", "times"), GRID)
def test_the_demand_is_the_one_that_was_made(limit: int, delay_ms: float, times: float) -> None:
    found = only(simulate_dns(load(limit, delay_ms, times, 7.0, seed=4)).snapshot)
    wanted = next(item.numbers for item in found.evidence if item.id == "connections_wanted")
    assert wanted["wanted"] == pytest.approx(limit * times, rel=0.2)
    assert wanted["wanted_low"] <= wanted["wanted"] <= wanted["wanted_high"]


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "delay_ms", "times"), GRID)
def test_fixes_hold_when_they_are_tried(limit: int, delay_ms: float, times: float) -> None:
    """The proposed limit, and the proposed number of replicas, in the same simulation: nothing waits any more."""
    base = load(limit, delay_ms, times, 9.0, seed=5)
    found = only(simulate_dns(base).snapshot)
    fixes = {fix.id: fix for fix in found.fixes}
    proposed = int(fixes["max_tcp_connections"].title.rpartition("=")[2])
    tried = _with_limit(base, proposed)
    assert diagnose(tried.snapshot).findings == []
    assert tried.failures == 0
    predicted = fixes["max_tcp_connections"].predicted
    late = [us for us in tried.client_latency_us if us > 3 * delay_ms * 1000 + 20_000]
    assert len(late) / len(tried.client_latency_us) <= predicted["connections_short_ratio"].high
    # If an answer without any wait takes over 20 ms, no limit reduces the slow ones.
    assert ("slow_ratio" in predicted) == (delay_ms < 20)
    replicas = int(fixes["more_replicas"].title.split(": ")[1].split(" ")[0])
    # Each replica gets its share of the load.
    bursts = tuple((at, seconds, qps / replicas) for at, seconds, qps in base.bursts)
    assert diagnose(simulate_dns(replace(base, qps=base.qps / replicas, bursts=bursts)).snapshot).findings == []


def _with_limit(base: DnsLoad, limit: int) -> DnsRun:
    first, dnsmasq, last = base.hops
    return simulate_dns(replace(base, hops=(first, replace(dnsmasq, child_limit=limit), last)))


def _changed(snapshot: Snapshot, **columns: float) -> Snapshot:
    def change(view: ResourceView) -> ResourceView:
        series = {k: v * 0 + columns[k] if k in columns else v for k, v in view.series.items()}
        return replace(view, series=series)

    return replace(snapshot, dns_servers=tuple(map(change, snapshot.dns_servers)))


def test_children_at_the_limit_alone_hurt_nobody() -> None:
    snapshot = built("dnsmasq_connection_exhaustion/case 4")
    edge = _changed(snapshot, dns_accept_backlog=0.0, dns_listen_drops=0.0)
    said = exhaustion.detect(edge)
    assert isinstance(said, NotFound)
    assert "at the limit" in said.reason
    assert said.numbers["children_max"] == 20


def test_a_backlog_with_children_to_spare_is_something_else() -> None:
    """A dnsmasq that is too slow to accept (no CPU) has not run out of children."""
    snapshot = built("dnsmasq_connection_exhaustion/healthy: 15 connections wanted")
    assert isinstance(exhaustion.detect(_changed(snapshot, dns_accept_backlog=3.0)), NotFound)


def test_one_unlucky_tick_is_no_finding() -> None:
    snapshot = built("dnsmasq_connection_exhaustion/healthy: its edge")
    backlog = np.zeros(snapshot.ticks)
    backlog[60] = 2.0
    server = snapshot.dns_servers[0]
    server = replace(server, series={**server.series, "dns_accept_backlog": backlog})
    children = replace(snapshot.processes[0], series={"process_children": np.full(snapshot.ticks, 20.0)})
    assert diagnose(replace(snapshot, dns_servers=(server,), processes=(children,))).findings == []


def test_without_packets_the_connections_still_tell() -> None:
    """No capture on this node: children and backlog are enough for an incident."""
    snapshot = built("dnsmasq_connection_exhaustion/case 4")
    server = snapshot.dns_servers[0]
    kept = {name: values for name, values in server.series.items() if "tcp" in name or "accept" in name}
    blind = replace(server, series=kept, queries=None, distributions={})
    found = only(replace(snapshot, dns_servers=(blind,), neighbours=(), dns_paths=()))
    assert found.severity == "warning"
    assert found.fixes


def test_which_factor_moved_is_the_cause() -> None:
    """Connections needed = rate × time. The same shortage comes from a higher rate or from a slower upstream."""
    by_rate = nodelocal(qps=60, bursts=((5, 9, 900),), seconds=14, kubedns={"delay_us": 50_000}, seed=6)
    by_time = nodelocal(qps=60, seconds=14, kubedns={"delay_us": 50_000, "delays": ((5, 9, 750_000),)}, seed=6)
    causes = [diagnose(simulate_dns(each).snapshot).findings[0].cause for each in (by_rate, by_time)]
    assert causes == [ID, "dns/slow_upstream"]


@pytest.mark.parametrize(("wanted", "limit"), [(10.0, 14), (40.0, 52), (3.0, 6), (150.0, 165)])
def test_erlang_c_against_a_simulation(wanted: float, limit: int) -> None:
    """M/M/c, 200,000 arrivals: the share that waits."""
    random = np.random.default_rng(1)
    n = 200_000
    arrivals = np.cumsum(random.exponential(1 / wanted, n))
    service = random.exponential(1.0, n)
    free = np.zeros(limit)
    waited = 0
    for at, takes in zip(arrivals, service, strict=True):
        index = int(free.argmin())
        waited += free[index] > at
        free[index] = max(at, free[index]) + takes
    assert dns_tcp_limit.waiting_ratio(wanted, limit) == pytest.approx(waited / n, rel=0.12, abs=0.003)


def test_headroom_and_its_inverse() -> None:
    for limit in (5.0, 20.0, 200.0):
        each = dns_tcp_limit.load_per_server(limit)
        assert dns_tcp_limit.headroom(each) == pytest.approx(limit)
        assert (np.random.default_rng(2).poisson(each, 400_000) <= limit).mean() == pytest.approx(0.999, abs=0.0003)
    assert dns_tcp_limit.waiting_ratio(20.0, 20) == 1.0
    assert dns_tcp_limit.waiting_ratio(0.0, 5) == 0.0


@pytest.mark.slow
def test_the_demand_is_that_of_the_load_and_not_of_what_is_left_of_it() -> None:
    """The burst is over, but connections that were given up still wait in the queue."""
    over = nodelocal(qps=30, bursts=((4, 6, 800),), seconds=18, seed=7)
    found = diagnose(simulate_dns(over).snapshot).findings[0]
    wanted = next(item.numbers for item in found.evidence if item.id == "connections_wanted")
    assert wanted["wanted"] == pytest.approx(40, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [6.3, 6.6, 7.0, 7.6, 8.4, 9.2, 12.0, 18.0])
def test_an_upstream_that_falls_silent_is_never_taken_for_a_shortage(seconds: float) -> None:
    """Every child is busy and connections wait within 0.1 s; only over time does the upstream show as the reason."""
    made = simulate_dns(
        nodelocal(
            qps=300, seconds=seconds, seed=51, kubedns={"delay_us": 50_000.0, "delays": ((6.0, 20.0, 3_000_000.0),)}
        )
    )
    causes = [found.cause for found in diagnose(made.snapshot).findings]
    assert causes == (["dns/slow_upstream"] if seconds >= 7.0 else [])


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.1, 0.5, 1.2, 3.0, 4.9])
def test_a_collector_that_has_just_started(seconds: float) -> None:
    """Windows shorter than the time after which a query is given up."""
    diagnose(simulate_dns(nodelocal(qps=300, seconds=seconds, seed=58)).snapshot)
