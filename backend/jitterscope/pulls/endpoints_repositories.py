"""Repositories with workload files. Reading needs repositories:read, changing repositories:write.

Both are administration. Tokens are never returned.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import QUICK, REMOTE, bounded
from jitterscope.db import organization_session
from jitterscope.kit.declared import audited
from jitterscope.paging import unpaged
from jitterscope.pulls import repositories as service
from jitterscope.pulls import store
from jitterscope.pulls.schemas import Repository, RepositoryRequest, RepositoryTest, RepositoryUpdate
from jitterscope.pulls.store import MOST_REPOSITORIES
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/repositories", tags=["pull requests"])
Reader = Annotated[Principal, Depends(require("repositories:read"))]
Writer = Annotated[Principal, Depends(require("repositories:write"))]


@router.get("")
@bounded(QUICK)
@unpaged(f"An organization has at most {MOST_REPOSITORIES} repositories.")
def list_repositories(principal: Reader) -> list[Repository]:
    """All repositories. If several have a workload, the first one is used."""
    with organization_session(principal.organization_id) as session:
        return service.views(session, store.repositories(session))


@router.post("", status_code=201, dependencies=[audited("repository.create")])
@bounded(QUICK)
@refuses(409, "The organization has reached its limit of repositories.")
def create_repository(principal: Writer, request: RepositoryRequest) -> Repository:
    """Add a repository. Pull requests for fixes of its workloads can be opened from now on."""
    with organization_session(principal.organization_id) as session:
        row = service.create(session, request, principal.actor)
        detail = {"kind": row.kind, "repository": row.repository, "files": row.files}
        audit.record(session, principal, "repository.create", f"repository {row.id}", detail)
        return service.views(session, [row])[0]


@router.get("/{repository_id}")
@bounded(QUICK)
def get_repository(principal: Reader, repository_id: int) -> Repository:
    """One repository."""
    with organization_session(principal.organization_id) as session:
        return service.views(session, [service.get(session, repository_id)])[0]


@router.patch("/{repository_id}", dependencies=[audited("repository.update")])
@bounded(QUICK)
def update_repository(principal: Writer, repository_id: int, request: RepositoryUpdate) -> Repository:
    """Change the given fields of a repository."""
    with organization_session(principal.organization_id) as session:
        row, changed = service.update(session, repository_id, request)
        audit.record(session, principal, "repository.update", f"repository {row.id}", changed)
        return service.views(session, [row])[0]


@router.delete("/{repository_id}", status_code=204, dependencies=[audited("repository.delete")])
@bounded(QUICK)
def delete_repository(principal: Writer, repository_id: int) -> None:
    """Remove a repository. Its pull requests stay listed but are no longer updated."""
    with organization_session(principal.organization_id) as session:
        row = service.get(session, repository_id)
        detail = {"kind": row.kind, "repository": row.repository}
        audit.record(session, principal, "repository.delete", f"repository {row.id}", detail)
        session.delete(row)


@router.post("/{repository_id}/test", dependencies=[audited("repository.test")])
@bounded(REMOTE)
@refuses(409, "The stored token cannot be read.")
def test_repository(principal: Writer, repository_id: int) -> RepositoryTest:
    """Read the base branch and the files with the stored token, and return what the host answered."""
    with organization_session(principal.organization_id) as session:
        row = service.get(session, repository_id)
        audit.record(session, principal, "repository.test", f"repository {row.id}")
        session.expunge(row)
    return service.test(row)
