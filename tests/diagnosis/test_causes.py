"""Every cause on every scenario: first on its own, silent on the others, honest about what it lacks."""

from __future__ import annotations

from itertools import chain

import pytest

from jitterscope.diagnosis.engine import diagnose, judges
from jitterscope.diagnosis.finding import Found
from jitterscope.diagnosis.registry import all_causes
from jitterscope.diagnosis.simulate_views import without
from tests.diagnosis.scenarios import SCENARIOS, built

CAUSES = all_causes()
FAULTS = [name for name, scenario in SCENARIOS.items() if scenario.expected]
# The cause beside which a scenario file stands must have faults of its own in it.
OWN = {
    cause: [n for n in FAULTS if n.startswith(cause.split("/")[1] + "/") and "near miss" not in n] for cause in CAUSES
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_made_cause_comes_first_and_alone(name: str) -> None:
    scenario, diagnosis = SCENARIOS[name], diagnose(built(name))
    assert [found.cause for found in diagnosis.findings] == ([scenario.expected] if scenario.expected else [])
    if scenario.expected:
        assert (diagnosis.findings[0].severity is not None) == scenario.hurts


@pytest.mark.parametrize("cause", CAUSES)
def test_scenarios_cover_the_cause_and_each_of_its_rivals(cause: str) -> None:
    short = cause.split("/")[1]
    assert len(OWN[cause]) >= 3
    beside = {s.expected for n, s in SCENARIOS.items() if n.startswith(short + "/near miss")}
    assert beside == set(CAUSES[cause].rivals)


@pytest.mark.parametrize("name", FAULTS)
def test_only_the_made_cause_is_detected(name: str) -> None:
    """Not only ranked behind: the rivals' own detectors stay silent, so the engine has nothing to hide."""
    about = [cause for cause in CAUSES.values() if judges(cause, built(name))]
    found = [cause.id for cause in about if isinstance(cause.detect(built(name)), Found)]
    assert found == [SCENARIOS[name].expected]


@pytest.mark.parametrize(("cause", "metric"), [(c.id, m) for c in CAUSES.values() for m in c.needs])
def test_a_missing_signal_is_said(cause: str, metric: str) -> None:
    for name in OWN[cause]:
        if not SCENARIOS[name].hurts:
            continue
        diagnosis = diagnose(without(built(name), metric))
        assert cause not in [found.cause for found in diagnosis.findings]
        entry = next(item for item in diagnosis.not_enough_data if item.cause == cause)
        assert metric in entry.missing
        assert metric in entry.reason


@pytest.mark.parametrize("name", FAULTS)
def test_findings_are_complete(name: str) -> None:
    snapshot = built(name)
    found = diagnose(snapshot).findings[0]
    cause = CAUSES[found.cause]
    assert snapshot.start_us <= found.onset_us < found.last_us <= snapshot.end_us
    assert [rival.cause for rival in found.rivals] == list(cause.rivals)
    for rival in found.rivals:
        assert rival.status != "ruled_out" or rival.reason
    assert any(any(c.isdigit() for c in rival.reason) for rival in found.rivals)
    assert len({item.id for item in found.evidence}) == len(found.evidence) >= 2
    parts = (
        snapshot.processes, snapshot.dns_servers, snapshot.dns_paths, snapshot.neighbours, snapshot.workloads,
        snapshot.cgroups, snapshot.ancestors,
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
        for interval in (fix.predicted_slow_ratio, fix.predicted_throttled_ratio):
            assert interval is None or 0 <= interval.low <= interval.expected <= interval.high <= 1
    assert cause.references
    assert found.title
    assert len(found.title) < 200


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_diagnosis_is_deterministic(name: str) -> None:
    assert diagnose(built(name)).model_dump_json() == diagnose(SCENARIOS[name].build()).model_dump_json()
