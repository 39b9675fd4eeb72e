"""The schedule of diagnoses in PostgreSQL: the one table of who is due when. See plan.py for the rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope.incidents.scheduling.plan import Entry, Vain

# A look takes a second or two; the lease is longer after a look that its worker did not survive.
LEASE = timedelta(seconds=30)
_MOST_LEASES = 4  # doublings
# A visit goes before an urgent look that became due this much later.
_PATIENCE = timedelta(seconds=5)

_COLUMNS = (
    "subject_id, due_at, urgent, waiting, heard, triggered_us, diagnosed_us, claimed_at, looked_at, explained_us, "
    "causes, unchanged_looks, follow_until, follow_ups, follow_ups_since, vain, attempts, silent_since, leased_until"
)
_ADD = text(
    "INSERT INTO diagnosis_schedule (organization_id, subject_id) SELECT :organization, id FROM unnest(:ids) AS s (id) "
    "ORDER BY id ON CONFLICT DO NOTHING"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
# The same order everywhere, so that writers wait for each other in turn.
_LOCK = text(
    f"SELECT {_COLUMNS}, clock_timestamp() AS now FROM diagnosis_schedule "  # noqa: S608
    "WHERE subject_id = ANY(:ids) ORDER BY subject_id FOR UPDATE"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
_WRITE = text(
    """
    UPDATE diagnosis_schedule SET due_at = :due_at, urgent = :urgent, waiting = :waiting, heard = :heard,
           triggered_us = :triggered_us, diagnosed_us = greatest(diagnosed_us, :diagnosed_us), looked_at = :looked_at,
           explained_us = :explained_us, causes = :causes, unchanged_looks = :unchanged_looks,
           follow_until = :follow_until, follow_ups = :follow_ups, follow_ups_since = :follow_ups_since,
           vain = CAST(:vain AS jsonb), attempts = :attempts, silent_since = :silent_since,
           leased_until = CASE WHEN :release THEN NULL ELSE leased_until END
     WHERE subject_id = :subject_id
    """
)
# During a look, the row is due again when the lease ends, so that another worker can replace one that died.
_CLAIM = text(
    f"""
    WITH free AS (
        SELECT organization_id AS organization, subject_id AS id, waiting AS reasons FROM diagnosis_schedule
         WHERE due_at <= statement_timestamp() AND (leased_until IS NULL OR leased_until <= statement_timestamp())
         ORDER BY due_at - CASE WHEN urgent THEN CAST(:patience AS interval) ELSE interval '0' END, subject_id
         LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE diagnosis_schedule s SET claimed_at = statement_timestamp(), attempts = attempts + 1, urgent = false,
           leased_until = statement_timestamp() + :lease * power(2, least(attempts, {_MOST_LEASES})),
           due_at = statement_timestamp() + :lease * power(2, least(attempts, {_MOST_LEASES})), waiting = '{{}}'
      FROM free WHERE organization_id = organization AND subject_id = id
    RETURNING {_COLUMNS}, reasons
    """  # noqa: S608
)
_ADVANCE = text(
    """
    INSERT INTO diagnosis_schedule (organization_id, subject_id, diagnosed_us) VALUES (:organization, :subject, :end_us)
    ON CONFLICT (organization_id, subject_id) DO UPDATE
        SET diagnosed_us = greatest(diagnosis_schedule.diagnosed_us, excluded.diagnosed_us)
    RETURNING diagnosed_us
    """
)
_CALM = text(
    f"SELECT {_COLUMNS} FROM diagnosis_schedule WHERE subject_id = ANY(:ids) "  # noqa: S608
    "AND due_at <= statement_timestamp() + :within AND waiting = '{}' AND causes = '{}' AND attempts = 0 "
    "AND (leased_until IS NULL OR leased_until <= statement_timestamp()) ORDER BY due_at, subject_id LIMIT :most"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
# The first visits are spread over time, so that they do not all come at once.
_VISIT = text(
    """
    INSERT INTO diagnosis_schedule (organization_id, subject_id, due_at)
    SELECT :organization, id, clock_timestamp() + (id % 16) / 16.0 * CAST(:spread AS interval)
      FROM unnest(:ids) AS s (id) ORDER BY id
    ON CONFLICT (organization_id, subject_id) DO UPDATE SET due_at = excluded.due_at
        WHERE diagnosis_schedule.due_at IS NULL
    """
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))


@dataclass(frozen=True, slots=True)
class Claim:
    """A look that this worker must do until `leased_until`; `entry.waiting` are the reasons that it answers."""

    organization_id: int
    entry: Entry
    leased_until: datetime


@dataclass(frozen=True, slots=True)
class Done:
    """A look up to `end_us` that found `entry` in the schedule, and the rule of plan.py for what comes next.

    `leased_until` is that of its claim; None for a subject that was looked at beside the claimed one.
    """

    entry: Entry
    rule: Callable[[Entry, datetime], Entry]
    end_us: int = 0
    leased_until: datetime | None = None


def turns(session: Session) -> list[int]:
    """Organizations with something due, in order of their turn."""
    return list(session.execute(text("SELECT organization_id FROM system_diagnosis_turns()")).scalars())


def claim(session: Session) -> Claim | None:
    """Take the look that has waited longest; None if nothing is due, or others have it. Effective on commit."""
    row = session.execute(_CLAIM, {"lease": LEASE, "patience": _PATIENCE}).first()
    if row is None:
        return None
    return Claim(session.info["organization_id"], replace(_entry(row), waiting=tuple(row.reasons)), row.leased_until)


def change(
    session: Session, subject_ids: Sequence[int], rule: Callable[[Entry, datetime], Entry], *, add: bool = True
) -> dict[int, tuple[Entry, Entry, datetime]]:
    """Apply a rule of plan.py to rows, which stay locked until the commit.

    Returns before, after, and the database's time for each.
    """
    if add:
        _add(session, subject_ids)
    result: dict[int, tuple[Entry, Entry, datetime]] = {}
    for row in session.execute(_LOCK, {"ids": sorted(subject_ids)}).all():
        before = _entry(row)
        after = rule(before, row.now)
        result[before.subject_id] = (before, after, row.now)
        if after != before:
            _write(session, after)
    return result


def calm(session: Session, subject_ids: Sequence[int], within: timedelta, most: int) -> list[Entry]:
    """The first of the subjects that are due `within` a time and have no waiting trigger and no finding."""
    wanted = {"ids": list(subject_ids), "within": within, "most": most}
    return [_entry(row) for row in session.execute(_CALM, wanted)]


def finish(session: Session, looks: Sequence[Done]) -> dict[int, tuple[Entry, datetime]]:
    """Return looks, with what their rules make of the rows; by subject, with the database's time.

    Absent: another worker has the subject, it no longer exists, or, beside a claimed one, its row changed meanwhile.
    """
    done: dict[int, tuple[Entry, datetime]] = {}
    if not looks:
        return done
    by_id = {one.entry.subject_id: one for one in looks}
    for row in session.execute(_LOCK, {"ids": sorted(by_id)}).all():
        look, before = by_id[row.subject_id], _entry(row)
        if look.leased_until is None and (before != look.entry or (row.leased_until or row.now) > row.now):
            continue
        if look.leased_until is not None and row.leased_until != look.leased_until:
            continue
        before = replace(before, diagnosed_us=max(before.diagnosed_us, look.end_us))
        if look.leased_until is None or before.due_at == look.leased_until:  # no trigger came meanwhile
            before = replace(before, due_at=None)
        after = look.rule(before, row.now)
        _write(session, after, release=True)
        done[row.subject_id] = after, row.now
    return done


def state(session: Session, subject_id: int) -> Entry | None:
    """The row of a subject; None if it was neither triggered nor diagnosed."""
    query = text(f"SELECT {_COLUMNS} FROM diagnosis_schedule WHERE subject_id = :id")  # noqa: S608
    row = session.execute(query, {"id": subject_id}).first()
    return None if row is None else _entry(row)


def due(session: Session, within: timedelta = timedelta(0)) -> list[int]:
    """Ids of subjects that are due, or will be soon."""
    query = text("SELECT subject_id FROM diagnosis_schedule WHERE due_at <= clock_timestamp() + :within ORDER BY 1")
    return list(session.execute(query, {"within": within}).scalars())


def advance(session: Session, subject_id: int, end_us: int) -> bool:
    """Record the newest applied window; False if a newer one was applied before."""
    parameters = {"organization": session.info["organization_id"], "subject": subject_id, "end_us": end_us}
    return int(session.execute(_ADVANCE, parameters).scalar_one()) <= end_us


def visit(session: Session, subject_ids: Sequence[int], spread: timedelta) -> None:
    """Make subjects that are not scheduled yet due within `spread`."""
    if subject_ids:
        parameters = {"organization": session.info["organization_id"], "ids": sorted(subject_ids), "spread": spread}
        session.execute(_VISIT, parameters)


def forget(session: Session, subject_id: int) -> None:
    """Delete the row of a subject that no longer exists."""
    session.execute(text("DELETE FROM diagnosis_schedule WHERE subject_id = :id"), {"id": subject_id})


def _add(session: Session, subject_ids: Sequence[int]) -> None:
    session.execute(_ADD, {"organization": session.info["organization_id"], "ids": sorted(subject_ids)})


def _entry(row: Row[Any]) -> Entry:
    vain = {name: Vain(**{**one, "at": datetime.fromisoformat(one["at"])}) for name, one in row.vain.items()}
    return Entry(
        row.subject_id, row.due_at, row.urgent, tuple(row.waiting), tuple(row.heard), row.triggered_us,
        row.diagnosed_us, row.claimed_at, row.looked_at, row.explained_us, tuple(row.causes), row.unchanged_looks,
        row.follow_until, row.follow_ups, row.follow_ups_since, vain, row.attempts, row.silent_since,
    )  # fmt: skip


def _write(session: Session, entry: Entry, *, release: bool = False) -> None:
    vain = {name: {**asdict(one), "at": one.at.isoformat()} for name, one in entry.vain.items()}
    session.execute(
        _WRITE,
        {
            "subject_id": entry.subject_id, "due_at": entry.due_at, "urgent": entry.urgent,
            "waiting": list(entry.waiting), "heard": list(entry.heard), "triggered_us": entry.triggered_us,
            "diagnosed_us": entry.diagnosed_us, "looked_at": entry.looked_at,
            "explained_us": entry.explained_us, "causes": list(entry.causes), "unchanged_looks": entry.unchanged_looks,
            "follow_until": entry.follow_until, "follow_ups": entry.follow_ups,
            "follow_ups_since": entry.follow_ups_since, "vain": json.dumps(vain), "attempts": entry.attempts,
            "silent_since": entry.silent_since, "release": release,
        },
    )  # fmt: skip
