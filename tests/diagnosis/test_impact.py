"""Figures of harm: declared once, stored by ID, shown as declared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jitterscope.diagnosis.areas.cpu.quantities import THROTTLED_RATIO
from jitterscope.diagnosis.core import answers, impact, registry, shown
from jitterscope.diagnosis.core.area import Area
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.quantity import Quantity
from jitterscope.incidents.lifecycle.decide import Strength, shares_of
from tests.diagnosis.scenarios import SCENARIOS, built

GC = "cpu/gc_throttling"
KNOWN = {
    "queries": 1000, "slow_queries": 25, "slow_ratio": 0.025, "p50_ms": 0.2, "p99_ms": 60.0, "max_ms": 245.0,
    "throttled_ratio": 0.4, "throttled_ms": 900.0, "cpu_mean": 0.2, "cpu_limit": 0.5, "cpu_peak_100ms": 0.9,
    "gc_cycles": 4,
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if one.expected])
def test_a_finding_tells_only_what_its_area_declares(name: str) -> None:
    for found in diagnose(built(name)).findings:
        declared = {one.id for one in registry.quantities_of(found.cause)}
        assert found.impact.keys() <= declared, found.cause
        assert [one.value for one in shown.figures(found.cause, found.impact)] == [
            found.impact[one.id]
            for one in registry.quantities_of(found.cause)
            if one.id in found.impact and not one.aside
        ]


def test_figures_are_shown_as_declared() -> None:
    figures = shown.figures(GC, KNOWN)
    assert [(one.id, one.detail, one.hot) for one in figures] == [
        ("slow_ratio", "25 of 1,000", True),
        ("p99_ms", "median 0.2 ms", False),
        ("max_ms", None, False),
        ("throttled_ratio", "900 ms total", True),
        ("cpu_mean", "of limit 0.5", False),
        ("cpu_peak_100ms", "4.5 × the mean", True),
        ("gc_cycles", None, False),
    ]
    assert figures[5].threshold == 0.5
    assert (figures[0].unit, figures[0].phrase, figures[0].short) == ("ratio", "slow answers", "slow")


def test_what_is_not_known_is_not_shown_and_not_hot() -> None:
    assert shown.figures(GC, {}) == []
    [peak] = shown.figures(GC, {"cpu_peak_100ms": 0.9})
    assert (peak.threshold, peak.hot, peak.detail) == (None, False, None)
    assert not shown.figures(GC, {"slow_ratio": 0.0})[0].hot


def test_findings_of_a_cause_that_is_gone_are_still_shown() -> None:
    assert [one.id for one in shown.figures("gone/long ago", {"throttled_ratio": 0.1, "start_max_ms": 1.0})] == [
        "throttled_ratio", "start_max_ms",
    ]  # fmt: skip


def test_one_id_means_one_thing() -> None:
    other = Area("other", "Other", impact=(replace(impact.SLOW_RATIO, title="Slow requests"),))
    with pytest.raises(registry.RegistryError, match="slow_ratio"):
        registry.quantities([*registry.all_areas().values(), other])


def test_a_measure_says_which_way_is_better() -> None:
    other = Area("other", "Other", measures=(replace(answers.SLOW_ANSWERS, id="any", better="none"),))
    with pytest.raises(registry.RegistryError, match="which way"):
        registry.quantities([other])


def test_an_area_adds_a_figure_by_declaring_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shown, compared, and remembered after a fix, without a line elsewhere."""
    errors = Quantity("error_ratio", "Failed requests", "ratio", threshold=0.001, phrase="failed requests")
    failed = Quantity("failed_requests", "Failed requests", "1", aside=True, proves="harm")
    areas = {**registry.all_areas(), "requests": Area("requests", "Requests", impact=(errors, failed))}
    monkeypatch.setattr(registry, "all_areas", lambda: areas)
    told = {"error_ratio": 0.002, "failed_requests": 7}
    [figure] = shown.figures("requests/any", told)
    assert (figure.title, figure.value, figure.hot, figure.threshold) == ("Failed requests", 0.002, True, 0.001)
    assert shares_of("requests/any") == [errors]
    found = next(one for name in SCENARIOS for one in diagnose(built(name)).findings)
    strength = Strength.of(found.model_copy(update={"cause": "requests/any", "impact": told}))
    assert (strength.harm, strength.sample) == ((7,), ())


def test_windows_are_compared_by_slow_queries_then_by_throttled_time() -> None:
    found = next(one for one in diagnose(built("gc_throttling/case 1")).findings if one.cause == GC)
    assert Strength.of(found).harm == (found.impact["slow_queries"], found.impact["throttled_ms"])
    assert Strength.of(found).sample == (found.impact["queries"],)
    assert THROTTLED_RATIO in shares_of(GC)
