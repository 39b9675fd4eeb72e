"""Repositories of an organization: create, change, list; tokens are sealed before they reach the database."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr
from sqlalchemy.orm import Session

from jitterscope import sealed
from jitterscope.audit import service as audit
from jitterscope.errors import Problem, not_found
from jitterscope.kit.secretbox import SecretUnreadable
from jitterscope.pulls import store
from jitterscope.pulls.hosts.connect import NAMES, URLS, connect
from jitterscope.pulls.hosts.github import api_of as github_api
from jitterscope.pulls.hosts.host import Host, HostFailed, Kind
from jitterscope.pulls.models import RepositoryRow
from jitterscope.pulls.schemas import Repository, RepositoryFile, RepositoryRequest, RepositoryTest, RepositoryUpdate
from jitterscope.pulls.store import MOST_REPOSITORIES
from jitterscope.settings import settings

_PLAIN = ("url", "repository", "base_branch")


def create(session: Session, request: RepositoryRequest, by: str) -> RepositoryRow:
    """A new one of the session's organization. Raises Problem 409, 422."""
    if store.count_repositories(session) >= MOST_REPOSITORIES:
        raise Problem(
            409, "too-many-repositories", "Too many repositories",
            f"An organization has at most {MOST_REPOSITORIES} repositories.",
            "Remove one that is no longer used.",
        )  # fmt: skip
    _check(request.kind, request.repository, url := request.url or URLS[request.kind])
    row = RepositoryRow(
        organization_id=session.info["organization_id"],
        kind=request.kind,
        url=url,
        repository=request.repository,
        base_branch=request.base_branch,
        files=[one.model_dump() for one in request.files],
        token_sealed=_seal(request.token),
        created_by=by,
    )
    session.add(row)
    session.flush()
    session.refresh(row)
    return row


def update(session: Session, repository_id: int, request: RepositoryUpdate) -> tuple[RepositoryRow, dict[str, Any]]:
    """Change what is given; what changed for the audit trail, without the token. Raises Problem 404, 422."""
    row = get(session, repository_id)
    elsewhere = any(getattr(request, name) not in (None, getattr(row, name)) for name in ("url", "repository"))
    if elsewhere and request.token is None:
        raise Problem(
            422, "token-needed", "Token needed", "A new host or repository needs its token.",
            "Send the token together with the new address.",
        )  # fmt: skip
    for name in _PLAIN:
        value = getattr(request, name)
        if value is not None:
            setattr(row, name, value)
    _check(kind_of(row), row.repository, row.url)
    if request.files is not None:
        row.files = [one.model_dump() for one in request.files]
    if request.token is not None:
        row.token_sealed = _seal(request.token)
    changed = audit.changes_of(row, (*_PLAIN, "files"))
    if request.token is not None:
        changed["token"] = {"from": "(secret)", "to": "(another)"}
    session.flush()
    return row, changed


def get(session: Session, repository_id: int) -> RepositoryRow:
    """One of them. Raises Problem 404."""
    row = session.get(RepositoryRow, repository_id)
    if row is None:
        raise not_found("repository", repository_id)
    return row


def views(session: Session, rows: list[RepositoryRow]) -> list[Repository]:
    """As the API shows them."""
    counts = store.open_by_repository(session, [row.id for row in rows])
    names = Repository.model_fields.keys() - {"open_pull_requests"}
    return [
        Repository.model_validate(
            {name: getattr(row, name) for name in names} | {"open_pull_requests": counts.get(row.id, 0)}
        )
        for row in rows
    ]


def files_of(row: RepositoryRow) -> list[RepositoryFile]:
    return [RepositoryFile.model_validate(one) for one in row.files]


def host_of(row: RepositoryRow) -> Host:
    """The host, with the repository's token. Raises Problem 409 where the token cannot be read."""
    try:
        token = sealed.unseal(row.token_sealed)
    except SecretUnreadable as error:
        raise Problem(
            409, "repository-unusable", "Repository cannot be used", f"The token of {row.repository}: {error}.",
            "Set its token again.",
        ) from error  # fmt: skip
    return connect(kind_of(row), row.url, row.repository, token)


def test(row: RepositoryRow) -> RepositoryTest:
    """Read the base branch and the files with the stored token. Makes no change there."""
    host = host_of(row)
    try:
        head = host.head(row.base_branch)
        if head is None:
            return RepositoryTest(ok=False, detail=f"There is no branch {row.base_branch}.", missing=[])
        paths = dict.fromkeys(one.path for one in files_of(row) if one.format != "kustomize_patch")
        missing = [path for path in list(paths)[:10] if host.read(path, head) is None]
    except HostFailed as error:
        return RepositoryTest(ok=False, detail=error.detail, missing=[])
    except (KeyError, TypeError, ValueError, AttributeError):
        return RepositoryTest(ok=False, detail=f"{NAMES[kind_of(row)]} sent an unexpected answer.", missing=[])
    if missing:
        return RepositoryTest(
            ok=False, detail=f"{row.base_branch} does not have {', '.join(missing)}.", missing=missing
        )
    return RepositoryTest(ok=True, detail=f"The token reads {row.base_branch} at {head[:10]}.", missing=[])


def kind_of(row: RepositoryRow) -> Kind:
    """The kind of its host."""
    return kind_of_name(row.kind)


def kind_of_name(name: str) -> Kind:
    """The same of a stored name."""
    return "gitlab" if name == "gitlab" else "github"


def _check(kind: Kind, repository: str, url: str) -> None:
    problem = None
    if kind == "github" and repository.count("/") != 1:
        problem = "A GitHub repository is owner/name."
    # A token must not travel in clear text. Tests and trials inside one's own network may.
    elif not url.startswith("https://") and not settings().notify_allow_private_targets:
        problem = "The URL must start with https:// because the token is sent there."
    elif kind == "gitlab" and github_api(url) == "https://api.github.com":
        problem = "This is the address of GitHub."
    if problem is not None:
        raise Problem(422, "invalid-repository", "Invalid repository", problem, "Correct it and try again.")


def _seal(token: SecretStr) -> str:
    value = token.get_secret_value().strip()
    if not value.isascii() or not value.isprintable():
        raise Problem(
            422, "invalid-repository", "Invalid repository", "The token has invalid characters.",
            "Copy the token again.",
        )  # fmt: skip
    return sealed.seal(value)
