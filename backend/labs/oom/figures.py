"""The figures that the lab measures itself and the same ones queried from the product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from jitterscope.analyses.load_file import LoadResult
from jitterscope.diagnosis.core.query_results import GIVEN_UP_US, REFUSED, SERVFAIL, TIMEOUT
from labs.figures import TICK_US
from labs.oom.truth import Readings

MIB = 1 << 20


class OomFigures(BaseModel):
    """Figures of the measured window, which begins with the load, until the kill; None: not seen.

    `killed_s` is from the start of the window to the first OOM kill; None if there is none. `waiting_peak`: peak number
    of queries that were sent in the last 5 s and not answered yet. Shares are of the queries sent.
    """

    model_config = ConfigDict(extra="forbid")

    memory_begin_mib: float | None = None
    memory_peak_mib: float | None = None
    oom_kills: int | None = None
    killed_s: float | None = None
    fds_peak: int | None = None
    waiting_peak: int | None = None
    refused_share: float | None = None
    servfail_share: float | None = None


def measured(load: LoadResult, readings: Readings, from_us: int, to_us: int) -> OomFigures:
    """What the lab saw in [from_us, to_us)."""
    killed_us = readings.killed_us()
    until_us = min(to_us, killed_us or to_us)
    seen = readings.within(from_us, until_us)
    inside = (load.sent_us >= from_us) & (load.sent_us < until_us)
    refused, servfail = (load.result[inside] == code for code in (REFUSED, SERVFAIL))
    if not seen.at_us.size:
        return OomFigures()
    return OomFigures(
        memory_begin_mib=float(seen.usage_bytes[0]) / MIB,
        memory_peak_mib=float(seen.usage_bytes.max()) / MIB,
        oom_kills=int(readings.oom_kills.max()),
        killed_s=None if killed_us is None else round((killed_us - from_us) / 1e6, 3),
        fds_peak=int(seen.fds.max()),
        waiting_peak=most_at_once(load, from_us, until_us),
        refused_share=float(refused.mean()) if refused.size else None,
        servfail_share=float(servfail.mean()) if servfail.size else None,
    )


def most_at_once(load: LoadResult, from_us: int, until_us: int) -> int:
    """Peak number of queries that wait for an answer at the end of a tick of the window.

    Each counts for at most 5 s, as in the product.
    """
    answered: NDArray[np.int64] = load.sent_us + load.latency_us
    answered[load.result == TIMEOUT] = np.maximum(answered[load.result == TIMEOUT], until_us)
    ended = np.sort(np.minimum(answered, load.sent_us + GIVEN_UP_US))
    ticks = np.arange(from_us + TICK_US, until_us + 1, TICK_US)
    waiting = np.searchsorted(np.sort(load.sent_us), ticks) - np.searchsorted(ended, ticks, side="right")
    return int(waiting.max(initial=0))
