"""What a subject serves, whatever the protocol: harm, what is slow, and how it is phrased."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.whatif.answer import answer
from jitterscope.diagnosis.core import impact, served, slow
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.diagnosis.core.snapshot import Distribution, ResourceView, Snapshot
from jitterscope.diagnosis.core.whatif import Trials
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from tests.diagnosis.scenarios import built

GC = "cpu/gc_throttling"


def only(snapshot: Snapshot) -> Found:
    (found,) = diagnose(snapshot).findings
    return found


def texts(found: Found) -> str:
    parts = [found.title, found.summary, *(f"{one.statement} {one.comparison}" for one in found.evidence)]
    parts += [one.reason for one in found.rivals]
    for fix in found.fixes:
        parts += [fix.title, fix.summary, *fix.caveats, fix.verify]
    return " ".join(parts)


def server(number: int, kind: str, key: str, requests: float, took_us: float, ticks: int = 100) -> ResourceView:
    """Answers that all take equally long, `requests` of them in each tick."""
    names = served.METRICS
    bucket = int(bucket_of(np.array([took_us]))[0])
    count = np.full(ticks, requests)
    return ResourceView(
        number,
        kind,
        key,
        key,
        series={
            names["requests"][kind]: count,
            names["answers"][kind]: count,
            names["slow"][kind]: count * (took_us > 20_000),
        },
        distributions={
            names["latency"][kind]: Distribution(
                np.arange(ticks), np.full(ticks, bucket), np.full(ticks, int(requests), dtype=np.int64)
            )
        },
    )


def subject(dns: tuple[ResourceView, ...] = (), tcp: tuple[ResourceView, ...] = (), kind: str = "cgroup") -> Snapshot:
    node = ResourceView(1, "node", "node-1", "node-1")
    about = node if kind == "node" else ResourceView(2, "cgroup", "/shop", "/shop")
    return Snapshot(0, 100, about, node, dns_servers=dns, tcp_servers=tcp)


def test_throttled_gc_of_an_http_service_is_an_incident_like_that_of_dns() -> None:
    http, dns = only(built("gc_throttling/HTTP")), only(simulate(Workload(qps=300, seed=16)).snapshot)
    assert (http.cause, http.severity, http.harm, http.confidence) == (GC, dns.severity, "measured", dns.confidence)
    same = ("queries", "slow_queries", "slow_ratio", "p50_ms", "p99_ms", "throttled_ratio")
    assert [http.impact[name] for name in same] == [dns.impact[name] for name in same]
    assert [(fix.id, fix.predicted["slow_ratio"]) for fix in http.fixes if fix.id != "multisocket"] == [
        (fix.id, fix.predicted["slow_ratio"]) for fix in dns.fixes if fix.id != "multisocket"
    ]


@pytest.mark.parametrize(
    "load",
    [
        Workload(serves="http", qps=300, seed=16),
        Workload(serves="http", qps=200, live_mb=3, bursts=tuple((5 + 6 * i, 0.6, 5000.0) for i in range(9)), seed=11),
        Workload(serves="http", qps=3500, seconds=20, seed=12),
        Workload(serves="http", qps=500, job=(5.0, 0.4), seed=13),
        Workload(serves="http", qps=500, gomemlimit_mb=120, seconds=30, seed=14),
    ],
)
def test_texts_name_what_is_served(load: Workload) -> None:
    http, dns = only(simulate(load).snapshot), only(simulate(replace(load, serves="dns")).snapshot)
    assert http.cause == dns.cause
    assert http.harm == "measured"
    said = texts(http).lower()
    assert "request" in said
    assert "quer" not in said
    assert "dns" not in said
    assert "quer" in texts(dns)
    metrics = {one.metric for item in http.evidence for one in item.series}
    assert "responses_slow" in metrics
    assert not any(name.startswith("dns_") for name in metrics)


def test_slow_is_what_takes_far_longer_than_usual() -> None:
    found = only(built("gc_throttling/HTTP, answers that usually take 30 ms"))
    snapshot = built("gc_throttling/HTTP, answers that usually take 30 ms")
    counted = float(np.nansum(snapshot.tcp_servers[0].series["responses_slow"]))
    assert counted == found.impact["queries"], "the collector counts every answer as over 20 ms"
    assert 0 < found.impact["slow_queries"] < 0.01 * counted
    assert found.impact["slow_after_ms"] == pytest.approx(90, rel=0.05)
    assert "over 89 ms, 3 times its calm median" in found.summary
    assert impact.SLOW_RATIO.detail is not None
    assert (
        impact.SLOW_RATIO.detail(found.impact)
        == f"{found.impact['slow_queries']:,.0f} of 18,000, over 89 ms, 3 times its calm median"
    )


def test_a_server_that_hardly_rests_has_no_baseline() -> None:
    """Its queue never empties, so the answers of a few unthrottled ticks waited too: those over 20 ms stay slow."""
    overloaded = subject((server(1, "dns_server", "10.0.0.10:53", 60, 300_000),))
    rests = np.arange(overloaded.ticks) % 20 == 0
    by_limit = slow.slow(overloaded, served.read_served(overloaded), rests)
    assert [one.over_us for one in by_limit.limits] == [20_000]
    assert np.nansum(by_limit.ticks) == 60 * overloaded.ticks
    often = slow.slow(overloaded, served.read_served(overloaded), np.arange(overloaded.ticks) % 2 == 0)
    assert np.nansum(often.ticks) == 0


def test_a_replay_counts_as_slow_what_is_slow_for_the_server() -> None:
    usual, far = (
        answer(built(f"gc_throttling/{name}"), Trials()) for name in ("HTTP", "HTTP, answers that usually take 30 ms")
    )
    assert usual.slow_threshold_us == 20_000
    assert far.slow_threshold_us == pytest.approx(90_000, rel=0.05)
    recorded = {one.id: one.value for one in far.figures}
    assert (
        recorded["slow_ratio"]
        == only(built("gc_throttling/HTTP, answers that usually take 30 ms")).impact["slow_ratio"]
    )


def test_what_is_slow_by_itself_is_not_the_harm_of_a_stall() -> None:
    """One answer in 20 takes long for its own reason, during stalls as at other times."""
    snapshot = simulate(Workload(serves="http", qps=300, quota_us=None, stray_slow_ratio=0.05, seed=16)).snapshot
    found = served.read_served(snapshot)
    near = np.zeros(snapshot.ticks, dtype=np.bool_)
    near[100:200] = True
    slow = np.nan_to_num(found.slow)
    inside, outside = float(slow[near].sum()), float(slow[~near].sum())
    assert inside > 100
    assert served.beyond_chance(found.requests, near, inside, outside) == 0
    assert served.beyond_chance(found.requests, near, inside + 100, outside) == pytest.approx(100, abs=40)
    assert served.beyond_chance(found.requests, near, 5, 0) == 5


def test_a_stall_is_blamed_for_what_it_adds() -> None:
    """One answer in 20 is slow at all times: only the stalls' additional slow answers count."""
    load = Workload(serves="http", qps=300, stray_slow_ratio=0.05, live_mb=60, seed=8)
    snapshot = simulate(load).snapshot
    stalled = only(simulate(replace(load, stray_slow_ratio=0.0)).snapshot)
    found = only(snapshot)
    by_stalls = next(item.numbers for item in found.evidence if item.id == "slow_in_stalls")["by_stalls"]
    assert by_stalls == pytest.approx(stalled.impact["slow_queries"], abs=15)


def test_dns_over_tcp_counts_once_and_a_metrics_page_not_at_all() -> None:
    dns = server(3, "dns_server", "10.0.0.1:53@net:4026531840", 100, 200)
    same, page = server(4, "tcp_server", "/shop:53", 10, 200), server(5, "tcp_server", "/shop:9153", 0.1, 30_000)
    found = served.read_served(subject((dns,), (same, page)))
    assert [one.id for one in found.servers] == [3]
    assert (found.noun, found.one) == ("queries", "query")
    both = served.read_served(subject((dns,), (server(6, "tcp_server", "/shop:8080", 50, 200),)))
    assert (float(both.requests[0]), both.noun) == (150.0, "requests")


def test_a_node_has_all_its_servers() -> None:
    busy, rare = server(4, "tcp_server", "/shop:8080", 1000, 200), server(5, "tcp_server", "/db:5432", 1, 200)
    assert len(served.read_served(subject(tcp=(busy, rare), kind="node")).servers) == 2
    assert len(served.read_served(subject(tcp=(busy, rare))).servers) == 1


def test_each_server_is_slow_by_its_own_usual_time() -> None:
    quick, far = server(4, "tcp_server", "/shop:8080", 10, 200), server(5, "tcp_server", "/shop:8081", 10, 50_000)
    snapshot = subject(tcp=(quick, far))
    found = slow.slow(snapshot, served.read_served(snapshot), np.ones(100, dtype=np.bool_))
    assert found.over_us[0] == 20_000
    assert found.over_us[1] == pytest.approx(150_000, rel=0.03)
    assert float(np.nansum(found.ticks)) == 0
    assert found.words == "over 20 to 148 ms, by server"
    unknown = slow.slow(snapshot, served.read_served(snapshot), np.zeros(100, dtype=np.bool_))
    assert unknown.words == "over 20 ms"
    assert float(np.nansum(unknown.ticks)) == 1000


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("gone", "no server is known here whose answers could be timed"),
        ("untimed", "requests were counted, but not how long their answers took"),
    ],
)
def test_it_is_said_why_harm_is_not_known(change: str, why: str) -> None:
    snapshot = built("gc_throttling/HTTP")
    (one,) = snapshot.tcp_servers
    changed = {
        "gone": (),
        "untimed": (replace(one, series={"requests": one.series["requests"]}, distributions={}, queries=None),),
    }[change]
    found = only(replace(snapshot, tcp_servers=changed))
    assert (found.harm, found.severity) == ("not_measured", None)
    assert f"Harm is not measured: {why}." in found.summary
    assert "late" not in found.title


def test_one_timed_server_of_several_does_not_show_that_nobody_was_harmed() -> None:
    """Half of the requests went to a server whose answers were not timed, or a twentieth."""
    timed = server(4, "tcp_server", "/shop:8080", 10, 200)
    other = server(5, "tcp_server", "/shop:9090", 10, 200)
    blind = replace(other, series={"requests": other.series["requests"]}, distributions={})
    half = served.read_served(subject(tcp=(timed, blind)))
    assert (half.timed, half.all_timed) == (True, False)
    few = replace(blind, series={"requests": blind.series["requests"] / 20})
    nearly = served.read_served(subject(tcp=(timed, few)))
    assert (nearly.timed, nearly.all_timed) == (True, True)
    assert not served.read_served(subject(tcp=(blind,))).all_timed


def test_harm_is_not_none_where_half_of_the_requests_were_not_timed() -> None:
    snapshot = built("gc_throttling/HTTP")
    (one,) = snapshot.tcp_servers
    fast = {**one.series, "responses_slow": np.zeros(snapshot.ticks)}
    quick = replace(one, series=fast, distributions={}, queries=None)
    known = only(replace(snapshot, tcp_servers=(quick,)))
    assert (known.harm, known.severity) == ("none", None)
    blind = replace(
        one, id=9, key="/shop:9090", series={"requests": one.series["requests"]}, distributions={}, queries=None
    )
    half = only(replace(snapshot, tcp_servers=(quick, blind)))
    assert (half.harm, half.severity) == ("not_measured", None)


def test_a_server_that_was_not_asked_harmed_no_one_that_is_known() -> None:
    silent = served.read_served(subject(tcp=(server(4, "tcp_server", "/shop:8080", 0, 200),)))
    assert not silent.timed
    assert served.not_timed(silent) == "Harm is not measured: no requests were seen in this window."


def test_requests_without_an_answer_are_lost_only_where_that_is_unusual() -> None:
    one = server(4, "tcp_server", "/shop:8080", 100, 200)
    spans = np.zeros(100, dtype=np.bool_)
    spans[50:60] = True
    snapshot = subject(tcp=(one,))

    def lost(calm: float, inside: float) -> int:
        values = np.where(spans, inside, calm)
        return served.lost(snapshot, replace(one, series={**one.series, "requests_unanswered": values}), spans)

    assert lost(0, 5) == 50
    assert lost(0.5, 5) == 45
    assert lost(5, 50) == 0, "a protocol whose connections end with a message that asks for nothing"


def test_dns_causes_take_no_tcp_server_for_theirs() -> None:
    """A service that sends no DNS queries and has its own slow answers."""
    snapshot = subject(tcp=(server(4, "tcp_server", "/shop:8080", 100, 200_000),))
    assert [found.cause for found in diagnose(snapshot).findings if found.cause.startswith("dns/")] == []
    assert impact.of_servers(snapshot) == {}
    assert impact.of_served(snapshot)["queries"] == 10_000
