"""Whether slow answers of something that is over hide the reason of those that come now."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.engine import Diagnosis
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.served import read_served
from jitterscope.diagnosis.core.snapshot import Snapshot

# In 30 s, 31 of the 34 recorded faults that long show their cause, wherever the window lies.
RECENT_US = 30_000_000
# So many times as many slow answers per time came before.
OUTNUMBERED = 3.0


def is_hidden(snapshot: Snapshot, diagnosis: Diagnosis) -> bool:
    """No cause explains the slow answers of the window, and most of them are older than its last 30 s.

    A program that starts answers slowly for other reasons than the fault that begins then, and far more often.
    """
    harmed = any(found.severity is not None for found in diagnosis.findings)
    ticks = RECENT_US // snapshot.step_us
    if not harmed or _explaining(diagnosis) or snapshot.ticks <= ticks:
        return False
    slow = read_served(snapshot).slow
    before, now = np.nan_to_num(slow[:-ticks]).mean(), np.nan_to_num(slow[-ticks:]).mean()
    return bool(now > 0 and before >= OUTNUMBERED * now)


def shows(diagnosis: Diagnosis) -> bool:
    """Whether the last 30 s by themselves show a known cause, and surely enough."""
    return any(found.confidence != "low" for found in _explaining(diagnosis))


def _explaining(diagnosis: Diagnosis) -> list[Found]:
    return [
        found
        for found in diagnosis.findings
        if found.severity is not None and not all_causes()[found.cause].is_residual
    ]
