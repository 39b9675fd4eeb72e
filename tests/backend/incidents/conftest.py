"""Synthetic scenarios fed through the real ingest route, as a collector sends them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard
from fastapi.testclient import TestClient

from jitterscope.db import organization_session
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.scheduling import diagnoses
from jitterscope.recordings.model import Recording
from jitterscope.recordings.replay import prepare
from jitterscope.recordings.snapshots import recording_of
from jitterscope.series.types import TICK_US
from jitterscope.settings import Settings
from tests.backend.incidents.stories import recorded

# A collector sends every 2 s; a fifth of the requests stores the same.
SLICE_US = 10_000_000


@dataclass
class Service:
    """The application with one organization's collector and user."""

    client: TestClient
    organization: Any

    def feed(self, recording: Recording, *, ends_us: int | None = None, suffix: str = "", begin: int = 0) -> int:
        """Send a recording so that it ends at `ends_us` (default: now); returns its subject's ID."""
        ends_us = ends_us or time.time_ns() // 1000
        shift_us = ends_us - ends_us % TICK_US - recording.end_us
        shift_us -= shift_us % TICK_US
        for batch in prepare(recording, shift_us, suffix, slice_us=SLICE_US):
            body = zstandard.compress(batch.SerializeToString())
            response = self.client.post("/api/v1/ingest", content=body, headers=self.organization.ingest_headers)
            assert response.status_code < 300, response.text
        subject = recording.resources[recording.subject]
        with organization_session(self.organization.id) as session:
            from sqlalchemy import text

            return int(
                session.execute(
                    text("SELECT max(id) FROM resources WHERE kind = :kind AND key = :key"),
                    {"kind": subject.kind, "key": subject.key + (suffix if subject.kind == "node" else "")},
                ).scalar_one()
            )

    def diagnose(self, subject_id: int) -> diagnoses.Outcome | None:
        return diagnoses.diagnose_subject(self.organization.id, subject_id)

    def get(self, path: str, status: int = 200, **params: Any) -> Any:
        response = self.client.get(f"/api/v1{path}", params=params, headers=self.organization.headers)
        assert response.status_code == status, response.text
        return response.json()

    def post(self, path: str, content: Any = None, status: int = 200) -> Any:
        response = self.client.post(f"/api/v1{path}", json=content, headers=self.organization.headers)
        assert response.status_code == status, response.text
        return response.json()

    def change(self, incident_id: int, **values: Any) -> None:
        with organization_session(self.organization.id) as session:
            row = session.get(IncidentRow, incident_id)
            assert row is not None
            for name, value in values.items():
                setattr(row, name, value)


@pytest.fixture
def service(
    client: TestClient, organization: Any, settings_override: Callable[..., Settings], tmp_path: Path
) -> Service:
    settings_override(state_dir=tmp_path, notify_allow_private_targets=True)
    return Service(client, organization)


@pytest.fixture(scope="session")
def gc_fault() -> Recording:
    """60 s of a CoreDNS throttled by its garbage collection."""
    return recording_of(simulate(Workload()).snapshot)


@pytest.fixture(scope="session")
def healthy() -> Recording:
    """The same CoreDNS with enough CPU."""
    return recording_of(simulate(Workload(quota_us=400_000)).snapshot)


@pytest.fixture(scope="session")
def fault() -> Recording:
    return recorded(Workload(seconds=80))


@pytest.fixture(scope="session")
def more_cpu() -> Recording:
    return recorded(Workload(seconds=80, quota_us=400_000, seed=2))


@pytest.fixture(scope="session")
def fault_again() -> Recording:
    """The fault with another GOMAXPROCS, which is no help below a limit of one CPU."""
    return recorded(Workload(seconds=80, gomaxprocs=1, seed=3), process="4712:7")


@pytest.fixture(scope="session")
def worse() -> Recording:
    """The fault with even less CPU."""
    return recorded(Workload(seconds=80, quota_us=30_000, seed=4))


@pytest.fixture(scope="session")
def unchanged() -> Recording:
    """The same fault on another day."""
    return recorded(Workload(seconds=80, seed=6))


@pytest.fixture(scope="session")
def quiet() -> Recording:
    return recorded(Workload(seconds=80, quota_us=400_000, qps=300, seed=5))
