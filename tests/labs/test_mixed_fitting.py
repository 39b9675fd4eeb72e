"""The rate at which the mixed-load lab leaves most of the machine unused."""

from __future__ import annotations

import pytest

from labs.errors import LabError
from labs.mixed.fitting import fitted


@pytest.mark.parametrize(
    ("idle", "tried", "cpus", "rate"),
    [
        (0.2, 0.3, 2, 1.0),  # would fit six times
        (0.4, 0.9, 2, 0.4),
        (0.4, 0.9, 16, 1.0),
        (0.5, 0.4, 2, 1.0),  # less busy than before: the load costs nothing that can be measured
        (0.7, 1.7, 4, 0.45),
    ],
)
def test_the_rate_keeps_two_fifths_of_the_cpus_busy(idle: float, tried: float, cpus: int, rate: float) -> None:
    assert fitted(idle, tried, cpus) == pytest.approx(rate)


@pytest.mark.parametrize("idle", [0.75, 0.9])
def test_a_machine_with_other_work_is_refused(idle: float) -> None:
    with pytest.raises(LabError, match=f"{idle:.2f} are used without any load"):
        fitted(idle, idle + 1, 2)
