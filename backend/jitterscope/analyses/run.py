"""Carries out the analysis of one uploaded file: claims it, reads it in a child process, and keeps the result.

A worker that dies leaves a claim without a heartbeat, which another one takes over; after MOST_ATTEMPTS the file is
blamed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import structlog

from jitterscope.analyses import folder, store
from jitterscope.analyses.isolate import Limits, analyse
from jitterscope.analyses.models import AnalysisRow
from jitterscope.analyses.order import Refused
from jitterscope.analyses.report import Report
from jitterscope.db import after_commit, organization_session
from jitterscope.events.publish import publish
from jitterscope.settings import Settings, settings

log = structlog.get_logger(__name__)

MOST_ATTEMPTS = 3
BEAT_S = 2.0
# A claim without a heartbeat for this long is abandoned.
STALE_S = 20.0
# Files read at once by a worker: diagnoses continue meanwhile.
_PLACES = 2
_places = threading.Lock()
_taken = 0
# Any file may unpack to this much, however small; the last value is the slowest reader's throughput per second of CPU.
_SMALL_BYTES = 256 * 1024**2
_START_CPU_S = 20
_SLOWEST_BYTES_PER_CPU_S = 2 * 1024**2


class _Gone(Exception):
    """While it ran, the analysis was deleted, or another worker took it over."""


def run(organization_id: int, analysis_id: int) -> None:
    """Analyze a file if it is queued. Safe to call twice, and concurrently."""
    with _place() as free:
        if free is None:
            return  # stays queued; `waiting` finds it
        # The last place of a worker is for organizations that have none: a file can take half an hour.
        row = _claim(organization_id, analysis_id, None if free else 1)
        if row is not None:
            _carry_out(row)


@contextmanager
def _place() -> Iterator[int | None]:
    """Take a place of this worker, if there is one: how many others are free then."""
    global _taken
    with _places:
        free = None if _taken == _PLACES else _PLACES - _taken - 1
        _taken += free is not None
    try:
        yield free
    finally:
        with _places:
            _taken -= free is not None


def turns(organization_ids: Sequence[int]) -> list[tuple[int, int]]:
    """(organization, its oldest analysis without a worker): fewest running first, then the longest wait."""
    waits = {organization_id: ids[0] for organization_id in organization_ids if (ids := waiting(organization_id))}
    running = {organization_id: _running(organization_id) for organization_id in waits}
    order = sorted(waits, key=lambda one: (running[one], waits[one]))
    return [(one, waits[one]) for one in order if running[one] < settings().evidence_at_once]


def waiting(organization_id: int) -> list[int]:
    """Analyses without a worker, oldest first."""
    with organization_session(organization_id) as session:
        return store.waiting(session, STALE_S, 20)


def _running(organization_id: int) -> int:
    with organization_session(organization_id) as session:
        return store.count_running(session, STALE_S)


def _claim(organization_id: int, analysis_id: int, most: int | None = None) -> AnalysisRow | None:
    """Claim the analysis; None if it is done, claimed by another worker, or `most` of the organization are running."""
    most = settings().evidence_at_once if most is None else most
    with organization_session(organization_id) as session:
        # Two workers must not both take the last slot of the organization.
        store.lock_running(session, organization_id)
        if store.count_running(session, STALE_S) >= most:
            return None
        row = store.free(session, analysis_id, STALE_S)
        if row is None:
            return None
        now = datetime.now(UTC)
        row.attempts += 1
        row.heartbeat_at = now
        if row.attempts > MOST_ATTEMPTS:
            _fail(row, _lost_worker(), now)
            return None
        row.state, row.started_at, row.progress_ratio = "running", row.started_at or now, 0.0
        after_commit(session, lambda: publish(organization_id, "analysis", analysis_id, state="running"))
        return row


def _carry_out(row: AnalysisRow) -> None:
    started = time.monotonic()
    try:
        try:
            report, refused = _read(row), None
        except Refused as refusal:
            report, refused = None, refusal
        _finish(row, report, refused)
    except _Gone:
        log.info("analysis_gone", id=row.id)
        return
    log.info("analysis_finished", id=row.id, seconds=round(time.monotonic() - started, 2))


def _read(row: AnalysisRow) -> Report:
    """The report of the row's file. Raises Refused, _Gone."""
    path = folder.path_of(row.organization_id, row.id)
    if not path.is_file():
        raise Refused(
            "file-not-here", "File not found", "The worker cannot see the uploaded file.",
            "Set the same JITTERSCOPE_EVIDENCE_FOLDER for API and workers, or upload the file again.",
        )  # fmt: skip
    given = settings()
    limits = limits_of(path.stat().st_size, given)
    with _Heart(row) as heart:
        return analyse(path, row.created_at.year, given.collector_folder / "jitterscope-evidence", limits, heart.tell)


def limits_of(size_bytes: int, given: Settings) -> Limits:
    """Limits for a file of this size: a small one that unpacks to very much does not occupy a worker for long."""
    unpacked = min(given.evidence_max_unpacked_bytes, max(_SMALL_BYTES, size_bytes * given.evidence_max_inflation))
    return Limits(
        unpacked_bytes=unpacked,
        memory_bytes=given.evidence_max_memory_bytes,
        cpu_s=min(given.evidence_max_cpu_s, _START_CPU_S + unpacked // _SLOWEST_BYTES_PER_CPU_S),
        wall_s=given.evidence_max_wall_s,
    )


class _Heart:
    """Keeps the claim alive in its own thread while the child reads, and passes its progress on."""

    def __init__(self, row: AnalysisRow) -> None:
        self._organization_id, self._id, self._attempt = row.organization_id, row.id, row.attempts
        self._ratio = 0.0
        self._gone = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True, name=f"analysis {row.id}")

    def __enter__(self) -> _Heart:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._gone:
            raise _Gone

    def tell(self, ratio: float) -> None:
        """Report the progress of reading. Raises _Gone, which ends the child, if the analysis was deleted."""
        self._ratio = max(self._ratio, ratio)
        if self._gone:
            raise _Gone

    def _beat(self) -> None:
        told = 0.0
        while not self._stop.wait(BEAT_S if told else BEAT_S / 4):
            ratio = told = max(self._ratio, 1e-6)
            try:
                with organization_session(self._organization_id) as session:
                    mine = store.beat(session, self._id, self._attempt, ratio)
                self._gone = not mine
            except Exception as error:  # the database is down: the claim lapses if it stays down
                log.warning("analysis_heartbeat_failed", id=self._id, error=str(error)[:200])
                continue
            publish(self._organization_id, "analysis", self._id, state="running", percent=round(100 * ratio))


def _finish(row: AnalysisRow, report: Report | None, refused: Refused | None) -> None:
    with organization_session(row.organization_id) as session:
        now_row = store.running(session, row.id, row.attempts)
        if now_row is None:
            raise _Gone
        now = datetime.now(UTC)
        if report is not None:
            now_row.state, now_row.progress_ratio, now_row.finished_at = "done", 1.0, now
            now_row.kind, now_row.kind_title, now_row.summary = report.kind, report.title, report.summary
            now_row.findings = len(report.findings)
            now_row.report = report.model_dump(mode="json")
        elif refused is not None:
            _fail(now_row, refused, now)
        state, organization_id, id = now_row.state, row.organization_id, row.id
        after_commit(session, lambda: publish(organization_id, "analysis", id, state=state))


def _fail(row: AnalysisRow, refused: Refused, now: datetime) -> None:
    row.state, row.finished_at, row.problem = "failed", now, dict(refused.problem)


def _lost_worker() -> Refused:
    return Refused(
        "analysis-failed", "The analysis failed", f"{MOST_ATTEMPTS} workers exited while reading it.",
        "Check the workers' memory limits. Report it with the file if you can share it.",
    )  # fmt: skip
