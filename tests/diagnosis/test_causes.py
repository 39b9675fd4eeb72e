"""Every cause on every scenario: first on its own, silent on the others, honest about what it lacks."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import chain

import pytest

from jitterscope.diagnosis.core.engine import Diagnosis, diagnose, judges, signs_read
from jitterscope.diagnosis.core.finding import Found, Rival
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.served import METRICS
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.views import without
from jitterscope.diagnosis.verification.plan import measure_of
from tests.diagnosis.scenarios import SCENARIOS, built, diagnosed
from tests.support.narrowed import narrow

CAUSES = all_causes()
FAULTS = [name for name, scenario in SCENARIOS.items() if scenario.expected]
# The cause named by a scenario file must have its own faults in it.
OWN = {
    cause: [n for n in FAULTS if n.startswith(cause.split("/")[1] + "/") and "near miss" not in n] for cause in CAUSES
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_made_cause_comes_first_and_alone(name: str) -> None:
    scenario, diagnosis = SCENARIOS[name], diagnosed(name)
    assert [found.cause for found in diagnosis.findings] == ([scenario.expected] if scenario.expected else [])
    if scenario.expected:
        assert (diagnosis.findings[0].severity is not None) == scenario.hurts


@pytest.mark.parametrize("cause", CAUSES)
def test_scenarios_cover_the_cause_and_each_of_its_rivals(cause: str) -> None:
    short = cause.split("/")[1]
    assert len(OWN[cause]) >= 3
    beside = {s.expected for n, s in SCENARIOS.items() if n.startswith(short + "/near miss")}
    if CAUSES[cause].is_residual:
        # All others are its rivals: one of each area stands for them, and `test_the_made_cause_comes_first_and_alone`.
        areas = {other.id.partition("/")[0] for other in CAUSES.values() if "cgroup" in other.subjects}
        assert {one.partition("/")[0] for one in beside if one} == areas - {cause.partition("/")[0]}
        return
    assert beside == set(CAUSES[cause].rivals)


@pytest.mark.parametrize("name", FAULTS)
def test_only_the_made_cause_is_detected(name: str) -> None:
    """Not only ranked behind: the rivals' own detectors stay silent, so the engine has nothing to hide."""
    about = [cause for cause in CAUSES.values() if judges(cause, built(name))]
    # What remains is reported together with the others' findings: the test above checks it.
    found = [
        cause.id
        for cause in about
        if isinstance(cause.detect(built(name)), Found)
        and (not cause.is_residual or cause.id == SCENARIOS[name].expected)
    ]
    assert found == [SCENARIOS[name].expected]
    reads = signs_read(built(name).subject.kind)
    assert reads is not None
    part = narrow(built(name), reads)
    shown = [cause.id for cause in about if cause.signs is not None and cause.signs.shown(part)]
    assert set(found) <= set(shown)


@pytest.mark.slow
@pytest.mark.parametrize(("cause", "metric"), [(c.id, m) for c in CAUSES.values() for m in c.needs])
def test_a_missing_signal_is_said(cause: str, metric: str) -> None:
    for name in OWN[cause]:
        if not SCENARIOS[name].hurts:
            continue
        diagnosis = diagnose(without(built(name), metric))
        assert cause not in [found.cause for found in diagnosis.findings]
        entry = next(item for item in diagnosis.not_enough_data if item.cause == cause)
        # Answers of another protocol are another series.
        alike = {metric}.union(*(names.values() for names in METRICS.values() if metric in names.values()))
        gone = alike & set(entry.missing)
        assert gone, entry.missing
        assert all(one in entry.reason for one in gone)


@pytest.mark.slow
@pytest.mark.parametrize("cause", [cause for cause in CAUSES if cause.startswith("dns/")])
def test_a_rival_that_was_not_observed_is_not_ruled_out(cause: str) -> None:
    """Without what a rival is judged by and the cause is not, the cause is found and the rival stays open."""
    tried = 0
    for rival in (CAUSES[name] for name in CAUSES[cause].rivals):
        for signal in set(UNSEEN.get(rival.id, rival.needs)) - set(CAUSES[cause].needs):
            for name in OWN[cause]:
                blinded = diagnose(_blind(built(name), signal))
                seen, blind = (_judged(one, cause, rival.id) for one in (diagnosed(name), blinded))
                if blind is None or seen is None or blind.reason == seen.reason:
                    continue  # the cause is found by it as well, or the rival is judged by something else
                tried += 1
                assert blind.status == "not_enough_data", (name, rival.id, signal, blind.reason)
    assert tried or not any(set(CAUSES[one].needs) - set(CAUSES[cause].needs) for one in CAUSES[cause].rivals)


def _judged(diagnosis: Diagnosis, cause: str, rival: str) -> Rival | None:
    """What the finding of a cause says about a rival; None if it is not found."""
    found = next((one for one in diagnosis.findings if one.cause == cause), None)
    return None if found is None else next(one for one in found.rivals if one.cause == rival)


# What a rival is judged by beyond its needs.
UNSEEN = {"dns/slow_upstream": ("dns.upstreams",), "dns/udp_loss": ("dns_timeouts",)}


def _blind(snapshot: Snapshot, signal: str) -> Snapshot:
    """Without a metric, or without a fact of the DNS servers."""
    if "." not in signal:
        return without(snapshot, signal)
    servers = tuple(
        replace(view, facts=tuple(fact for fact in view.facts if fact.name != signal)) for view in snapshot.dns_servers
    )
    return replace(snapshot, dns_servers=servers)


@pytest.mark.parametrize("name", FAULTS)
def test_findings_are_complete(name: str) -> None:
    snapshot = built(name)
    found = diagnosed(name).findings[0]
    cause = CAUSES[found.cause]
    assert snapshot.start_us <= found.onset_us < found.last_us <= snapshot.end_us
    if cause.is_residual:
        judged = {one.id for one in CAUSES.values() if judges(one, snapshot)} - {cause.id}
        assert {rival.cause for rival in found.rivals} <= judged
        # If next to nothing was recorded, nothing can be ruled out.
        if found.confidence == "low":
            return
        assert {rival.status for rival in found.rivals} >= {"ruled_out"}
    else:
        assert [rival.cause for rival in found.rivals] == list(cause.rivals)
    for rival in found.rivals:
        assert rival.status != "ruled_out" or rival.reason
    assert any(any(c.isdigit() for c in rival.reason) for rival in found.rivals)
    assert len({item.id for item in found.evidence}) == len(found.evidence) >= 2
    parts = (
        snapshot.processes, snapshot.dns_servers, snapshot.dns_paths, snapshot.neighbours, snapshot.workloads,
        snapshot.cgroups, snapshot.ancestors, snapshot.tcp_servers, snapshot.tcp_upstreams, snapshot.called_servers,
    )  # fmt: skip
    views = {v.id: v for v in (snapshot.subject, snapshot.node, *chain.from_iterable(parts))}
    for item in found.evidence:
        assert item.numbers
        for reference in item.series:
            view = views[reference.resource_id]
            assert reference.metric in view.series or reference.metric in view.distributions
            assert snapshot.start_us <= reference.from_us < reference.to_us <= snapshot.end_us
    assert found.fixes
    assert len({fix.id for fix in found.fixes}) == len(found.fixes)
    for fix in found.fixes:
        assert fix.references
        assert fix.verify
        assert fix.undo
        assert fix.verdict == "cannot_help" or fix.patches or fix.precondition
        for name, interval in fix.predicted.items():
            assert 0 <= interval.low <= interval.expected <= interval.high
            measure = measure_of(name)
            assert measure is None or measure.unit != "ratio" or interval.high <= 1
    assert cause.references
    assert found.title
    assert len(found.title) < 200


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_diagnosis_is_deterministic(name: str) -> None:
    """The same result for other objects with the same content."""
    assert diagnosed(name).model_dump_json() == diagnose(deepcopy(built(name))).model_dump_json()


@pytest.mark.slow
@pytest.mark.parametrize("name", [next(iter(names)) for names in OWN.values()])
def test_a_scenario_is_the_same_each_time(name: str) -> None:
    assert diagnosed(name).model_dump_json() == diagnose(SCENARIOS[name].build()).model_dump_json()
