"""What a host's refusal means to the caller."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from jitterscope.errors import Problem
from jitterscope.pulls.files.errors import CannotChange
from jitterscope.pulls.hosts.connect import NAMES
from jitterscope.pulls.hosts.host import HostFailed, Kind, Reason

log = structlog.get_logger(__name__)
# Title and what to do.
_MEANING: dict[Reason, tuple[str, str]] = {
    "unreachable": ("{} cannot be reached", "Check the address in the repository's settings, and try again later."),
    "token": ("{} refused the token", "Ask an admin to set a new token in the repository's settings."),
    "forbidden": ("{} forbids it", "Grant the token write access to contents and pull requests of the repository."),
    "missing": ("{} cannot find it", "Check the repository, its base branch, and that the token can access it."),
    "refused": ("{} refused it", "Correct what the message names, and try again."),
    "rate_limit": ("{} limits the request rate", "Try again after the seconds in Retry-After."),
    "moved": ("{} redirects to another address", "Set the new address in the repository's settings."),
    "unreadable": ("{} sent no usable answer", "Check the address and the path in the repository's settings."),
}


@contextmanager
def answers_of(kind: Kind) -> Iterator[None]:
    """Raise HostFailed also for answers in a shape that the API's documentation does not describe."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        log.warning("host_answer_unreadable", host=kind, error=type(error).__name__)
        raise HostFailed("unreadable", f"{NAMES[kind]} sent an answer that does not match its API.") from error


@contextmanager
def problems_of(kind: Kind) -> Iterator[None]:
    """Raise Problem 424 for a failure of the host, and 409 for files that cannot be changed."""
    try:
        with answers_of(kind):
            yield
    except HostFailed as error:
        title, what_to_do = _MEANING[error.reason]
        wait = error.retry_after_s
        headers = {} if wait is None else {"Retry-After": str(math.ceil(wait))}
        slug = f"repository-{error.reason.replace('_', '-')}"
        raise Problem(424, slug, title.format(NAMES[kind]), error.detail, what_to_do, headers=headers) from None
    except CannotChange as error:
        raise Problem(409, "cannot-change-file", "The file cannot be changed", error.text, error.what_to_do) from None
