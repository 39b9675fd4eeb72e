"""Senders of remote write: which token, which program, how much, and how recent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import db

_MINUTE_US = 60_000_000
# How many programs of one token are distinguished, however many names a sender invents.
_MOST_AGENTS = 100
_OTHER = "other"
_MAX_AGENT = 60

_RECORD = text(
    """
    INSERT INTO remote_write_senders AS known (organization_id, token_id, agent, requests, samples, not_written,
        newest_us, minute, minute_samples, minute_before_samples)
    SELECT :organization, :token, CASE WHEN (SELECT count(*) FROM remote_write_senders
            WHERE token_id = :token AND agent <> :agent) < :most THEN :agent ELSE :other END,
        1, :samples, :not_written, :newest_us, :minute, :samples, 0
    ON CONFLICT (organization_id, token_id, agent) DO UPDATE SET
        last_at = now(), requests = known.requests + 1, samples = known.samples + excluded.samples,
        not_written = known.not_written + excluded.not_written,
        newest_us = greatest(known.newest_us, excluded.newest_us),
        minute = greatest(known.minute, excluded.minute),
        minute_samples = CASE WHEN excluded.minute > known.minute THEN excluded.samples
            WHEN excluded.minute = known.minute THEN known.minute_samples + excluded.samples
            ELSE known.minute_samples END,
        minute_before_samples = CASE WHEN excluded.minute <= known.minute THEN known.minute_before_samples
            WHEN excluded.minute = known.minute + 1 THEN known.minute_samples ELSE 0 END
    """
)
_LISTED = text(
    "SELECT s.token_id, t.name AS token, s.agent, s.first_at, s.last_at, s.requests, s.samples, s.not_written, "
    "s.newest_us, s.minute, s.minute_samples, s.minute_before_samples "
    "FROM remote_write_senders s JOIN tokens t ON t.id = s.token_id ORDER BY s.last_at DESC, s.token_id, s.agent "
    "LIMIT :limit"
)
_COUNT = text("SELECT count(*) FROM remote_write_senders")


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
        session.execute(
            _RECORD,
            {
                "organization": organization_id, "token": token_id, "agent": _program(agent), "samples": samples,
                "not_written": not_written, "newest_us": newest_us, "minute": now_us // _MINUTE_US,
                "most": _MOST_AGENTS, "other": _OTHER,
            },
        )  # fmt: skip


def listed(session: Session, now_us: int, limit: int) -> tuple[list[Sender], int]:
    """Senders, the most recent first, and how many there are."""
    minute = now_us // _MINUTE_US
    found = []
    for row in session.execute(_LISTED, {"limit": limit}):
        last_minute = {minute: row.minute_before_samples, minute - 1: row.minute_samples}.get(row.minute, 0)
        found.append(
            Sender(
                row.token_id, row.token, row.agent, row.first_at, row.last_at, row.requests, row.samples,
                row.not_written, row.newest_us, last_minute / 60,
            )
        )  # fmt: skip
    return found, session.execute(_COUNT).scalar_one()


def _program(agent: str) -> str:
    """The first word of a User-Agent, "Prometheus/2.42.0": the rest describes the system."""
    return next(iter(agent.replace("\0", "").split()), "unknown")[:_MAX_AGENT]
