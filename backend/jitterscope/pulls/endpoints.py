"""Pull requests for fixes: whether one is possible, what it would contain, and opening it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from jitterscope.answers import refuses
from jitterscope.bounds import QUICK, REMOTE, bounded
from jitterscope.db import organization_session
from jitterscope.kit.declared import audited, not_audited
from jitterscope.paging import unpaged
from jitterscope.pulls import opening
from jitterscope.pulls.schemas import (
    FixPullRequest,
    KustomizePatch,
    PullRequest,
    PullRequestOptions,
    PullRequestPreview,
)
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/incidents/{incident_id}", tags=["pull requests"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]
Writer = Annotated[Principal, Depends(require("incidents:write"))]
_NO_FILE = "No repository has a file for the fix, the file cannot be changed, or the pull request is being opened."
_HOST = "The repository's host could not be reached, or refused."


@router.get("/pull-requests")
@bounded(QUICK)
@unpaged("One per fix of the incident.")
def list_pull_requests(principal: Reader, incident_id: int) -> list[FixPullRequest]:
    """For each fix of an incident: whether it can become a pull request, and the newest one that it became."""
    with organization_session(principal.organization_id) as session:
        return opening.possibilities(session, incident_id)


@router.get("/kustomize")
@bounded(QUICK)
@unpaged("One per fix of the incident.")
def list_kustomize_patches(principal: Reader, incident_id: int) -> list[KustomizePatch]:
    """The fixes of an incident as Kustomize patches, which need no repository here; those that cannot be one are left
    out."""
    with organization_session(principal.organization_id) as session:
        return opening.kustomize_patches(session, incident_id)


@router.post(
    "/fixes/{fix_id}/pull-request/preview", dependencies=[not_audited("reads files of the repository, changes none")]
)
@bounded(REMOTE)
@refuses(409, _NO_FILE)
@refuses(424, _HOST)
def preview_pull_request(
    principal: Writer, incident_id: int, fix_id: str, request: PullRequestOptions | None = None
) -> PullRequestPreview:
    """Preview a pull request: its text and the diff of its files, made from the current base branch."""
    given = request or PullRequestOptions()
    return opening.preview(principal.organization_id, incident_id, fix_id, given.form)


@router.post("/fixes/{fix_id}/pull-request", dependencies=[audited("pull_request.open")])
@bounded(REMOTE)
@refuses(409, _NO_FILE)
@refuses(424, _HOST)
def open_pull_request(
    principal: Writer, incident_id: int, fix_id: str, request: PullRequestOptions | None = None
) -> PullRequest:
    """Open a pull request. While it is open, the same fix of the same incident returns the same pull request."""
    given = request or PullRequestOptions()
    return opening.open_(principal, incident_id, fix_id, given.form)
