"""How many emails an organization can have sent by requests: invitations, verifications, tests of channels."""

from __future__ import annotations

from collections.abc import Iterable

from jitterscope.tenancy.attempts import per_hour

_OF_ORGANIZATION = 50
_TO_ADDRESS = 5
# From all organizations together. Wider, so that one does not keep others from writing to the address.
_TO_ADDRESS_FROM_ALL = 30


def take(organization_id: int, recipients: Iterable[str]) -> None:
    """Count an email to each recipient. Raises Problem 429 above a limit."""
    for recipient in sorted({one.lower() for one in recipients}):
        per_hour(_OF_ORGANIZATION, "mails of organization", str(organization_id)).take("emails from this organization")
        per_hour(_TO_ADDRESS, "mails to", recipient, str(organization_id)).take("emails to this address")
        per_hour(_TO_ADDRESS_FROM_ALL, "mails to", recipient).take("emails to this address")
