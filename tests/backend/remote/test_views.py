"""What is drawn from samples: rates with resets and gaps, and quantiles as Prometheus computes them."""

from __future__ import annotations

import numpy as np
import pytest

from jitterscope.series.external_views import Grid, Samples, interval_us, quantiles, rate, raw

S = 1_000_000


def samples(*pairs: tuple[float, float]) -> Samples:
    times, values = zip(*pairs, strict=True)
    return (np.array(times) * S).astype(np.int64), np.array(values, float)


def known(values: np.ndarray) -> list[float]:
    return [round(value, 6) for value in values[~np.isnan(values)].tolist()]


def test_a_step_is_no_shorter_than_samples_need() -> None:
    times = samples(*((15 * at, 1) for at in range(20)))[0]
    assert interval_us([times]) == 15 * S
    grid = Grid.over(0, 300 * S, 1000, 15 * S)
    assert (grid.step_us, grid.points) == (23 * S, 14)
    low, mean, high = raw((times, np.arange(20.0)), grid)
    assert not np.isnan(mean[:-1]).any()
    assert (low[0], mean[0], high[0]) == (0, 0.5, 1)
    assert Grid.over(0, 3000 * S, 100, 15 * S).step_us == 30 * S


def test_a_rate_starts_at_zero_after_a_reset_and_says_nothing_of_a_gap() -> None:
    grid = Grid(0, 30 * S, 60)
    steady = rate(samples((0, 100), (15, 130), (30, 160), (45, 190)), grid)
    assert known(steady) == [2, 2]
    # 40, then a restart: only what it has counted since is known.
    assert known(rate(samples((0, 10), (15, 40), (29, 5)), grid)) == [round(35 / 29, 6)]
    gap = rate(samples((0, 0), (15, 30), (30, 60), (1000, 5000), (1015, 5030)), grid)
    assert known(gap) == [2, 2, 2]
    assert known(rate(samples((0, 1)), grid)) == []


@pytest.mark.parametrize("counts", [(0, 10, 60, 100, 100), (100, 100, 100, 100, 100), (0, 0, 0, 0, 7)])
def test_quantiles_are_those_of_prometheus(counts: tuple[int, ...]) -> None:
    """histogram_quantile as its documentation defines it, reimplemented."""
    bounds = (0.1, 0.2, 0.5, 1.0, float("inf"))

    def expected(quantile: float) -> float:
        rank = quantile * counts[-1]
        at = next(index for index, count in enumerate(counts) if count >= rank)
        if at == len(counts) - 1:
            return bounds[-2]
        start, before = (0.0, 0) if at == 0 else (bounds[at - 1], counts[at - 1])
        return start + (bounds[at] - start) * (rank - before) / (counts[at] - before)

    buckets = [(bound, samples((0, 3), (15, 3 + count))) for bound, count in zip(bounds, counts, strict=True)]
    found = quantiles(buckets[::-1], Grid(0, 30 * S, 1))
    assert [values[0] for values in found] == [pytest.approx(expected(one)) for one in (0.5, 0.9, 0.99)]


def test_a_histogram_without_observations_or_without_its_last_bucket_has_no_quantiles() -> None:
    still = [(bound, samples((0, 3), (15, 3))) for bound in (1.0, float("inf"))]
    assert np.isnan(quantiles(still, Grid(0, 30 * S, 1))[0]).all()
    assert np.isnan(quantiles(still[:1], Grid(0, 30 * S, 1))[0]).all()
