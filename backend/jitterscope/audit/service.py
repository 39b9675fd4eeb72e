"""Writes and reads the audit trail."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import inspect
from sqlalchemy.orm import Session

from jitterscope.audit.models import AuditEntry
from jitterscope.audit.store import entries as entries


class Actor(Protocol):
    """The author of a change: a principal of tenancy."""

    @property
    def organization_id(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def actor(self) -> str: ...
    @property
    def user_id(self) -> int | None: ...
    @property
    def token_id(self) -> int | None: ...


def record(session: Session, actor: Actor, action: str, target: str, detail: dict[str, Any] | None = None) -> None:
    """Add an entry in the caller's transaction: it is kept if and only if the change is.

    `action` is "domain.verb" ("incident.acknowledge"), `target` names the thing ("incident 17"). Never put a secret in
    `detail`.
    """
    session.add(
        AuditEntry(
            organization_id=actor.organization_id,
            actor=actor.actor,
            actor_kind=actor.kind,
            user_id=actor.user_id,
            token_id=actor.token_id,
            action=action,
            target=target,
            detail=detail or {},
        )
    )


def changes_of(row: object, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The unflushed changes of a mapped row: {"role": {"from": "admin", "to": "viewer"}}."""
    attributes = inspect(row).attrs
    found = {}
    for name in names:
        history = attributes[name].history
        if history.deleted and history.added:
            found[name] = {"from": _plain(history.deleted[0]), "to": _plain(history.added[0])}
    return found


def _plain(value: Any) -> Any:  # noqa: ANN401
    return value.isoformat() if isinstance(value, datetime) else value


def record_system(session: Session, action: str, target: str, detail: dict[str, Any] | None = None) -> None:
    """Record an action of the service itself, in the organization of the session."""
    session.add(
        AuditEntry(
            organization_id=session.info["organization_id"],
            actor="jitterscope",
            actor_kind="system",
            action=action,
            target=target,
            detail=detail or {},
        )
    )
