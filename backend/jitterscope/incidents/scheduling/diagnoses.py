"""One diagnosis from data to stored incident (load, run, apply), and which subjects need one without a trigger."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Literal

import structlog
from sqlalchemy.orm import Session

from jitterscope.db import organization_session
from jitterscope.diagnosis.core import recent
from jitterscope.diagnosis.core.engine import Diagnosis, detect, shows_nothing, with_fixes
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.incidents.lifecycle import silence
from jitterscope.incidents.lifecycle.apply import apply_diagnosis, resolve_gone
from jitterscope.incidents.scheduling import plan, signs, snapshots
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.scheduling.plan import Entry, Look
from jitterscope.incidents.scheduling.snapshots import Loaded
from jitterscope.incidents.store import incidents
from jitterscope.incidents.verification import landing
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.objectives import service as objectives
from jitterscope.series.types import TICK_US
from jitterscope.settings import settings

log = structlog.get_logger(__name__)
# DNS servers and nodes are visited if seen this recently; a resource is marked as seen once a minute.
SEEN_US = 180_000_000
# Subjects that are looked at beside another one: their data are held together.
MOST_BESIDE = 7


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a look: the subject, causes found (best first), and incidents changed.

    Also the newest harmful symptom (µs; 0: none). `visited`: it is a node or has DNS servers, and so is also diagnosed
    without triggers. `calm`: it has no active incident, and no sign of a cause shows. `end_us`: the end of the data
    that was examined.
    """

    subject_id: int
    causes: list[str]
    changed_incidents: list[int]
    harm_us: int
    visited: bool
    end_us: int
    calm: bool = False


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The outcome that is possible without reading everything: "open" if there is none, None if no data came.

    `beside`: other subjects of the node in which nothing shows.
    """

    outcome: Outcome | Literal["open"] | None
    beside: tuple[tuple[Entry, Outcome], ...] = ()


def diagnose_subject(organization_id: int, subject_id: int) -> Outcome | None:
    """Load, run, and apply. Reading and reasoning hold no lock; two concurrent diagnoses are ordered when applied.

    None if there is nothing to look at.
    """
    began = time.perf_counter()
    with organization_session(organization_id) as session:
        loaded = snapshots.load(session, subject_id, _window_us())
        told_by_containers = loaded is not None and inventory.is_told_by_its_containers(session, subject_id)
    if loaded is None:
        with organization_session(organization_id) as session:
            resolve_gone(session, subject_id)
            schedule.forget(session, subject_id)
        return None
    diagnosis = detect(loaded.snapshot)
    if recent.is_hidden(loaded.snapshot, diagnosis):
        loaded, diagnosis = _recently(organization_id, loaded, diagnosis)
    if told_by_containers:
        # Its containers are subjects themselves, and have the same trouble with a name and a patch.
        own = [found for found in diagnosis.findings if all_causes()[found.cause].of_pods]
        diagnosis = diagnosis.model_copy(update={"findings": own})
    window = (loaded.snapshot.start_us, loaded.snapshot.end_us)
    with organization_session(organization_id) as session:
        changed = apply_diagnosis(
            session,
            loaded.subject,
            diagnosis,
            window,
            loaded.clock_us,
            partial(with_fixes, loaded.snapshot),
            partial(landing.is_changed, session),
        )
        changed_ids = [row.id for row in changed]
    outcome = Outcome(
        subject_id=subject_id,
        causes=[found.cause for found in diagnosis.findings],
        changed_incidents=changed_ids,
        harm_us=max((found.last_us for found in diagnosis.findings if found.severity is not None), default=0),
        visited=loaded.subject.kind == "node" or bool(loaded.snapshot.dns_servers),
        end_us=loaded.snapshot.end_us,
    )
    log.info(
        "diagnosed", organization_id=organization_id, subject_id=subject_id, causes=outcome.causes,
        incidents=changed_ids, ticks=loaded.snapshot.ticks, took_ms=round((time.perf_counter() - began) * 1000, 1),
    )  # fmt: skip
    return outcome


def _recently(organization_id: int, loaded: Loaded, diagnosis: Diagnosis) -> tuple[Loaded, Diagnosis]:
    """The end of the window by itself if it shows a cause, else what is given."""
    with organization_session(organization_id) as session:
        end = snapshots.load(session, loaded.subject.resource_id, recent.RECENT_US)
    if end is None:
        return loaded, diagnosis
    again = detect(end.snapshot)
    return (end, again) if recent.shows(again) else (loaded, diagnosis)


def first_look(session: Session, entry: Entry) -> FirstLook:
    """A look that does not read everything, and a look at other subjects of the same node that are due soon.

    If no data has come for long, the subject's incidents end as not known.
    """
    subject = inventory.resource(session, entry.subject_id)
    clock_us = None if subject is None else inventory.node_clock_us(session, subject.node_id)
    if subject is None or clock_us is None:
        return FirstLook("open")
    if clock_us - clock_us % TICK_US <= entry.diagnosed_us:
        if entry.claimed_at is not None and plan.is_given_up(entry, entry.claimed_at):
            silence.end(session, subject)
        return FirstLook(None)
    # A subject in trouble shows it: reading its signs first would only add work.
    if not plan.is_calm(entry):
        return FirstLook("open")
    others = _beside(session, entry, subject, clock_us)
    active = incidents.active_among(session, [subject.id, *(one.subject_id for one in others)])
    if subject.id in active:
        return FirstLook("open")
    rows = inventory.resources(session, [one.subject_id for one in others if one.subject_id not in active])
    shown = signs.load(session, [subject, *rows.values()], clock_us, _window_us())
    calm = {one: _calm(snapshot) for one, snapshot in shown.items() if shows_nothing(snapshot)}
    if calm:
        log.info("nothing_shows", subject_ids=sorted(calm))
    beside = [(one, calm[one.subject_id]) for one in others if one.subject_id in calm]
    return FirstLook(calm.get(subject.id, "open"), tuple(beside))


def _beside(session: Session, entry: Entry, subject: ResourceRow, clock_us: int) -> list[Entry]:
    """Calm subjects of the same node whose visits are due soon, beside a visit.

    None beside what a trigger caused, which can be looked at every few seconds, or a repetition: what failed may have
    been too much to read at once.
    """
    if entry.waiting or entry.attempts > 1:
        return []
    visited = [subject.node_id, *inventory.dns_cgroups_on(session, subject.node_id, clock_us - SEEN_US)]
    others = [one for one in visited if one != subject.id]
    within = timedelta(seconds=settings().scheduled_diagnosis_every_s / 2)
    found = schedule.calm(session, others, within, MOST_BESIDE) if others else []
    return [one for one in found if plan.is_calm(one) and clock_us - clock_us % TICK_US > one.diagnosed_us]


def _calm(snapshot: Snapshot) -> Outcome:
    visited = snapshot.subject.kind == "node" or bool(snapshot.dns_servers)
    return Outcome(snapshot.subject.id, [], [], 0, visited, snapshot.end_us, calm=True)


def _window_us() -> int:
    return int(settings().diagnosis_window_s * 1_000_000)


def look_of(session: Session, subject_id: int, outcome: Outcome | None) -> Look:
    """The part of a diagnosis that the schedule needs."""
    active = (outcome is None or not outcome.calm) and incidents.is_active(session, subject_id)
    if outcome is None:
        return Look((), 0, news=False, active=active, visited=False)
    return Look(tuple(outcome.causes), outcome.harm_us, news=True, active=active, visited=outcome.visited)


def plan_visits(organization_id: int) -> None:
    """Schedule subjects whose problems may cause no triggers.

    These are DNS servers (retries after 5 s and needless queries cause none), nodes (slow growth in a kernel causes
    none), servers with an objective below 20 ms, and subjects with an active incident.
    """
    every = timedelta(seconds=settings().scheduled_diagnosis_every_s)
    # Two transactions: whoever locks several rows of the schedule must do so in order of their ids.
    with organization_session(organization_id) as session:
        schedule.visit(session, sorted(incidents.active_subjects(session)), timedelta(0))
    with organization_session(organization_id) as session:
        schedule.visit(session, visited_subjects(session), every)


def visited_subjects(session: Session) -> list[int]:
    """Ids of cgroups with a DNS server or an objective below 20 ms, and of nodes, that sent data recently."""
    after_us = time.time_ns() // 1000 - SEEN_US
    watched = objectives.watched(session, after_us)
    return sorted({*inventory.dns_cgroups(session, after_us), *inventory.nodes_seen(session, after_us), *watched})
