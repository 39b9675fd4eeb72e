"""One organization's data fail its own tasks at most, never the worker that does everybody's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from jitterscope import db, worker
from jitterscope.incidents.scheduling import diagnoses, dispatch
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.kit import allowance
from jitterscope.kit.allowance import hold
from tests.support.batches import CGROUP, BatchBuilder, now_us

_MIB = 1024 * 1024


def test_periodic_work_of_one_organization_is_bounded(
    organization: Any, other_organization: Any, settings_override: Any
) -> None:
    settings_override(task_max_memory_bytes=_MIB)
    failed = db.FAILED.labels("test")._value.get()
    done: list[int] = []

    def work(organization_id: int) -> None:
        hold(2 * _MIB if organization_id == organization.id else _MIB // 2)
        done.append(organization_id)

    db.each_organization("test", work)
    assert other_organization.id in done
    assert organization.id not in done
    assert db.FAILED.labels("test")._value.get() == failed + 1


def test_every_task_of_a_worker_is_bounded(database: Any) -> None:
    @worker.app.task(name="test.allowance")  # type: ignore[untyped-decorator]
    def bounded() -> int:
        current = allowance.current()
        return 0 if current is None else current.most_bytes

    assert bounded() == 256 * _MIB
    assert allowance.current() is None


def test_a_subject_with_too_much_data_is_not_diagnosed_and_others_are(
    api: TestClient, organization: Any, settings_override: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in db.organization_ids():  # triggers of other tests that no worker handled
        with db.organization_session(other) as session:
            session.execute(text("UPDATE diagnosis_schedule SET due_at = NULL, leased_until = NULL"))
    builder = BatchBuilder()
    for key in ("/much", "/little"):
        cgroup = builder.resource(CGROUP, key, 0)
        builder.block({(cgroup, "cpu_usage_us"): np.ones(20)}, now_us() - 10_000_000)
        builder.batch.triggers.add(resource=cgroup, reason="throttled", at_us=now_us())
        for number in range(10 if key == "/much" else 0):
            builder.fact(cgroup, f"made.up{number}", "x" * 60_000)
    assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).is_success
    settings_override(task_max_memory_bytes=400_000)
    with db.organization_session(organization.id) as session:
        ids = {row.key: row.id for row in session.execute(text("SELECT key, id FROM resources"))}
    outcomes: dict[int, bool] = {}
    while (claim := dispatch.next_claim()) is not None:
        outcomes[claim.entry.subject_id] = dispatch.look(claim) is not None
    assert outcomes == {ids["/much"]: False, ids["/little"]: True}
    with db.organization_session(organization.id) as session:
        entry = schedule.state(session, ids["/much"])
    assert entry is not None
    assert entry.due_at is not None, "it is tried again later"
    settings_override(task_max_memory_bytes=64 * _MIB)
    assert diagnoses.diagnose_subject(organization.id, ids["/much"]) is not None
