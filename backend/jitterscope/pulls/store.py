"""Pull requests and repositories in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope.pulls.models import PullRequestRow, RepositoryRow

MOST_REPOSITORIES = 50


def of_incident(session: Session, incident_id: int) -> list[PullRequestRow]:
    """The incident's pull requests, oldest first."""
    query = select(PullRequestRow).where(PullRequestRow.incident_id == incident_id)
    return list(session.scalars(query.order_by(PullRequestRow.id)))


def place(session: Session, incident_id: int, fix_id: str) -> PullRequestRow | None:
    """The pull request that is open or being opened."""
    query = select(PullRequestRow).where(
        PullRequestRow.incident_id == incident_id,
        PullRequestRow.fix_id == fix_id,
        PullRequestRow.state.in_(("opening", "open")),
    )
    return session.scalars(query.with_for_update()).one_or_none()


def due(session: Session, limit: int) -> list[int]:
    """Pull requests whose state may change, or whose verdict is not yet written as a comment."""
    now = datetime.now(UTC)
    query = (
        select(PullRequestRow.id)
        .where(
            PullRequestRow.state.in_(("open", "merged")),
            PullRequestRow.next_check_at <= now,
            PullRequestRow.repository_id.is_not(None),
        )
        .order_by(PullRequestRow.next_check_at)
        .limit(limit)
    )
    return list(session.scalars(query))


def repositories(session: Session) -> list[RepositoryRow]:
    """All repositories, oldest first: of several that have a workload the first one counts."""
    return list(session.scalars(select(RepositoryRow).order_by(RepositoryRow.id).limit(MOST_REPOSITORIES)))


def take_place(session: Session, values: Mapping[str, object]) -> int | None:
    """The id of a new pull request; None if another request has made one for the same fix."""
    statement = insert(PullRequestRow).values(dict(values))
    found: int | None = session.scalar(statement.on_conflict_do_nothing().returning(PullRequestRow.id))
    return found


def count_repositories(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(RepositoryRow)) or 0


def open_by_repository(session: Session, repository_ids: Collection[int]) -> dict[int | None, int]:
    """How many pull requests are open, by repository; absent if none."""
    query = (
        select(PullRequestRow.repository_id, func.count())
        .where(PullRequestRow.state == "open", PullRequestRow.repository_id.in_(repository_ids))
        .group_by(PullRequestRow.repository_id)
    )
    return {row[0]: row[1] for row in session.execute(query)}
