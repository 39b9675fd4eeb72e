"""Whether stalls delay answers, where few answers came at other times: what is not known is never called harm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.readings.impact import Harm, harm
from jitterscope.diagnosis.areas.cpu.readings.throttling import analyse
from jitterscope.diagnosis.core.objective import parse
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.served import beyond_chance
from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, Queries, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US, facts_of

TICKS = 1200


def throttled(server: ResourceView, stalled: BoolArray, throttled_us: float = 40_000.0) -> tuple[Snapshot, BoolArray]:
    """A container with this server that is throttled for `throttled_us` in each of the ticks."""
    series = {
        "cpu_usage_us": np.where(stalled, 50_000.0, 5_000.0),
        "cpu_periods": np.ones(TICKS),
        "cpu_throttled_periods": stalled.astype(np.float64),
        "cpu_throttled_us": stalled * throttled_us,
    }
    quota = facts_of({"cpu.quota_us": "50000", "cpu.period_us": "100000"})
    subject = ResourceView(1, "cgroup", "/api", "/api", series=series, facts=quota)
    node = ResourceView(0, "node", "n", "n", facts=facts_of({"node.cpus": "2"}))
    tcp, dns = ((server,), ()) if server.kind == "tcp_server" else ((), (server,))
    return Snapshot(EPOCH_US, TICKS, subject, node, tcp_servers=tcp, dns_servers=dns), stalled


def http(at: list[int], took_ms: list[float]) -> ResourceView:
    """A server that answers one request in each of these ticks."""
    count, slow, slowest = np.zeros(TICKS), np.zeros(TICKS), np.full(TICKS, np.nan)
    for tick, took in zip(at, took_ms, strict=True):
        count[tick] += 1
        slow[tick] += took > 20
        slowest[tick] = np.fmax(slowest[tick], took * 1000)
    part = Distribution(np.array(at), bucket_of(np.array(took_ms) * 1000), np.ones(len(at), np.int64))
    series = {"requests": count, "responses": count, "responses_slow": slow, "request_latency_max_us": slowest}
    return ResourceView(3, "tcp_server", "/api:8080", "/api:8080", series=series,
                        distributions={"request_latency_us": part})  # fmt: skip


def judged(snapshot: Snapshot, spans: BoolArray) -> Harm:
    return harm(snapshot, analyse(snapshot), spans)


def ticks(*chosen: int) -> BoolArray:
    mask = np.zeros(TICKS, np.bool_)
    mask[list(chosen)] = True
    return mask


def test_a_server_with_few_requests_is_compared_all_the_same() -> None:
    """19 requests that take 200 ms wherever they fall: the 5 in stalls are no later than the others."""
    inside = [100, 300, 500, 700, 900]
    at = sorted([*inside, *range(40, TICKS, 83)][:19])
    found = judged(*throttled(http(at, [200.0 + n % 3 for n in range(len(at))]), ticks(*inside)))
    assert (found.slow, found.slow_inside >= 5, found.severity, found.known) == (19, True, None, "none")


def test_few_requests_that_are_late_in_stalls_alone_are_harm() -> None:
    inside = [100, 300, 500, 700, 900]
    at = sorted([*inside, *range(40, TICKS, 83)][:19])
    found = judged(*throttled(http(at, [200.0 if tick in inside else 5.0 for tick in at]), ticks(*inside)))
    assert (found.by_stalls, found.known) == (5, "measured")


@pytest.mark.parametrize(("throttled_us", "harm_"), [(2_000.0, "not_measured"), (60_000.0, "measured")])
def test_stalls_without_an_end_harm_only_if_they_take_much_of_the_time(throttled_us: float, harm_: str) -> None:
    """Nothing shows what is usual: 200 ms are no harm of 2 ms in each period."""
    always = np.ones(TICKS, np.bool_)
    found = judged(*throttled(http(list(range(TICKS)), [200.0] * TICKS), always, throttled_us))
    assert found.known == harm_
    assert (found.severity is None) == (harm_ == "not_measured")


@pytest.mark.parametrize(
    ("others", "outside", "inside", "beyond"),
    [
        (0, 0, 5, 5),  # nothing to compare with
        (14, 14, 5, 0),
        (14, 0, 5, 5),
        (1000, 0, 5, 5),
        (1000, 1000, 5, 0),
    ],
)
def test_a_rate_of_few_requests_counts_as_far_as_it_is_certain(
    others: int, outside: int, inside: int, beyond: float
) -> None:
    near = ticks(*range(5))
    requests = np.zeros(TICKS)
    requests[:5], requests[5] = 1, others
    assert beyond_chance(requests, near, inside, outside) == pytest.approx(beyond, abs=0.5)


def dns(lost: BoolArray, objective: str | None, *, single: bool) -> ResourceView:
    """10 queries in each tick; those of the ticks `lost` get no answer, which is known after 5 s."""
    series: dict[str, FloatArray] = {
        "dns_queries": np.full(TICKS, 10.0),
        "dns_answers": np.where(lost, 0.0, 10.0),
        "dns_slow": np.zeros(TICKS),
        "dns_timeouts": np.roll(np.where(lost, 10.0, 0.0), 50),
    }
    quick = np.flatnonzero(~lost)
    part = Distribution(quick, bucket_of(np.full(len(quick), 300.0)), np.full(len(quick), 10, np.int64))
    server = ResourceView(
        3, "dns_server", "10.0.0.10:53", "dns", series=series, distributions={"dns_latency_us": part},
        objective=None if objective is None else parse(objective),
    )  # fmt: skip
    if not single:
        return server
    at = np.flatnonzero(lost)
    sent = EPOCH_US + np.repeat(at, 10).astype(np.int64) * TICK_US
    return replace(
        server,
        queries=Queries(sent, np.full(len(sent), 5_000_000, np.int64), np.full(len(sent), TIMEOUT, np.int64)),
    )


@pytest.mark.parametrize("objective", [None, "p99<50ms", "p99<10ms"])
@pytest.mark.parametrize("single", [True, False])
def test_lost_queries_count_whatever_the_objective(objective: str | None, single: bool) -> None:
    lost = ticks(*range(100, 110), *range(400, 410), *range(700, 710))
    found = judged(*throttled(dns(lost, objective, single=single), lost))
    assert found.lost_inside == 300
    assert found.severity == "critical"
