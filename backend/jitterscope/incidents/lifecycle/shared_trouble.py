"""One incident for trouble that several subjects share at the same time: replicas with one limit, servers on one path.

Findings are joined in these cases:
- They have one cause in replicas of one Kubernetes workload, as long as an incident of any of them is ongoing: one
  patch of their owner fixes all.
- They have one cause that spreads (`Cause.spreads`).
- They are what a server's trouble looks like to its clients (`Found.upstream`).
- They are late answers without a cause of their own (`Cause.is_residual`): from a server that another subject is known
  to wait for, or at a time when the node's trouble delayed answers of its servers.

The incident stays with the subject that showed it first, with the queried server, or with the node; the others are
listed in `also_affected` and keep it open as long as any of them is in trouble.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.impact import SLOW_QUERIES
from jitterscope.diagnosis.core.registry import all_causes, is_residual
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.api.views import subject_of, time_of
from jitterscope.incidents.lifecycle.decide import severity_rank
from jitterscope.incidents.lifecycle.transitions import record
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.store import shared_trouble as store
from jitterscope.incidents.store.locks import lock_organization
from jitterscope.inventory import service as inventory

# Replicas' incidents are searched among this many incidents of one cause.
_MOST_INCIDENTS = 500
# The list is for users; beyond this, trouble still keeps the incident open.
MAX_MEMBERS = 200


def lock(session: Session, subject_id: int, findings: Iterable[Found]) -> bool:
    """Make one worker at a time decide where a server's or a spreading trouble belongs; False for other findings.

    Taken before any subject's lock by all who may need another subject's incident, so that no holder of a subject's
    lock waits for it.
    """
    hurting = [found for found in findings if found.severity is not None]
    if not hurting:
        return False
    if not any(_may_join(one) for one in hurting) and not _is_replica(session, subject_id):
        subject = inventory.resource(session, subject_id)
        if subject is None:
            return False
        tree = None if subject.kind == "node" else inventory.subject_tree(session, subject_id)
        if tree is not None and not tree.dns_servers and not tree.tcp_servers:
            return False
    lock_organization(session)
    return True


def host_of(session: Session, subject_id: int, found: Found) -> IncidentRow | None:
    """The active incident of another subject that the finding is part of; the oldest if there are several."""
    if (host := _of_replica(session, subject_id, found)) is not None:
        return host
    asked = sorted(_asked(session, subject_id, found))
    subject = inventory.resource(session, subject_id) if is_residual(found.cause) else None
    node_id = None if subject is None else subject.node_id
    host = store.host(session, subject_id, found, same_cause=_spreads(found.cause), asked=asked, node_id=node_id)
    if host is not None:
        return host
    return _blaming(session, subject_id, found) if is_residual(found.cause) else None


def older_of_its_workload(session: Session, own: IncidentRow, found: Found) -> IncidentRow | None:
    """The incident that an active one belongs to after all: a pod's names can arrive after its first trouble."""
    host = None if own.state == "fix_applied" else _of_replica(session, own.lives_on, found)
    return host if host is not None and host.id < own.id else None


def _is_replica(session: Session, subject_id: int) -> bool:
    name = inventory.names_of_workloads(session, [subject_id]).get(subject_id)
    return name is not None and name.namespace is not None and name.container is not None


def _of_replica(session: Session, subject_id: int, found: Found) -> IncidentRow | None:
    """The oldest active incident of the same cause in another replica of the subject's workload."""
    rows = store.others_of_cause(session, subject_id, found.cause, _MOST_INCIDENTS)
    replicas = inventory.replicas_among(session, subject_id, {subject for _, subject in rows}) if rows else set()
    wanted = [incident for incident, subject in rows if subject in replicas]
    return store.oldest(session, found.cause, wanted) if wanted else None


def _blaming(session: Session, subject_id: int, found: Found) -> IncidentRow | None:
    """The active incident of a subject that says it waits for this one.

    It says more than late answers without a cause.
    """
    rows = store.blaming(session, subject_id, found)
    return next((row for row in rows if subject_id in _asked_by(session, row)), None)


def followers(session: Session, subject_id: int, found: Found) -> list[IncidentRow]:
    """Active incidents of others about the same trouble.

    These are incidents of the clients of the subject's servers; of late answers without a cause of their own, if the
    subject waits for that server; and, if the subject is a node whose trouble delayed answers, of its servers whose
    late answers have no cause of their own.
    """
    asked = _asked(session, subject_id, found)
    rows = store.blaming_or_unexplained(session, subject_id, found)
    return [row for row in rows if _follows(session, row, subject_id, found, asked)]


def _follows(session: Session, row: IncidentRow, subject_id: int, found: Found, asked: set[int]) -> bool:
    if is_residual(row.cause):
        if row.lives_on in asked and not is_residual(found.cause):
            return True
        subject = inventory.resource(session, row.lives_on)
        is_slow = (found.impact.get(SLOW_QUERIES.id) or 0) > 0
        return is_slow and subject is not None and subject.node_id == subject_id
    return not is_residual(found.cause) and subject_id in _asked_by(session, row)


def _asked_by(session: Session, row: IncidentRow) -> set[int]:
    return _asked(session, row.lives_on, Found.model_validate(row.finding))


def _asked(session: Session, subject_id: int, found: Found) -> set[int]:
    """The cgroups of the servers that a finding blames."""
    window = (found.onset_us, found.last_us + 1)
    if found.upstream is None:
        return set()
    ways = (inventory.dns_cgroups_at, inventory.tcp_cgroups_at)
    return {one for at in ways for one in at(session, subject_id, found.upstream, *window)}


def _spreads(cause_id: str) -> bool:
    cause = all_causes().get(cause_id)
    return cause is not None and cause.spreads


def _may_join(found: Found) -> bool:
    return found.upstream is not None or _spreads(found.cause) or is_residual(found.cause)


def is_told(session: Session, subject_id: int, found: Found) -> bool:
    """Whether an incident that is over already covers the subject's newest symptom."""
    others = [one for one in inventory.lives_of(session, subject_id) if one != subject_id]
    return store.is_told(session, subject_id, others, found, any_cause=_may_join(found))


def join(session: Session, host: IncidentRow, subject: SubjectRef, found: Found) -> bool:
    """Record a subject's trouble in an incident of another; False if it is not news."""
    members: list[dict[str, Any]] = [dict(one) for one in host.also_affected]
    known = next((one for one in members if one["resource_id"] == subject.resource_id), None)
    if known is not None and found.last_us <= known["last_us"]:
        return False
    own = {host.subject_id, host.lives_on}
    if any(subject.resource_id in inventory.lives_of(session, one) for one in own):
        # The same container after a restart: its trouble is that of the incident's subject.
        if time_of(found.last_us) <= host.last_seen_at:
            return False
        host.last_seen_at = time_of(found.last_us)
        host.occurrences += 1
        return True
    if known is None and len(members) >= MAX_MEMBERS:
        host.last_seen_at = max(host.last_seen_at, time_of(found.last_us))
        return True
    if known is None:
        known = {**subject.model_dump(), "first_us": found.onset_us}
        members.append(known)
        record(session, host, "spread", f"{subject.name} on {subject.node} is also affected: {found.title}")
    known |= {
        "first_us": min(known["first_us"], found.onset_us),
        "last_us": found.last_us,
        "impact": found.impact,
    }
    host.also_affected = members
    host.onset_at = min(host.onset_at, time_of(found.onset_us))
    host.last_seen_at = max(host.last_seen_at, time_of(found.last_us))
    if found.severity is not None and severity_rank(found.severity) > severity_rank(host.severity):  # type: ignore[arg-type]
        before, host.severity = host.severity, found.severity
        record(session, host, "escalated", f"From {before} to {found.severity}, because of {subject.name}.")
    return True


def merge(session: Session, own: IncidentRow, host: IncidentRow) -> None:
    """Close a subject's own incident, whose trouble turned out to be that of another one."""
    own.state, own.resolved_at = "resolved", own.last_seen_at
    record(session, own, "resolved", f"Part of incident {host.id}, “{host.title}”, which also affects other subjects.")


def absorb(session: Session, host: IncidentRow, follower: IncidentRow) -> None:
    """Make an incident part of `host`, along with those that it lists."""
    merge(session, follower, host)
    join(session, host, subject_of(follower), Found.model_validate(follower.finding))
    listed = {host.lives_on, *(one["resource_id"] for one in host.also_affected)}
    host.also_affected = [
        *host.also_affected, *(one for one in follower.also_affected if one["resource_id"] not in listed),
    ]  # fmt: skip
    host.last_seen_at = max(host.last_seen_at, follower.last_seen_at)
