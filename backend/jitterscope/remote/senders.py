"""Senders of remote write: which token, which program, how much, and how recent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.remote import store

_MINUTE_US = 60_000_000
_MAX_AGENT = 60


@dataclass(frozen=True, slots=True)
class Sender:
    """A program that sends with a token.

    `rate` is samples/s in the last full minute, `newest_us` the time of the newest sample; `not_written` counts series
    and histograms that could not be stored.
    """

    token_id: int
    token: str
    agent: str
    first_at: datetime
    last_at: datetime
    requests: int
    samples: int
    not_written: int
    newest_us: int | None
    rate: float


def record(
    organization_id: int, token_id: int, agent: str, samples: int, not_written: int, newest_us: int | None, now_us: int
) -> None:
    """Count a request, in a separate transaction, so that those that write samples do not wait for each other."""
    with db.organization_session(organization_id) as session:
        store.count_request(
            session, organization_id, token_id, _program(agent), samples, not_written, newest_us, now_us // _MINUTE_US
        )


def listed(session: Session, now_us: int, limit: int) -> tuple[list[Sender], int]:
    """Senders, the most recent first, and how many there are."""
    minute = now_us // _MINUTE_US
    found = []
    for row in store.listed(session, limit):
        last_minute = {minute: row.minute_before_samples, minute - 1: row.minute_samples}.get(row.minute, 0)
        found.append(
            Sender(
                row.token_id, row.token, row.agent, row.first_at, row.last_at, row.requests, row.samples,
                row.not_written, row.newest_us, last_minute / 60,
            )
        )  # fmt: skip
    return found, store.count(session)


def _program(agent: str) -> str:
    """The first word of a User-Agent, "Prometheus/2.42.0": the rest describes the system."""
    return next(iter(agent.replace("\0", "").split()), "unknown")[:_MAX_AGENT]
