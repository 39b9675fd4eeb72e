"""Channels: create, change, and list; their configuration is sealed before it reaches the database."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError
from sqlalchemy.orm import Session

from jitterscope import sealed
from jitterscope.audit import service as audit
from jitterscope.errors import Problem, not_found
from jitterscope.kit.secretbox import SecretUnreadable
from jitterscope.notify import outbox
from jitterscope.notify.conditions import Conditions
from jitterscope.notify.kind import AT_SAVE, ChannelKind, kinds
from jitterscope.notify.models import ChannelRow, DeliveryRow
from jitterscope.notify.quiet_hours import QuietHours
from jitterscope.notify.schemas import Channel, ChannelCreate, ChannelUpdate
from jitterscope.notify.store import channels
from jitterscope.notify.store.channels import DeliveryCounts


class ChannelUnusable(Exception):
    """The stored configuration is unusable: another key, or a kind or option that this version does not support."""


def open_config(row: ChannelRow) -> tuple[ChannelKind[Any], Any]:
    """The kind and decrypted config of a channel. Raises ChannelUnusable."""
    kind = kinds().get(row.kind)
    if kind is None:
        raise ChannelUnusable(f"there is no channel kind {row.kind}")
    try:
        content = json.loads(sealed.unseal(row.config_sealed))
        return kind, kind.config_model.model_validate(content)
    except (SecretUnreadable, ValueError) as error:
        # A ValidationError would quote its input: name only the fields.
        detail = _fields(error) if isinstance(error, ValidationError) else str(error)
        raise ChannelUnusable(f"the configuration of channel {row.id} is unreadable: {detail}") from None


# Each transition can make a message for each of them.
MOST = 50


def create_channel(session: Session, request: ChannelCreate) -> ChannelRow:
    """Create a channel in the session's organization. Raises Problem 409 if it has too many, 422."""
    if channels.count(session) >= MOST:
        raise Problem(
            409,
            "too-many-channels",
            "Too many channels",
            f"An organization has at most {MOST} channels.",
            "Delete one that is not needed.",
        )
    row = ChannelRow(
        organization_id=session.info["organization_id"],
        kind=request.kind,
        name=request.name,
        enabled=request.enabled,
        min_severity=request.min_severity,
        actions=sorted(set(request.actions)),
        conditions=request.conditions.model_dump(),
        quiet_hours=_dumped(request.quiet_hours),
        config_sealed=_seal(request.kind, request.config),
    )
    session.add(row)
    session.flush()
    session.refresh(row)
    return row


def update_channel(
    session: Session, channel_id: int, request: ChannelUpdate
) -> tuple[ChannelRow, dict[str, dict[str, Any]]]:
    """Apply the given fields; returns the changes for the audit trail, without secrets."""
    row = get_channel(session, channel_id)
    for name in ("name", "enabled", "min_severity"):
        value = getattr(request, name)
        if value is not None:
            setattr(row, name, value)
    if request.actions is not None:
        row.actions = sorted(set(request.actions))
    if request.conditions is not None:
        row.conditions = request.conditions.model_dump()
    if "quiet_hours" in request.model_fields_set:
        row.quiet_hours = _dumped(request.quiet_hours)
    config = {} if request.config is None else _configure(row, request.config)
    changed = audit.changes_of(row, ("name", "enabled", "min_severity", "actions", "conditions", "quiet_hours"))
    session.flush()
    if "quiet_hours" in changed:
        outbox.hold_anew(session, row)
    return row, changed | config


def get_channel(session: Session, channel_id: int) -> ChannelRow:
    """One channel. Raises Problem 404."""
    row = session.get(ChannelRow, channel_id)
    if row is None:
        raise not_found("channel", channel_id)
    return row


def views(session: Session, rows: list[ChannelRow]) -> list[Channel]:
    """Channels as the API shows them, with the state of their deliveries."""
    ids = [row.id for row in rows]
    counts, errors = channels.delivery_counts(session, ids), channels.last_errors(session, ids)
    result: list[Channel] = []
    for row in rows:
        try:
            kind, config = open_config(row)
            target, broken = kind.describe(config), None
        except ChannelUnusable as error:
            target, broken = "unusable", str(error)
        known = counts.get(row.id, DeliveryCounts())
        result.append(
            Channel(
                id=row.id,
                kind=row.kind,
                name=row.name,
                target=target,
                enabled=row.enabled,
                min_severity=row.min_severity,
                actions=row.actions,
                conditions=Conditions.model_validate(row.conditions),
                quiet_hours=outbox.quiet_hours_of(row.quiet_hours),
                created_at=row.created_at,
                pending=known.pending,
                held=known.held,
                held_back=known.held_back,
                dead=known.dead,
                last_sent_at=known.last_sent_at,
                last_error=broken or errors.get(row.id),
            )
        )
    return result


def _seal(kind_name: str, config: dict[str, Any]) -> str:
    kind = kinds().get(kind_name)
    if kind is None:
        known = ", ".join(sorted(kinds()))
        raise Problem(
            422,
            "unknown-channel-kind",
            "Unknown kind of channel",
            f"There is no channel kind {kind_name!r}.",
            f"Use one of: {known}.",
        )
    if (reason := kind.unavailable()) is not None:
        raise Problem(
            422, "kind-unavailable", f"{kind.title} is not available", reason, "Ask the operator of this installation."
        )
    try:
        model: BaseModel = kind.config_model.model_validate(config, context=AT_SAVE)
    except ValidationError as error:
        raise Problem(
            422,
            "invalid-channel-config",
            "Invalid channel configuration",
            _fields(error),
            "GET /api/v1/channels/kinds shows what each kind takes.",
        ) from None
    plain = {name: _reveal(getattr(model, name)) for name in type(model).model_fields}
    return sealed.seal(json.dumps({name: value for name, value in plain.items() if value is not None}))


def _configure(row: ChannelRow, config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Replace a channel's configuration; returns what changes, of secrets only that they do."""
    before = _plain(row)
    row.config_sealed = _seal(row.kind, config)
    after = _plain(row)
    return {"config": {"from": "(secret)", "to": "(another)"}} | {
        f"config.{name}": {"from": before.get(name), "to": after.get(name)}
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    }


def _plain(row: ChannelRow) -> dict[str, Any]:
    """The parts of a channel's configuration that are no secrets; empty if it is unreadable."""
    try:
        _, config = open_config(row)
    except ChannelUnusable:
        return {}
    values = {name: getattr(config, name) for name in type(config).model_fields}
    return {name: value for name, value in values.items() if value is not None and not isinstance(value, SecretStr)}


def _dumped(quiet_hours: QuietHours | None) -> dict[str, Any] | None:
    return None if quiet_hours is None else quiet_hours.model_dump()


def _reveal(value: object) -> object:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _fields(error: ValidationError) -> str:
    items = error.errors(include_input=False, include_url=False)
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'config'}: {item['msg']}" for item in items)


def revive(session: Session, row: DeliveryRow) -> None:
    """Make a dead delivery pending for one more attempt."""
    row.state, row.next_attempt_at = "pending", datetime.now(UTC)
    session.flush()
