"""Documents with columns: what goes in comes out, here and in the browser, which reads the same fixture."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jitterscope.kit.columns import pack
from tests.support.columns import unpack

FIXTURE = Path(__file__).parents[2] / "fixtures" / "columns" / "document.json"
US = 2**52
integers = st.lists(st.integers(-US, US), max_size=50)


def in_arrays(part: Any) -> Any:
    """Lists of integers as arrays."""
    if isinstance(part, dict):
        return {name: in_arrays(value) for name, value in part.items()}
    if isinstance(part, list) and part and isinstance(part[0], dict):
        return [in_arrays(one) for one in part]
    if isinstance(part, list) and all(isinstance(one, int) for one in part):
        return np.array(part, np.int64)
    return part


@given(st.fixed_dictionaries({"a": integers, "in": st.fixed_dictionaries({"b": integers.map(sorted), "c": st.text()})}))
def test_any_integers_survive(document: dict[str, Any]) -> None:
    assert unpack(pack(in_arrays(document))) == document


def test_what_is_missing_stays_null() -> None:
    packed = pack({"values": np.array([0.5, np.nan]), "none": np.array([], np.int64), "wait": None})
    assert unpack(packed) == {"values": [0.5, None], "none": [], "wait": None}


def test_the_fixture_that_the_browser_reads_is_what_we_write() -> None:
    fixture = json.loads(FIXTURE.read_text())
    assert base64.b64encode(pack(in_arrays(fixture["document"]))).decode() == fixture["packed"]


def test_times_close_to_each_other_take_a_byte() -> None:
    times = 1_795_250_000_000_000 + np.arange(1000, dtype=np.int64) * 100
    assert len(pack({"t_us": times})) < 1_100
