"""Blocks with many different layouts: a node on which containers come and go makes thousands within minutes."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitterscope import db
from jitterscope.series import codec, landing, partitions, read_ticks
from jitterscope.series.landing import LandingBlock
from jitterscope.series.window import Window
from tests.support.batches import TICK_US, now_us

SERIES, TICKS = np.arange(1, 400), 5


def test_each_block_is_read_by_its_own_layout(organization: Any) -> None:
    """Blocks of random series, in the widths that they need; a few of the series are wanted."""
    random = np.random.default_rng(5)
    blocks = 300
    start_us = now_us() // TICK_US * TICK_US - blocks * TICKS * TICK_US
    partitions.ensure(start_us, start_us + blocks * TICKS * TICK_US)
    truth = np.full((len(SERIES), blocks * TICKS), np.nan)
    landed = []
    for number in range(blocks):
        chosen = random.permutation(len(SERIES))[: random.integers(1, len(SERIES))]
        encoding, kind = ((codec.I16, "<i2"), (codec.I32, "<i4"), (codec.F64, "<f8"))[number % 3]
        values = random.integers(0, 30_000, (len(chosen), TICKS))
        at = number * TICKS
        truth[chosen, at : at + TICKS] = values
        landed.append(
            LandingBlock(
                start_us + at * TICK_US, TICK_US, TICKS, encoding, SERIES[chosen], values.astype(kind).tobytes()
            )
        )
    wanted = np.sort(random.permutation(len(SERIES))[:40])
    # The window begins and ends inside a block.
    first, last = 7 * TICKS + 2, blocks * TICKS - 3
    window = Window(start_us + first * TICK_US, last - first, TICK_US)
    with db.organization_session(organization.id) as session:
        landing.store_blocks(session, organization.id, 1, landed)
        scope = read_ticks.Scope(session, organization.id, (1,))
        found = read_ticks.read(scope, SERIES[wanted].tolist(), window)
    np.testing.assert_array_equal(np.stack([found[one] for one in SERIES[wanted].tolist()]), truth[wanted, first:last])
