"""Parameters that are drawn for labs."""

from __future__ import annotations

from labs.service.variants import Variant, parameters_of
from tests.labs.drawing import drawn

FACTORS = {"qps": (1.2, 1.3), "objects": (0.5, 0.9), "quota_us": (2.0, 3.0), "slow_every": (2.0, 3.0)}


def test_without_a_seed_a_variant_has_its_own_parameters() -> None:
    own = parameters_of(Variant.GO, {"seconds": 30.0})
    assert drawn(parameters_of, Variant.GO, FACTORS, {"seconds": 30.0}, "") == own


def test_each_parameter_is_multiplied_by_a_factor_in_its_range() -> None:
    own = parameters_of(Variant.GO, {})
    made = drawn(parameters_of, Variant.GO, FACTORS, {}, "7")
    for name in ("qps", "objects", "quota_us"):
        low, high = FACTORS[name]
        assert low * 0.999 <= getattr(made, name) / getattr(own, name) <= high * 1.001
    assert (
        made == drawn(parameters_of, Variant.GO, FACTORS, {}, "7") != drawn(parameters_of, Variant.GO, FACTORS, {}, "8")
    )
    assert made.slow_every == 0


def test_what_is_given_or_turned_off_stays() -> None:
    assert drawn(parameters_of, Variant.NO_LIMIT, FACTORS, {}, "7").quota_us == -1
    assert drawn(parameters_of, Variant.OVERLOAD, FACTORS, {}, "7").quota_us is None
    assert drawn(parameters_of, Variant.GO, FACTORS, {"qps": 250.0}, "7").qps == 250
