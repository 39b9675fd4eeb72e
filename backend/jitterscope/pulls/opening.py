"""A fix as a pull request: whether it can be one, what it would contain, and opening it.

No transaction is open during requests to the host. Meanwhile a row with the state `opening` holds the place, so that of
two requests for one fix of one incident only one contacts the host.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.audit import service as audit
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.finding import Change, Fix
from jitterscope.errors import Problem, not_found
from jitterscope.incidents.api import whole
from jitterscope.incidents.api.schemas import Incident
from jitterscope.incidents.api.views import incident_url
from jitterscope.incidents.lifecycle import actions
from jitterscope.pulls import kustomize, repositories, store, texts
from jitterscope.pulls import plan as plans
from jitterscope.pulls.hosts.host import Host, HostFailed, Opened
from jitterscope.pulls.models import PullRequestRow, RepositoryRow
from jitterscope.pulls.plan import Planned, Target
from jitterscope.pulls.repositories import kind_of
from jitterscope.pulls.schemas import FixPullRequest, Form, KustomizePatch, PullRequest, PullRequestPreview
from jitterscope.pulls.talking import problems_of
from jitterscope.tenancy.principal import Principal

# A process that died while contacting the host holds the place no longer than this.
_OPENING = timedelta(minutes=2)
_MOST_BRANCHES = 9


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything that is known before the host is contacted."""

    incident: Incident
    fix: Fix
    repository: RepositoryRow
    targets: tuple[Target, ...]
    host: Host
    branch: str

    @property
    def subject(self) -> str:
        """ "coredns" of deployment/coredns."""
        return self.targets[0].change.owner.partition("/")[2]


def possibilities(session: Session, incident_id: int) -> list[FixPullRequest]:
    """Each fix of an incident, with its newest pull request."""
    incident = whole.incident(session, actions.get(session, incident_id))
    rows = store.repositories(session)
    newest = {row.fix_id: row for row in store.of_incident(session, incident_id) if row.state != "opening"}
    return [_possibility(fix, rows, newest.get(fix.id)) for fix in incident.fixes]


def kustomize_patches(session: Session, incident_id: int) -> list[KustomizePatch]:
    """The fixes of an incident that can be Kustomize patches."""
    incident = whole.incident(session, actions.get(session, incident_id))
    made = [KustomizePatch(fix_id=fix.id, files=kustomize.files_of(fix)) for fix in incident.fixes]
    return [one for one in made if one.files]


def _possibility(fix: Fix, rows: Sequence[RepositoryRow], newest: PullRequestRow | None) -> FixPullRequest:
    reason = plans.impossible(fix)
    chosen = None if reason else plans.choose(plans.changes_of(fix), [repositories.files_of(row) for row in rows])
    needs = reason is None and chosen is None
    return FixPullRequest(
        fix_id=fix.id,
        possible=chosen is not None,
        reason=_no_file(plans.changes_of(fix)) if needs else reason,
        needs_repository=needs,
        repository=None if chosen is None else rows[chosen.repository].repository,
        path=None if chosen is None else chosen.targets[0].file.path,
        pull_request=None if newest is None else view(newest),
    )


def preview(organization_id: int, incident_id: int, fix_id: str, form: Form) -> PullRequestPreview:
    """What a pull request would contain. Raises Problem 404, 409, 424."""
    with organization_session(organization_id) as session:
        draft = _draft(session, incident_id, fix_id)
    with problems_of(kind_of(draft.repository)):
        _, planned = _planned(draft, form)
    return PullRequestPreview(
        kind=kind_of(draft.repository),
        repository=draft.repository.repository,
        base_branch=draft.repository.base_branch,
        branch=draft.branch,
        title=texts.title(draft.fix, draft.subject),
        body=_body(draft, planned),
        files=[plans.diff(one) for one in planned.files],
        notes=list(planned.notes),
    )


def open_(principal: Principal, incident_id: int, fix_id: str, form: Form) -> PullRequest:
    """Open a pull request, or return the one that is open. Raises Problem 404, 409, 424."""
    organization_id = principal.organization_id
    with organization_session(organization_id) as session:
        actions.get(session, incident_id)
        known = store.place(session, incident_id, fix_id)
        if known is not None and known.state == "open":
            return view(known)
        draft = _draft(session, incident_id, fix_id)
        place_id = _take_place(session, draft, principal, known)
    try:
        with problems_of(kind_of(draft.repository)):
            branch, opened = _ask(draft, form)
    except BaseException:
        with organization_session(organization_id) as session:
            row = session.get(PullRequestRow, place_id)
            if row is not None and row.state == "opening":
                session.delete(row)
        raise
    with organization_session(organization_id) as session:
        row = session.get(PullRequestRow, place_id)
        if row is None:
            raise Problem(
                409, "taken-over", "Another request opened it", "Opening it took too long.", "Check the incident again."
            )
        row.branch, row.number, row.url, row.state = branch, opened.number, opened.url, "open"
        row.checked_at = datetime.now(UTC)
        row.next_check_at = row.checked_at + timedelta(minutes=1)
        detail = {"incident": incident_id, "fix": fix_id, "repository": row.repository, "url": opened.url}
        audit.record(session, principal, "pull_request.open", f"pull request {row.id}", detail)
        return view(row)


def view(row: PullRequestRow) -> PullRequest:
    """The pull request as the API shows it."""
    return PullRequest.model_validate({name: getattr(row, name) for name in PullRequest.model_fields})


def _draft(session: Session, incident_id: int, fix_id: str) -> Draft:
    incident = whole.incident(session, actions.get(session, incident_id))
    fix = next((one for one in incident.fixes if one.id == fix_id), None)
    if fix is None:
        raise not_found("fix", fix_id)
    reason = plans.impossible(fix)
    if reason is not None:
        raise Problem(
            409, "no-file-holds-it", "No pull request is possible", reason, "Copy the patch and apply it by hand."
        )
    rows = store.repositories(session)
    changes = plans.changes_of(fix)
    chosen = plans.choose(changes, [repositories.files_of(row) for row in rows])
    if chosen is None:
        raise Problem(
            409, "no-repository", "No repository has this workload", _no_file(changes),
            "Ask an admin to add its file in Settings > Repositories.",
        )  # fmt: skip
    row = rows[chosen.repository]
    earlier = sum(one.fix_id == fix_id and one.state != "opening" for one in store.of_incident(session, incident_id))
    branch = _branch(incident_id, fix_id, earlier + 1)
    return Draft(incident, fix, row, chosen.targets, repositories.host_of(row), branch)


def _no_file(changes: Sequence[Change]) -> str:
    names = dict.fromkeys(
        f"{'' if one.kind == 'workload' else 'the Corefile of '}{one.owner} in {one.namespace}" for one in changes
    )
    return f"No repository is set up for {', '.join(names)}."


def _branch(incident_id: int, fix_id: str, number: int) -> str:
    name = f"jitterscope/incident-{incident_id}-{re.sub(r'[^a-z0-9]+', '-', fix_id.lower()).strip('-')}"
    return name if number == 1 else f"{name}-{number}"


def _planned(draft: Draft, form: Form) -> tuple[str, Planned]:
    base = draft.host.head(draft.repository.base_branch)
    if base is None:
        raise HostFailed("missing", f"{draft.repository.repository} has no branch {draft.repository.base_branch}.")
    return base, plans.plan(draft.targets, lambda path: draft.host.read(path, base), form)


def _body(draft: Draft, planned: Planned) -> str:
    return texts.body(draft.incident, draft.fix, incident_url(draft.incident.id), planned.notes)


def _ask(draft: Draft, form: Form) -> tuple[str, Opened]:
    """The branch and what was opened. A branch without a pull request is not left behind."""
    host, fix, number = draft.host, draft.fix, draft.incident.id
    branch = draft.branch
    for attempt in range(2, _MOST_BRANCHES + 2):
        if host.head(branch) is None:
            break
        # Opened by a request whose answer was lost.
        opened = host.find_open(branch, texts.marker_of_pull_request(number, fix.id))
        if opened is not None:
            return branch, opened
        branch = _branch(number, fix.id, attempt)
    else:
        raise HostFailed("refused", f"The repository already has {_MOST_BRANCHES} branches named {draft.branch}.")
    base, planned = _planned(draft, form)
    host.commit(branch, base, texts.commit_message(fix, draft.subject, number, incident_url(number)), planned.files)
    try:
        title = texts.title(fix, draft.subject)
        return branch, host.open(branch, draft.repository.base_branch, title, _body(draft, planned))
    except Exception:
        _take_back(host, branch)
        raise


def _take_back(host: Host, branch: str) -> None:
    try:
        host.delete_branch(branch)
    except HostFailed:
        return  # the earlier failure is what matters, and the next attempt uses another name


def _take_place(session: Session, draft: Draft, principal: Principal, known: PullRequestRow | None) -> int:
    """The id of a new row in the state `opening`. Raises Problem 409 if another request is already opening it."""
    if known is not None and known.opened_at < datetime.now(UTC) - _OPENING:
        session.delete(known)
        session.flush()
    row = draft.repository
    place_id = store.take_place(
        session,
        {
            "organization_id": principal.organization_id, "incident_id": draft.incident.id, "repository_id": row.id,
            "fix_id": draft.fix.id, "fix_title": draft.fix.title, "kind": row.kind, "repository": row.repository,
            "branch": draft.branch, "state": "opening", "opened_by": principal.actor,
        },
    )  # fmt: skip
    if place_id is None:
        raise Problem(
            409, "being-opened", "It is being opened", "Another request is opening this pull request.",
            "Check again in a few seconds.",
        )  # fmt: skip
    return place_id
