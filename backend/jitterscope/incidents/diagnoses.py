"""One diagnosis from trigger to stored incident: what to look at, load, run, apply."""

from __future__ import annotations

import time
from dataclasses import dataclass

import structlog
from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from jitterscope.db import organization_session
from jitterscope.diagnosis.engine import diagnose
from jitterscope.incidents import snapshots
from jitterscope.incidents.models import IncidentRow, WatchRow, lives_on, reached_ids
from jitterscope.incidents.service import apply_diagnosis, resolve_silent
from jitterscope.incidents.watches import note_triggers
from jitterscope.inventory import service as inventory
from jitterscope.settings import settings

log = structlog.get_logger(__name__)
# A subject is diagnosed on schedule for this long after its last trigger (data time).
WATCH_US = 120_000_000
# DNS servers and nodes are diagnosed on schedule while seen this lately; a resource is marked as seen once a minute.
DNS_SEEN_US = 180_000_000
NODE_SEEN_US = 180_000_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a diagnosis did: the subject, causes found (best first), incidents changed, and whether it found harm."""

    subject_id: int
    causes: list[str]
    changed_incidents: list[int]
    took_ms: float
    harm: bool


def on_trigger(organization_id: int, resource_id: int, at_us: int, reason: str) -> Outcome | None:
    """Diagnose the cgroup that a triggered resource belongs to, or the node itself. None where it belongs to none."""
    with organization_session(organization_id) as session:
        subjects = note_triggers(session, {resource_id: at_us})
    if not subjects:
        log.info("trigger_without_subject", organization_id=organization_id, resource_id=resource_id, reason=reason)
        return None
    return diagnose_subject(organization_id, subjects[0])


def diagnose_subject(organization_id: int, subject_id: int, *, only_newer: bool = False) -> Outcome | None:
    """Load, run and apply. Reading and thinking hold no lock; two at once are ordered when they are applied.

    None where there is nothing to look at; with `only_newer` also where nothing came since the last time.
    """
    began = time.perf_counter()
    window_us = int(settings().diagnosis_window_s * 1_000_000)
    with organization_session(organization_id) as session:
        if only_newer and not _has_newer(session, subject_id):
            return None
        loaded = snapshots.load(session, subject_id, window_us)
    if loaded is None:
        with organization_session(organization_id) as session:
            resolve_silent(session, subject_id)
            session.execute(delete(WatchRow).where(WatchRow.subject_id == subject_id))
        return None
    diagnosis = diagnose(loaded.snapshot)
    window = (loaded.snapshot.start_us, loaded.snapshot.end_us)
    with organization_session(organization_id) as session:
        changed = apply_diagnosis(session, loaded.subject, diagnosis, window, loaded.clock_us)
        changed_ids = [row.id for row in changed]
    outcome = Outcome(
        subject_id=subject_id,
        causes=[found.cause for found in diagnosis.findings],
        changed_incidents=changed_ids,
        took_ms=(time.perf_counter() - began) * 1000,
        harm=any(found.severity is not None for found in diagnosis.findings),
    )
    log.info(
        "diagnosed", organization_id=organization_id, subject_id=subject_id, causes=outcome.causes,
        incidents=changed_ids, ticks=loaded.snapshot.ticks, took_ms=round(outcome.took_ms, 1),
    )  # fmt: skip
    return outcome


def _has_newer(session: Session, subject_id: int) -> bool:
    subject = inventory.resource(session, subject_id)
    if subject is None:
        return True
    clock_us = inventory.node_clock_us(session, subject.node_id)
    watch = session.get(WatchRow, (session.info["organization_id"], subject_id))
    return clock_us is None or watch is None or clock_us > watch.diagnosed_us


def dns_subjects(organization_id: int) -> list[int]:
    """Cgroups with a DNS server: some of their faults (retries after 5 s, needless queries) make no trigger."""
    with organization_session(organization_id) as session:
        return inventory.dns_cgroups(session, time.time_ns() // 1000 - DNS_SEEN_US)


def nodes(organization_id: int) -> list[int]:
    """Nodes that send data: what grows slowly in a kernel makes no trigger."""
    with organization_session(organization_id) as session:
        return inventory.nodes_seen(session, time.time_ns() // 1000 - NODE_SEEN_US)


def due_subjects(organization_id: int) -> list[int]:
    """Subjects to diagnose on schedule: with an active incident, their own or one that reached them, or a trigger in
    the last two minutes of their data."""
    with organization_session(organization_id) as session:
        active = select(lives_on).where(IncidentRow.resolved_at.is_(None))
        reached = select(reached_ids).where(IncidentRow.resolved_at.is_(None))
        watched = select(WatchRow.subject_id).where(
            or_(WatchRow.diagnosed_us == 0, WatchRow.diagnosed_us - WatchRow.triggered_us < WATCH_US)
        )
        return sorted(set(session.scalars(active.union(reached, watched))))
