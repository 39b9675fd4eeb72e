"""What was not observed is never ruled out: as signals are taken away, verdicts must become more careful."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.readings.throttling import analyse
from jitterscope.diagnosis.areas.cpu.whatif import predict as whatif
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.core import blocked, wording
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found, NotEnoughData
from jitterscope.diagnosis.core.gc import read_gc
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.snapshot import FactValue, Snapshot
from jitterscope.diagnosis.programs import runtimes
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.views import without
from jitterscope.diagnosis.scenarios.cpu.workload import Workload, other_runtime
from tests.diagnosis.scenarios import SCENARIOS, built

CAUSES = all_causes()
FAULTS = [name for name, one in SCENARIOS.items() if one.expected]
# The server's software excludes this, with or without signals: only dnsmasq serves connections with child processes.
BY_SOFTWARE = "dns/dnsmasq_connection_exhaustion"
# Nor does any runtime other than Go have a GOMEMLIMIT.
BY_RUNTIME = "cpu/memory_limit_gc_spiral"
RUN_DELAY, PRESSURE = "process_run_delay_us", "psi_cpu_some_us"
GC = "cpu/gc_throttling"
LEVELS = ("low", "medium", "high")


def finding(snapshot: Snapshot, cause: str) -> Found | None:
    return next((one for one in diagnose(snapshot).findings if one.cause == cause), None)


def wrongly_ruled_out(name: str) -> list[str]:
    """ "RIVAL without METRIC": rivals of the scenario's cause that stay ruled out though a signal they need is gone."""
    expected = SCENARIOS[name].expected
    assert expected is not None
    needs = {rival: CAUSES[rival].needs for rival in CAUSES[expected].rivals}
    wrong = []
    for metric in sorted({one for names in needs.values() for one in names}):
        found = finding(without(built(name), metric), expected)
        wrong += [
            f"{rival.cause} without {metric}"
            for rival in (() if found is None else found.rivals)
            if rival.status == "ruled_out"
            and metric in needs[rival.cause]
            and not (rival.cause == BY_SOFTWARE and "No dnsmasq among" in rival.reason)
            and not (rival.cause == BY_RUNTIME and "No Go program among" in rival.reason)
            # Pressure also shows waits for a CPU.
            and not (metric == RUN_DELAY and has(built(name).subject, PRESSURE))
            # And I/O pressure shows waits for a disk.
            and not (metric == blocked.BLOCKED and has(built(name).subject, blocked.PRESSURE))
            # For what was never throttled, no cause of throttling remains.
            and not (rival.cause.startswith("cpu/") and rival.numbers.get("throttled_periods") == 0.0)
            and not (rival.cause.startswith("cpu/") and rival.reason.startswith("There is no CPU limit"))
        ]
    return wrong


@pytest.mark.parametrize("name", FAULTS)
def test_a_rival_that_lacks_a_signal_is_not_ruled_out(name: str) -> None:
    assert wrongly_ruled_out(name) == []


def test_a_server_whose_software_is_not_known_may_be_a_dnsmasq() -> None:
    """Only a fact of all the subject's servers excludes it; a missing fact excludes nothing."""
    snapshot = without(
        without(built("udp_loss/near miss: out of connections"), "process_children"), "dns_accept_backlog"
    )
    cause = CAUSES[BY_SOFTWARE]

    def told(*software: str | None) -> Snapshot:
        server = snapshot.dns_servers[0]
        rest = tuple(fact for fact in server.facts if fact.name != "dns.software")
        servers = tuple(
            replace(server, facts=rest if one is None else (*rest, FactValue("dns.software", one, snapshot.start_us)))
            for one in software
        )
        return replace(snapshot, dns_servers=servers)

    assert cause.detect(told("coredns", "coredns")).kind == "not_found"
    for unknown in (told("coredns", None), told(None), told("coredns", "dnsmasq")):
        assert cause.detect(unknown).kind == "not_enough_data"


def test_a_finding_is_less_certain_where_a_rival_of_dns_cannot_be_judged() -> None:
    name = "dnsmasq_connection_exhaustion/upstream not seen"
    found, alone = finding(built(name), BY_SOFTWARE), CAUSES[BY_SOFTWARE].detect(built(name))
    assert found is not None
    assert isinstance(alone, Found)
    assert {one.cause for one in found.rivals if one.status == "not_enough_data"} == {"dns/slow_upstream"}
    assert LEVELS.index(found.confidence) == LEVELS.index(alone.confidence) - 1


@pytest.mark.parametrize("cause", ["cpu/gc_throttling", "cpu/periodic_burst"])
def test_harm_is_not_none_where_no_server_was_watched(cause: str) -> None:
    blind = finding(built(f"{cause.removeprefix('cpu/')}/serves nothing"), cause)
    assert blind is not None
    assert (blind.severity, blind.harm) == (None, "not_measured")


def test_a_limit_that_was_not_read_is_not_none_where_something_is_throttled() -> None:
    snapshot = built("limit_too_low/small heap")
    facts = tuple(fact for fact in snapshot.subject.facts if fact.name != "cpu.quota_us")
    result = CAUSES["cpu/limit_too_low"].detect(replace(snapshot, subject=replace(snapshot.subject, facts=facts)))
    assert isinstance(result, NotEnoughData)
    assert result.missing == ["cpu.quota_us"]


def test_requests_that_were_not_counted_when_stalls_began_may_have_been_a_burst() -> None:
    snapshot = built("gc_throttling/case 1")
    [server] = snapshot.dns_servers
    queries = server.series["dns_queries"].copy()
    for item in analyse(snapshot).judged:
        queries[item.episode.start : item.episode.first + 1] = np.nan
    gaps = replace(snapshot, dns_servers=(replace(server, series={**server.series, "dns_queries": queries}),))
    assert CAUSES["cpu/request_burst"].detect(snapshot).kind == "not_found"
    result = CAUSES["cpu/request_burst"].detect(gaps)
    assert isinstance(result, NotEnoughData)
    assert result.missing == ["dns_queries"]


def test_queries_without_times_are_no_slow_answers() -> None:
    snapshot = built("gc_throttling/case 1")
    servers = tuple(
        replace(one, queries=None, distributions={}, series={"dns_queries": one.series["dns_queries"]})
        for one in snapshot.dns_servers
    )
    untimed, timed = finding(replace(snapshot, dns_servers=servers), GC), finding(snapshot, GC)
    assert timed is not None
    assert untimed is not None
    assert (timed.harm, untimed.harm) == ("measured", "not_measured")
    assert untimed.impact["queries"]
    assert not untimed.impact.keys() & {"slow_queries", "slow_ratio"}


@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if one.expected])
def test_harm_agrees_with_severity_and_with_what_was_counted(name: str) -> None:
    for found in diagnose(built(name)).findings:
        if found.severity is None:
            assert found.harm != "measured"
        if found.harm == "none" and found.cause.startswith(("cpu/", "dns/")):
            assert found.impact["queries"]
            assert "slow_queries" in found.impact
        if "slow_queries" in found.impact:
            assert found.impact["slow_queries"] <= found.impact["queries"]
        for counted in (item.numbers for item in found.evidence if {"hits", "of"} <= item.numbers.keys()):
            assert counted["hits"] <= counted["of"]


@pytest.mark.parametrize(
    ("watched", "unwatched", "unknown", "said"),
    [
        ("gc_throttling/case 1", "gc_throttling/serves nothing", {"cpu/request_burst"}, "requests"),
        ("memory_limit_gc_spiral/case 1 with GOMEMLIMIT", "memory_limit_gc_spiral/serves nothing",
         {"cpu/request_burst"}, "requests"),
        ("limit_too_low/small heap", "limit_too_low/no Go", {"cpu/gc_throttling", "cpu/memory_limit_gc_spiral"},
         "garbage collection"),
        ("limit_too_low/small heap", "limit_too_low/serves nothing",
         {"cpu/gc_throttling", "cpu/memory_limit_gc_spiral", "cpu/request_burst"}, "requests and garbage collection"),
        ("periodic_burst/beside a small heap", "periodic_burst/no Go",
         {"cpu/gc_throttling", "cpu/memory_limit_gc_spiral"}, "garbage collection"),
        ("periodic_burst/beside a small heap", "periodic_burst/serves nothing",
         {"cpu/gc_throttling", "cpu/memory_limit_gc_spiral", "cpu/request_burst"}, "requests and garbage collection"),
        ("limit_too_low/JVM", "limit_too_low/JVM, GC not observed", {"cpu/gc_throttling"}, "garbage collection"),
        ("request_burst/JVM", "request_burst/JVM, GC not observed", {"cpu/gc_throttling"}, "garbage collection"),
        ("request_burst/small heap", "request_burst/no Go", {"cpu/gc_throttling", "cpu/memory_limit_gc_spiral"},
         "garbage collection"),
    ],
)  # fmt: skip
def test_less_watched_is_less_certain(watched: str, unwatched: str, unknown: set[str], said: str) -> None:
    cause = SCENARIOS[watched].expected
    assert cause is not None
    full, less = finding(built(watched), cause), finding(built(unwatched), cause)
    assert full is not None
    assert less is not None
    assert LEVELS.index(less.confidence) < LEVELS.index(full.confidence)
    known, left = ({one.cause for one in of.rivals if one.status != "not_enough_data"} for of in (full, less))
    assert known - left == unknown
    assert f"Not watched here, so not ruled out: {said}." in less.summary
    assert "Not watched" not in full.summary


@pytest.mark.parametrize("runtime", ["jvm", "nodejs", "python", "ruby"])
def test_bursts_of_a_server_whose_gc_nobody_observed_may_be_its_gc(runtime: str) -> None:
    """The same stalls with and without data about GC: the second are reported with no certainty."""
    seen, unseen = (
        diagnose(
            simulate(
                replace(other_runtime(runtime), seconds=60, live_mb=200, gogc=30, observed=observed, seed=31)
            ).snapshot
        )
        for observed in (True, False)
    )
    assert [found.cause for found in seen.findings] == [GC]
    for found in unseen.findings:
        assert (found.cause, found.confidence) == ("cpu/periodic_burst", "low")
        assert "neither" not in found.summary
        assert f"({runtimes.NAMES[runtime]}) was not observed" in found.summary
        assert "own_cgroup" not in {fix.id for fix in found.fixes}
        (rival,) = (one for one in found.rivals if one.cause == GC)
        assert rival.status == "not_enough_data"
        assert runtimes.NAMES[runtime] in rival.reason
    assert next(one for one in unseen.not_enough_data if one.cause == GC).missing == ["gc_active_us"]


def test_a_server_whose_gc_nobody_observed_beside_one_whose_gc_was() -> None:
    """An observed Go sidecar says nothing about the JVM that serves."""
    whole = built("gc_throttling/JVM")
    (server,) = whole.processes
    dumb = tuple(fact for fact in server.facts if not fact.name.startswith("runtime."))
    series = {name: values for name, values in server.series.items() if not name.startswith("gc_")}
    calm = {"process_cpu_us": np.full(whole.ticks, 500.0), "gc_active_us": np.zeros(whole.ticks)}
    version = (FactValue("go.version", "1.23.4", whole.start_us),)
    sidecar = replace(server, id=9, key="99:1", series=calm, facts=version, events=())
    watched = replace(whole, processes=(replace(server, facts=dumb, series=series, events=()), sidecar))
    assert finding(whole, GC) is not None
    verdict = CAUSES[GC].detect(watched)
    assert isinstance(verdict, NotEnoughData)
    assert "java (the JVM)" in verdict.reason


def marking(snapshot: Snapshot, *, observed: bool) -> Snapshot:
    """Node.js with concurrent marking and a pause for the last 2 % of a cycle: all of it seen, or only the pause."""
    (server,) = snapshot.processes
    parts = [event.duration_us // 50 for event in server.events]
    cycles = tuple(
        replace(
            event,
            start_us=event.start_us if observed else event.end_us - pause,
            duration_us=event.duration_us if observed else pause,
            attributes={**event.attributes, "collector": "mark-sweep-compact", "pause_us": str(pause)}
            | ({"marking_us": str(event.duration_us - pause)} if observed else {}),
        )
        for event, pause in zip(server.events, parts, strict=True)
    )
    stopped = np.zeros(snapshot.ticks)
    for cycle, pause in zip(cycles, parts, strict=True):
        tick = (cycle.end_us - 1 - snapshot.start_us) // snapshot.step_us
        if 0 <= tick < snapshot.ticks:
            stopped[tick] += pause
    active = server.series["gc_active_us"] if observed else stopped
    facts = tuple(fact for fact in server.facts if observed or fact.name != "runtime.gc_marking")
    seen = {**server.series, "gc_active_us": active, "gc_pause_us": stopped}
    return replace(snapshot, processes=(replace(server, facts=facts, series=seen, events=cycles),))


def test_marking_by_v8_that_nobody_saw_may_be_what_uses_up_the_limit() -> None:
    whole = built("gc_throttling/Node.js")
    seen = diagnose(marking(whole, observed=True))
    assert [found.cause for found in seen.findings] == [GC]
    unseen = diagnose(marking(whole, observed=False))
    assert [found.cause for found in unseen.findings] == ["cpu/periodic_burst"]
    (found,) = unseen.findings
    assert found.confidence != "high"
    assert "The GC of node (marking by V8 while the program runs) was not observed" in found.summary
    assert "neither" not in found.summary
    (rival,) = (one for one in found.rivals if one.cause == GC)
    assert rival.status == "not_enough_data"
    assert "marking by V8" in rival.reason


def test_the_pause_of_a_cycle_that_marks_first_is_at_its_end() -> None:
    (process,) = read_gc(marking(built("gc_throttling/Node.js"), observed=True))
    stops = process.cycles.stops
    assert len(stops) == len(process.cycles) > 0
    assert (stops.end_us == process.cycles.end_us).all()
    assert (stops.end_us - stops.start_us == process.cycles.pause_us).all()
    assert not process.stops_the_program


def test_a_periodic_job_claims_only_what_was_watched() -> None:
    for name, claim in (
        ("periodic_burst/beside a small heap", "neither with more queries nor with GC cycles"),
        ("periodic_burst/no Go", "does not coincide with more queries."),
    ):
        found = finding(built(name), "cpu/periodic_burst")
        assert found is not None
        assert claim in found.summary
    found = finding(built("periodic_burst/serves nothing"), "cpu/periodic_burst")
    assert found is not None
    assert "coincide" not in found.summary


@pytest.mark.parametrize(
    ("one", "other", "texts"),
    [
        (0.104, 0.1, ("0.104", "0.1")),
        (0.1, 0.5, ("0.1", "0.5")),
        (0.62, 0.5, ("0.62", "0.5")),
        (2.0004, 2, ("2.0004", "2")),
        (2, 2, ("2", "2")),
    ],
)
def test_two_figures_are_told_apart(one: float, other: float, texts: tuple[str, str]) -> None:
    assert wording.apart(one, other) == texts


TIGHT = Workload(quota_us=10_000, qps=500, live_mb=3, gogc=None, seconds=30, seed=41)


def test_the_title_of_a_limit_just_too_low_has_figures_that_differ() -> None:
    """A need of 0.104 CPU and a limit of 0.1 CPU are not shown as "0.1 CPU" and "0.10 CPU"."""
    tight = replace(TIGHT, qps=300, bursts=((6.0, 24.0, 495.0),))
    found = finding(simulate(tight).snapshot, "cpu/limit_too_low")
    assert found is not None
    assert "needs 0.104 CPU for its 495 queries/s, more than its limit of 0.1 CPU" in found.title


def test_more_replicas_are_predicted_by_a_replay() -> None:
    """The fewest that end the throttling, and no fewer."""
    facts = {"workload.manager": "kubernetes", "workload.owner": "Deployment/cart", "workload.container": "cart"}
    tight = replace(TIGHT, qps=100, bursts=((6.0, 24.0, 800.0),), facts=facts)
    snapshot = simulate(tight).snapshot
    found = finding(snapshot, "cpu/limit_too_low")
    assert found is not None
    scaled = next(fix for fix in found.fixes if fix.id == "scale_out")
    assert scaled.setting is not None
    count = scaled.setting.replicas
    assert count is not None
    assert (scaled.title, scaled.verdict) == (f"Run {count:g} times as many replicas", "removes")
    assert scaled.predicted["throttled_ratio"].expected < 0.01
    assert {"throttled_ratio", "slow_ratio"} == set(scaled.predicted)
    trace = from_snapshot(snapshot)
    assert not isinstance(trace, str)
    fewer = whatif.predict(trace, replace(trace.setting, replicas=max(1.0, count - 1))).throttled_ratio
    assert fewer is not None
    assert fewer.expected > 0.02
    part = from_snapshot(simulate(replace(tight, qps=100 / count, bursts=((6.0, 24.0, 800.0 / count),))).snapshot)
    assert not isinstance(part, str)
    throttled = float(np.nansum(part.throttled_periods) / np.nansum(part.periods))
    assert scaled.predicted["throttled_ratio"].low <= throttled <= scaled.predicted["throttled_ratio"].high


def test_what_throttling_hides_is_no_need() -> None:
    """Throttled from the start, a request costs what the limit leaves for it."""
    facts = {"workload.manager": "kubernetes", "workload.owner": "Deployment/cart", "workload.container": "cart"}
    snapshot = simulate(replace(TIGHT, facts=facts)).snapshot
    found = finding(snapshot, "cpu/limit_too_low")
    assert found is not None
    assert "uses its whole CPU limit of 0.1 CPU for its 500 queries/s all the time" in found.title
    assert all(item.id != "needed_cpu" for item in found.evidence)
    raised = next(fix for fix in found.fixes if fix.id == "raise_cpu_limit")
    assert (raised.title, raised.verdict) == ("Raise the CPU limit from 0.1 to 0.2 as a first step", "unknown")
    assert raised.predicted == {}
    scaled = next(fix for fix in found.fixes if fix.id == "scale_out")
    assert scaled.verdict == "reduces"
    assert scaled.predicted == {}
    assert "2 times as many pods leave each 50 % of its load. Throttling hides" in scaled.summary
    trace = from_snapshot(snapshot)
    assert not isinstance(trace, str)
    said = whatif.predict(trace, replace(trace.setting, cpu_limit=0.2))
    assert said.throttled_ratio is not None
    assert said.throttled_ratio.expected < 0.1
    assert said.throttled_ratio.high > 0.9, "as much throttling may stay"
