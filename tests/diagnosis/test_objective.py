"""An objective set by a user decides which answers are slow, and how many of them are harm."""

from __future__ import annotations

from dataclasses import replace

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from jitterscope.diagnosis.areas.unexplained.readings.objectives import missed
from jitterscope.diagnosis.areas.unexplained.readings.stalls import stalls
from jitterscope.diagnosis.core import late
from jitterscope.diagnosis.core.engine import diagnose, shows_nothing
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.impact import SLOW_RATIO
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.objective import GRAMMAR, BadObjective, parse
from jitterscope.diagnosis.core.severity import severity
from jitterscope.diagnosis.core.sketch import bucket_of, value_of
from jitterscope.diagnosis.core.snapshot import Distribution, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from tests.diagnosis.scenarios import built

GC, UNEXPLAINED = "cpu/gc_throttling", "unexplained/slow_answers"


def promised(snapshot: Snapshot, text: str) -> Snapshot:
    """With this objective for every server."""
    objective = parse(text)

    def with_it(views: tuple[ResourceView, ...]) -> tuple[ResourceView, ...]:
        return tuple(replace(view, objective=objective) for view in views)

    return replace(snapshot, dns_servers=with_it(snapshot.dns_servers), tcp_servers=with_it(snapshot.tcp_servers))


def only(snapshot: Snapshot) -> Found:
    (found,) = diagnose(snapshot).findings
    return found


@pytest.mark.parametrize(
    ("text", "plain", "quantile", "limit_us"),
    [
        ("p99<50ms", "p99<50ms", 0.99, 50_000), (" p99.9 < 1.5 s ", "p99.9<1.5s", 0.999, 1_500_000),
        ("p50<2000ms", "p50<2s", 0.5, 2_000_000), ("p95<0.25s", "p95<250ms", 0.95, 250_000),
        ("p90<1ms", "p90<1ms", 0.9, 1_000), ("p99<2.5ms", "p99<2.5ms", 0.99, 2_500),
        ("p99<999s", "p99<999s", 0.99, 999_000_000), ("p50<537805.119ms", "p50<537805.119ms", 0.5, 537_805_119),
        ("p50<999999ms", "p50<999.999s", 0.5, 999_999_000),
    ],
)  # fmt: skip
def test_what_an_objective_is(text: str, plain: str, quantile: float, limit_us: int) -> None:
    found = parse(text)
    assert (str(found), found.quantile, found.limit_us) == (plain, quantile, limit_us)
    assert parse(str(found)) == found


@hypothesis.given(st.from_regex(GRAMMAR.replace("$", r"\Z")))
def test_what_is_written_is_read_again(text: str) -> None:
    found = parse(text)
    assert parse(str(found)) == found
    assert 1_000 <= found.limit_us < 1_000_000_000


@pytest.mark.parametrize(
    "text",
    ["", "p99", "p99<50", "p99<=50ms", "p98<50ms", "99<50ms", "p99<50us", "p99<0ms", "p99<-5ms", "p99<0.5ms",
     "p99<1000s", "p99<50ms\n", "p99<50ms p50<1ms", "P99<50ms", "p99<٥٠ms", "p99<1e3ms", "x" * 500],
)  # fmt: skip
def test_what_is_none_is_told_with_an_example(text: str) -> None:
    with pytest.raises(BadObjective) as raised:
        parse(text)
    assert "is not an objective. Write p50, p90, p95, p99, or p99.9" in str(raised.value)
    assert "p99<50ms" in str(raised.value)
    assert len(str(raised.value)) < 250


def test_harm_says_which_measure_it_used() -> None:
    usual = only(built("gc_throttling/HTTP"))
    assert "took over 20 ms, 135 times its calm median" in usual.summary
    assert SLOW_RATIO.detail is not None
    assert (
        SLOW_RATIO.detail(usual.impact)
        == f"{usual.impact['slow_queries']:,.0f} of 18,000, over 20 ms, 135 times its calm median"
    )
    found = only(promised(built("gc_throttling/HTTP"), "p99.9<50ms"))
    assert (found.cause, found.severity, found.harm) == (GC, "warning", "measured")
    assert "0.5 % of 18,000 requests took over the objective of 50 ms (" in found.summary
    assert "The objective allows 0.1 %." in found.summary
    assert (
        SLOW_RATIO.detail(found.impact) == f"{found.impact['slow_queries']:,.0f} of 18,000, over the objective of 50 ms"
    )
    assert (found.impact["slow_after_ms"], found.impact["objective_ms"]) == (50, 50)


def test_slow_answers_are_counted_from_the_sketches_by_the_objective() -> None:
    snapshot = built("gc_throttling/HTTP")
    (server,) = snapshot.tcp_servers
    part = server.distributions["request_latency_us"]
    for text, limit_us in (("p99.9<5ms", 5_000), ("p99.9<50ms", 50_000)):
        over = int(part.count[value_of(part.bucket) > limit_us].sum())
        assert only(promised(snapshot, text)).impact["slow_queries"] == over


@pytest.mark.parametrize(
    ("text", "level", "harm"),
    [
        # 0.5 % are over 50 ms, 1.2 % over 5 ms.
        ("p99<50ms", None, "none"), ("p99.9<50ms", "warning", "measured"), ("p50<50ms", None, "none"),
        ("p99<5ms", "warning", "measured"), ("p95<5ms", None, "none"), ("p99.9<5s", None, "none"),
    ],
)  # fmt: skip
def test_what_an_objective_allows_is_no_harm(text: str, level: str | None, harm: str) -> None:
    found = only(promised(built("gc_throttling/HTTP"), text))
    assert (found.cause, found.severity, found.harm) == (GC, level, harm)


def test_dns_servers_have_objectives_too() -> None:
    snapshot = simulate(Workload(qps=300, seed=16)).snapshot
    assert only(snapshot).severity == "warning"
    assert (only(promised(snapshot, "p99<2s")).severity, only(promised(snapshot, "p99<2s")).harm) == (None, "none")
    found = only(promised(snapshot, "p99.9<40ms"))
    assert found.severity is not None
    assert "over the objective of 40 ms" in found.summary


@pytest.mark.parametrize(
    ("scenario", "told", "text", "level", "slow_after_ms"),
    [
        ("disk_stall/its write limit", "io/disk_stall", "p99<50ms", "critical", 50),
        ("disk_stall/its write limit", "io/disk_stall", "p50<50ms", None, None),
        ("page_cache_thrashing/files do not fit", "memory/page_cache_thrashing", "p99.9<100ms", "warning", 100),
        ("page_cache_thrashing/files do not fit", "memory/page_cache_thrashing", "p90<50ms", None, None),
        ("lock_or_dependency/a lock in the database", "app/lock_or_dependency", "p99<50ms", "critical", 50),
        # Only some of the requests and calls under 20 ms are kept: such an objective adds none.
        ("lock_or_dependency/a lock in the database", "app/lock_or_dependency", "p99<5ms", "critical", 20),
        ("lock_or_dependency/a lock in the database", "app/lock_or_dependency", "p90<50ms", None, None),
        ("lock_or_dependency/a lock in the database", "app/lock_or_dependency", "p99<5s", None, None),
        # 1 % of answers are retransmitted and arrive 200 ms late.
        ("retransmission/1 % of answers", "net/retransmission", "p99.9<100ms", "warning", 100),
        ("retransmission/1 % of answers", "net/retransmission", "p99<50ms", None, None),
        ("retransmission/10 %, some lost again", "net/retransmission", "p99<50ms", "critical", 50),
        ("retransmission/10 %, some lost again", "net/retransmission", "p99<5s", None, None),
    ],
)  # fmt: skip
def test_every_area_asks_the_objective(
    scenario: str, told: str, text: str, level: str | None, slow_after_ms: float | None
) -> None:
    assert only(built(scenario)).cause == told
    findings = diagnose(promised(built(scenario), text)).findings
    found = [(one.cause, one.severity, one.impact.get("slow_after_ms")) for one in findings]
    assert found == ([] if level is None else [(told, level, slow_after_ms)])


def test_without_the_times_of_answers_harm_is_not_none() -> None:
    snapshot = promised(built("gc_throttling/HTTP"), "p99<50ms")
    (server,) = snapshot.tcp_servers
    counted = replace(server, distributions={}, queries=None)
    assert "responses_slow" in counted.series, "how many took over 20 ms says nothing of 50 ms"
    found = only(replace(snapshot, tcp_servers=(counted,)))
    assert (found.harm, found.severity) == ("not_measured", None)
    assert "Harm is not measured" in found.summary
    assert "slow_ratio" not in found.impact


def test_severity_goes_by_the_objective() -> None:
    assert severity(20, 1000, 110) == "critical"
    assert severity(20, 1000, 110, objective_us=200_000) == "warning"
    assert severity(20, 1000, 30, objective_us=5_000) == "critical"


def test_several_servers_are_told_in_one_phrase() -> None:
    fifty, ten = parse("p99<50ms"), parse("p99<10ms")
    with_fifty, with_ten, without = Late(50_000, 1_000, fifty), Late(10_000, 1_000, ten), Late(20_000, 2_000)
    assert late.words((with_fifty, with_fifty)) == "over the objective of 50 ms"
    assert late.words((with_fifty, with_ten)) == "over the objectives of 10 to 50 ms, by server"
    assert late.words((with_fifty, without)) == "over 20 to 50 ms, by server"
    assert late.words((without, Late(20_000, 500))) == "over 20 ms, 10 times its calm median"
    assert late.words((without,), brief=True) == "over 20 ms"
    assert late.words(()) == "over 20 ms"


def steady(slow_ratio: float, slow_us: float, *, seconds: int = 60, seed: int = 3) -> Snapshot:
    """A server that answers 100 requests in each tick, some of them slowly, at random."""
    random = np.random.default_rng(seed)
    ticks = 10 * seconds
    slow = random.binomial(100, slow_ratio, ticks)
    quick_bucket, slow_bucket = (int(bucket_of(np.array([us]))[0]) for us in (1_000.0, slow_us))
    tick = np.repeat(np.arange(ticks), 2)
    bucket, count = np.tile([quick_bucket, slow_bucket], ticks), np.stack([100 - slow, slow], axis=1).ravel()
    full, known = np.full(ticks, 100.0), count > 0
    server = ResourceView(
        3, "tcp_server", "/shop/cart:8080", "cart :8080",
        series={
            "requests": full, "responses": full, "responses_slow": (slow * (slow_us > 20_000)).astype(np.float64),
            "request_latency_max_us": np.where(slow > 0, slow_us, 1_000.0),
        },
        distributions={
            "request_latency_us": Distribution(tick[known], bucket[known], count[known].astype(np.int64))
        },
    )  # fmt: skip
    node, own = ResourceView(1, "node", "node-1", "node-1"), ResourceView(2, "cgroup", "/shop/cart", "cart")
    return Snapshot(0, ticks, own, node, tcp_servers=(server,))


def found_by(snapshot: Snapshot) -> list[Found]:
    return [one for one in diagnose(snapshot).findings if one.cause == UNEXPLAINED]


def test_an_objective_that_is_missed_all_the_time_is_an_incident() -> None:
    assert found_by(steady(0.05, 12_000)) == [], "12 ms are not slow without an objective"
    missing = promised(steady(0.05, 12_000), "p99<5ms")
    assert not shows_nothing(missing), "no counter tells of what is quicker than 20 ms"
    (found,) = found_by(missing)
    assert (found.severity, found.harm) == ("warning", "measured")
    assert found.title == "cart :8080 misses its objective of 5 ms: p99 is 12 ms"
    assert "took over the objective of 5 ms, which allows 1.0 %" in found.summary
    assert found.impact["slow_ratio"] == pytest.approx(0.05, rel=0.1)
    assert [one.value for one in found.evidence if one.id == "quantile"] == ["12 ms"]
    assert found.fixes


@pytest.mark.parametrize(
    ("ratio", "slow_us", "text"),
    [(0.005, 12_000, "p99<5ms"), (0.05, 12_000, "p99<15ms"), (0.05, 12_000, "p90<5ms"), (0.009, 60_000, "p99<50ms")],
)
def test_an_objective_that_is_kept_is_none(ratio: float, slow_us: float, text: str) -> None:
    assert found_by(promised(steady(ratio, slow_us), text)) == []


def test_one_bad_second_is_not_missed_all_the_time() -> None:
    quick, bad = steady(0.0, 60_000), steady(0.9, 60_000)
    (one,), (other,) = quick.tcp_servers, bad.tcp_servers
    second = (np.arange(600) >= 300) & (np.arange(600) < 310)
    usual, late_ones = one.distributions["request_latency_us"], other.distributions["request_latency_us"]
    chosen, kept = second[late_ones.tick], ~second[usual.tick]
    parts = [
        np.concatenate([getattr(late_ones, name)[chosen], getattr(usual, name)[kept]])
        for name in ("tick", "bucket", "count")
    ]
    mixed = replace(
        one,
        series={name: np.where(second, other.series[name], values) for name, values in one.series.items()},
        distributions={"request_latency_us": Distribution(*parts)},
    )
    snapshot = promised(replace(quick, tcp_servers=(mixed,)), "p99<50ms")
    assert missed(snapshot) == ()
    (stall,) = stalls(snapshot).clear
    assert stall.late > 800
