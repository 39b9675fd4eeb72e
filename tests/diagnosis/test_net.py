"""Connections of TCP servers: what clients waited, what is not known about it, and which fixes can help."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.net.area import AREA
from jitterscope.diagnosis.areas.net.fixes import accepting, pooling
from jitterscope.diagnosis.areas.net.readings.churn import read_churn
from jitterscope.diagnosis.areas.net.readings.overflow import read_overflow
from jitterscope.diagnosis.areas.net.readings.resends import read_resends
from jitterscope.diagnosis.core.area import Amounts
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.landing import Facts, Seen
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.snapshot import FactValue, FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.net.runs import BURSTS, FAR, LOSSY, OVERFLOW
from jitterscope.diagnosis.scenarios.net.simulate import simulate

MEASURES = {one.id: one for one in AREA.measures}
QUEUE, LOSS, CHURN = (all_causes()[f"net/{name}"] for name in ("accept_queue", "retransmission", "connect_churn"))


def of_server(snapshot: Snapshot, facts: dict[str, str] | None = None, **series: FloatArray) -> Snapshot:
    """With these facts and series of its server."""
    (server,) = snapshot.tcp_servers
    kept = tuple(one for one in server.facts if one.name not in (facts or {}))
    fresh = tuple(FactValue(name, value, 0) for name, value in (facts or {}).items())
    return replace(
        snapshot, tcp_servers=(replace(server, series=dict(server.series) | series, facts=kept + fresh),)
    )  # fmt: skip


def fixes_of(snapshot: Snapshot) -> dict[str, Fix]:
    (found,) = diagnose(snapshot).findings
    return {fix.id: fix for fix in found.fixes}


def ratio(snapshot: Snapshot, measure: str) -> float:
    amounts = MEASURES[measure].read(snapshot)
    assert isinstance(amounts, Amounts)
    return float(np.nansum(amounts.part) / np.nansum(amounts.whole))


def test_late_answers_are_those_that_were_lost() -> None:
    """Of 12,000 answers 1 % are lost once or more: equally many are late, by the timer."""
    snapshot = simulate(replace(LOSSY, rate=200.0, seed=50))
    found = read_resends(snapshot)
    assert found is not None
    assert found.requests == 12_000
    assert found.late.count == found.long == pytest.approx(120, abs=35)
    assert ratio(snapshot, "resent_late_ratio") == pytest.approx(found.late.count / 12_000)
    told = LOSS.detect(snapshot)
    assert isinstance(told, Found)
    assert told.impact["slow_queries"] == found.late.count
    # The server's own answers were fast: quantiles of them would say that no client waited.
    assert "p99_ms" not in told.impact


def test_a_long_way_is_no_loss() -> None:
    """Segments retransmitted after 60 ms: a tail loss probe, not a timer."""
    snapshot = simulate(replace(LOSSY, loss=0.02, seed=51))
    (server,) = snapshot.tcp_servers
    part = server.distributions["retransmit_delay_us"]
    shorter = {**server.distributions, "retransmit_delay_us": replace(part, bucket=part.bucket - 31)}
    near = replace(snapshot, tcp_servers=(replace(server, distributions=shorter),))
    assert isinstance(LOSS.detect(snapshot), Found)
    told = LOSS.detect(near)
    assert isinstance(told, NotFound)
    assert "200 ms" in told.reason


def test_a_timer_matters_only_to_what_waited_for_it() -> None:
    """Answers of several segments to clients at an unknown distance: the others behind a lost one reveal it."""
    load = replace(LOSSY, loss=0.1, trip_us=60_000.0, seed=58)
    for noticed, fixes in ((0.0, ["repair_path", "lower_rto_min"]), (1.0, ["repair_path"])):
        snapshot = simulate(replace(load, noticed=noticed))
        told = LOSS.detect(snapshot)
        assert isinstance(told, Found)
        assert [fix.id for fix in LOSS.propose(snapshot, told)] == fixes
        (timer,) = (one for one in told.evidence if one.id == "timer")
        assert (timer.numbers["at_once"] > 0) == bool(noticed)


def test_handshakes_that_wait_for_a_full_queue_are_no_loss() -> None:
    lossy = simulate(replace(LOSSY, each=True, loss=0.0, synack_loss=0.05, seed=52))
    found = LOSS.detect(lossy)
    assert isinstance(found, Found)
    assert found.impact["max_ms"] == 1000
    dropped = np.zeros(lossy.ticks)
    dropped[300] = 50.0
    # Retransmitted SYNs are dropped although there is plenty of room.
    assert isinstance(LOSS.detect(of_server(lossy, listen_drops=dropped)), Found)
    assert isinstance(QUEUE.detect(of_server(lossy, listen_drops=dropped)), NotFound)
    full = of_server(lossy, {"tcp.accept_limit": "1"}, listen_drops=dropped, accept_queue=dropped)
    assert isinstance(LOSS.detect(full), NotFound)


PHONES = replace(LOSSY, each=True, clients=1_000_000, trip_us=60_000.0)


def test_ordinary_loss_on_the_way_to_phones_is_no_incident() -> None:
    """1 % of late answers: a fault next door, an ordinary day on the internet."""
    near, far = (LOSS.detect(simulate(replace(load, each=True, loss=0.015, seed=54))) for load in (LOSSY, PHONES))
    assert isinstance(near, Found)
    assert (near.severity, near.confidence) == ("critical", "high")
    assert "near" in near.summary
    assert isinstance(far, NotFound)
    assert "Clients are distant: 9 of 10 connections took up to" in far.reason


def test_more_loss_than_ordinary_is_told_and_critical_only_if_it_is_new() -> None:
    snapshot = simulate(replace(PHONES, loss=0.3, seed=55))
    always = LOSS.detect(snapshot)
    assert isinstance(always, Found)
    assert always.severity == "warning"
    assert "reached distant clients up to" in always.title
    (distance,) = (one for one in always.evidence if one.id == "distance")
    assert distance.numbers["trip_us"] == pytest.approx(62_000, rel=0.05)
    # Not a shorter timer: it would resend what is still on its way.
    assert [fix.id for fix in LOSS.propose(snapshot, always)] == ["repair_path"]
    (server,) = snapshot.tcp_servers
    part = server.distributions["retransmit_delay_us"]
    new = part.tick >= 400
    kept = replace(part, tick=part.tick[new], bucket=part.bucket[new], count=part.count[new])
    since = replace(server, distributions={**server.distributions, "retransmit_delay_us": kept})
    told = LOSS.detect(replace(snapshot, tcp_servers=(since,)))
    assert isinstance(told, Found)
    assert told.severity == "critical"


def test_loss_to_clients_at_an_unknown_distance_is_told_with_less_certainty() -> None:
    told = LOSS.detect(simulate(replace(LOSSY, loss=0.02, seed=56)))
    assert isinstance(told, Found)
    assert (told.severity, told.confidence) == ("warning", "medium")
    assert "How far away the clients are is not known" in told.summary
    # More than is ordinary anywhere.
    worse = LOSS.detect(simulate(replace(LOSSY, loss=0.1, seed=57)))
    assert isinstance(worse, Found)
    assert worse.severity == "critical"


def test_a_scan_is_no_loss() -> None:
    """SYN-ACKs without an answer are sent again and again."""
    snapshot = simulate(replace(LOSSY, each=True, loss=0.0))
    told = LOSS.detect(of_server(snapshot, synack_retransmits=np.full(snapshot.ticks, 5.0)))
    assert isinstance(told, NotFound)


def test_clients_that_waited_are_fewer_than_packets_that_were_dropped() -> None:
    """For one client there are up to twelve drops; a handshake that came late is a client that waited."""
    snapshot = simulate(replace(OVERFLOW, bursts=((31.0, 120),), seed=53))
    found = read_overflow(snapshot)
    assert found is not None
    assert not found.late.count
    assert found.drops > 60
    assert found.waited == pytest.approx(found.drops / 12, abs=1)
    (server,) = snapshot.tcp_servers
    part = server.distributions["handshake_us"]
    late = replace(
        part, tick=np.append(part.tick, 320), bucket=np.append(part.bucket, 352), count=np.append(part.count, 90)
    )
    told = read_overflow(
        replace(snapshot, tcp_servers=(replace(server, distributions={**server.distributions, "handshake_us": late}),))
    )
    assert told is not None
    assert told.waited == 90


@pytest.mark.parametrize("missing", ["tcp.accept_limit", "accept_queue"])
def test_drops_without_a_queue_that_is_known_are_not_told(missing: str) -> None:
    snapshot = simulate(OVERFLOW)
    (server,) = snapshot.tcp_servers
    blind = replace(
        server, facts=tuple(one for one in server.facts if one.name != missing),
        series={name: values for name, values in server.series.items() if name != missing},
    )  # fmt: skip
    told = QUEUE.detect(replace(snapshot, tcp_servers=(blind,)))
    assert isinstance(told, NotEnoughData)
    assert told.missing == [missing]


def test_a_queue_with_room_dropped_nothing_for_lack_of_it() -> None:
    snapshot = simulate(OVERFLOW)
    told = QUEUE.detect(of_server(snapshot, {"tcp.accept_limit": "64"}))
    assert isinstance(told, NotFound)
    assert "64" in told.reason


def test_a_server_that_stands_still_is_another_cause() -> None:
    snapshot = simulate(OVERFLOW)
    (server,) = snapshot.tcp_servers
    near = np.convolve(np.nan_to_num(server.series["listen_drops"]), np.ones(8), "full")[7 : 7 + snapshot.ticks] > 0
    still = of_server(
        snapshot, responses=np.where(near, 0.0, server.series["responses"]), requests_inflight=np.where(near, 9.0, 0.0)
    )
    told = QUEUE.detect(still)
    assert isinstance(told, NotFound)
    assert "stalled" in told.reason


def test_a_server_that_accepts_one_in_a_while_does_not_stand_still() -> None:
    """Every 700 ms: each silence between its answers is like any other stretch, and there is no room."""
    snapshot = simulate(replace(OVERFLOW, bursts=(), rate=20.0, accept_us=700_000.0, backlog=4))
    (server,) = snapshot.tcp_servers
    owed = of_server(snapshot, requests_inflight=np.full(snapshot.ticks, 5.0))
    assert float(np.median(np.diff(np.flatnonzero(server.series["responses"])))) == 7
    told = QUEUE.detect(owed)
    assert isinstance(told, Found)
    assert fixes_of(owed)["raise_backlog"].verdict == "cannot_help"


def test_a_longer_queue_helps_against_bursts_alone() -> None:
    bursts = fixes_of(simulate(OVERFLOW))
    assert bursts["raise_backlog"].verdict == "removes"
    assert bursts["raise_backlog"].predicted["listen_drops_ratio"].expected == 0
    assert "backlog=128" in bursts["raise_backlog"].patches[0].text
    always = fixes_of(simulate(replace(OVERFLOW, bursts=(), rate=120.0, accept_us=9_000.0)))
    assert always["raise_backlog"].verdict == "cannot_help"
    assert not always["raise_backlog"].predicted
    assert always["more_acceptors"].verdict == "reduces"
    assert list(always)[-1] == "raise_backlog"


def test_the_kernels_limit_comes_first_where_it_cuts() -> None:
    snapshot = simulate(OVERFLOW)
    assert "raise_somaxconn" not in fixes_of(snapshot)
    capped = fixes_of(of_server(snapshot, {"tcp.somaxconn": "16"}))
    assert next(iter(capped)) == "raise_somaxconn"
    assert capped["raise_somaxconn"].verdict == "removes"
    assert "nsenter -t 4711 -n sysctl" in capped["raise_somaxconn"].patches[0].text
    beside = fixes_of(of_server(snapshot, {"tcp.somaxconn": "100"}))
    assert beside["raise_somaxconn"].verdict == "unknown"


def test_pools_are_proposed_where_clients_come_again() -> None:
    assert "reuse_connections" in fixes_of(simulate(OVERFLOW))
    assert "reuse_connections" not in fixes_of(simulate(replace(OVERFLOW, clients=1_000_000)))
    churn = read_churn(simulate(replace(FAR, each=False)))
    assert churn is not None
    assert pooling.keep_alive(churn) is None


def test_a_clients_wait_is_a_round_trip_more() -> None:
    found = read_churn(simulate(replace(FAR, trip_us=40_000.0, work_us=20_000.0)))
    assert found is not None
    assert found.per_request == pytest.approx(1.0, abs=0.01)
    assert found.share == pytest.approx(0.4, abs=0.02)
    assert ratio(simulate(FAR), "connects_per_request") == pytest.approx(1.0, abs=0.01)


def test_churn_is_not_told_where_room_is_short() -> None:
    told = CHURN.detect(simulate(replace(OVERFLOW, trip_us=30_000.0)))
    assert isinstance(told, NotFound)
    assert "room" in told.reason


def test_how_fixes_are_seen() -> None:
    def lands(fix: str, before: Facts, after: Facts) -> bool:
        landing = next(one for one in accepting.FIXES if one.id == fix).landing
        assert isinstance(landing, Seen)
        return landing.lands_as(before, after)

    assert lands("raise_backlog", {"tcp.accept_limit": "16"}, {"tcp.accept_limit": "128"})
    assert not lands("raise_backlog", {"tcp.accept_limit": "128"}, {"tcp.accept_limit": "16"})
    assert not lands("raise_backlog", {}, {"tcp.accept_limit": "16"})
    assert lands("raise_somaxconn", {"tcp.somaxconn": "128"}, {"tcp.somaxconn": "4096"})
    assert lands("more_acceptors", {"tcp.listeners": "1"}, {"tcp.listeners": "4"})


def test_the_busiest_of_several_servers_is_told() -> None:
    """A quiet server beside it does not hide it, and the numbers are its own."""
    full = simulate(replace(OVERFLOW, bursts=BURSTS[:5]))
    quiet = simulate(replace(OVERFLOW, bursts=(), seed=60))

    def second(server: ResourceView) -> ResourceView:
        return replace(server, id=9, key="/lab/server:9000", name="/lab/server:9000")

    both = replace(full, tcp_servers=(second(quiet.tcp_servers[0]), *full.tcp_servers))
    alone, beside = QUEUE.detect(full), QUEUE.detect(both)
    assert isinstance(alone, Found)
    assert isinstance(beside, Found)
    assert beside.evidence == alone.evidence
