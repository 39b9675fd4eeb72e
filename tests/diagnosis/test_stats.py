"""Properties of the statistics that rules rest on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom, rankdata, spearmanr

from jitterscope.diagnosis.core import stats

masks = st.integers(2, 200).flatmap(
    lambda n: st.tuples(
        st.lists(st.booleans(), min_size=n, max_size=n), st.lists(st.booleans(), min_size=n, max_size=n)
    )
)
floats = st.floats(-1e6, 1e6)


@given(masks)
def test_coincidence_counts_and_bounds(pair: tuple[list[bool], list[bool]]) -> None:
    ticks, spans = np.array(pair[0]), np.array(pair[1])
    found = stats.coincidence(ticks, spans)
    assert found.hits == int((ticks & spans).sum()) <= found.of == int(ticks.sum())
    assert found.chance_ratio == pytest.approx(spans.mean())
    assert 0 <= found.p_independent <= 1
    assert 1 / len(ticks) - 1e-12 <= found.p_shift <= 1
    if found.of and spans.any():
        assert found.lift == pytest.approx((found.hits / found.of) / spans.mean())


@given(st.integers(1, 1500), st.data())
def test_hypergeometric_tail_is_that_of_scipy(population: int, data: st.DataObject) -> None:
    marked, drawn = data.draw(st.integers(0, population)), data.draw(st.integers(0, population))
    hits = data.draw(st.integers(0, drawn + 1))
    expected = float(hypergeom.sf(hits - 1, population, marked, drawn))
    assert stats.hypergeometric_tail(hits, population, marked, drawn) == pytest.approx(expected, rel=1e-6, abs=1e-300)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60))
def test_average_ranks_are_those_of_scipy(values: list[int]) -> None:
    array = np.array(values, dtype=np.float64)
    assert stats.average_ranks(array).tolist() == rankdata(array).tolist()


@given(masks, st.integers(0, 199))
def test_shift_p_is_what_counting_all_shifts_gives(pair: tuple[list[bool], list[bool]], roll: int) -> None:
    ticks, spans = np.array(pair[0]), np.array(pair[1])
    overlaps = [int((np.roll(ticks, k) & spans).sum()) for k in range(len(ticks))]
    expected = np.mean(np.array(overlaps) >= overlaps[0])
    assert stats.circular_shift_p(ticks, spans) == pytest.approx(expected)
    # Where the window begins does not matter.
    assert stats.circular_shift_p(np.roll(ticks, roll), np.roll(spans, roll)) == pytest.approx(expected)


def test_runs_make_the_independent_p_too_small() -> None:
    """One stall of 5 ticks in one cycle of 6 of 100: a shift finds that in 2 of 100 places, not once in millions."""
    ticks, spans = np.zeros(100, dtype=bool), np.zeros(100, dtype=bool)
    ticks[40:45] = spans[40:46] = True
    found = stats.coincidence(ticks, spans)
    assert found.p_independent < 1e-6
    assert found.p_shift == pytest.approx(0.02)


def test_coincidence_refuses_other_lengths() -> None:
    with pytest.raises(ValueError, match="one length"):
        stats.coincidence(np.zeros(3, dtype=bool), np.zeros(4, dtype=bool))


@given(st.lists(floats, min_size=30, max_size=80), st.integers(-8, 8))
def test_lead_lag_finds_a_shift(values: list[float], shift: int) -> None:
    noise = np.random.default_rng(1).normal(size=len(values))
    found = stats.lead_lag(noise, np.roll(noise, shift), 8)
    assert found.ticks == shift
    assert found.correlation == pytest.approx(1.0, abs=0.2)


def test_lead_lag_of_a_flat_series_is_none() -> None:
    assert stats.lead_lag(np.ones(50), np.arange(50.0), 5) == stats.LeadLag(0, 0.0)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=40))
def test_dose_response_is_spearman(pairs: list[tuple[int, int]]) -> None:
    dose, response = np.array(pairs, dtype=float).T
    found = stats.dose_response(dose, response)
    assert found.n == len(pairs)
    assert 0 <= found.p <= 1
    if len(set(dose)) > 1 and len(set(response)) > 1:
        assert found.rho == pytest.approx(spearmanr(dose, response).statistic, abs=1e-9)


def test_dose_response_needs_four_pairs_and_leaves_missing_ones_out() -> None:
    assert stats.dose_response(np.array([1.0, 2, 3]), np.array([1.0, 2, 3])) == stats.DoseResponse(0.0, 3, 1.0)
    assert stats.dose_response(np.array([1.0, 2, 3, 4, np.nan]), np.array([1.0, 2, 3, 4, 9])).rho == 1.0


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=50), st.floats(0.1, 100))
def test_burst_ratio_has_no_unit(values: list[float], scale: float) -> None:
    array = np.array(values)
    assert stats.burst_ratio(array) >= 1 - 1e-9
    assert stats.burst_ratio(array * scale) == pytest.approx(stats.burst_ratio(array))
    assert stats.burst_ratio(np.append(array, np.nan)) == pytest.approx(stats.burst_ratio(array))


@given(st.lists(st.floats(0, 1000), min_size=5, max_size=50))
def test_baseline_survives_disturbance(values: list[float]) -> None:
    quiet = np.array(values)
    disturbed = np.append(quiet, np.full((len(quiet) - 1) // 2, 1e9))
    assert stats.robust_baseline(disturbed).median <= quiet.max()
    assert stats.robust_baseline(np.append(quiet, np.nan)).n == len(quiet)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 5), st.integers(0, 5))
def test_dilate_reaches_exactly_so_far(values: list[bool], before: int, after: int) -> None:
    mask = np.array(values)
    grown = stats.dilate(mask, before, after)
    for tick in range(len(mask)):
        near = mask[max(0, tick - after) : tick + before + 1].any()
        assert grown[tick] == near


@given(st.integers(0, 50), st.integers(1, 10_000))
def test_the_upper_bound_is_above_the_rate(failures: int, extra: int) -> None:
    trials = failures + extra
    assert failures / trials <= stats.rule_of_three(failures, trials) <= 1
