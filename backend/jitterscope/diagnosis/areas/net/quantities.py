"""What the area `net` counts in besides answers and CPU use."""

from __future__ import annotations

from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core.finding import Impact
from jitterscope.diagnosis.core.quantity import Quantity


def _of_attempts(found: Impact) -> str | None:
    drops, attempts = LISTEN_DROPS.of(found), ATTEMPTS.of(found)
    return None if drops is None or attempts is None else f"{drops:,.0f}, for {attempts:,.0f} connection attempts"


ATTEMPTS = Quantity("connection_attempts", "Connection attempts", "1", better="none", aside=True)
LISTEN_DROPS = Quantity("listen_drops", "Dropped handshake packets", "1", aside=True, per_subject=True, proves="harm")
DROPPED_RATIO = Quantity(
    "listen_drops_ratio", "Dropped handshake packets", "ratio",
    threshold=0.0, phrase="dropped handshake packets", short="dropped", detail=_of_attempts,
)  # fmt: skip
RESENT_LATE_RATIO = Quantity(
    "resent_late_ratio", "Answers delayed by retransmission", "ratio", threshold=0.0, short="retransmitted"
)
RESENT_PER_MIN = Quantity("retransmits_per_min", "Retransmitted segments", "1/min")
CONNECTS_PER_REQUEST = Quantity("connects_per_request", "Connections per request", "1", short="connects")
HANDSHAKE_MS = Quantity("handshake_ms", "Handshake, median", "ms", better="none", short="handshake")

IMPACT = (
    DROPPED_RATIO, LISTEN_DROPS, ATTEMPTS, RESENT_LATE_RATIO, CONNECTS_PER_REQUEST, HANDSHAKE_MS, *impact.ANSWERS,
    *impact.CPU_USE,
)  # fmt: skip
