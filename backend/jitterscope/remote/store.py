"""Senders of remote write in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.orm import Session

# How many programs of one token are distinguished, however many names a sender invents.
_MOST_AGENTS = 100
_OTHER = "other"

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


def count_request(
    session: Session,
    organization_id: int,
    token_id: int,
    agent: str,
    samples: int,
    not_written: int,
    newest_us: int | None,
    minute: int,
) -> None:
    """Add a request to what is known of its sender. `minute` is the number of the minute since the epoch."""
    session.execute(
        _RECORD,
        {
            "organization": organization_id, "token": token_id, "agent": agent, "samples": samples,
            "not_written": not_written, "newest_us": newest_us, "minute": minute, "most": _MOST_AGENTS, "other": _OTHER,
        },
    )  # fmt: skip


def listed(session: Session, limit: int) -> Sequence[Row[Any]]:
    """Senders with the names of their tokens, the most recent first."""
    return session.execute(_LISTED, {"limit": limit}).all()


def count(session: Session) -> int:
    """How many senders there are."""
    return int(session.execute(_COUNT).scalar_one())
