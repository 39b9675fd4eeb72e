"""A page-cache run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import numpy as np

from jitterscope.recordings.model import Recording
from labs.blocking import observed_blocked_s
from labs.observed import observed
from labs.pagecache.bench import CacheFigures, bench, run
from labs.pagecache.variants import expected_cause
from labs.watching import Watch

LAB = "page-cache"
_REFAULTS = "memory_refaults"


def _observed(recording: Recording, server_key: str) -> CacheFigures:
    figures = observed(recording, server_key).model_dump() | {"gc_cycles": None}
    pages = recording.resources[recording.subject].series.get(_REFAULTS)
    refaults = None if pages is None else int(np.nansum(pages))
    return CacheFigures(**figures, refaults=refaults, blocked_s=observed_blocked_s(recording))


watch = Watch(LAB, bench, run, expected_cause, _observed)
