"""Celery tasks of notifications. Each is safe to run twice and at the same time."""

from __future__ import annotations

from dataclasses import asdict

import structlog

from jitterscope import sealed, worker
from jitterscope.db import each_organization, organization_ids, organization_session
from jitterscope.notify import journal
from jitterscope.notify.delivery import deliver_due, journal_folder
from jitterscope.notify.kind import post_json
from jitterscope.notify.outgoing import post_of
from jitterscope.notify.slack_message import escape
from jitterscope.notify.store import deliveries, threads
from jitterscope.notify.wire import PostFailed, perform
from jitterscope.settings import settings

log = structlog.get_logger(__name__)


@worker.app.task(name="notify.deliver")  # type: ignore[untyped-decorator]
def deliver(organization_id: int) -> None:
    """Send what is due in an organization, unless another worker of this host is already doing so."""
    with journal.alone(journal_folder(), f"deliver-{organization_id}") as alone:
        if alone:
            deliver_due(organization_id)


@worker.app.task(name="notify.say_in_slack")  # type: ignore[untyped-decorator]
def say_in_slack(organization_id: int, url: str, text: str) -> None:
    """Answer the person who pressed a button, through the URL that came with the press.

    Tried once, and one at a time for an organization: a person who waits for the answer presses again.
    """
    content = {"response_type": "ephemeral", "replace_original": False, "text": escape(text)}
    with journal.alone(journal_folder(), f"say-{organization_id}") as alone:
        if not alone:
            log.info("slack_not_answered", organization=organization_id, why="another answer is under way")
            return
        try:
            perform(post_of(post_json(url, content, {})))
        except PostFailed as error:
            log.info("slack_not_answered", organization=organization_id, why=error.detail)


@worker.periodic(seconds=5)
def sweep() -> None:
    """Find what is due: retries, and rows whose message was lost with a broker or a worker."""
    for organization_id in organization_ids():
        with organization_session(organization_id) as session:
            due = deliveries.any_due(session) or threads.any_due(session)
        if due:
            worker.app.send_task("notify.deliver", kwargs={"organization_id": organization_id}, expires=5, retry=False)


@worker.periodic(seconds=600)
def reseal() -> None:
    """Re-encrypt stored secrets with the newest key, after a new key was put first."""
    if "," in settings().secret_key.get_secret_value():
        each_organization("reseal secrets", reseal_organization)


def reseal_organization(organization_id: int) -> sealed.Resealed:
    """As `reseal`, for one organization, whatever the number of keys."""
    with organization_session(organization_id) as session:
        resealed = sealed.reseal(session)
    if resealed.done or resealed.unreadable:
        log.info("secrets_resealed", organization=organization_id, **asdict(resealed))
    return resealed
