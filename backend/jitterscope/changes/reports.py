"""Stores reported changes: once, however often they are sent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.audit import service as audit
from jitterscope.changes import store
from jitterscope.changes.models import ChangeRow
from jitterscope.changes.schemas import ChangeReport
from jitterscope.errors import Problem, not_found
from jitterscope.inventory import service as inventory
from jitterscope.tenancy.principal import Principal

KEPT = timedelta(days=90)
# A sender's clock may be ahead by this much.
_AHEAD = timedelta(minutes=5)


def add(session: Session, principal: Principal, report: ChangeReport) -> tuple[ChangeRow, bool]:
    """The stored change, and whether it is new.

    Raises Problem 409 if its external id belongs to another change, and 404 if the organization does not have its
    resource.
    """
    if report.resource_id is not None and inventory.resource(session, report.resource_id) is None:
        raise not_found("resource", report.resource_id)
    given = report.model_dump()
    now = datetime.now(UTC)
    at = report.at or now
    if not now - KEPT < at <= now + _AHEAD:
        raise Problem(
            422,
            "invalid-time",
            "Invalid time",
            f"`at` must be within the last {KEPT.days} days and not in the future.",
            "Send `at` with a time zone, or omit it.",
        )
    row = store.add(session, {**given, "at": at, "reported_by": principal.actor})
    if row is not None:
        detail = {name: value for name, value in given.items() if value is not None and name != "at"}
        audit.record(session, principal, "change.report", f"change {row.id}", {**detail, "at": at.isoformat()})
        return row, True
    before = store.with_external_id(session, report.external_id or "")
    if before is not None and all(
        getattr(before, name) == value for name, value in given.items() if name != "at" or value
    ):
        return before, False
    raise Problem(
        409,
        "external-id-taken",
        "External id already used",
        f'There is another change with the external id "{report.external_id}".',
        "Send an id that is unique to this change, such as the id of the pipeline run.",
    )
