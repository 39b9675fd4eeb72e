"""Messages above what an organization may send in an hour: held back, counted, and told in one summary a channel.

The first such message waits, and is sent as the summary an hour later. The others are skipped, and it counts them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.notify.kind import kinds
from jitterscope.notify.models import ChannelRow, DeliveryRow
from jitterscope.notify.store import deliveries
from jitterscope.tenancy.attempts import per_hour

SUMMARY_AFTER = timedelta(hours=1)


def hold_back(session: Session, row: DeliveryRow, channel: ChannelRow) -> bool:
    """Count a due message, and hold it back if it is one too many; returns whether it was.

    Retries and summaries are not counted.
    """
    kind = kinds().get(channel.kind)
    if kind is None or kind.most_per_hour is None or row.attempts > 0 or row.held_back is not None:
        return False
    most = kind.most_per_hour()
    if per_hour(most, "notifications", kind.kind, str(channel.organization_id)).fits():
        return False
    row.last_error = f"Held back: the organization sends at most {most} messages by {kind.title} an hour"
    summary = deliveries.summary(session, channel.id)
    if summary is None:
        row.held_back, row.next_attempt_at = 1, datetime.now(UTC) + SUMMARY_AFTER
    else:
        summary.held_back = (summary.held_back or 0) + 1
        row.state = "skipped"
    return True
